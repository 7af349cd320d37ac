//! Many runs as one: a plan of jobs dealt to shards, what each shard found, and all of them joined.
//!
//! A **job** is one `qualify run`: fixture × profile × contract × device. A **plan** deals jobs to
//! shards, which are numbered from 1. A **shard** runs its jobs wherever it likes, continues past
//! those that cannot run, and notes what came of each in a manifest beside the reports. **Merging**
//! takes nothing on trust: every shard of the plan must be there once, each with exactly its jobs,
//! every report must be the one that the manifest was written about, and all must have run on the
//! same ([`merge`]).
//!
//! **Exit codes** of a shard and of all joined, by [`conclusion`]: 1 where a job diverged, else 4
//! where one could not run, else 3 where one is inconclusive or vacuous, else 0. A job that could
//! not run is never counted as anything else, whatever its own exit code was.

mod check;
mod files;
mod manifest;
mod merge;
mod plan;
mod text;

pub use files::{read_plan, read_shard, report_digest};
pub use manifest::{JobRun, Ran, ShardRun, found, manifest_name, report_name};
pub use merge::{Folder, Merged, MergedJob, Refusal, Totals, merge};
pub use plan::{Cell, Job, Matrix, Plan, PlanError, Shard, ShardError};
pub use text::{markdown, table};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::ExitCode;

/// The version of the three formats.
pub const SHARDS_VERSION: u32 = 1;

/// What came of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    /// It ended with exit code 0.
    Qualified,
    /// Nothing diverged, but something is inconclusive or vacuous.
    Inconclusive,
    /// There is no report of it.
    CouldNotRun,
    /// A boundary diverged.
    Diverged,
}

/// The exit code of several jobs. Of no jobs nothing is known: 3.
#[must_use]
pub fn conclusion(outcomes: impl IntoIterator<Item = JobOutcome>) -> ExitCode {
    let rank = |outcome: &JobOutcome| match outcome {
        JobOutcome::Qualified => 0,
        JobOutcome::Inconclusive => 1,
        JobOutcome::CouldNotRun => 2,
        JobOutcome::Diverged => 3,
    };
    match outcomes.into_iter().max_by_key(rank) {
        Some(JobOutcome::Qualified) => ExitCode::QUALIFIED,
        Some(JobOutcome::Diverged) => ExitCode::DIVERGED,
        Some(JobOutcome::CouldNotRun) => ExitCode::ENVIRONMENT,
        Some(JobOutcome::Inconclusive) | None => ExitCode::INCONCLUSIVE,
    }
}

/// The JSON schemas of plan, manifest and summary by the name of their file, as committed.
#[must_use]
pub fn shards_schemas() -> [(&'static str, schemars::Schema); 3] {
    let named = |name: &str, mut schema: schemars::Schema| {
        let id = format!("urn:qualify:{name}:{SHARDS_VERSION}");
        schema.insert("$id".to_owned(), id.into());
        schema
    };
    [
        (
            "plan.schema.json",
            named("plan", schemars::schema_for!(Plan)),
        ),
        (
            "shard.schema.json",
            named("shard", schemars::schema_for!(ShardRun)),
        ),
        (
            "merged.schema.json",
            named("merged", schemars::schema_for!(Merged)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::JobOutcome::{CouldNotRun, Diverged, Inconclusive, Qualified};
    use super::*;

    #[test]
    fn one_that_could_not_run_is_never_hidden_behind_a_better_code() {
        let code = |outcomes: &[JobOutcome]| conclusion(outcomes.iter().copied()).code();
        assert_eq!(code(&[Qualified, Qualified]), 0);
        assert_eq!(code(&[Qualified, Inconclusive]), 3);
        assert_eq!(code(&[Inconclusive, CouldNotRun, Qualified]), 4);
        assert_eq!(code(&[CouldNotRun, Diverged, Inconclusive]), 1);
        assert_eq!(code(&[]), 3);
    }
}
