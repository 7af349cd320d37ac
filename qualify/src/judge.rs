//! `qualify judge`: a report under another policy, without running anything.

mod tensors;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use reports::{
    events::{Event, Sink},
    policy::{self, Policy, Selects, Suggestion, apply, lift, read_policy, uncounted},
    verdict::ExitCode,
    wire::{Report, is_stdout, read_report, write_report, write_text},
};
use stages::registry::Selector;

use crate::{
    failure::{Failure, Kind, OrFail},
    interrupt, run,
};

use tensors::Tensors;

/// Arguments of `judge`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// A report that `qualify run --report` wrote
    #[arg(value_name = "REPORT")]
    pub judged: PathBuf,

    /// What may differ: a TOML file; without one equal bits are demanded, or one order that
    /// explains all of them
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// The tensors that `qualify run --captures` wrote in the same run. Everything is measured once
    /// more; a report that says otherwise is refused
    #[arg(long, value_name = "DIR")]
    pub captures: Option<PathBuf>,

    /// Write the tightest policy that the report passes under, beside the policy, as FILE.new, or
    /// as policy.toml.new; an earlier suggestion is replaced
    #[arg(long)]
    pub suggest: bool,

    /// Write the report as it is judged here; `-` is standard output, and the table then goes to
    /// stderr
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

impl JudgeArgs {
    /// Whether standard output is taken.
    pub fn takes_stdout(&self) -> bool {
        self.report.as_deref().is_some_and(is_stdout)
    }

    /// Where a suggested policy goes.
    fn suggested(&self) -> PathBuf {
        let policy = self.policy.clone();
        let mut name: OsString = policy.unwrap_or_else(|| "policy.toml".into()).into();
        name.push(".new");
        name.into()
    }
}

/// The names a pattern of a policy selects: those of `--stage`.
pub fn compile(pattern: &str) -> Selects {
    let selector = Selector::new(pattern);
    Box::new(move |name| selector.selects(name))
}

/// Reads a policy.
///
/// # Errors
/// When it is none.
pub fn read(file: &Path) -> Result<Policy, Failure> {
    read_policy(file).or_fail(Kind::Input)
}

/// What a report calls a policy file.
pub fn named(file: &Path) -> String {
    let name = file.display().to_string();
    name.replace(char::is_control, "\u{fffd}")
}

/// Judges and shows. Gives the exit code, and what to say on stderr besides.
///
/// # Errors
/// When an input is malformed, or an output cannot be written.
pub fn judge(args: &JudgeArgs, sink: &mut dyn Sink) -> Result<(ExitCode, Vec<String>), Failure> {
    let mut inputs = vec![args.judged.clone()];
    inputs.extend(args.policy.clone());
    if let Some(folder) = &args.captures {
        inputs.extend(tensors::files(folder));
    }
    if let Some(file) = &args.report {
        run::check_output(file, &inputs)?;
    }
    if args.suggest {
        let file = args.suggested();
        run::check_file(&file, &inputs)?;
        if file.is_symlink() {
            let message = format!("write {}: it is a link; remove it", file.display());
            return Err(Failure::new(Kind::Environment, message));
        }
    }
    let mut report = read_report(&args.judged).or_fail(Kind::Input)?;
    let policy = args.policy.as_deref().map(read).transpose()?;
    let tensors = args.captures.as_deref().map(Tensors::open).transpose()?;
    if let Some(tensors) = &tensors {
        tensors.measure(&mut report)?;
    }
    match (policy, &args.policy) {
        (Some(policy), Some(file)) => {
            let counted =
                |name: &str, part, grid, ulp| tensors.as_ref()?.count_over(name, part, grid, ulp);
            let counter: policy::Counter<'_> = match &tensors {
                Some(_) => &counted,
                None => &uncounted,
            };
            apply(&policy, &named(file), &mut report, &compile, counter).or_fail(Kind::Input)?;
        }
        _ => lift(&mut report),
    }
    let mut said = Vec::new();
    {
        let _putting = interrupt::putting();
        if let Some(file) = &args.report {
            run::unless_closed(file, write_report(file, &report)).or_fail(Kind::Environment)?;
        }
        if args.suggest {
            let suggestion = policy::suggest(&report, &compile);
            let file = args.suggested();
            write_text(&file, &suggestion.to_toml()).or_fail(Kind::Environment)?;
            said = about(&suggestion, &file);
        }
    }
    let code = code(&report);
    sink.event(&Event::RunFinished(Arc::new(report)));
    Ok((code, said))
}

fn code(report: &Report) -> ExitCode {
    ExitCode::from_verdict(report.verdict)
}

/// What is said of a suggestion.
fn about(suggestion: &Suggestion, file: &Path) -> Vec<String> {
    let mut said = vec![format!(
        "the tightest policy that passes has {} entries: {}",
        suggestion.policy.entries.len(),
        file.display()
    )];
    if let Some((name, why)) = suggestion.impossible.first() {
        said.push(format!(
            "no policy accepts {} findings, the first in {name}: {why}",
            suggestion.impossible.len()
        ));
    }
    said
}
