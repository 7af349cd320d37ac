//! What keeps a truth from being told.

use crate::Shape;

/// Why a truth cannot be computed. Completes "failed to …".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TruthError {
    /// An input or weight was not given.
    #[error("compute the truth: {0} is not given")]
    Missing(String),
    /// A given value is not what the graph says.
    #[error("compute the truth: a value was given as {given}, the graph says {declared}")]
    Given {
        /// Its dtype and shape.
        given: String,
        /// Those of the graph.
        declared: String,
    },
    /// An index of `GatherAxis` lies outside.
    #[error("compute the truth: index {index} is outside axis {axis} of {shape}")]
    Index {
        /// The index.
        index: f64,
        /// The axis.
        axis: usize,
        /// Of this tensor.
        shape: Shape,
    },
    /// The graph's nodes do not stand in evaluation order.
    #[error("compute the truth: a value is read before it is computed")]
    Order,
}
