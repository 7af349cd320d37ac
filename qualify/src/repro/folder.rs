//! The folder of a repro.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use oracle::{Captures, Notes};
use reports::wire::{write_json, write_text};
use stages::BoundaryId;

use super::Compared;
use crate::{
    failure::{Failure, Kind, OrFail, said},
    interrupt,
};

/// The module's text.
pub const MODULE: &str = "step.mlir";
/// The reference's result, raw.
pub const EXPECTED: &str = "expected.bin";
/// The candidate's result, raw.
pub const OBSERVED: &str = "observed.bin";
/// Arguments and results with their names and shapes.
pub const TENSORS: &str = "tensors.safetensors";
/// The comparison, as in a report.
pub const COMPARISON: &str = "comparison.json";
/// The commands.
pub const SCRIPT: &str = "run.sh";

/// The file of an argument.
pub fn input(index: usize) -> String {
    format!("input{index}.bin")
}

fn parent(folder: &Path) -> PathBuf {
    let parent = folder.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// Finds out before any work whether the folder can be made.
///
/// # Errors
/// When it is there already and holds something, or cannot be made.
pub fn check(folder: &Path) -> Result<(), Failure> {
    let fail = |why: String| {
        let message = format!("write {}: {why}", folder.display());
        Err(Failure::new(Kind::Environment, message))
    };
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return fail("it is there and not empty; name another folder".to_owned());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return fail(said(&error)),
    }
    match tempfile::tempdir_in(parent(folder)) {
        Ok(_) => Ok(()),
        Err(error) => fail(said(&error)),
    }
}

/// Writes all of it beside its place, which it then takes.
///
/// # Errors
/// When something cannot be written.
pub fn write(folder: &Path, compared: &Compared, readme: &str) -> Result<(), Failure> {
    let _putting = interrupt::putting();
    let failed = |error: io::Error| {
        let message = format!("write {}: {}", folder.display(), said(&error));
        Failure::new(Kind::Environment, message)
    };
    let beside = tempfile::Builder::new()
        .prefix(".repro-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(parent(folder))
        .map_err(failed)?;
    fill(beside.path(), compared, readme)?;
    fs::rename(beside.path(), folder).map_err(failed)?;
    // It is no longer there to be removed.
    let _ = beside.keep();
    Ok(())
}

fn fill(at: &Path, compared: &Compared, readme: &str) -> Result<(), Failure> {
    let Compared {
        case,
        observed,
        measured,
    } = compared;
    let mut all = Captures::new();
    let raw = |name: &str, bytes: &[u8]| {
        fs::write(at.join(name), bytes).map_err(|error| {
            let message = format!("write {name}: {}", said(&error));
            Failure::new(Kind::Environment, message)
        })
    };
    for (i, argument) in case.arguments.iter().enumerate() {
        raw(&input(i), argument.tensor.bytes())?;
        let name = BoundaryId::new(format!("input{i}.{}", argument.name));
        all.insert(name, argument.tensor.clone());
    }
    let expected = super::readme::carried(&case.expected);
    raw(EXPECTED, expected.bytes())?;
    raw(OBSERVED, observed.result.bytes())?;
    all.insert(BoundaryId::new("expected"), expected);
    all.insert(BoundaryId::new("observed"), observed.result.clone());
    let notes = Notes::from([("boundary".to_owned(), case.boundary.to_string())]);
    all.save(&at.join(TENSORS), &notes)
        .or_fail(Kind::Environment)?;
    raw(MODULE, observed.text.as_bytes())?;
    write_json(&at.join(COMPARISON), measured).or_fail(Kind::Environment)?;
    write_text(&at.join("README.md"), readme).or_fail(Kind::Environment)?;
    let script = super::readme::script(compared);
    raw(SCRIPT, script.as_bytes())?;
    fs::set_permissions(at.join(SCRIPT), Permissions::from_mode(0o755)).map_err(|error| {
        let message = format!("write {SCRIPT}: {}", said(&error));
        Failure::new(Kind::Environment, message)
    })
}
