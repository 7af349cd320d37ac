//! Files mapped into memory.

use memmap2::Mmap;
use std::{fs::File, io, path::Path};

/// The content of a file that is replaced as a whole, never changed in place.
pub(crate) struct MappedFile(Mmap);

impl MappedFile {
    /// Maps the file, or says that it is not there or empty.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() == 0 {
            return Ok(None);
        }
        // SAFETY: the store renames finished files into place and never writes to one again, so
        // the mapped file keeps its content even when another takes its name.
        Ok(Some(Self(unsafe { Mmap::map(&file)? })))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
