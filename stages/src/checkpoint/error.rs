//! What can be wrong with a checkpoint.

use std::{io, path::PathBuf};

use super::HeaderError;
use crate::{DType, Shape, TensorError, config::ConfigError};

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Its configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A folder without weights.
    #[error("find model.safetensors or model.safetensors.index.json in {}", .0.display())]
    NoWeights(PathBuf),
    /// A file that cannot be opened or mapped.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that is not safetensors.
    #[error("read {}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: HeaderError,
    },
    /// A shard index that is not JSON of its form.
    #[error("read {}: it is no shard index", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// Where it is malformed.
        source: serde_json::Error,
    },
    /// A shard outside the checkpoint's folder.
    #[error("open shard {shard:?}: the path leaves the checkpoint's folder")]
    ShardPath {
        /// Its path as the index gives it.
        shard: String,
    },
    /// A shard that is not there.
    #[error("find shard {shard}, which holds {tensor}, in {}", dir.display())]
    MissingShard {
        /// Its name.
        shard: String,
        /// A tensor it should hold.
        tensor: String,
        /// The checkpoint's folder.
        dir: PathBuf,
    },
    /// A tensor that is not in the shard the index names.
    #[error("find {tensor} in shard {shard}, where the index puts it")]
    NotInShard {
        /// The tensor.
        tensor: String,
        /// The shard.
        shard: String,
    },
    /// One tensor under two names or in two shards.
    #[error("choose between two tensors named {0}, with and without `model.` or in two shards")]
    Duplicate(String),
    /// A tensor the configuration asks for.
    #[error("find tensor {name}{}", more(*.others, "missing"))]
    Missing {
        /// The tensor.
        name: String,
        /// How many more are missing.
        others: usize,
    },
    /// An audio tensor the configuration does not ask for.
    #[error("place tensor {name}, which the configuration does not ask for{}", more(*.others, "left over"))]
    Unexpected {
        /// The tensor.
        name: String,
        /// How many more there are.
        others: usize,
    },
    /// A tensor of another shape.
    #[error("use tensor {name}: its shape is {found}, expected {expected}")]
    Shape {
        /// The tensor.
        name: String,
        /// The shapes it may have.
        expected: String,
        /// The shape it has.
        found: Shape,
    },
    /// A tensor of another dtype.
    #[error("use tensor {name}: its dtype is {found}, expected {expected}")]
    DType {
        /// The tensor.
        name: String,
        /// The dtype it should have.
        expected: DType,
        /// The dtype it has, as the file names it.
        found: String,
    },
    /// Quantised rows that are not made of whole groups.
    #[error(
        "use the quantised modules of embed_audio: groups of {group_size} do not divide hidden_size {hidden}"
    )]
    Groups {
        /// Elements of a group.
        group_size: usize,
        /// Elements of a row.
        hidden: usize,
    },
    /// Bytes that do not make the tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A name that is no audio tensor's.
    #[error("find tensor {0} among the audio tensors")]
    Unknown(String),
}

fn more(others: usize, what: &str) -> String {
    match others {
        0 => String::new(),
        n => format!(" ({n} more {what})"),
    }
}
