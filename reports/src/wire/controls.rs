//! What `qualify controls` found out, as JSON.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::io::{MAX_REPORT_BYTES, ReadError, WriteError, read_json, write_json};
use super::report::{Control, ControlOutcome, Inputs, Model, Tool};
use crate::verdict::ExitCode;

/// Negative controls of the selected boundaries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Controls {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// What wrote it.
    pub tool: Tool,
    /// When, in UTC, RFC 3339.
    pub created: String,
    /// The command line.
    pub command: Vec<String>,
    /// What it ran on.
    pub fingerprint: Fingerprint,
    /// What was mutated.
    pub model: Model,
    /// Digest of its graph.
    pub graph_sha256: String,
    /// On which inputs.
    pub inputs: Inputs,
    /// What ran the mutated steps: `interp` or `iree`.
    pub candidate: String,
    /// Every control, boundaries in graph order.
    pub controls: Vec<Control>,
    /// How the controls of each boundary came out, in graph order.
    pub boundaries: Vec<Guard>,
    /// The exit code.
    pub exit_code: u8,
}

/// How the controls of a boundary came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guard {
    /// The boundary.
    pub boundary: String,
    /// Its stage.
    pub stage: String,
    /// Elements in which the step differs from the reference without a mutation.
    pub differing: u64,
    /// Caught on the run's own inputs.
    pub caught: usize,
    /// Vacuous there, caught on others.
    pub elsewhere: usize,
    /// Vacuous, and known why.
    pub explained: usize,
    /// Vacuous, and not known why.
    pub vacuous: usize,
    /// Missed.
    pub missed: usize,
}

impl Guard {
    /// A boundary that no control was applied to yet.
    #[must_use]
    pub fn new(boundary: &str, stage: &str, differing: u64) -> Self {
        Self {
            boundary: boundary.to_owned(),
            stage: stage.to_owned(),
            differing,
            caught: 0,
            elsewhere: 0,
            explained: 0,
            vacuous: 0,
            missed: 0,
        }
    }

    /// Counts a control.
    pub fn count(&mut self, control: &Control) {
        let column = match control.outcome {
            ControlOutcome::Caught => &mut self.caught,
            ControlOutcome::Missed => &mut self.missed,
            ControlOutcome::Vacuous if control.fixture.is_some() => &mut self.elsewhere,
            ControlOutcome::Vacuous if control.reason.is_some() => &mut self.explained,
            ControlOutcome::Vacuous => &mut self.vacuous,
        };
        *column += 1;
    }
}

impl Controls {
    /// The exit code that follows: 1 where a control was missed or a step differs as it is, else 3
    /// where one is vacuous without a reason or a boundary has none that was caught, else 0.
    #[must_use]
    pub fn conclusion(&self) -> ExitCode {
        let any = |of: fn(&Guard) -> bool| self.boundaries.iter().any(of);
        if any(|guard| guard.missed > 0 || guard.differing > 0) {
            ExitCode::DIVERGED
        } else if self.boundaries.is_empty() || any(|guard| guard.vacuous > 0 || guard.caught == 0)
        {
            ExitCode::INCONCLUSIVE
        } else {
            ExitCode::QUALIFIED
        }
    }

    /// The names of the controls caught at a boundary.
    #[must_use]
    pub fn guarding(&self, boundary: &str) -> Vec<String> {
        let caught = self.controls.iter().filter(|control| {
            control.outcome == ControlOutcome::Caught
                && control.caught_by.iter().any(|name| name == boundary)
        });
        caught.map(|control| control.name.clone()).collect()
    }
}

/// Writes controls as [`write_report`](super::write_report) writes a report.
///
/// # Errors
/// When the directory or the file cannot be written.
pub fn write_controls(path: &Path, controls: &Controls) -> Result<(), WriteError> {
    write_json(path, controls)
}

/// Reads controls of this version.
///
/// # Errors
/// When the file cannot be read, is malformed, or is of another version.
pub fn read_controls(path: &Path) -> Result<Controls, ReadError> {
    read_json(path, MAX_REPORT_BYTES)
}
