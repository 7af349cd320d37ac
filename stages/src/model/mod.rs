//! The models: each written once, as a graph of MLX primitives.
//!
//! A model asks the configuration for extents and the profile for dtypes. It names no backend, no
//! schedule and no rounding.

pub mod gemma3n_audio;

use crate::{config::ConfigError, graph::GraphError};

/// Why a model cannot be stated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A batch the model does not take.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A primitive that does not fit its operands: a mistake in the model's definition.
    #[error(transparent)]
    Graph(#[from] GraphError),
}
