//! Folds movement away: maps read through broadcasts and unit reshapes, transposes and reshapes
//! in a row become one, and movement that moves nothing is dropped.

use stages::Shape;

use crate::program::{IndexMap, Node, Op, Program, Value};

/// The same program with less movement.
pub(super) fn fold(program: &Program) -> Program {
    let mut folded = Program {
        nodes: Vec::new(),
        outputs: Vec::new(),
        ..program.clone()
    };
    // Values of the old program stand for themselves in the new one, or for another of them.
    let mut stands: Vec<Value> = (0..program.values.len() as u32).map(Value).collect();
    let mut made: Vec<Option<usize>> = vec![None; program.values.len()];
    for node in &program.nodes {
        let mut node = node.clone();
        for input in &mut node.inputs {
            *input = stands[input.index()];
        }
        if let Some(same) = unmoved(program, &node) {
            stands[node.output.index()] = same;
            continue;
        }
        let earlier = |value: Value| made[value.index()].map(|i: usize| &folded.nodes[i]);
        let node = match &node.op {
            Op::Map { .. } => read_through(program, node, &earlier),
            Op::Reshape | Op::Transpose { .. } => joined(node, &earlier),
            _ => node,
        };
        if let Some(same) = unmoved(program, &node) {
            stands[node.output.index()] = same;
            continue;
        }
        made[node.output.index()] = Some(folded.nodes.len());
        folded.nodes.push(node);
    }
    for output in &program.outputs {
        folded.output(output.name.clone(), stands[output.value.index()]);
    }
    folded
}

/// The operand, if the op moves nothing and changes no grid.
fn unmoved(program: &Program, node: &Node) -> Option<Value> {
    let [input] = node.inputs[..] else {
        return None;
    };
    let (from, to) = (program.info(input), program.info(node.output));
    let same = from == to
        && match &node.op {
            Op::Reshape => true,
            Op::Transpose { axes } => axes.iter().copied().eq(0..axes.len()),
            Op::Slice { start, strides, .. } => {
                start.iter().all(|&s| s == 0) && strides.iter().all(|&s| s == 1)
            }
            Op::Broadcast { map } => *map == IndexMap::identity(to.shape.rank()),
            Op::Pad { low, high, .. } => low.iter().chain(high).all(|&n| n == 0),
            Op::Concatenate { .. } => true,
            _ => false,
        };
    same.then_some(input)
}

/// A map whose operands are broadcasts, or reshapes that add or drop unit axes only, reads what
/// those read.
fn read_through<'a>(
    program: &Program,
    mut node: Node,
    earlier: &impl Fn(Value) -> Option<&'a Node>,
) -> Node {
    let Op::Map { maps, .. } = &mut node.op else {
        return node;
    };
    for (input, map) in node.inputs.iter_mut().zip(maps) {
        while let Some(source) = earlier(*input) {
            let inner = match &source.op {
                Op::Broadcast { map } => Some(map.clone()),
                Op::Reshape => {
                    let from = &program.info(source.inputs[0]).shape;
                    unit_reshape(from, &program.info(source.output).shape)
                }
                _ => None,
            };
            let Some(inner) = inner else { break };
            let compose = |axis: &Option<usize>| axis.and_then(|axis| map.0[axis]);
            *map = IndexMap(inner.0.iter().map(compose).collect());
            *input = source.inputs[0];
        }
    }
    node
}

/// How the operand of a reshape is read if both shapes are equal but for axes of extent 1.
fn unit_reshape(from: &Shape, to: &Shape) -> Option<IndexMap> {
    let proper = |shape: &Shape| -> Vec<usize> {
        (0..shape.rank()).filter(|&axis| shape[axis] != 1).collect()
    };
    let (sources, targets) = (proper(from), proper(to));
    let same = sources.len() == targets.len()
        && sources
            .iter()
            .zip(&targets)
            .all(|(&s, &t)| from[s] == to[t]);
    same.then(|| {
        let follow = |axis| sources.iter().position(|&s| s == axis).map(|i| targets[i]);
        IndexMap((0..from.rank()).map(follow).collect())
    })
}

/// Two reshapes in a row are one; two transposes in a row are one.
fn joined<'a>(mut node: Node, earlier: &impl Fn(Value) -> Option<&'a Node>) -> Node {
    while let Some(source) = earlier(node.inputs[0]) {
        match (&mut node.op, &source.op) {
            (Op::Reshape, Op::Reshape) => {}
            (Op::Transpose { axes: outer }, Op::Transpose { axes: inner }) => {
                for axis in outer.iter_mut() {
                    *axis = inner[*axis];
                }
            }
            _ => break,
        }
        node.inputs = source.inputs.clone();
    }
    node
}
