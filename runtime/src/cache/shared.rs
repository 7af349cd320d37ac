//! The tier behind the folder: a store that several machines share.

use std::{
    error::Error,
    fmt,
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::entry::{Entry, Object};

/// Where entries are kept for other machines too, under names such as `reference/0f/3a…`.
///
/// What it hands out is not believed: it counts only with the digest of what was asked for.
pub trait Shared: fmt::Debug + Send + Sync {
    /// What it is called in messages: its URL.
    fn place(&self) -> &str;

    /// Writes the object of that name to `into`, or says that there is none.
    ///
    /// # Errors
    /// When the store does not answer, or `into` cannot be written.
    fn fetch(&self, name: &str, into: &mut dyn Write) -> Result<bool, SharedError>;

    /// Keeps an object under a name, in one step, in place of any that is there.
    ///
    /// # Errors
    /// When the store does not take it.
    fn keep(&self, name: &str, object: Object) -> Result<(), SharedError>;

    /// Whether a process that ends while it keeps an object leaves a file behind.
    fn leaves_files(&self) -> bool;
}

/// Why a shared store cannot be used; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("{doing} {what}")]
pub struct SharedError {
    /// Such as "fetch".
    pub doing: &'static str,
    /// The object or the store.
    pub what: String,
    /// Why.
    pub source: Box<dyn Error + Send + Sync>,
}

/// A shared store, the kinds of entries that go there, and whether it failed.
#[derive(Clone, Debug)]
pub(super) struct Tier {
    pub(super) store: Arc<dyn Shared>,
    kinds: &'static [&'static str],
    failed: Arc<AtomicBool>,
}

impl Tier {
    pub(super) fn new(store: Arc<dyn Shared>, kinds: &'static [&'static str]) -> Tier {
        Tier {
            store,
            kinds,
            failed: Arc::default(),
        }
    }

    /// Whether this kind goes there, and it has not failed yet: one wait for a store that does not
    /// answer is enough.
    pub(super) fn takes(&self, kind: &str) -> bool {
        self.kinds.contains(&kind) && !self.failed.load(Ordering::Relaxed)
    }

    /// What came of using it; the first failure is said, and none hinders.
    pub(super) fn unless_failed<T>(&self, outcome: Result<T, SharedError>) -> Option<T> {
        let error = match outcome {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        if !self.failed.swap(true, Ordering::Relaxed) {
            let mut why = error.source.to_string();
            let mut cause = error.source.source();
            while let Some(inner) = cause {
                let text = inner.to_string();
                if !why.contains(&text) {
                    why = format!("{why}: {text}");
                }
                cause = inner.source();
            }
            tracing::warn!(
                "the shared store {} is not used: failed to {error}: {why}",
                self.store.place()
            );
        }
        None
    }

    /// Writes the object of that name into a file, or says that there is none to be had.
    pub(super) fn fetch(&self, name: &str, file: &mut impl Write) -> bool {
        let mut into = io::BufWriter::new(file);
        let there = self.store.fetch(name, &mut into);
        let there = there.and_then(|there| {
            into.flush().map_err(|error| SharedError {
                doing: "keep",
                what: name.to_owned(),
                source: error.into(),
            })?;
            Ok(there)
        });
        self.unless_failed(there).unwrap_or(false)
    }

    /// Hands an entry to the store.
    pub(super) fn keep(&self, name: &str, entry: &Entry) {
        let _writing = self.store.leaves_files().then(super::partial::writing);
        self.unless_failed(self.store.keep(name, entry.object()));
    }
}
