//! Where temporary files of this process go: a folder of its own, removed when it ends. The
//! compiler and its linker leave files behind where they are interrupted.

use std::{env, fs, path::PathBuf, sync::OnceLock};

static PLACES: OnceLock<Places> = OnceLock::new();

struct Places {
    outer: PathBuf,
    own: Option<PathBuf>,
}

/// While it lives, temporary files go to a folder of this process's own.
#[derive(Debug)]
pub struct Scratch(());

impl Scratch {
    /// Makes the folder and says so in the environment. Where none can be made, whoever needs a
    /// temporary file will say so. Must be called before any thread begins.
    pub fn open() -> Scratch {
        let outer = env::temp_dir();
        let own = tempfile::Builder::new()
            .prefix("qualify-")
            .tempdir_in(&outer);
        let own = own.ok().map(tempfile::TempDir::keep);
        if let Some(own) = &own {
            // SAFETY: no other thread runs yet that could read the environment meanwhile.
            unsafe { env::set_var("TMPDIR", own) };
        }
        PLACES.get_or_init(|| Places { outer, own });
        Scratch(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove();
    }
}

/// Removes the folder and what is in it.
pub fn remove() {
    let Some(own) = PLACES.get().and_then(|places| places.own.as_deref()) else {
        return;
    };
    // Under this name nobody goes on writing to it. What then is left harms nobody.
    let gone = own.with_extension("gone");
    if fs::rename(own, &gone).is_ok() {
        let _ = fs::remove_dir_all(gone);
    }
}

/// The folder for temporary files that outlive this process.
pub fn outer() -> PathBuf {
    PLACES
        .get()
        .map_or_else(env::temp_dir, |places| places.outer.clone())
}
