//! Reports as files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use super::report::{Report, SCHEMA_VERSION};

/// Why a report was not written. Completes "failed to …"; exit code 4.
#[derive(Debug, thiserror::Error)]
#[error("write the report {}", path.display())]
pub struct WriteError {
    /// The path asked for.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Why a report was not read. Completes "failed to …"; exit code 5.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("read the report {}", path.display())]
    Io {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is no report.
    #[error("parse the report {}", path.display())]
    Json {
        /// The path asked for.
        path: PathBuf,
        /// What is wrong and where.
        #[source]
        source: serde_json::Error,
    },
    /// The report is of another version.
    #[error("read the report {}: it has schema_version {found}, not {SCHEMA_VERSION}", path.display())]
    Version {
        /// The path asked for.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
}

/// Whether a path stands for standard output: `-` or `/dev/stdout`.
#[must_use]
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Writes a report, whole or not at all: to a file beside the path, which then takes its name and
/// the permissions of a file it replaces. A link is followed. Standard output and what is there
/// and is no regular file, such as a pipe, are written to.
///
/// # Errors
/// When the directory or the file cannot be written; a file already there is then unchanged.
pub fn write_report(path: &Path, report: &Report) -> Result<(), WriteError> {
    write_json(path, report)
}

/// Writes anything else as [`write_report`] writes a report.
///
/// # Errors
/// When the directory or the file cannot be written; a file already there is then unchanged.
pub fn write_json(path: &Path, report: &impl Serialize) -> Result<(), WriteError> {
    let write = || {
        // Not opened by its name: where standard output is a file, that would begin at its start.
        if is_stdout(path) {
            let mut stdout = io::stdout().lock();
            serde_json::to_writer_pretty(&mut stdout, report)?;
            stdout.write_all(b"\n")?;
            return stdout.flush();
        }
        let there = std::fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
            let mut text = serde_json::to_vec_pretty(report)?;
            text.push(b'\n');
            file.write_all(&text)?;
            return file.flush();
        }
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let directory = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let mut file = tempfile::Builder::new()
            .prefix(".report-")
            .tempfile_in(directory.unwrap_or_else(|| Path::new(".")))?;
        let mut writer = io::BufWriter::new(file.as_file_mut());
        serde_json::to_writer_pretty(&mut writer, report)?;
        writer.write_all(b"\n")?;
        writer.flush()?;
        drop(writer);
        match there {
            Some(there) => file.as_file().set_permissions(there.permissions())?,
            None => readable_by_all(file.as_file())?,
        }
        file.as_file().sync_all()?;
        file.persist(&target)?;
        Ok(())
    };
    write().map_err(|source| WriteError {
        path: path.to_owned(),
        source,
    })
}

/// A temporary file is private; a report is read by others.
#[cfg(unix)]
fn readable_by_all(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_: &std::fs::File) -> io::Result<()> {
    Ok(())
}

/// Reads a report of this version.
///
/// # Errors
/// When the file cannot be read, is malformed, or is of another version.
pub fn read_report(path: &Path) -> Result<Report, ReadError> {
    read_json(path)
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let at = || path.to_owned();
    let text = std::fs::read(path).map_err(|source| ReadError::Io { path: at(), source })?;
    let json = |source| ReadError::Json { path: at(), source };
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let Version {
        schema_version: found,
    } = serde_json::from_slice(&text).map_err(json)?;
    if found != SCHEMA_VERSION {
        return Err(ReadError::Version { path: at(), found });
    }
    serde_json::from_slice(&text).map_err(json)
}
