//! What a shard found.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Job, JobOutcome, Shard, report_digest};
use crate::wire::{Report, Tool, read_report};

/// What came of the jobs of one shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardRun {
    /// [`SHARDS_VERSION`](super::SHARDS_VERSION).
    pub schema_version: u32,
    /// What wrote it.
    pub tool: Tool,
    /// When, in UTC, RFC 3339.
    pub created: String,
    /// The command line.
    pub command: Vec<String>,
    /// The plan it is a shard of.
    pub plan_sha256: String,
    /// Which shard, from 1.
    pub index: u32,
    /// Of how many.
    pub count: u32,
    /// What every job was told besides what the plan says, such as `--threads 2`.
    pub options: Vec<String>,
    /// What came of each job, in the plan's order.
    pub jobs: Vec<JobRun>,
    /// The exit code.
    pub exit_code: u8,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobRun {
    /// Its name.
    pub name: String,
    /// The exit code of its process; 128 and the signal where one ended it; null where it could
    /// not be started.
    pub exit_code: Option<i32>,
    /// Digest of its report; null where it could not run.
    pub report_sha256: Option<String>,
    /// Why it could not run; null where it did.
    pub reason: Option<String>,
    /// Seconds it took.
    pub seconds: f64,
}

/// The name of a shard's manifest.
#[must_use]
pub fn manifest_name(shard: Shard) -> String {
    format!("shard-{}-of-{}.json", shard.index, shard.count)
}

/// The name of a job's report.
#[must_use]
pub fn report_name(job: &str) -> String {
    format!("{job}.json")
}

/// A job that came to a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// The report.
    pub report: Report,
    /// The digest of its file.
    pub sha256: String,
    /// What it says came of the job.
    pub outcome: JobOutcome,
}

/// The report that a job left in a folder. It has to be this job's, and to say what the exit code
/// of the job's process says.
///
/// # Errors
/// Why there is none.
pub fn found(folder: &Path, job: &Job, exit_code: Option<i32>) -> Result<Ran, String> {
    let outcome = match exit_code {
        Some(0) => JobOutcome::Qualified,
        Some(1) => JobOutcome::Diverged,
        Some(3) => JobOutcome::Inconclusive,
        Some(code) => return Err(format!("exit code {code}")),
        None => return Err("it could not be started".to_owned()),
    };
    let file = folder.join(report_name(&job.name));
    let failed = |error: &dyn std::error::Error| {
        let cause = error.source().map(|cause| format!(": {cause}"));
        format!("failed to {error}{}", cause.unwrap_or_default())
    };
    let sha256 = report_digest(&file).map_err(|error| failed(&error))?;
    let report = read_report(&file).map_err(|error| failed(&error))?;
    let says = i32::from(report.exit_code);
    if Some(says) != exit_code {
        let code = exit_code.unwrap_or_default();
        return Err(format!("its report says exit code {says}, not {code}"));
    }
    let device = report.fingerprint.iree.as_ref().map(|iree| &iree.device);
    let ran = [
        ("profile", Some(&report.model.profile), &job.profile),
        ("contract", Some(&report.model.contract), &job.contract),
        ("device", device, &job.device),
    ];
    for (what, ran, planned) in ran {
        if ran != Some(planned) {
            let ran = ran.map_or("none", String::as_str);
            return Err(format!("its report is of {what} {ran}, not {planned}"));
        }
    }
    Ok(Ran {
        report,
        sha256,
        outcome,
    })
}
