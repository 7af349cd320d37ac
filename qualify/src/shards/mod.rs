//! Many runs as one: `qualify plan` deals them to shards, `qualify run --shard I/N` runs one, and
//! `qualify merge` joins what they found. The rules are those of [`reports::shards`].

mod cost;
mod merge;
mod plan;
mod run;

use std::path::PathBuf;

use clap::Args;
use reports::{shards::Shard, wire::Tool};

pub use merge::{CODES as MERGE_CODES, MergeArgs, merge};
pub use plan::{CODES as PLAN_CODES, PlanArgs, plan};
pub use run::run;

/// Arguments of `run` for a shard of a plan.
#[derive(Debug, Args)]
#[command(next_help_heading = "A shard of a plan")]
pub struct ShardArgs {
    /// Run all jobs of this shard, one after the other, each in a process of its own: `1/4` is the
    /// first of four. --threads, --no-cache, --interp, --repeat, --truth, --policy and --plant go
    /// for each job. Exit code 1: a job diverged; else 4: one could not run; else 3: one is
    /// inconclusive or vacuous; else 0
    #[arg(long, value_name = "I/N", requires_all = ["plan", "reports"], conflicts_with_all = [
        "stages", "ops", "fixture", "checkpoint", "audio", "mel", "padding", "bucket", "truncate",
        "profile", "contract", "seed", "device", "reference", "candidate", "controls", "report",
        "captures", "jsonl", "csv", "junit", "markdown", "html", "github",
    ])]
    pub shard: Option<Shard>,

    /// The plan, as `qualify plan --json` wrote it
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub plan: Option<PathBuf>,

    /// The folder for what is found: of each job the report (JOB.json), the table (JOB.txt) and
    /// what was said (JOB.log), and of the shard shard-I-of-N.json
    #[arg(long, value_name = "DIR", requires = "shard")]
    pub reports: Option<PathBuf>,
}

fn tool() -> Tool {
    Tool {
        name: "qualify".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("QUALIFY_COMMIT").to_owned(),
    }
}
