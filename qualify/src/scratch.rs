//! Where temporary files of this process go: a folder of its own, removed when it ends. The
//! compiler and its linker leave files behind where they are interrupted.
//!
//! The folder is locked for as long as the process lives, so one of a process that was killed is
//! told by its lock, and removed by the next that starts.

use std::{
    env, fs,
    fs::File,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use nix::fcntl::{Flock, FlockArg};

/// What the names of these folders begin with.
const PREFIX: &str = "qualify-run-";

static PLACES: OnceLock<Places> = OnceLock::new();

struct Places {
    outer: PathBuf,
    own: Option<Folder>,
}

/// A folder that nobody else removes.
struct Folder {
    path: PathBuf,
    _lock: Flock<File>,
}

/// While it lives, temporary files go to a folder of this process's own.
#[derive(Debug)]
pub struct Scratch(());

impl Scratch {
    /// Makes the folder and says so in the environment. Where none can be made, whoever needs a
    /// temporary file will say so. Must be called before any thread begins.
    pub fn open() -> Scratch {
        let outer = env::temp_dir();
        let own = Folder::new(&outer).ok();
        if let Some(Folder { path, .. }) = &own {
            let _ = sweep(&outer, path);
            // SAFETY: no other thread runs yet that could read the environment meanwhile.
            unsafe { env::set_var("TMPDIR", path) };
        }
        PLACES.get_or_init(|| Places { outer, own });
        Scratch(())
    }
}

impl Folder {
    fn new(outer: &Path) -> io::Result<Folder> {
        const TRIES: usize = 8;
        let mut taken = io::Error::from(io::ErrorKind::WouldBlock);
        for _ in 0..TRIES {
            let path = tempfile::Builder::new()
                .prefix(PREFIX)
                .tempdir_in(outer)?
                .keep();
            // Another that starts may have taken it for one without an owner before it was locked.
            match lock(&path) {
                Ok(_lock) if path.is_dir() => return Ok(Folder { path, _lock }),
                Ok(_) => {}
                Err(error) => taken = error,
            }
        }
        Err(taken)
    }
}

/// Locks a folder, unless it is locked.
fn lock(folder: &Path) -> io::Result<Flock<File>> {
    let file = File::open(folder)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error.into())
}

/// Removes the folders of processes that are gone, as far as they are the same user's.
fn sweep(outer: &Path, own: &Path) -> io::Result<()> {
    let user = fs::metadata(own)?.uid();
    for entry in fs::read_dir(outer)?.flatten() {
        let left = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.path() != own
            && entry
                .metadata()
                .is_ok_and(|there| there.is_dir() && there.uid() == user);
        if left && let Ok(_lock) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove();
    }
}

/// Removes the folder and what is in it.
pub fn remove() {
    let Some(Folder { path: own, .. }) = PLACES.get().and_then(|places| places.own.as_ref()) else {
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
