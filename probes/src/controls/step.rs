//! One step of a model as a small graph of its own.

use std::collections::HashMap;

use emitter::Cut;
use stages::{
    Boundary, BoundaryId, Graph,
    graph::{Builder, GraphError, Node, Op, ValueId},
};

/// What stands before the name of a boundary that a step is handed: model inputs of the same name
/// are other tensors.
const GIVEN: &str = "given ";

/// The ops between one boundary and the nearest registered ones, which are handed in.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    graph: Graph,
    result: Boundary,
}

impl Step {
    /// The step that gives a boundary of `graph`.
    ///
    /// # Errors
    /// Never for a graph that was built.
    pub fn of(graph: &Graph, boundary: &Boundary) -> Result<Step, GraphError> {
        let cut = Cut::step(graph, boundary);
        let given: HashMap<ValueId, &BoundaryId> =
            cut.given.iter().map(|(id, value)| (*value, id)).collect();
        let mut values: Vec<ValueId> = cut.nodes.iter().chain(given.keys()).copied().collect();
        values.sort_unstable();
        let mut b = Builder::new();
        let mut known = HashMap::new();
        for value in values {
            let node = graph.node(value);
            let new = match given.get(&value) {
                Some(id) => hand_in(&mut b, id, node)?,
                None => {
                    let inputs: Vec<ValueId> = node.inputs.iter().map(|v| known[v]).collect();
                    again(&mut b, node, &inputs)?
                }
            };
            known.insert(value, new);
        }
        finish(b, known[&boundary.value], boundary)
    }

    /// The step's graph; the boundaries before the last are handed in.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What the step gives.
    pub fn result(&self) -> &Boundary {
        &self.result
    }

    /// The boundaries handed in.
    pub fn given(&self) -> impl Iterator<Item = &Boundary> {
        let result = &self.result.id;
        self.graph
            .boundaries()
            .iter()
            .filter(move |b| b.id != *result)
    }

    /// The name under which the step's graph takes a boundary as an input.
    pub fn input_of(boundary: &BoundaryId) -> String {
        format!("{GIVEN}{boundary}")
    }

    /// All nodes in evaluation order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.graph
            .nodes()
            .map(|(value, node)| (value.index(), node))
    }

    /// The node at a position.
    pub(super) fn node(&self, at: usize) -> Option<&Node> {
        self.graph.nodes().nth(at).map(|(_, node)| node)
    }

    /// The number that a value holds in all its elements, if it is a constant.
    pub(super) fn constant(&self, value: ValueId) -> Option<f64> {
        let node = self.graph.node(value);
        match &node.op {
            Op::Constant { value } => Some(*value),
            Op::Broadcast { .. } | Op::Full { .. } | Op::AsType { .. } => {
                self.constant(*node.inputs.first()?)
            }
            _ => None,
        }
    }

    /// The same step with other nodes in the place of those that `edit` gives a value for. It is
    /// told position, node and the operands as they have become. Operands whose dtypes no longer
    /// meet are promoted, as MLX does; constants take the dtype of the others, as Python numbers do.
    ///
    /// # Errors
    /// When what is left does not fit together, or the result has another shape.
    pub(super) fn edited(&self, edit: &mut Edit<'_>) -> Result<Step, GraphError> {
        let given: HashMap<ValueId, &BoundaryId> = self.given().map(|b| (b.value, &b.id)).collect();
        let mut b = Builder::new();
        let mut known: Vec<ValueId> = Vec::new();
        for (value, node) in self.graph.nodes() {
            let mut inputs: Vec<ValueId> = node.inputs.iter().map(|v| known[v.index()]).collect();
            let own = match given.get(&value) {
                Some(id) => Some(hand_in(&mut b, id, node)?),
                None => None,
            };
            let place = Place {
                at: value.index(),
                node,
                inputs: &inputs,
                known: &known,
                own,
            };
            let new = match (edit(&mut b, &place)?, own) {
                (Some(new), _) | (None, Some(new)) => new,
                (None, None) => {
                    let weak = node.inputs.iter().map(|v| self.constant(*v).is_some());
                    meet(&mut b, &node.op, &mut inputs, &weak.collect::<Vec<_>>())?;
                    again(&mut b, node, &inputs)?
                }
            };
            known.push(new);
        }
        let before = self.graph.info(self.result.value);
        let mut result = known[self.result.value.index()];
        let (shape, dtype) = (b.shape(result).clone(), b.dtype(result));
        let floats = dtype.is_float() && before.dtype.is_float();
        if shape != before.shape || (dtype != before.dtype && !floats) {
            return Err(GraphError::Shape {
                op: "mutation",
                shapes: shape.to_string(),
                reason: format!("the boundary is {} {}", before.dtype, before.shape),
            });
        }
        // A value that is handed in would not be a step's result.
        if self.given().any(|b| known[b.value.index()] == result) {
            result = b.apply(Op::Reshape { shape }, &[result])?;
        }
        finish(b, result, &self.result)
    }
}

