//! Reports as files.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use super::check::check;
use super::report::{Report, SCHEMA_VERSION};

/// The largest report that is read: 512 MiB, some ten times a report of 2,000 boundaries that all
/// diverge. Nothing is read of a larger file. In memory a report takes a few times its text.
pub const MAX_REPORT_BYTES: u64 = 512 << 20;

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
    /// The file is too large.
    #[error("read the report {}: it is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The path asked for.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// The numbers of the report contradict each other.
    #[error("read the report {}: {what}", path.display())]
    Contradiction {
        /// The path asked for.
        path: PathBuf,
        /// Which, and where.
        what: String,
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
    #[error("read the report {}: {}", path.display(), version(*.found))]
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
    put(path, |mut writer| {
        serde_json::to_writer_pretty(&mut writer, report)?;
        writer.write_all(b"\n")
    })
}

/// Writes text as [`write_report`] writes a report.
///
/// # Errors
/// When the directory or the file cannot be written; a file already there is then unchanged.
pub fn write_text(path: &Path, text: &str) -> Result<(), WriteError> {
    put(path, |writer| writer.write_all(text.as_bytes()))
}

fn put(path: &Path, content: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
    let write = || {
        // Not opened by its name: where standard output is a file, that would begin at its start.
        if is_stdout(path) {
            let mut stdout = io::BufWriter::with_capacity(BUFFER, io::stdout().lock());
            content(&mut stdout)?;
            return stdout.flush();
        }
        let there = std::fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
            let mut text = Vec::new();
            content(&mut text)?;
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
        let mut writer = io::BufWriter::with_capacity(BUFFER, file.as_file_mut());
        content(&mut writer)?;
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

/// Bytes written at once.
const BUFFER: usize = 1 << 20;

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

fn version(found: u32) -> String {
    if found > SCHEMA_VERSION {
        format!(
            "it has schema_version {found}, written by a newer qualify (this one: {SCHEMA_VERSION})"
        )
    } else {
        format!("it has schema_version {found}, not {SCHEMA_VERSION}")
    }
}

/// Reads a report of this version, of at most [`MAX_REPORT_BYTES`], whose numbers can be judged:
/// names are unique, counts fit the elements and each other.
///
/// # Errors
/// When the file cannot be read, is too large or malformed, or is of another version.
pub fn read_report(path: &Path) -> Result<Report, ReadError> {
    read_report_within(path, MAX_REPORT_BYTES)
}

/// [`read_report`] with another limit in bytes.
///
/// # Errors
/// As [`read_report`].
pub fn read_report_within(path: &Path, limit: u64) -> Result<Report, ReadError> {
    let report: Report = read_json(path, limit)?;
    check(&report).map_err(|what| ReadError::Contradiction {
        path: path.to_owned(),
        what,
    })?;
    Ok(report)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, limit: u64) -> Result<T, ReadError> {
    let at = || path.to_owned();
    let text = read_bytes(path, limit)?;
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

/// The whole of a file that is no larger than a limit. What has no size of its own, such as a pipe,
/// is read as far as the limit.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let io = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let too_large = || ReadError::TooLarge {
        path: path.to_owned(),
        limit,
    };
    let file = std::fs::File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    if size > limit {
        return Err(too_large());
    }
    let mut text = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // It may have grown since, or be no file.
    file.take(limit + 1).read_to_end(&mut text).map_err(io)?;
    if text.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(text)
}
