//! `qualify diff`: two reports, boundary by boundary.

use std::path::PathBuf;

use clap::Args;
use reports::{
    diff::{About, diff as compare, render},
    verdict::ExitCode,
    wire::{is_stdout, read_report, write_json},
};

use crate::{
    failure::{Failure, Kind, OrFail},
    interrupt,
    judge::named,
    run,
};

/// The exit codes, for the help.
pub const CODES: &str = "\
What is worse: first the verdict without a policy, in the order bit_exact, order_explained,
vacuous, diverged; where it is the same, every measure of the local and the inherited error (its
verdict, then elements that differ, NaNs, infinities, ULP, max abs, rms). Some better and some
worse is `changed`.

Exit codes:
  0    no boundary is worse
  1    a boundary is worse or changed, or tapping or chaining began to change the bits
  3    neither, but a boundary is not comparable, or the later report lacks one
  2, 4, 5 as of run";

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The earlier report
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,

    /// The later report
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,

    /// Compare although this is not the same in both, because that is the point, as after an
    /// upgrade: fingerprint, model or inputs. May be given several times
    #[arg(long, value_name = "WHAT", value_parser = about)]
    pub across: Vec<About>,

    /// Write the comparison here, as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl DiffArgs {
    /// Whether standard output is taken.
    pub fn takes_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }
}

fn about(text: &str) -> Result<About, String> {
    let mut all = About::ALL.into_iter();
    let found = all.find(|about| about.name() == text);
    found.ok_or_else(|| {
        format!(
            "it must be one of {}",
            About::ALL.map(About::name).join(", ")
        )
    })
}

/// Compares. Gives the text to print and the exit code.
///
/// # Errors
/// When a report cannot be read, or the file cannot be written.
pub fn diff(args: &DiffArgs) -> Result<(String, ExitCode), Failure> {
    if let Some(file) = &args.json {
        run::check_output(file, &[args.before.clone(), args.after.clone()])?;
    }
    let [before, after] = [&args.before, &args.after].map(|file| read_report(file));
    let (before, after) = (before.or_fail(Kind::Input)?, after.or_fail(Kind::Input)?);
    let files = [named(&args.before), named(&args.after)];
    let found = compare(
        &before,
        &after,
        files.each_ref().map(String::as_str),
        &args.across,
    );
    if let Some(file) = &args.json {
        let _putting = interrupt::putting();
        run::unless_closed(file, write_json(file, &found)).or_fail(Kind::Environment)?;
    }
    Ok((render(&found), found.conclusion()))
}
