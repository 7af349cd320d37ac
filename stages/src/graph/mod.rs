//! Level one: a model as a graph of the reference's own primitives.
//!
//! Nodes stand in evaluation order and each gives one value, so a [`ValueId`] names both. A value
//! carries shape, dtype and the memory order MLX would give it. Nothing here knows a backend, a
//! schedule or a rounding: those are level two's, and follow from one op, its operand types and
//! view orders alone.

mod build;
mod functions;
mod infer;
mod op;
mod quantized;
pub mod resize;
mod taps;
mod view;

pub use build::Builder;
pub use infer::{GraphError, MAX_ELEMENTS, infer};
pub use op::{BitwiseKind, Op, ReduceKind};
pub use quantized::Quantized;
pub use view::View;

use crate::{DType, Shape};

/// A node of a graph and the value it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

impl ValueId {
    /// Position in evaluation order.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a value before anything runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    /// Extents.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// The memory order MLX would give it.
    pub view: View,
}

/// One primitive applied to earlier values.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The primitive.
    pub op: Op,
    /// Its operands, earlier in the graph.
    pub inputs: Vec<ValueId>,
    /// What it gives.
    pub info: ValueInfo,
}

/// The name of a boundary, such as `sscp_conv_1.norm.mean`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct BoundaryId(String);

impl BoundaryId {
    /// A boundary's name.
    pub fn new(name: impl Into<String>) -> Self {
        BoundaryId(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for BoundaryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// A registered value of a model: the places where sides are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    /// Its name.
    pub id: BoundaryId,
    /// The stage it was registered in, such as `sscp_conv_1`.
    pub stage: String,
    /// The value.
    pub value: ValueId,
    /// One sentence.
    pub about: String,
}

/// A model on level one, with its boundaries in evaluation order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    boundaries: Vec<Boundary>,
}

impl Graph {
    /// All nodes in evaluation order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (ValueId, &Node)> {
        self.nodes
            .iter()
            .enumerate()
            .map(|(i, node)| (ValueId(i as u32), node))
    }

    /// The node that gives `value`.
    ///
    /// # Panics
    /// When `value` is of another, larger graph.
    pub fn node(&self, value: ValueId) -> &Node {
        &self.nodes[value.index()]
    }

    /// Shape, dtype and view of `value`.
    pub fn info(&self, value: ValueId) -> &ValueInfo {
        &self.node(value).info
    }

    /// The registered boundaries in evaluation order.
    pub fn boundaries(&self) -> &[Boundary] {
        &self.boundaries
    }

    /// The boundary of that name.
    pub fn boundary(&self, id: &BoundaryId) -> Option<&Boundary> {
        self.boundaries.iter().find(|b| b.id == *id)
    }

    /// The nearest registered boundaries that `boundary` is computed from, in evaluation order:
    /// where the backward slice from it stops. Derived, never listed by hand.
    pub fn parents(&self, boundary: &Boundary) -> Vec<&Boundary> {
        let registered: std::collections::HashMap<ValueId, &Boundary> =
            self.boundaries.iter().map(|b| (b.value, b)).collect();
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = self.node(boundary.value).inputs.clone();
        let mut parents = Vec::new();
        while let Some(value) = stack.pop() {
            if std::mem::replace(&mut seen[value.index()], true) {
                continue;
            }
            match registered.get(&value) {
                Some(parent) => parents.push(*parent),
                None => stack.extend(&self.node(value).inputs),
            }
        }
        parents.sort_by_key(|b| b.value);
        parents
    }
}
