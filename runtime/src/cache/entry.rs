//! The form of an entry: its content, then a digest of what it is kept under and of its content.
//!
//! So the content begins at the start of the file, where a mapping is aligned to a page.

use std::{fmt, ops::Deref, sync::Arc};

use sha2::{Digest, Sha256};

use super::key::Key;
use crate::ffi::MappedFile;

const TRAILER: usize = 32;

/// The content of an entry, mapped from its file; cheap to clone.
#[derive(Clone)]
pub struct Entry(Arc<MappedFile>);

impl Entry {
    /// The entry in a file, unless its digest is not that of this kind, this key and its content.
    pub(super) fn sound(kind: &str, key: &Key, file: MappedFile) -> Option<Entry> {
        let (content, trailer) = file.bytes().split_last_chunk::<TRAILER>()?;
        let sound = digest(kind, key, content) == *trailer;
        sound.then(|| Entry(Arc::new(file)))
    }

    /// Content and digest, as they are in a file.
    pub(super) fn whole(&self) -> &[u8] {
        self.0.bytes()
    }

    /// The same bytes, to be handed on whole.
    pub(super) fn object(&self) -> Object {
        Object(Arc::clone(&self.0))
    }
}

impl Deref for Entry {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let file = self.0.bytes();
        &file[..file.len() - TRAILER]
    }
}

impl AsRef<[u8]> for Entry {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({} bytes)", self.len())
    }
}

/// An entry as it is in its file, content and digest: what a shared store keeps.
#[derive(Clone)]
pub struct Object(Arc<MappedFile>);

impl AsRef<[u8]> for Object {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} bytes)", self.as_ref().len())
    }
}

/// Covers the key too, so that an entry moved to another name is not taken for that one.
pub(super) fn digest(kind: &str, key: &Key, content: &[u8]) -> [u8; TRAILER] {
    let mut hasher = Sha256::new();
    hasher.update((kind.len() as u64).to_le_bytes());
    hasher.update(kind);
    hasher.update(key.bytes());
    hasher.update(content);
    hasher.finalize().into()
}
