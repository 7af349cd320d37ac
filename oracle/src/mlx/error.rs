//! Why MLX gives no values.

use stages::{
    DType, Shape,
    graph::{BoundaryId, GraphError},
};

/// Why the reference gives no values. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum MlxError {
    /// MLX has no CPU stream for this thread.
    #[error("start MLX: {0}")]
    Start(String),
    /// Another MLX than the one whose arithmetic the contract states.
    #[error("use MLX {found}: this build is for MLX {pinned}")]
    Version {
        /// The library's version.
        found: String,
        /// The version that `scripts/setup` installs.
        pinned: &'static str,
    },
    /// A tensor that the graph reads was not given.
    #[error("find {kind} {name}")]
    Missing {
        /// `input`, `weight` or `operand`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A given tensor is not what the graph declares.
    #[error("use {kind} {name}: it is {dtype} {shape}, the graph declares {declared}")]
    Given {
        /// `input`, `weight` or `operand`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The tensor's dtype.
        dtype: DType,
        /// The tensor's shape.
        shape: Shape,
        /// Dtype and shape in the graph.
        declared: String,
    },
    /// MLX refuses a given tensor.
    #[error("hand {kind} {name} to MLX: {reason}")]
    Import {
        /// `input`, `weight` or `operand`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// MLX refuses a primitive.
    #[error("run {op} for {boundary}: {message}")]
    Op {
        /// The primitive.
        op: &'static str,
        /// The next wanted boundary in evaluation order.
        boundary: BoundaryId,
        /// What MLX says.
        message: String,
    },
    /// MLX gives another shape or dtype than level one infers.
    #[error("run {op} for {boundary}: MLX gives {found}, level one says {inferred}")]
    Inference {
        /// The primitive.
        op: &'static str,
        /// The next wanted boundary in evaluation order.
        boundary: BoundaryId,
        /// MLX's dtype and shape.
        found: String,
        /// Level one's.
        inferred: String,
    },
    /// MLX fails while computing.
    #[error("evaluate {boundary}: {message}")]
    Evaluate {
        /// The boundary.
        boundary: BoundaryId,
        /// What MLX says.
        message: String,
    },
    /// A boundary of another graph.
    #[error("capture {0}: its value is not in the graph")]
    UnknownBoundary(BoundaryId),
    /// A primitive that does not fit its operands.
    #[error(transparent)]
    Graph(#[from] GraphError),
}
