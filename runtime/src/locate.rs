//! Where the native libraries are: reads the manifest that `scripts/setup` writes.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// The IREE this crate is written for: the compiler library's version and that of the runtime
/// inside eerie-sys.
pub const IREE_VERSION: &str = "3.13.0";
/// The MLX whose arithmetic the exact contracts restate.
pub const MLX_VERSION: &str = "0.32.2";

const MANIFEST: &str = "manifest.json";
const VARIABLE: &str = "QUALIFY_NATIVE";

/// The installed native libraries.
#[derive(Debug, Clone)]
pub struct Native {
    /// The IREE compiler, loaded when something has to be compiled.
    pub iree: Library,
    /// MLX; this crate only reports it.
    pub mlx: Library,
}

/// One library as the manifest describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Where it lies.
    pub path: PathBuf,
    /// Release, for example `3.13.0`.
    pub version: String,
    /// What the build calls itself, for libraries that say so; else the version.
    pub revision: String,
    /// SHA-256 of the file in hexadecimal, as recorded when it was installed.
    pub sha256: String,
}

/// Why the native libraries cannot be used; completes "failed to locate the native libraries: …".
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// No manifest in any place looked at.
    #[error(
        "no native/manifest.json at or above {}: run scripts/setup, or set QUALIFY_NATIVE to the \
         folder that holds manifest.json", .start.display()
    )]
    Missing {
        /// The folder the search began at.
        start: PathBuf,
    },
    /// The manifest is there but cannot be read.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The manifest is not what `scripts/setup` writes.
    #[error("{} is malformed: run scripts/setup again", .path.display())]
    Malformed {
        /// The manifest.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A library that the manifest names is not there, or its size is another one.
    #[error(
        "{} is missing or was changed: delete it and run scripts/setup", .path.display()
    )]
    Library {
        /// The library.
        path: PathBuf,
    },
    /// A library has another version than the pinned one.
    #[error("{name} is {found}, but this program needs {pinned}: run scripts/setup again")]
    Version {
        /// `IREE` or `MLX`.
        name: &'static str,
        /// The version installed.
        found: String,
        /// The version this program is written for.
        pinned: &'static str,
    },
    /// The content of a library is not what was installed.
    #[error("{} has SHA-256 {found}, but {recorded} was installed", .path.display())]
    Digest {
        /// The library.
        path: PathBuf,
        /// The digest of its content.
        found: String,
        /// The digest in the manifest.
        recorded: String,
    },
}

#[derive(Deserialize)]
struct Manifest {
    iree: Entry,
    mlx: Entry,
}

#[derive(Deserialize)]
struct Entry {
    version: String,
    revision: Option<String>,
    library: PathBuf,
    bytes: u64,
    sha256: String,
}

impl Native {
    /// Finds the libraries: in the folder `QUALIFY_NATIVE` names, else in `native` beside or above
    /// the running program (which cargo puts into `target/<profile>`).
    pub fn locate() -> Result<Self, LocateError> {
        if let Some(folder) = std::env::var_os(VARIABLE) {
            return Self::read(&PathBuf::from(folder).join(MANIFEST));
        }
        let program = std::env::current_exe().map_err(|source| LocateError::Unreadable {
            path: "the program's path".into(),
            source,
        })?;
        Self::locate_above(&program)
    }

    fn locate_above(program: &Path) -> Result<Self, LocateError> {
        program
            .ancestors()
            .skip(1)
            .map(|folder| folder.join("native").join(MANIFEST))
            .find(|manifest| manifest.is_file())
            .map_or_else(
                || {
                    let start = program.parent().unwrap_or(program).to_owned();
                    Err(LocateError::Missing { start })
                },
                |manifest| Self::read(&manifest),
            )
    }

    /// Reads the manifest in the file `path`; library paths in it are relative to its folder.
    pub fn read(path: &Path) -> Result<Self, LocateError> {
        let text = fs::read(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => LocateError::Missing {
                start: path.parent().unwrap_or(path).to_owned(),
            },
            _ => LocateError::Unreadable {
                path: path.to_owned(),
                source,
            },
        })?;
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|source| LocateError::Malformed {
                path: path.to_owned(),
                source,
            })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        Ok(Self {
            iree: library("IREE", IREE_VERSION, manifest.iree, folder)?,
            mlx: library("MLX", MLX_VERSION, manifest.mlx, folder)?,
        })
    }
}

