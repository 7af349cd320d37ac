//! Keeps results on disk under a digest of everything they depend on.
//!
//! An entry is its content followed by a digest of its key and content, so the content begins at
//! the start of the file, where a mapping is aligned to a page. Entries are written beside their
//! place and renamed into it; one that is torn or was tampered with fails its digest and counts as
//! absent.

use crate::ffi::MappedFile;
use sha2::{Digest, Sha256};
use std::{
    fmt, fs,
    io::{self, Write},
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

const TRAILER: usize = 32;

/// Why the cache cannot be used; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// None of the variables that name a folder is set.
    #[error("find a cache folder: set QUALIFY_CACHE, XDG_CACHE_HOME or HOME")]
    NoFolder,
    /// The folder or a file in it cannot be written.
    #[error("write to the cache at {}", .path.display())]
    Unwritable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An entry is there and cannot be read.
    #[error("read the cache entry {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What an entry depends on, as one digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

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

/// The content of an entry, mapped from its file; cheap to clone.
#[derive(Clone)]
pub struct Entry(Arc<MappedFile>);

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

/// Shared by those who write an entry; exclusive for whoever wants that nobody does.
static WRITING: RwLock<()> = RwLock::new(());

/// While it lives, this process has no half-written entry in any store and begins none.
#[derive(Debug)]
#[must_use]
pub struct Hold(#[expect(dead_code, reason = "held, not read")] RwLockWriteGuard<'static, ()>);

fn writing() -> RwLockReadGuard<'static, ()> {
    WRITING.read().unwrap_or_else(PoisonError::into_inner)
}

/// A folder of entries; any number of processes may share one.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store in `root`, which is created if need be. Fails if it cannot be written.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, CacheError> {
        let root = root.into();
        let unwritable = |source| CacheError::Unwritable {
            path: root.clone(),
            source,
        };
        fs::create_dir_all(&root).map_err(unwritable)?;
        // Found out now, not after minutes of work whose result is to be kept.
        tempfile::tempfile_in(&root).map_err(unwritable)?;
        Ok(Self { root })
    }

    /// The store in `$QUALIFY_CACHE`, else `$XDG_CACHE_HOME/qualify`, else `~/.cache/qualify`.
    pub fn open_default() -> Result<Self, CacheError> {
        Self::open(default_root(|name| std::env::var_os(name)).ok_or(CacheError::NoFolder)?)
    }

    /// Waits until no entry is being written, and lets none begin: for ending the process at any
    /// time without leaving a temporary file.
    pub fn hold() -> Hold {
        Hold(WRITING.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of an entry.
    fn path(&self, kind: &str, key: &Key) -> PathBuf {
        let name = key.to_string();
        self.root.join(kind).join(&name[..2]).join(&name[2..])
    }

    /// The entry of that kind under `key`, or nothing if there is none or it fails its digest.
    pub fn get(&self, kind: &str, key: &Key) -> Result<Option<Entry>, CacheError> {
        let path = self.path(kind, key);
        let file = match MappedFile::open(&path) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            Err(source) => return Err(CacheError::Unreadable { path, source }),
        };
        let sound = file
            .bytes()
            .split_last_chunk::<TRAILER>()
            .is_some_and(|(content, trailer)| digest(kind, key, content) == *trailer);
        if !sound {
            tracing::warn!(path = %path.display(), "cache entry is damaged and will be rebuilt");
            return Ok(None);
        }
        Ok(Some(Entry(Arc::new(file))))
    }

    /// Stores `content` under `key`, in place of any entry there.
    pub fn put(&self, kind: &str, key: &Key, content: &[u8]) -> Result<(), CacheError> {
        let path = self.path(kind, key);
        let folder = path.parent().unwrap_or(&self.root);
        let write = || {
            let _writing = writing();
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(content)?;
            file.write_all(&digest(kind, key, content))?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|source| CacheError::Unwritable {
            path: path.clone(),
            source,
        })
    }
}

/// Covers the key too, so that an entry moved to another name is not taken for that one.
fn digest(kind: &str, key: &Key, content: &[u8]) -> [u8; TRAILER] {
    let mut hasher = Sha256::new();
    hasher.update((kind.len() as u64).to_le_bytes());
    hasher.update(kind);
    hasher.update(key.0);
    hasher.update(content);
    hasher.finalize().into()
}

fn default_root(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let folder = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    folder("QUALIFY_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|root| root.join("qualify")))
        .or_else(|| folder("HOME").map(|root| root.join(".cache/qualify")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("a/b")).unwrap();
        (folder, store)
    }

    fn key(text: &str) -> Key {
        KeyHasher::new().part("text", text.as_bytes()).finish()
    }

    #[test]
    fn what_was_put_is_got() {
        let (_folder, store) = store();
        assert!(store.get("module", &key("x")).unwrap().is_none());
        for content in [&b""[..], b"content"] {
            store.put("module", &key("x"), content).unwrap();
            assert_eq!(&*store.get("module", &key("x")).unwrap().unwrap(), content);
        }
        assert!(store.get("capture", &key("x")).unwrap().is_none());
    }

    #[test]
    fn nothing_is_written_while_the_stores_are_held() {
        let (folder, store) = store();
        let hold = Store::hold();
        std::thread::scope(|scope| {
            let put = scope.spawn(|| store.put("module", &key("x"), b"content"));
            std::thread::sleep(std::time::Duration::from_millis(50));
            let root = folder.path().join("a/b");
            assert_eq!(fs::read_dir(root).unwrap().count(), 0);
            drop(hold);
            put.join().unwrap().unwrap();
        });
        assert!(store.get("module", &key("x")).unwrap().is_some());
    }

    #[test]
    fn an_entry_outlives_its_replacement() {
        let (_folder, store) = store();
        store.put("module", &key("x"), b"old").unwrap();
        let old = store.get("module", &key("x")).unwrap().unwrap();
        store.put("module", &key("x"), b"new").unwrap();
        assert_eq!(&*old, b"old");
    }

    #[test]
    fn torn_tampered_and_moved_entries_count_as_absent() {
        let (_folder, store) = store();
        store.put("module", &key("x"), b"content").unwrap();
        let path = store.path("module", &key("x"));
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[3] ^= 1;
        for bad in [
            &flipped[..],
            &whole[..whole.len() - 1],
            &whole[1..],
            &whole[..8],
            b"",
        ] {
            fs::write(&path, bad).unwrap();
            assert!(store.get("module", &key("x")).unwrap().is_none());
        }
        store.put("module", &key("y"), b"other").unwrap();
        fs::rename(store.path("module", &key("y")), &path).unwrap();
        assert!(store.get("module", &key("x")).unwrap().is_none());
        store.put("module", &key("x"), b"again").unwrap();
        assert_eq!(&*store.get("module", &key("x")).unwrap().unwrap(), b"again");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(
            Store::open(file.join("x")),
            Err(CacheError::Unwritable { .. })
        ));
    }

    #[test]
    fn the_default_folder_follows_the_environment() {
        let root = |set: &[(&str, &str)]| {
            let set = set.to_vec();
            default_root(move |name| {
                set.iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| value.into())
            })
        };
        let all = [
            ("QUALIFY_CACHE", "/c"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(root(&all), Some("/c".into()));
        assert_eq!(root(&all[1..]), Some("/x/qualify".into()));
        assert_eq!(root(&all[2..]), Some("/h/.cache/qualify".into()));
        assert_eq!(root(&[("HOME", "")]), None);
    }
}
