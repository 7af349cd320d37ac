//! The audio tensors of a checkpoint, canonically named and ordered.
//!
//! Canonical names have no prefix `model.`; canonical convolution weights have MLX's axis order
//! ([`expected_tensors`]). Both name forms and both orders are read, from one
//! `model.safetensors` or from the shards of a `model.safetensors.index.json`. Files are mapped,
//! not read: opening a checkpoint of 10 GB takes milliseconds.
//!
//! Below `audio_tower.` and `embed_audio.` a tensor that is missing, left over, of another shape
//! or of another dtype is an error that names it. Everything else in the files is ignored.
//!
//! Where the configuration says how, the modules of `embed_audio` whose scales are in the files
//! are quantised ([`QuantizedModules`]); everything else is BF16.

mod error;
mod expected;
mod files;
pub mod header;
mod layout;
mod non_finite;

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
};

use memmap2::{Mmap, UncheckedAdvice};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

pub use error::CheckpointError;
pub use expected::{
    ExpectedTensor, Layout, QuantizedModules, expected_tensors, expected_tensors_with,
};
pub use header::HeaderError;
pub use non_finite::NonFinite;

use crate::{
    Tensor,
    audio::PaddingSide,
    config::{AudioConfig, Quantization, hex, padding_side},
    tensor::SharedBytes,
};
use layout::{Found, Origin, stored_as};

/// The name without the prefix `model.`.
fn canonical(name: &str) -> &str {
    name.strip_prefix("model.").unwrap_or(name)
}

fn is_audio(canonical: &str) -> bool {
    canonical.starts_with("audio_tower.") || canonical.starts_with("embed_audio.")
}

#[derive(Debug)]
struct Stored {
    tensor: Tensor,
    /// Where it lies in a mapped file.
    mapped: Option<(Arc<Mmap>, Range<usize>)>,
    sha256: OnceLock<[u8; 32]>,
}

impl Stored {
    fn sha256(&self) -> &[u8; 32] {
        self.sha256
            .get_or_init(|| Sha256::digest(self.tensor.bytes()).into())
    }
}

/// The audio tensors of a checkpoint and what goes with them. Cloning shares everything.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    config: AudioConfig,
    padding_side: PaddingSide,
    tensors: Arc<BTreeMap<String, Stored>>,
}

impl Checkpoint {
    /// Opens the checkpoint in `dir`: `config.json`, `preprocessor_config.json` if there is one,
    /// and the weights.
    ///
    /// # Errors
    /// When a file is missing or malformed, or the audio tensors are not what the configuration
    /// asks for.
    pub fn open(dir: &Path) -> Result<Checkpoint, CheckpointError> {
        let mut config = AudioConfig::read(dir)?;
        let padding_side = padding_side(dir, &config)?;
        let Collected { quantized, tensors } = collect(&config, files::audio_tensors(dir)?)?;
        config.quantized = quantized;
        Ok(Checkpoint {
            config,
            padding_side,
            tensors: Arc::new(tensors),
        })
    }

    /// A checkpoint of tensors in memory, named and ordered as a file may. Clips are padded on
    /// the right.
    ///
    /// # Errors
    /// When the audio tensors are not what the configuration asks for.
    pub fn from_tensors(
        mut config: AudioConfig,
        tensors: HashMap<String, Tensor>,
    ) -> Result<Checkpoint, CheckpointError> {
        let found = tensors
            .into_iter()
            .filter(|(name, _)| is_audio(canonical(name)))
            .map(|(name, tensor)| in_memory(&name, tensor))
            .collect();
        let Collected { quantized, tensors } = collect(&config, found)?;
        config.quantized = quantized;
        Ok(Checkpoint {
            config,
            padding_side: PaddingSide::Right,
            tensors: Arc::new(tensors),
        })
    }

    /// The configuration, with [`AudioConfig::quantized`] as the tensors show it.
    pub fn config(&self) -> &AudioConfig {
        &self.config
    }

    /// On which side the checkpoint's preprocessor pads clips.
    pub fn padding_side(&self) -> PaddingSide {
        self.padding_side
    }

