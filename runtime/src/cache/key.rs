//! What an entry is kept under.

use std::fmt;

use sha2::{Digest, Sha256};

/// What an entry depends on, as one digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Collects the named parts of a [`Key`]; parts cannot run into one another.
///
/// ```
/// use runtime::KeyHasher;
///
/// let key = KeyHasher::new().part("text", b"ab").part("flags", b"c").finish();
/// assert_ne!(key, KeyHasher::new().part("text", b"a").part("flags", b"bc").finish());
/// ```
#[derive(Clone, Default)]
pub struct KeyHasher(Sha256);

impl KeyHasher {
    /// A key without parts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part under a name; the order of parts matters.
    #[must_use]
    pub fn part(mut self, name: &str, content: &[u8]) -> Self {
        for bytes in [name.as_bytes(), content] {
            self.0.update((bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
        self
    }

    /// The key of the parts so far.
    #[must_use]
    pub fn finish(self) -> Key {
        Key(self.0.finalize().into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
