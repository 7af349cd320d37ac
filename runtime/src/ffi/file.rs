//! Files mapped into memory.

use memmap2::Mmap;
use nix::fcntl::OFlag;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The content of a file that is replaced as a whole, never changed in place.
pub(crate) struct MappedFile(Mmap);

impl MappedFile {
    /// Maps the file, or says that it is not there. Of what is no file, links included, nothing is
    /// read.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        // Whoever opens a pipe would wait for its other end.
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits())
            .open(path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        Self::map(&file).map(Some)
    }

    /// Maps a file that is complete; one without content gives no bytes.
    pub(crate) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the store renames finished files into place and never writes to one again, so
        // the mapped file keeps its content even when another takes its name; a file without a
        // name is mapped when it is written.
        Ok(Self(unsafe { Mmap::map(file)? }))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