/// Checks what is cheap to check: the version and the size.
fn library(
    name: &'static str,
    pinned: &'static str,
    entry: Entry,
    folder: &Path,
) -> Result<Library, LocateError> {
    if entry.version != pinned {
        return Err(LocateError::Version {
            name,
            found: entry.version,
            pinned,
        });
    }
    let path = folder.join(&entry.library);
    if !fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() == entry.bytes) {
        return Err(LocateError::Library { path });
    }
    Ok(Library {
        path,
        revision: entry.revision.unwrap_or_else(|| entry.version.clone()),
        version: entry.version,
        sha256: entry.sha256,
    })
}

impl Library {
    /// Digests the whole file and compares with what was installed; the compiler takes about a
    /// second, so this is for `doctor`-like commands, not for every start.
    pub fn verify(&self) -> Result<(), LocateError> {
        let unreadable = |source| LocateError::Unreadable {
            path: self.path.clone(),
            source,
        };
        let mut hasher = Sha256::new();
        io::copy(
            &mut File::open(&self.path).map_err(unreadable)?,
            &mut hasher,
        )
        .map_err(unreadable)?;
        let found = crate::cache::hex(&hasher.finalize());
        if found == self.sha256 {
            return Ok(());
        }
        Err(LocateError::Digest {
            path: self.path.clone(),
            found,
            recorded: self.sha256.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(iree: &str, library: &[u8]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let native = root.path().join("native");
        fs::create_dir(&native).unwrap();
        fs::write(native.join("lib.so"), library).unwrap();
        let entry = |version: &str| {
            format!(
                r#"{{"version": "{version}", "library": "lib.so", "bytes": 3, "sha256": "{}"}}"#,
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            )
        };
        let text = format!(
            r#"{{"iree": {}, "mlx": {}}}"#,
            entry(iree),
            entry(MLX_VERSION)
        );
        fs::write(native.join(MANIFEST), text).unwrap();
        root
    }

    fn locate(root: &tempfile::TempDir) -> Result<Native, LocateError> {
        Native::locate_above(&root.path().join("release/deps/program"))
    }

    #[test]
    fn the_manifest_above_the_program_is_found() {
        let root = install(IREE_VERSION, b"abc");
        let native = locate(&root).unwrap();
        assert_eq!(native.iree.path, root.path().join("native/lib.so"));
        assert_eq!(native.iree.revision, IREE_VERSION);
        native.iree.verify().unwrap();
    }

    #[test]
    fn a_missing_manifest_asks_for_setup() {
        let error = Native::read(Path::new("/nowhere/manifest.json")).unwrap_err();
        assert!(matches!(error, LocateError::Missing { .. }));
        assert!(error.to_string().contains("scripts/setup"));
    }

    #[test]
    fn another_version_is_refused() {
        let error = locate(&install("3.12.0", b"abc")).unwrap_err();
        assert!(
            matches!(error, LocateError::Version { name: "IREE", .. }),
            "{error}"
        );
    }

    #[test]
    fn a_library_of_another_size_is_refused() {
        let error = locate(&install(IREE_VERSION, b"abcd")).unwrap_err();
        assert!(matches!(error, LocateError::Library { .. }), "{error}");
    }

    #[test]
    fn a_library_of_other_content_fails_the_full_check() {
        let root = install(IREE_VERSION, b"abd");
        let native = locate(&root).unwrap();
        assert!(matches!(
            native.iree.verify(),
            Err(LocateError::Digest { .. })
        ));
    }

    #[test]
    fn a_malformed_manifest_is_an_error() {
        let root = install(IREE_VERSION, b"abc");
        fs::write(root.path().join("native/manifest.json"), "{").unwrap();
        assert!(matches!(locate(&root), Err(LocateError::Malformed { .. })));
    }
}
