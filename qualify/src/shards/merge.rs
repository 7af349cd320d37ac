//! `qualify merge`: the shards of a plan joined.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::Args;
use reports::{
    shards::{Folder, Merged, markdown, merge as join, read_plan, read_shard, report_name, table},
    verdict::ExitCode,
    wire::{is_stdout, rfc3339, write_json, write_text},
};

use super::tool;
use crate::{
    failure::{Failure, Kind, OrFail},
    interrupt, run,
};

/// The exit codes, for the help.
pub const CODES: &str = "\
Refused, and nothing is written, are: a shard of the plan that is missing or there twice; one of
another plan, or whose jobs are not the plan's; a report that is missing, malformed, of something
else, or not the one that the shard wrote; reports with different fingerprints, or written by
different programs or with different options. What the compiler is told for each job may differ.

Exit codes:
  0    every job ended with 0
  1    a job diverged, whatever else there is
  3    none of these, but a job is inconclusive or vacuous
  4    nothing diverged, but a job could not run; or as of run
  5    refused
  2    as of run";

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The folders that `qualify run --shard` wrote to; several shards may share one
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,

    /// The plan, as `qualify plan --json` wrote it
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,

    /// Write the summary here, as JSON; `-` is standard output, and the table then goes to stderr
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the summary here, as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write the report of every job into this folder, which has no report yet
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl MergeArgs {
    /// Whether standard output is taken.
    pub fn takes_stdout(&self) -> bool {
        let files = [&self.json, &self.markdown].into_iter().flatten();
        files.into_iter().any(|file| is_stdout(file))
    }
}

/// Joins. Gives the table to print and the exit code.
///
/// # Errors
/// When the shards are refused, or a file cannot be written.
pub fn merge(args: &MergeArgs, command: Vec<String>) -> Result<(String, ExitCode), Failure> {
    let plan = read_plan(&args.plan).or_fail(Kind::Input)?;
    for file in [&args.json, &args.markdown].into_iter().flatten() {
        run::check_output(file, std::slice::from_ref(&args.plan))?;
    }
    let mut folders = Vec::new();
    for folder in &args.folders {
        folders.extend(manifests(folder)?);
    }
    let joined = join(&plan, &folders, tool(), rfc3339(SystemTime::now()), command);
    let merged = joined.map_err(|refused| {
        let lines: Vec<String> = refused.iter().map(|why| format!("  {why}")).collect();
        let message = format!("merge the shards:\n{}", lines.join("\n"));
        Failure::new(Kind::Input, message)
    })?;
    let _putting = interrupt::putting();
    if let Some(out) = &args.out {
        copy(&merged, &folders, out)?;
    }
    if let Some(file) = &args.json {
        run::unless_closed(file, write_json(file, &merged)).or_fail(Kind::Environment)?;
    }
    if let Some(file) = &args.markdown {
        let text = markdown(&merged);
        run::unless_closed(file, write_text(file, &text)).or_fail(Kind::Environment)?;
    }
    let code = reports::shards::conclusion(merged.jobs.iter().map(|job| job.outcome));
    Ok((table(&merged.jobs), code))
}

/// The manifests in a folder, sorted by name.
fn manifests(folder: &Path) -> Result<Vec<Folder>, Failure> {
    let unread = |error: std::io::Error| {
        Failure::new(Kind::Input, format!("read {}: {error}", folder.display()))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        let name = file.file_name().and_then(|name| name.to_str());
        let is_manifest = |name: &str| name.starts_with("shard-") && name.ends_with(".json");
        if name.is_some_and(is_manifest) {
            files.push(file);
        }
    }
    if files.is_empty() {
        let wanted = "no shard-I-of-N.json in it: `qualify run --shard` writes that at its end";
        let message = format!("merge {}: there is {wanted}", folder.display());
        return Err(Failure::new(Kind::Input, message));
    }
    files.sort();
    let read = |manifest: PathBuf| {
        let run = read_shard(&manifest).or_fail(Kind::Input)?;
        Ok(Folder { manifest, run })
    };
    files.into_iter().map(read).collect()
}

/// Writes the reports of all shards into one folder.
fn copy(merged: &Merged, folders: &[Folder], out: &Path) -> Result<(), Failure> {
    let unwritable = |error| {
        Failure::new(
            Kind::Environment,
            format!("write {}: {error}", out.display()),
        )
    };
    fs::create_dir_all(out).map_err(unwritable)?;
    for job in &merged.jobs {
        let place = folders
            .iter()
            .find(|folder| folder.run.index == job.job.shard)
            .and_then(|folder| folder.manifest.parent());
        let to = out.join(report_name(&job.job.name));
        if to.exists() {
            let message = format!("write {}: it is there already", to.display());
            return Err(Failure::new(Kind::Environment, message));
        }
        if let (Some(_), Some(place)) = (&job.report_sha256, place) {
            let from = place.join(report_name(&job.job.name));
            let text = fs::read_to_string(&from).map_err(|error| {
                Failure::new(Kind::Input, format!("read {}: {error}", from.display()))
            })?;
            write_text(&to, &text).or_fail(Kind::Environment)?;
        }
    }
    Ok(())
}
