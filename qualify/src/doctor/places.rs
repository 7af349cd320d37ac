//! Files and folders that runs need: their space, and the CUDA libraries among them.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use nix::sys::statvfs::statvfs;
use remote::{SharedStore, VARIABLE};
use runtime::{Shared, Store};

use super::finding::Finding;
use crate::failure::{WRITABLE, said};

/// Less than this is worth a note: compiled modules and captures of one real encoder.
const SPARSE: u64 = 4 << 30;

/// Less than this is not enough for any run.
const TOO_LITTLE: u64 = 64 << 20;

/// The caches, the fixtures and the folder for temporary files.
pub fn folders() -> Vec<Finding> {
    let cache = match Store::open_default() {
        Ok(store) => match store.read_only() {
            None => space("caches", store.root()),
            Some(why) => Finding::broken(
                "caches",
                format!("{} can only be read: {why}", store.root().display()),
                format!("runs whose results are all there still work; {WRITABLE}"),
            ),
        },
        Err(error) => Finding::broken("caches", said(&error), WRITABLE),
    };
    let fixtures = match fixtures::data_dir() {
        Ok(folder) => Finding::ok("fixtures", folder.display().to_string()),
        Err(error) => Finding::note("fixtures", said(&error))
            .with_remedy("set QUALIFY_FIXTURES to the repository's fixtures, or use --checkpoint"),
    };
    let temporary = space("temporary files", &env::temp_dir());
    vec![cache, shared_store(), temporary, fixtures]
}

/// Whether what is to be shared can be written and read. No run fails of a store that cannot.
fn shared_store() -> Finding {
    const NAME: &str = "shared store";
    let store = match SharedStore::from_environment() {
        Ok(Some(store)) => store,
        Ok(None) => return Finding::ok(NAME, format!("none ({VARIABLE} is not set)")),
        Err(error) => {
            let remedy = format!("correct {VARIABLE}, or unset it");
            return Finding::broken(NAME, said(&error), remedy);
        }
    };
    let place = store.place();
    match store.check() {
        Ok(()) => Finding::ok(NAME, format!("{place} can be written and read")),
        Err(error) => Finding::note(NAME, format!("{place}: failed to {}", said(&error)))
            .with_remedy(format!(
                "runs go on without it; look at {VARIABLE} and AWS_*"
            )),
    }
}

/// How much room is left where a folder is.
fn space(name: &str, folder: &Path) -> Finding {
    let place = folder.display();
    let free = match statvfs(folder) {
        Ok(disk) => disk.blocks_available().saturating_mul(disk.fragment_size()),
        Err(error) => return Finding::note(name, format!("{place}: {error}")),
    };
    let found = format!("{place}, {:.1} GiB free", free as f64 / f64::from(1 << 30));
    let remedy = "make room, or set QUALIFY_CACHE and TMPDIR to another disk";
    match free {
        ..TOO_LITTLE => Finding::broken(name, found, remedy),
        TOO_LITTLE..SPARSE => Finding::note(name, found).with_remedy(remedy),
        _ => Finding::ok(name, found),
    }
}

/// cuDNN and cuBLAS, which decide what MLX computes on CUDA: their versions, from file names.
pub fn cuda_libraries() -> Finding {
    let mut found = BTreeSet::new();
    for folder in search_path() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let telling = ["libcudnn.so.", "libcublas.so.", "libcublasLt.so."];
            let name = name.to_string_lossy();
            if telling.iter().any(|prefix| name.starts_with(prefix)) {
                // A link such as libcudnn.so.9 leads to the file with the whole version.
                let real = entry.path().canonicalize().unwrap_or(entry.path());
                let real = real.file_name().unwrap_or_default().to_string_lossy();
                found.insert(real.into_owned());
            }
        }
    }
    if found.is_empty() {
        Finding::note("cuDNN, cuBLAS", "none; MLX on CUDA needs them")
    } else {
        let names: Vec<String> = found.into_iter().collect();
        Finding::ok("cuDNN, cuBLAS", names.join(", "))
    }
}

/// Where the loader looks, and where CUDA is installed by its packages.
fn search_path() -> Vec<PathBuf> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/local/cuda/lib64",
        "/usr/lib64",
    ];
    env::split_paths(&named)
        .chain(usual.map(PathBuf::from))
        .collect()
}
