//! Files of tensors: reading what the command wrote, and making what it is to read.

use std::{collections::BTreeMap, fs, path::Path};

use safetensors::{Dtype, SafeTensors};

/// Dtype, shape and bytes of a tensor.
pub type Stored = (Dtype, Vec<usize>, Vec<u8>);

/// A file's tensors by name, and its metadata.
pub fn read(path: &Path) -> (BTreeMap<String, Stored>, BTreeMap<String, String>) {
    let bytes = fs::read(path).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.iter().map(|(name, view)| {
        let stored = (view.dtype(), view.shape().to_vec(), view.data().to_vec());
        (name.to_owned(), stored)
    });
    let notes = metadata.metadata().clone().unwrap_or_default();
    (tensors.collect(), notes.into_iter().collect())
}

/// A safetensors file of these tensors; what it says is not checked.
pub fn file(tensors: &[(&str, &str, &[usize], &[u8])]) -> Vec<u8> {
    let mut start = 0;
    let entries = tensors.iter().map(|(name, dtype, shape, bytes)| {
        let end = start + bytes.len();
        let text = format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
        );
        start = end;
        text
    });
    let entries: Vec<String> = entries.collect();
    let data: Vec<u8> = tensors.iter().flat_map(|t| t.3.iter().copied()).collect();
    raw(&format!("{{{}}}", entries.join(",")), &data)
}

/// A file with this header and data.
pub fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// Eight tensors whose sizes add up to all of memory.
pub fn beyond_memory() -> Vec<u8> {
    let size = (1_u64 << 61) - 1;
    let entry = |i: u64| {
        let (start, end) = (i * size, (i + 1) * size);
        format!(r#""t{i}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{start},{end}]}}"#)
    };
    let entries: Vec<String> = (0..8).map(entry).collect();
    raw(&format!("{{{}}}", entries.join(",")), &[0; 64])
}

/// Where the values of a tensor begin in a file.
pub fn position(file: &[u8], name: &str) -> usize {
    let header = stages::checkpoint::header::read(file).unwrap();
    let entry = header.entries.iter().find(|entry| entry.name == name);
    entry.unwrap().bytes.start
}

/// Bytes of F32 values.
pub fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}
