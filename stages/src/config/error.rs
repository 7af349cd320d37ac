//! What can be wrong with a configuration.

use std::{io, path::PathBuf};

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be opened or read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is far larger than any configuration.
    #[error("read {}: it is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// Not JSON.
    #[error("read {file}: it is not JSON")]
    Json {
        /// The file's name.
        file: String,
        /// Where it stops being JSON.
        source: serde_json::Error,
    },
    /// A key that is needed is absent.
    #[error("find key {key} in the configuration")]
    Missing {
        /// Its path, such as `audio_config.hidden_size`.
        key: String,
    },
    /// A value of another JSON type.
    #[error("use {key}: it is {found}, not {expected}")]
    Type {
        /// Its path.
        key: String,
        /// The type it should have.
        expected: &'static str,
        /// The type it has.
        found: &'static str,
    },
    /// A number outside the range it may take.
    #[error("use {key}: {value} is not {allowed}")]
    Range {
        /// Its path.
        key: String,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// A value that is meaningful but not implemented.
    #[error("use {key}: {value} is not supported, only {supported}")]
    Unsupported {
        /// Its path.
        key: String,
        /// Its value.
        value: String,
        /// What is implemented.
        supported: String,
    },
    /// Two keys that contradict each other.
    #[error("use {first} {first_value}: {second} says {second_value}")]
    Conflict {
        /// One key's path.
        first: String,
        /// Its value.
        first_value: String,
        /// The other's path.
        second: String,
        /// Its value.
        second_value: String,
    },
    /// A batch the encoder does not take.
    #[error("encode {actual} {what}: there must be 1 to {most}")]
    Batch {
        /// What there is too little or too much of.
        what: &'static str,
        /// How many were given.
        actual: usize,
        /// The most there may be.
        most: usize,
    },
    /// A batch of more tokens than the text model has room for.
    #[error(
        "encode {frames} frames: they are {tokens} tokens, and audio_soft_tokens_per_image is {most}"
    )]
    Tokens {
        /// Frames of a clip.
        frames: usize,
        /// Tokens they become.
        tokens: usize,
        /// The most a clip may become.
        most: usize,
    },
}
