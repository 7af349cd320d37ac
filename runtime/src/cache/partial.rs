//! Files that are being written, in a folder apart until they are renamed into place.
//!
//! Each is locked by its writer for as long as it is there. The lock goes with the process, so a
//! file that a killed one left is told by being free, and is removed by the next that opens the
//! store.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg, OFlag},
};
use tempfile::TempPath;

/// Below the store's folder; no kind of entry has this name.
const FOLDER: &str = "partial";

/// Shared by those who write an entry; exclusive for whoever wants that nobody does.
static WRITING: RwLock<()> = RwLock::new(());

/// While it lives, this process has no half-written entry in any store and begins none.
#[derive(Debug)]
#[must_use]
pub struct Hold(#[expect(dead_code, reason = "held, not read")] RwLockWriteGuard<'static, ()>);

impl Hold {
    pub(super) fn wait() -> Hold {
        Hold(WRITING.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// While it lives, nobody is given a [`Hold`].
pub(super) fn writing() -> RwLockReadGuard<'static, ()> {
    WRITING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a file of these parts and puts it at `path` in one step, in place of whatever is there.
pub(super) fn place(root: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let _writing = writing();
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    let (file, mut name) = begin(root)?;
    for part in parts {
        file.writer().write_all(part)?;
    }
    if let Err(error) = fs::rename(&name, path) {
        // A file does not take the place of a folder. The store itself makes none there.
        if error.kind() != io::ErrorKind::IsADirectory {
            return Err(error);
        }
        fs::remove_dir_all(path)?;
        fs::rename(&name, path)?;
    }
    name.disable_cleanup(true);
    Ok(())
}

/// A new file, which nobody takes for one that was left.
pub(super) fn begin(root: &Path) -> io::Result<(Written, TempPath)> {
    const TRIES: usize = 16;
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let mut builder = tempfile::Builder::new();
    // As far as the umask has it: a store may be shared by several users.
    builder.permissions(fs::Permissions::from_mode(0o666));
    for _ in 0..TRIES {
        let (file, name) = builder.tempfile_in(&folder)?.into_parts();
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            // Another that opens the store may have come before the lock, and removes it.
            Ok(file) if file.metadata()?.nlink() == 0 => {}
            Err((_, Errno::EWOULDBLOCK)) => {}
            Ok(file) => return Ok((Written::Locked(file), name)),
            // Without locks nobody else can take one either, and so nothing is ever removed.
            Err((file, _)) => return Ok((Written::Plain(file), name)),
        }
    }
    Err(io::Error::from(io::ErrorKind::WouldBlock))
}

/// A file and, where the file system knows locks, its lock.
pub(super) enum Written {
    Locked(Flock<File>),
    Plain(File),
}

impl Written {
    fn writer(&self) -> &File {
        match self {
            Written::Locked(file) => file,
            Written::Plain(file) => file,
        }
    }
}

/// Removes what killed processes left, as far as that can be done.
pub(super) fn sweep(root: &Path) {
    let Ok(files) = fs::read_dir(root.join(FOLDER)) else {
        return;
    };
    for entry in files.flatten() {
        // An exclusive lock needs a file that is open for writing, on some file systems.
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(flags.bits())
            .open(entry.path());
        let Ok(file) = file else { continue };
        if let Ok(_lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
