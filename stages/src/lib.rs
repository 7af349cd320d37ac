//! Models as the reference computes them: level one, and everything on the host around it.
//!
//! A model is a [`graph::Graph`] of MLX's own primitives, written once and stated without any
//! backend. The reference walks it op by op; the emitter lowers it; both read the same
//! checkpoint tensors and the same audio features from here.

pub mod dtype;
pub mod graph;
pub mod shape;
pub mod tensor;

pub use dtype::DType;
pub use graph::{Boundary, BoundaryId, Graph};
pub use shape::Shape;
pub use tensor::{Tensor, TensorError};
