//! Compiles each module once: the compiler with the cache in front.

use crate::{
    cache::{CacheError, Entry, Key, KeyHasher, Store},
    compiler::{CompileError, CompileOptions, Compiler},
    locate::Native,
};
use std::sync::Arc;

const KIND: &str = "module";

/// A compiled module, fresh or out of the cache; cheap to clone.
#[derive(Debug, Clone)]
pub struct Vmfb(Content);

#[derive(Debug, Clone)]
enum Content {
    Fresh(Arc<[u8]>),
    Cached(Entry),
}

impl Vmfb {
    /// Whether it came out of the cache.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        matches!(self.0, Content::Cached(_))
    }
}

impl AsRef<[u8]> for Vmfb {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Content::Fresh(bytes) => bytes,
            Content::Cached(entry) => entry,
        }
    }
}

impl From<Vec<u8>> for Vmfb {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Content::Fresh(bytes.into()))
    }
}

/// Why there is no compiled module.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// It does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The cache failed. Not transparent: whoever reports it looks for the cause by its type.
    #[error("{0}")]
    Cache(#[from] CacheError),
}

/// The compiler and where its results are kept; shared by reference between threads.
#[derive(Debug, Clone)]
pub struct Toolchain {
    compiler: Compiler,
    store: Option<Store>,
}

impl Toolchain {
    /// The installed compiler, with a store or, to compile everything anew, without.
    #[must_use]
    pub fn new(native: &Native, store: Option<Store>) -> Self {
        Self {
            compiler: Compiler::new(native),
            store,
        }
    }

    /// The compiler.
    #[must_use]
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// The store, unless results are not kept.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// What a compiled module depends on: its text, the flags (which spell the target out) and the
    /// compiler.
    #[must_use]
    pub fn key(&self, text: &str, options: &CompileOptions) -> Key {
        KeyHasher::new()
            .part("compiler", self.compiler.revision().as_bytes())
            .part("flags", options.flags().join("\n").as_bytes())
            .part("text", text.as_bytes())
            .finish()
    }

    /// The compiled form of `text`, from the store if it is there.
    pub fn compile(&self, text: &str, options: &CompileOptions) -> Result<Vmfb, ToolchainError> {
        let Some(store) = &self.store else {
            return Ok(self.compiler.compile(text, options)?.into());
        };
        let key = self.key(text, options);
        if let Some(entry) = store.get(KIND, &key)? {
            return Ok(Vmfb(Content::Cached(entry)));
        }
        let code = self.compiler.compile(text, options)?;
        store.put(KIND, &key, &code)?;
        Ok(code.into())
    }
}
