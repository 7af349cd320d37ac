//! The safetensors files of a checkpoint, mapped into memory.

use std::{
    collections::BTreeMap,
    fs::File,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use memmap2::Mmap;
use serde::Deserialize;

use super::{
    CheckpointError, canonical, header, is_audio,
    layout::{Found, Origin},
};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Every audio tensor in the files of `dir`, canonically named, in no particular order.
pub(super) fn audio_tensors(dir: &Path) -> Result<Vec<Found>, CheckpointError> {
    // transformers' order: the single file wins over an index.
    let single = dir.join(SINGLE);
    if single.exists() {
        return read_file(&single);
    }
    let path = dir.join(INDEX);
    match std::fs::read(&path) {
        Ok(text) => shards(dir, &path, &text),
        Err(source) if source.kind() == ErrorKind::NotFound => {
            Err(CheckpointError::NoWeights(dir.to_owned()))
        }
        Err(source) => Err(CheckpointError::Read { path, source }),
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// Opens the shards that hold audio tensors, and only those.
fn shards(dir: &Path, path: &Path, text: &[u8]) -> Result<Vec<Found>, CheckpointError> {
    let index: Index = serde_json::from_slice(text).map_err(|source| CheckpointError::Index {
        path: path.to_owned(),
        source,
    })?;
    let mut by_shard: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, shard) in &index.weight_map {
        if is_audio(canonical(name)) {
            by_shard.entry(shard).or_default().push(canonical(name));
        }
    }
    let mut found = Vec::new();
    for (shard, names) in by_shard {
        let file = shard_path(dir, shard)?;
        let tensors = match read_file(&file) {
            Err(CheckpointError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Err(CheckpointError::MissingShard {
                    shard: shard.to_owned(),
                    tensor: names[0].to_owned(),
                    dir: dir.to_owned(),
                });
            }
            other => other?,
        };
        if let Some(lost) = names
            .iter()
            .find(|&&name| tensors.iter().all(|tensor| tensor.name != name))
        {
            return Err(CheckpointError::NotInShard {
                tensor: (*lost).to_owned(),
                shard: shard.to_owned(),
            });
        }
        found.extend(tensors);
    }
    Ok(found)
}

fn shard_path(dir: &Path, shard: &str) -> Result<PathBuf, CheckpointError> {
    let inside = !shard.is_empty()
        && Path::new(shard)
            .components()
            .all(|component| matches!(component, Component::Normal(_)));
    if inside {
        Ok(dir.join(shard))
    } else {
        Err(CheckpointError::ShardPath {
            shard: shard.to_owned(),
        })
    }
}

fn read_file(path: &Path) -> Result<Vec<Found>, CheckpointError> {
    let bytes = map(path).map_err(|source| CheckpointError::Read {
        path: path.to_owned(),
        source,
    })?;
    let header = header::read((*bytes).as_ref()).map_err(|source| CheckpointError::Header {
        path: path.to_owned(),
        source,
    })?;
    let format = header.metadata.get("format").map(String::as_str);
    Ok(header
        .entries
        .into_iter()
        .filter(|entry| is_audio(canonical(&entry.name)))
        .map(|entry| Found {
            origin: Origin::guess(format, &entry.name),
            name: canonical(&entry.name).to_owned(),
            dtype: entry.dtype,
            shape: entry.shape,
            owner: bytes.clone(),
            range: entry.bytes,
            map: Some(bytes.clone()),
        })
        .collect())
}

fn map(path: &Path) -> std::io::Result<Arc<Mmap>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::new(
            ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    // SAFETY: the mapping is read-only and private to this process. As with every mapped
    // checkpoint, nobody may truncate or rewrite the file in place while it is in use; files are
    // replaced by renaming, which leaves the mapped one whole.
    let map = unsafe { Mmap::map(&file)? };
    Ok(Arc::new(map))
}
