//! Products with a weight take the packed form: eight rows a tile on both sides, the weight laid
//! out once on the host. Every output still adds its terms in ascending order from +0.

use std::collections::HashMap;

use stages::{DType, Shape};

use crate::{
    kernel::Inst,
    program::{Elem, IndexMap, Node, Op, Prepare, Program, Source, Value, ValueInfo},
};

/// Rows of a tile: the accumulators of an 8×8 tile fill AVX2's registers.
const TILE: usize = 8;

/// The same program with its weight products packed.
pub(super) fn pack(program: &Program) -> Program {
    let made: HashMap<Value, &Node> = program
        .nodes
        .iter()
        .map(|node| (node.output, node))
        .collect();
    let mut packed = Program {
        nodes: Vec::new(),
        ..program.clone()
    };
    let mut arguments = HashMap::new();
    for node in &program.nodes {
        match &node.op {
            Op::Dot { order, fused } if program.info(node.output).shape.rank() == 2 => {
                match weight(program, &made, node.inputs[1]) {
                    Some((source, steps)) => {
                        let op = Op::PackedDot {
                            order: *order,
                            fused: *fused,
                        };
                        product(&mut packed, &mut arguments, node, op, source, steps);
                    }
                    None => packed.nodes.push(node.clone()),
                }
            }
            _ => packed.nodes.push(node.clone()),
        }
    }
    packed
}

/// The argument a value is but for movement and exact widening, with that movement as
/// preparation steps.
fn weight(
    program: &Program,
    made: &HashMap<Value, &Node>,
    mut value: Value,
) -> Option<(usize, Vec<Prepare>)> {
    let mut steps = Vec::new();
    loop {
        if let Some(arg) = program.args.iter().position(|arg| arg.value == value) {
            let known = &program.args[arg];
            matches!(known.source, Source::Weight(_)).then_some(())?;
            steps.extend(known.prepare.iter().rev().cloned());
            steps.reverse();
            return Some((arg, steps));
        }
        let node = made.get(&value)?;
        match &node.op {
            Op::Reshape => steps.push(Prepare::Reshape(program.info(value).shape.clone())),
            Op::Transpose { axes } => steps.push(Prepare::Transpose(axes.clone())),
            op if is_widening(op, program.info(value)) => {}
            _ => return None,
        }
        value = node.inputs[0];
    }
}

/// A map that hands its only operand on: BF16 storage becomes F32, or nothing changes.
fn is_widening(op: &Op, info: &ValueInfo) -> bool {
    let Op::Map { kernel, maps } = op else {
        return false;
    };
    let mut insts = kernel.insts();
    insts.len() == 1
        && matches!(insts.next(), Some((Inst::Operand(0), _)))
        && info.elem == Elem::F32
        && maps[..] == [IndexMap::identity(info.shape.rank())]
}

fn product(
    packed: &mut Program,
    arguments: &mut HashMap<(usize, Vec<Prepare>), Value>,
    node: &Node,
    op: Op,
    source: usize,
    mut steps: Vec<Prepare>,
) {
    let lhs = packed.info(node.inputs[0]).clone();
    let rhs = packed.info(node.inputs[1]).clone();
    let result = packed.info(node.output).clone();
    let (m, n, k) = (result.shape[0], result.shape[1], lhs.shape[1]);
    let (rows, columns) = (m.div_ceil(TILE), n.div_ceil(TILE));

    let stored = packed.info(packed.args[source].value).elem;
    if n != columns * TILE {
        steps.push(Prepare::PadTo {
            axis: 0,
            extent: columns * TILE,
        });
    }
    steps.push(Prepare::Reshape([columns, TILE, k].into()));
    steps.push(Prepare::Transpose(vec![0, 2, 1]));
    steps.push(Prepare::Reshape([columns, k, TILE, 1].into()));
    let shape: Shape = [columns, k, TILE, 1].into();
    let key = (source, steps.clone());
    let argument = *arguments.entry(key).or_insert_with(|| {
        let from = packed.args[source].source.clone();
        let info = ValueInfo {
            shape: shape.clone(),
            elem: stored,
            grid: rhs.grid,
        };
        packed.arg(from, steps, info)
    });
    let info = |dims: &[usize], grid: DType| ValueInfo {
        shape: dims.into(),
        elem: Elem::F32,
        grid,
    };
    let weights = if stored == Elem::F32 {
        argument
    } else {
        packed.push(
            widen(shape.rank()),
            vec![argument],
            info(shape.dims(), rhs.grid),
        )
    };

    let mut x = node.inputs[0];
    if m != rows * TILE {
        let op = Op::Pad {
            low: vec![0, 0],
            high: vec![rows * TILE - m, 0],
            bits: 0,
        };
        x = packed.push(op, vec![x], info(&[rows * TILE, k], lhs.grid));
    }
    x = packed.push(Op::Reshape, vec![x], info(&[rows, TILE, k], lhs.grid));
    let swap = Op::Transpose {
        axes: vec![0, 2, 1],
    };
    x = packed.push(swap, vec![x], info(&[rows, k, TILE], lhs.grid));
    x = packed.push(Op::Reshape, vec![x], info(&[rows, k, TILE, 1], lhs.grid));

    let tiles = [rows, columns, TILE, TILE];
    let mut y = packed.push(op, vec![x, weights], info(&tiles, DType::F32));
    let swap = Op::Transpose {
        axes: vec![0, 2, 1, 3],
    };
    y = packed.push(
        swap,
        vec![y],
        info(&[rows, TILE, columns, TILE], DType::F32),
    );
    let whole = [rows * TILE, columns * TILE];
    let exact = whole == [m, n];
    if exact {
        packed.nodes.push(Node {
            op: Op::Reshape,
            inputs: vec![y],
            output: node.output,
        });
    } else {
        y = packed.push(Op::Reshape, vec![y], info(&whole, DType::F32));
        let op = Op::Slice {
            start: vec![0, 0],
            stop: vec![m, n],
            strides: vec![1, 1],
        };
        packed.nodes.push(Node {
            op,
            inputs: vec![y],
            output: node.output,
        });
    }
}

fn widen(rank: usize) -> Op {
    let mut k = crate::kernel::KernelBuilder::new();
    let x = k.operand(0, crate::kernel::Scalar::F32);
    Op::Map {
        kernel: k.finish(x),
        maps: vec![IndexMap::identity(rank)],
    }
}
