//! Keeps results on disk under a digest of everything they depend on.
//!
//! Entries are written beside their place and renamed into it; one that is torn, was tampered with
//! or is no file at all fails its digest and counts as absent. So any number of processes may share
//! a folder, and may be killed at any time.
//!
//! Behind the folder there may be a store that several machines share ([`Shared`]). An entry that
//! the folder lacks is fetched from there and kept in the folder; one that is put goes to both.

mod entry;
mod key;
mod partial;
mod shared;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use entry::{Entry, Object};
pub(crate) use key::hex;
pub use key::{Key, KeyHasher};
pub use partial::Hold;
use shared::Tier;
pub use shared::{Shared, SharedError};

use crate::ffi::MappedFile;

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
    /// The folder can only be read, and what is needed is not in it.
    #[error("write to the cache at {}, which lacks a result of this run", .path.display())]
    ReadOnly {
        /// The folder.
        path: PathBuf,
        /// Why it cannot be written.
        source: Arc<io::Error>,
    },
}

/// A folder of entries; any number of processes may share one.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// Why the folder cannot be written, if so.
    read_only: Option<Arc<io::Error>>,
    shared: Option<Tier>,
}

impl Store {
    /// The store in `root`, which is created if need be.
    ///
    /// Of a folder that is there and can only be read, entries are got, and nothing is put.
    ///
    /// # Errors
    /// When there is no such folder and none can be made, or nothing in it can be read.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, CacheError> {
        let root = root.into();
        let unwritable = |source| CacheError::Unwritable {
            path: root.clone(),
            source,
        };
        fs::create_dir_all(&root).map_err(unwritable)?;
        // Found out now, not after minutes of work whose result is to be kept.
        let read_only = match tempfile::tempfile_in(&root) {
            Ok(_) => None,
            Err(why) if fs::read_dir(&root).is_ok_and(|mut any| any.next().is_some()) => {
                Some(Arc::new(why))
            }
            Err(why) => return Err(unwritable(why)),
        };
        if read_only.is_none() {
            partial::sweep(&root);
        }
        Ok(Self {
            root,
            read_only,
            shared: None,
        })
    }

    /// The store in `$QUALIFY_CACHE`, else `$XDG_CACHE_HOME/qualify`, else `~/.cache/qualify`.
    ///
    /// # Errors
    /// As [`Store::open`], and when none of the variables is set.
    pub fn open_default() -> Result<Self, CacheError> {
        Self::open(default_root(|name| std::env::var_os(name)).ok_or(CacheError::NoFolder)?)
    }

    /// The same, with entries of these kinds in a shared store too. That one is no condition: the
    /// first time it fails is a warning, and from then on it is left alone.
    #[must_use]
    pub fn sharing(self, kinds: &'static [&'static str], store: Arc<dyn Shared>) -> Self {
        Self {
            shared: Some(Tier::new(store, kinds)),
            ..self
        }
    }

    /// Waits until no entry is being written, and lets none begin: for ending the process at any
    /// time without leaving a temporary file.
    pub fn hold() -> Hold {
        Hold::wait()
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Why the folder can only be read, if so.
    #[must_use]
    pub fn read_only(&self) -> Option<&io::Error> {
        self.read_only.as_deref()
    }

    /// The name of an entry: its path below the folder, and in a shared store.
    fn name(kind: &str, key: &Key) -> String {
        let digits = key.to_string();
        let (first, rest) = digits.split_at(2);
        format!("{kind}/{first}/{rest}")
    }

    /// The entry of that kind under `key`, or nothing if there is none or it fails its digest.
    ///
    /// # Errors
    /// When there is none and the folder can only be read: a result could not be kept. When an
    /// entry of the shared store cannot be kept in the folder.
    pub fn get(&self, kind: &str, key: &Key) -> Result<Option<Entry>, CacheError> {
        if let Some(entry) = self.local(kind, key) {
            return Ok(Some(entry));
        }
        if let Some(entry) = self.fetch(kind, key)? {
            return Ok(Some(entry));
        }
        match &self.read_only {
            Some(why) => Err(self.lacking(why)),
            None => Ok(None),
        }
    }

    /// Stores `content` under `key`, in place of any entry there.
    ///
    /// # Errors
    /// When the folder cannot be written. Then no part of the entry is left in it.
    pub fn put(&self, kind: &str, key: &Key, content: &[u8]) -> Result<(), CacheError> {
        if let Some(why) = &self.read_only {
            return Err(self.lacking(why));
        }
        self.place(kind, key, &[content, &entry::digest(kind, key, content)])?;
        if let Some(tier) = self.shared.as_ref().filter(|tier| tier.takes(kind))
            && let Some(entry) = self.local(kind, key)
        {
            tier.keep(&Self::name(kind, key), &entry);
        }
        Ok(())
    }

    fn lacking(&self, why: &Arc<io::Error>) -> CacheError {
        CacheError::ReadOnly {
            path: self.root.clone(),
            source: Arc::clone(why),
        }
    }

    /// Writes an entry's file, all of it or nothing.
    fn place(&self, kind: &str, key: &Key, parts: &[&[u8]]) -> Result<(), CacheError> {
        let path = self.root.join(Self::name(kind, key));
        partial::place(&self.root, &path, parts)
            .map_err(|source| CacheError::Unwritable { path, source })
    }

    /// The entry in the folder.
    fn local(&self, kind: &str, key: &Key) -> Option<Entry> {
        let path = self.root.join(Self::name(kind, key));
        let path_name = path.display();
        match MappedFile::open(&path) {
            Ok(None) => None,
            Ok(Some(file)) => {
                let entry = Entry::sound(kind, key, file);
                if entry.is_none() {
                    tracing::warn!(path = %path_name, "cache entry is damaged and will be rebuilt");
                }
                entry
            }
            Err(why) => {
                tracing::warn!(path = %path_name, %why, "cache entry is unreadable and will be rebuilt");
                None
            }
        }
    }

    /// The entry in the shared store, which is then in the folder too.
    fn fetch(&self, kind: &str, key: &Key) -> Result<Option<Entry>, CacheError> {
        let Some(tier) = self.shared.as_ref().filter(|tier| tier.takes(kind)) else {
            return Ok(None);
        };
        let name = Self::name(kind, key);
        let spool = || -> io::Result<Option<MappedFile>> {
            let mut file = self.unnamed()?;
            if tier.fetch(&name, &mut file) {
                MappedFile::map(&file).map(Some)
            } else {
                Ok(None)
            }
        };
        let Some(file) = spool().map_err(|source| CacheError::Unwritable {
            path: self.root.clone(),
            source,
        })?
        else {
            return Ok(None);
        };
        let Some(entry) = Entry::sound(kind, key, file) else {
            let place = tier.store.place();
            tracing::warn!("{name} in {place} is damaged and will be replaced");
            return Ok(None);
        };
        if self.read_only.is_none() {
            self.place(kind, key, &[entry.whole()])?;
        }
        Ok(Some(entry))
    }

    /// A file without a name, which is gone when it is closed.
    fn unnamed(&self) -> io::Result<File> {
        match &self.read_only {
            None => tempfile::tempfile_in(&self.root),
            Some(_) => tempfile::tempfile(),
        }
    }
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
