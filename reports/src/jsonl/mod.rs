//! A run as JSON lines, while it goes on: one line for each event, flushed as it happens.
//!
//! Each line is an object whose `event` says what it is:
//!
//! | `event` | keys |
//! |---|---|
//! | `started` | `schema_version`, `tool`, `created`, `command` |
//! | `phase_started` | `phase`, `total` |
//! | `phase_progress` | `phase`, `done`, `at` |
//! | `phase_finished` | `phase`, `seconds`, `cached` |
//! | `boundary` | `boundary`, as in the report |
//! | `finished` | the report without its boundaries, and how many came out how |
//!
//! Without a line `finished` the run did not end, or compared nothing.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::events::{Event, Sink};
use crate::verdict::{FirstDivergence, Verdict};
use crate::wire::{
    Boundary, Fingerprint, Inputs, Model, NonInterference, Policy, Report, SCHEMA_VERSION, Timing,
    Tool,
};

/// Why a line was not written. Completes "failed to …"; exit code 4.
#[derive(Debug, thiserror::Error)]
#[error("write JSON lines")]
pub struct JsonLinesError(#[from] io::Error);

/// A line.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Started {
        schema_version: u32,
        tool: &'a Tool,
        created: &'a str,
        command: &'a [String],
    },
    PhaseStarted {
        phase: &'a str,
        total: Option<u64>,
    },
    PhaseProgress {
        phase: &'a str,
        done: u64,
        at: Option<&'a str>,
    },
    PhaseFinished {
        phase: &'a str,
        seconds: f64,
        cached: bool,
    },
    Boundary {
        boundary: &'a Boundary,
    },
    Finished(Box<Finished<'a>>),
}

/// A report without its boundaries and controls.
#[derive(Serialize)]
struct Finished<'a> {
    verdict: Verdict,
    exit_code: u8,
    boundaries: usize,
    /// How many boundaries have which verdict; those that none has are left out.
    verdicts: BTreeMap<&'static str, u64>,
    first_divergence: &'a FirstDivergence,
    planted: Option<&'a str>,
    non_interference: NonInterference,
    policy: &'a Policy,
    timing: &'a Timing,
    model: &'a Model,
    inputs: &'a Inputs,
    fingerprint: &'a Fingerprint,
}

impl<'a> Finished<'a> {
    fn new(report: &'a Report) -> Self {
        let mut verdicts = BTreeMap::new();
        for boundary in &report.boundaries {
            *verdicts.entry(boundary.verdict.name()).or_insert(0) += 1;
        }
        Self {
            verdict: report.verdict,
            exit_code: report.exit_code,
            boundaries: report.boundaries.len(),
            verdicts,
            first_divergence: &report.first_divergence,
            planted: report.planted.as_deref(),
            non_interference: report.non_interference,
            policy: &report.policy,
            timing: &report.timing,
            model: &report.model,
            inputs: &report.inputs,
            fingerprint: &report.fingerprint,
        }
    }
}

/// The sink that writes JSON lines.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Begins with the line `started`.
    pub fn new(out: W, tool: &Tool, created: &str, command: &[String]) -> Self {
        let mut lines = Self { out, failure: None };
        lines.line(&Line::Started {
            schema_version: SCHEMA_VERSION,
            tool,
            created,
            command,
        });
        lines
    }

    fn line(&mut self, line: &Line<'_>) {
        if self.failure.is_some() {
            return;
        }
        // In one write: what others put on the same stream does not fall in between.
        let written = serde_json::to_vec(line).map_err(io::Error::from);
        let written = written.and_then(|mut text| {
            text.push(b'\n');
            self.out.write_all(&text)?;
            self.out.flush()
        });
        self.failure = written.err();
    }

    /// Ends the output.
    ///
    /// # Errors
    /// When a line could not be written, unless the reader had closed the pipe.
    pub fn finish(self) -> Result<(), JsonLinesError> {
        match self.failure {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl<W: Write> Sink for JsonLines<W> {
    fn event(&mut self, event: &Event) {
        let line = match event {
            Event::PhaseStarted { phase, total } => Line::PhaseStarted {
                phase: phase.name(),
                total: *total,
            },
            Event::PhaseProgress { phase, done, at } => Line::PhaseProgress {
                phase: phase.name(),
                done: *done,
                at: at.as_deref(),
            },
            Event::PhaseFinished {
                phase,
                elapsed,
                cached,
            } => Line::PhaseFinished {
                phase: phase.name(),
                seconds: elapsed.as_secs_f64(),
                cached: *cached,
            },
            Event::BoundaryJudged(boundary) => Line::Boundary { boundary },
            Event::RunFinished(report) => Line::Finished(Box::new(Finished::new(report))),
        };
        self.line(&line);
    }
}

/// The lines of a report that is there already: `started`, each boundary, `finished`.
///
/// # Errors
/// When a line cannot be written, unless the reader has closed the pipe.
pub fn write(out: impl Write, report: &Report) -> Result<(), JsonLinesError> {
    let mut lines = JsonLines::new(out, &report.tool, &report.created, &report.command);
    for boundary in &report.boundaries {
        lines.line(&Line::Boundary { boundary });
    }
    lines.line(&Line::Finished(Box::new(Finished::new(report))));
    lines.finish()
}
