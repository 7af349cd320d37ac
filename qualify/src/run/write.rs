//! Writes what a run was asked to write: the report, and every side's tensors.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use oracle::{Captures, Notes};
use reports::wire::{Report, WriteError, is_stdout, write_report};
use stages::{BoundaryId, DType, Tensor};

use super::Sides;
use crate::{
    cli::{RunArgs, Side},
    failure::{Failure, Kind, OrFail, said},
    interrupt,
    model::Model,
};

/// What the files of captures are named after.
pub const CAPTURED: [&str; 4] = ["reference", "inherited", "local", "interp"];

/// The file of one side's captures.
pub fn capture_file(folder: &Path, side: &str) -> PathBuf {
    folder.join(format!("{side}.safetensors"))
}

/// Finds out before any work whether the results can be written, and leaves nothing behind.
///
/// # Errors
/// When a place they are to go to cannot be written.
pub fn check(args: &RunArgs) -> Result<(), Failure> {
    let mut inputs = args.model.files();
    inputs.extend(
        [&args.reference, &args.candidate]
            .into_iter()
            .filter_map(Side::file),
    );
    inputs.extend(args.controls.clone());
    inputs.extend(args.policy.clone());
    let captures: Vec<PathBuf> = args
        .captures
        .iter()
        .flat_map(|folder| CAPTURED.map(|side| capture_file(folder, side)))
        .collect();
    for output in captures.iter().chain(&args.report) {
        no_input(output, &inputs)?;
    }
    if let Some(report) = &args.report {
        let taken = captures
            .iter()
            .chain(&args.captures)
            .any(|other| same_place(report, other) || same_name(report, other));
        if taken {
            let message = format!(
                "write the report to {}: captures go there",
                report.display()
            );
            return Err(Failure::new(Kind::Usage, message));
        }
        let with_captures = args.captures.as_ref().is_some_and(|folder| {
            !folder.exists()
                && report
                    .parent()
                    .is_some_and(|parent| same_place(parent, folder))
        });
        if !with_captures && !is_stream(report) {
            check_file(report, &[])?;
        }
    }
    if let Some(folder) = &args.captures {
        // What is there of it has to be a folder in which the rest can be made.
        let there = folder.ancestors().find(|part| part.exists());
        let there = there.filter(|part| !part.as_os_str().is_empty());
        writable(there.unwrap_or(Path::new("."))).map_err(|error| unwritable(folder, &error))?;
        for side in CAPTURED {
            replaceable(&capture_file(folder, side))?;
        }
    }
    Ok(())
}

/// Finds out whether a file can be put in its place, and that it is none of the inputs.
///
/// # Errors
/// When not.
pub fn check_file(file: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    no_input(file, inputs)?;
    replaceable(file)?;
    let folder = file.parent().filter(|part| !part.as_os_str().is_empty());
    writable(folder.unwrap_or(Path::new("."))).map_err(|error| unwritable(file, &error))
}

/// The same, of a place that may also be a pipe or standard output.
///
/// # Errors
/// When not.
pub fn check_output(file: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    if is_stream(file) {
        no_input(file, inputs)
    } else {
        check_file(file, inputs)
    }
}

/// Whether there is no file of that name, or one that another may take the place of.
fn replaceable(file: &Path) -> Result<(), Failure> {
    let what = match fs::metadata(file) {
        Ok(there) if there.is_dir() => "a folder",
        Ok(there) if !there.is_file() => "a device or a pipe",
        _ => return Ok(()),
    };
    let message = format!("write {}: it is {what}", file.display());
    Err(Failure::new(Kind::Environment, message))
}

