//! Models as the reference computes them: level one, and everything on the host around it.
//!
//! A model is a [`graph::Graph`] of MLX's own primitives, written once and stated without any
//! backend. The reference walks it op by op; the emitter lowers it; both read the same
//! checkpoint tensors and the same audio features from here.

pub mod audio;
pub mod checkpoint;
pub mod config;
pub mod dtype;
pub mod graph;
pub mod model;
pub mod profile;
pub mod registry;
pub mod shape;
pub mod tensor;
pub mod truth;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use config::{AudioConfig, ConfigError};
pub use dtype::DType;
pub use graph::{Boundary, BoundaryId, Graph};
pub use profile::Profile;
pub use shape::Shape;
pub use tensor::{Tensor, TensorError};
