//! `qualify render`: the forms of a report that is there already, without a run.

use std::path::PathBuf;

use clap::Args;
use reports::wire::{Report, read_report};

use crate::{
    failure::{Failure, Kind, OrFail},
    outputs::OutputArgs,
};

/// Arguments of `render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// A report that `qualify run --report` wrote
    #[arg(value_name = "REPORT")]
    pub file: PathBuf,

    #[command(flatten)]
    pub outputs: OutputArgs,
}

/// What its exit codes mean.
pub const CODES: &str = "\
Exit codes:
  0    everything is written, whatever the report says
  2, 4, 5 as of run";

/// Writes what is wanted; gives the report where nothing was, to be shown.
///
/// # Errors
/// When the report is malformed, or an output cannot be written.
pub fn render(args: &RenderArgs) -> Result<Option<Report>, Failure> {
    args.outputs.check(std::slice::from_ref(&args.file), &[])?;
    let report = read_report(&args.file).or_fail(Kind::Input)?;
    if args.outputs.is_empty() {
        return Ok(Some(report));
    }
    args.outputs.write_lines(&report)?;
    args.outputs.write(&report, args.outputs.takes_stdout())?;
    Ok(None)
}