/// Whether there is something that is written to instead of being replaced.
fn is_stream(file: &Path) -> bool {
    is_stdout(file) || fs::metadata(file).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Whether two names are of one place, which need not exist.
fn same_place(a: &Path, b: &Path) -> bool {
    let full = |path: &Path| {
        fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_default()
    };
    full(a) == full(b)
}

/// Whether two paths that need not exist yet name one place.
fn same_name(a: &Path, b: &Path) -> bool {
    let full = |path: &Path| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    full(a).is_some_and(|a| Some(a) == full(b))
}

/// An output in the place of an input would destroy it.
fn no_input(output: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    let identity = |path: &Path| {
        fs::metadata(path)
            .ok()
            .map(|there| (there.dev(), there.ino()))
    };
    let own = identity(output);
    match inputs
        .iter()
        .find(|input| own.is_some() && identity(input) == own)
    {
        Some(input) => {
            let (output, input) = (output.display(), input.display());
            let message = format!("write {output}: it is an input of this run, {input}");
            Err(Failure::new(Kind::Usage, message))
        }
        None => Ok(()),
    }
}

fn unwritable(place: &Path, error: &io::Error) -> Failure {
    let message = format!("write {}: {}", place.display(), said(error));
    Failure::new(Kind::Environment, message)
}

/// Whether files can be made in a folder.
fn writable(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(folder).map(drop)
}

/// Writes the report and the captures.
///
/// # Errors
/// When a file cannot be written.
pub fn results(
    args: &RunArgs,
    model: &Model,
    report: &Report,
    sides: &Sides,
) -> Result<(), Failure> {
    let _putting = interrupt::putting();
    if let Some(folder) = &args.captures {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let fingerprint = serde_json::to_string(&report.fingerprint).or_fail(Kind::Environment)?;
        let captured = [
            Some(&sides.reference),
            Some(&sides.candidate.inherited),
            sides.candidate.local.as_ref(),
            sides.interp.as_ref(),
        ];
        for (side, captures) in CAPTURED.into_iter().zip(captured) {
            let file = capture_file(folder, side);
            match captures {
                Some(captures) => save(captures, model, &fingerprint, &file)?,
                // One of an earlier run would be taken for this run's.
                None => match fs::remove_file(&file) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        let message = format!("remove {}: {error}", file.display());
                        return Err(Failure::new(Kind::Environment, message));
                    }
                    _ => {}
                },
            }
        }
    }
    if let Some(path) = &args.report {
        unless_closed(path, write_report(path, report)).or_fail(Kind::Environment)?;
    }
    Ok(())
}

/// That standard output is closed is the reader's decision, not an error.
///
/// # Errors
/// All others.
pub fn unless_closed(path: &Path, written: Result<(), WriteError>) -> Result<(), WriteError> {
    match written {
        Err(error) if is_stdout(path) && error.source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes captures in the dtype of each boundary's grid; a boundary with values off its grid is
/// written as F32 and noted.
///
/// # Errors
/// When the file cannot be written.
pub fn save(
    captures: &Captures,
    model: &Model,
    fingerprint: &str,
    file: &Path,
) -> Result<(), Failure> {
    let mut written = Captures::new();
    let mut off_grid = Vec::new();
    for (id, tensor) in captures.iter() {
        let grid = model
            .graph
            .boundary(id)
            .map(|b| model.graph.info(b.value).dtype);
        let tensor = match grid {
            Some(DType::BF16) if tensor.dtype() == DType::F32 => match narrowed(tensor) {
                Some(narrow) => narrow,
                None => {
                    off_grid.push(id.clone());
                    tensor.clone()
                }
            },
            _ => tensor.clone(),
        };
        written.insert(id.clone(), tensor);
    }
    let mut notes = Notes::from([("fingerprint".to_owned(), fingerprint.to_owned())]);
    if !off_grid.is_empty() {
        let names: Vec<&str> = off_grid.iter().map(BoundaryId::as_str).collect();
        notes.insert("off_grid".to_owned(), names.join(","));
    }
    written.save(file, &notes).or_fail(Kind::Environment)
}

/// The same values as BF16, if all of them are.
fn narrowed(tensor: &Tensor) -> Option<Tensor> {
    let values = tensor.as_f32()?;
    let mut bytes = Vec::with_capacity(values.len() * 2);
    for value in values {
        let bits = value.to_bits();
        if bits & 0xFFFF != 0 && !value.is_nan() {
            return None;
        }
        let half = if value.is_nan() {
            0x7FC0
        } else {
            (bits >> 16) as u16
        };
        bytes.extend(half.to_ne_bytes());
    }
    Tensor::from_bytes(DType::BF16, tensor.shape().clone(), &bytes).ok()
}