/// The boundary of the same model in another profile. A single primitive, named after its position
/// below a boundary, is the one that is as many primitives of its kind behind the first: casts are
/// not the same in two profiles, and shift positions.
pub fn counterpart<'g>(own: &Graph, other: &'g Graph, id: &BoundaryId) -> Option<&'g Boundary> {
    let kind = |name: &str| -> Option<(String, String)> {
        let (of, primitive) = name.split_once('/')?;
        let (_, kind) = primitive.split_once('.')?;
        Some((of.to_owned(), kind.to_owned()))
    };
    let Some(wanted) = kind(id.as_str()) else {
        return other.boundary(id);
    };
    let alike = |boundary: &&Boundary| kind(boundary.id.as_str()).as_ref() == Some(&wanted);
    let mut earlier = own.boundaries().iter().filter(alike);
    let nth = earlier.position(|boundary| boundary.id == *id)?;
    other.boundaries().iter().filter(alike).nth(nth)
}

/// A node that may be replaced.
pub(super) struct Place<'a> {
    /// Its position.
    pub at: usize,
    /// The node as it was.
    pub node: &'a Node,
    /// Its operands as they have become.
    pub inputs: &'a [ValueId],
    /// What earlier nodes have become, by position.
    pub known: &'a [ValueId],
    /// The value itself, if it is handed in.
    pub own: Option<ValueId>,
}

/// What takes a node's place, if anything does.
pub(super) type Edit<'a> =
    dyn FnMut(&mut Builder, &Place<'_>) -> Result<Option<ValueId>, GraphError> + 'a;

fn hand_in(b: &mut Builder, id: &BoundaryId, node: &Node) -> Result<ValueId, GraphError> {
    let value = b.given(&Step::input_of(id), node.info.clone());
    b.boundary(id.as_str(), value, "Handed in.")
}

fn finish(mut b: Builder, value: ValueId, boundary: &Boundary) -> Result<Step, GraphError> {
    b.enter_stage(boundary.stage.as_str());
    b.boundary(boundary.id.as_str(), value, &boundary.about)?;
    let graph = b.finish();
    let result = Boundary {
        value,
        ..boundary.clone()
    };
    Ok(Step { graph, result })
}

/// The same node on these operands.
pub(super) fn again(
    b: &mut Builder,
    node: &Node,
    inputs: &[ValueId],
) -> Result<ValueId, GraphError> {
    let info = &node.info;
    match &node.op {
        Op::Input { name } => Ok(b.input(name, info.shape.clone(), info.dtype)),
        Op::Weight { name } => Ok(b.weight(name, info.shape.clone(), info.dtype)),
        Op::Constant { value } => Ok(b.scalar(*value, info.dtype)),
        Op::Arange { start, step, len } => Ok(b.arange(*start, *step, *len, info.dtype)),
        op => b.apply(op.clone(), inputs),
    }
}

/// Promotes operands that have to be of one dtype; those that are `weak` take the others'.
fn meet(b: &mut Builder, op: &Op, inputs: &mut [ValueId], weak: &[bool]) -> Result<(), GraphError> {
    let from = match op {
        Op::Select => 1,
        Op::GatherAxis { .. } | Op::QuantizedMatmul { .. } => return Ok(()),
        _ => 0,
    };
    let all_weak = weak.iter().skip(from).all(|&weak| weak);
    let mut common = None;
    for (&value, &weak) in inputs.iter().zip(weak).skip(from) {
        let dtype = b.dtype(value);
        common = match common {
            _ if weak && !all_weak => common,
            None => Some(dtype),
            Some(other) if other == dtype => common,
            Some(other) => other.promote(dtype),
        };
    }
    if let Some(common) = common {
        for value in inputs.iter_mut().skip(from) {
            *value = b.astype(*value, common)?;
        }
    }
    Ok(())
}