    /// The audio tensor of that canonical name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name).map(|stored| &stored.tensor)
    }

    /// Gives back the memory into which a tensor was read from its file, for who has prepared it
    /// and will not read it again soon. Its values stay: reading them reads the file again. Nothing
    /// happens to tensors that are not in a file.
    pub fn release(&self, name: &str) {
        let Some((map, range)) = self.tensors.get(name).and_then(|s| s.mapped.as_ref()) else {
            return;
        };
        // SAFETY: the mapping is of a file and read-only, so what is dropped is read again from
        // the file, with the same values, whenever anyone looks at it.
        // Only advice: where the system refuses, the memory stays.
        let _ = unsafe {
            map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len())
        };
    }

    /// All audio tensors with their canonical names, in order of the names.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .map(|(name, stored)| (name.as_str(), &stored.tensor))
    }

    /// SHA-256, in hexadecimal digits, over names, dtypes, canonical shapes and bytes of the
    /// named tensors. The order of the names and repetitions do not count. Each tensor is hashed
    /// once, when first asked for.
    ///
    /// # Errors
    /// When a name is no audio tensor's.
    pub fn digest<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, CheckpointError> {
        let mut chosen = BTreeMap::new();
        for name in names {
            let stored = self
                .tensors
                .get(name)
                .ok_or_else(|| CheckpointError::Unknown(name.to_owned()))?;
            chosen.insert(name, stored);
        }
        Ok(digest(&chosen))
    }

    /// [`Checkpoint::digest`] of all audio tensors. Not the hash of a file: the other tensors of
    /// a checkpoint are never read, and both axis orders give the same digest.
    pub fn audio_tensors_sha256(&self) -> String {
        let all = self.tensors.iter().map(|(name, s)| (name.as_str(), s));
        digest(&all.collect())
    }
}

fn digest(chosen: &BTreeMap<&str, &Stored>) -> String {
    let all: Vec<&Stored> = chosen.values().copied().collect();
    all.par_iter().for_each(|stored| {
        stored.sha256();
    });
    let mut sum = Sha256::new();
    for (name, stored) in chosen {
        let tensor = &stored.tensor;
        sum.update(format!("{name} {} {} ", tensor.dtype(), tensor.shape()));
        sum.update(stored.sha256());
    }
    hex(&sum.finalize())
}

fn in_memory(name: &str, tensor: Tensor) -> Found {
    let dtype = stored_as(tensor.dtype());
    let (shape, range) = (tensor.shape().clone(), 0..tensor.bytes().len());
    let owner: SharedBytes = Arc::new(tensor);
    Found {
        origin: Origin::guess(None, name),
        name: canonical(name).to_owned(),
        dtype,
        shape,
        owner,
        range,
        map: None,
    }
}

/// What a configuration asks for out of what was found.
struct Collected {
    quantized: QuantizedModules,
    tensors: BTreeMap<String, Stored>,
}

/// The expected tensors out of those found, and nothing else.
fn collect(config: &AudioConfig, found: Vec<Found>) -> Result<Collected, CheckpointError> {
    let mut by_name = BTreeMap::new();
    for tensor in found {
        if let Some(twice) = by_name.insert(tensor.name.clone(), tensor) {
            return Err(CheckpointError::Duplicate(twice.name));
        }
    }
    let quantized = match config.quantization {
        None => QuantizedModules::default(),
        Some(Quantization { group_size, .. }) => {
            let seen = QuantizedModules::seen(|name| by_name.contains_key(name));
            let hidden = config.hidden;
            if seen != QuantizedModules::default() && !hidden.is_multiple_of(group_size) {
                return Err(CheckpointError::Groups { group_size, hidden });
            }
            seen
        }
    };
    let expected = expected_tensors_with(config, quantized);
    let mut missing = expected
        .iter()
        .filter(|tensor| !by_name.contains_key(&tensor.name));
    if let Some(first) = missing.next() {
        return Err(CheckpointError::Missing {
            name: first.name.clone(),
            others: missing.count(),
        });
    }
    let mut tensors = BTreeMap::new();
    for tensor in &expected {
        if let Some(found) = by_name.remove(&tensor.name) {
            let range = found.range.clone();
            let mapped = found.map.clone().map(|map| (map, range));
            let stored = Stored {
                mapped,
                tensor: found.into_canonical(tensor)?,
                sha256: OnceLock::new(),
            };
            tensors.insert(tensor.name.clone(), stored);
        }
    }
    match by_name.pop_first() {
        Some((name, _)) => Err(CheckpointError::Unexpected {
            name,
            others: by_name.len(),
        }),
        None => Ok(Collected { quantized, tensors }),
    }
}

#[cfg(test)]
mod tests;
