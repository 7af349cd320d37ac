//! A step as a graph of its own, and the same step on a part of its axes.
//!
//! Extents that must stay equal form a class: the rows of an operand and of its result, the K of
//! both operands of a product. A class can be cut to a window if every primitive still means the
//! same on less of it; axes that a window reaches across (the places of a convolution, a padded or
//! concatenated axis, a reshape that mixes several) are fixed. Constants stay as they are stated,
//! so the 1/n of a mean keeps its n: what is left is the same arithmetic on fewer elements.

mod classes;
mod rebuild;

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::{Boundary, Graph, GraphError, Op, ValueId, ValueInfo, View};
use crate::{Tensor, TensorError};

use classes::Classes;

/// An axis of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Axis {
    /// The value.
    pub value: ValueId,
    /// Which of its axes.
    pub axis: usize,
}

/// Axes whose extents are one and the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The extent, 2 or more.
    pub extent: usize,
    /// The axes, in evaluation order.
    pub axes: Vec<Axis>,
}

/// Why a step cannot be cut down. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ResizeError {
    /// A primitive does not take the smaller operands.
    #[error("cut the step down: {0}")]
    Graph(#[from] GraphError),
    /// A tensor does not have the extents of its value.
    #[error("cut a tensor down: {0}")]
    Tensor(#[from] TensorError),
    /// A window does not lie in its class.
    #[error("cut the step down: {0:?} is no part of an axis of {1}")]
    Window(Range<usize>, usize),
}

/// A step that stands alone: one boundary, and inputs in place of the boundaries it starts from.
#[derive(Clone, Debug)]
pub struct Alone {
    /// The graph; its only boundary is the step's result.
    pub graph: Graph,
    classes: Vec<Class>,
}

/// A step cut down, with what must be cut from its inputs and weights.
#[derive(Clone, Debug)]
pub struct Resized {
    /// The smaller step.
    pub step: Alone,
    windows: Vec<(String, Vec<Range<usize>>)>,
}

impl Alone {
    /// The step of a boundary. Boundaries it starts from become inputs of their names, row-major.
    ///
    /// # Errors
    /// When the graph's own primitives do not fit together, which its builder rules out.
    pub fn step(graph: &Graph, boundary: &Boundary) -> Result<Alone, ResizeError> {
        let graph = rebuild::alone(graph, boundary)?;
        let classes = Classes::of(&graph).free(&graph);
        Ok(Alone { graph, classes })
    }

    /// The classes that can be cut, the longest first.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The step's result.
    pub fn result(&self) -> &ValueInfo {
        // `rebuild` registers exactly one.
        let value = self.graph.boundaries().first().map(|b| b.value);
        self.graph.info(value.unwrap_or(ValueId(0)))
    }

    /// The step on a window of one class.
    ///
    /// # Errors
    /// When the window is empty or leaves the class.
    pub fn cut(&self, class: usize, window: Range<usize>) -> Result<Resized, ResizeError> {
        let extent = self.classes.get(class).map_or(0, |class| class.extent);
        if window.is_empty() || window.end > extent {
            return Err(ResizeError::Window(window, extent));
        }
        let (graph, windows) = rebuild::cut(&self.graph, &self.classes[class], &window)?;
        let classes = Classes::of(&graph).free(&graph);
        Ok(Resized {
            step: Alone { graph, classes },
            windows,
        })
    }
}

impl Resized {
    /// What is left of the input or weight of that name.
    ///
    /// # Errors
    /// When the tensor does not have the extents of the value before the cut.
    pub fn part(&self, name: &str, tensor: &Tensor) -> Result<Tensor, ResizeError> {
        match self.windows.iter().find(|(own, _)| own == name) {
            Some((_, windows)) => Ok(rebuild::part(tensor, windows)?),
            None => Ok(tensor.clone()),
        }
    }
}
