//! Which jobs there are, and which shard runs which.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::SHARDS_VERSION;
use crate::wire::Tool;

/// One `qualify run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// `fixture-profile-contract-device`; its report is named after it.
    pub name: String,
    /// As `--fixture` takes it.
    pub fixture: String,
    /// As `--profile` takes it.
    pub profile: String,
    /// As `--contract` takes it.
    pub contract: String,
    /// As `--device` takes it.
    pub device: String,
    /// How long it takes, compared with others: multiply-adds, and for each boundary as many as are
    /// done while it is compiled.
    pub cost: u64,
    /// The shard that runs it, from 1.
    pub shard: u32,
}

impl Job {
    /// A job of no shard yet.
    #[must_use]
    pub fn new([fixture, profile, contract, device]: [&str; 4], cost: u64) -> Self {
        Self {
            name: Self::named([fixture, profile, contract, device]),
            fixture: fixture.to_owned(),
            profile: profile.to_owned(),
            contract: contract.to_owned(),
            device: device.to_owned(),
            cost,
            shard: 0,
        }
    }

    /// The name of a job, which can be a file's.
    pub(super) fn named(parts: [&str; 4]) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        parts.join("-").replace(|c| !plain(c), "_")
    }
}

/// Jobs dealt to shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// [`SHARDS_VERSION`].
    pub schema_version: u32,
    /// What wrote it.
    pub tool: Tool,
    /// Digest of `shards`, `stages` and `jobs`: shards of another plan are not merged.
    pub plan_sha256: String,
    /// How many shards there are.
    pub shards: u32,
    /// What every job is told to select, as `--stage`; nothing stands for everything.
    pub stages: Vec<String>,
    /// Every job, in the order of fixture, profile, contract and device.
    pub jobs: Vec<Job>,
}

/// Why jobs cannot be dealt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A shard without a job would prove nothing.
    #[error("deal {jobs} jobs to {shards} shards: one would have nothing to do")]
    TooFew {
        /// How many jobs there are.
        jobs: usize,
        /// How many shards.
        shards: u32,
    },
    /// Two jobs that are one.
    #[error("plan {0} twice")]
    Twice(String),
}

impl Plan {
    /// Deals jobs: the longest first, each to the shard that has the least to do so far, which is
    /// at worst 4/3 of the best time. The same jobs are always dealt alike.
    ///
    /// # Errors
    /// When a shard would have none, or two have one name.
    pub fn deal(
        mut jobs: Vec<Job>,
        shards: u32,
        stages: Vec<String>,
        tool: Tool,
    ) -> Result<Self, PlanError> {
        if shards == 0 || jobs.len() < shards as usize {
            let jobs = jobs.len();
            return Err(PlanError::TooFew { jobs, shards });
        }
        let mut names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PlanError::Twice(pair[0].to_owned()));
        }
        let mut longest: Vec<usize> = (0..jobs.len()).collect();
        longest.sort_by_key(|&i| (std::cmp::Reverse(jobs[i].cost), i));
        let mut load = vec![(0_u64, 0_usize); shards as usize];
        for i in longest {
            // Where jobs cost nothing, their number decides: none stays without.
            let least = load.iter().enumerate().min_by_key(|(_, load)| **load);
            let least = least.map_or(0, |(shard, _)| shard);
            load[least].0 = load[least].0.saturating_add(jobs[i].cost);
            load[least].1 += 1;
            jobs[i].shard = u32::try_from(least).unwrap_or(u32::MAX) + 1;
        }
        let mut plan = Self {
            schema_version: SHARDS_VERSION,
            tool,
            plan_sha256: String::new(),
            shards,
            stages,
            jobs,
        };
        plan.plan_sha256 = plan.digest();
        Ok(plan)
    }

    /// The jobs of a shard.
    pub fn of(&self, shard: u32) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(move |job| job.shard == shard)
    }

    /// The shards as a matrix of GitHub Actions.
    #[must_use]
    pub fn matrix(&self) -> Matrix {
        let cell = |index| Cell {
            shard: Shard {
                index,
                count: self.shards,
            }
            .to_string(),
            index,
            jobs: self.of(index).map(|job| job.name.clone()).collect(),
            cost: self
                .of(index)
                .fold(0, |sum, job| sum.saturating_add(job.cost)),
        };
        Matrix {
            include: (1..=self.shards).map(cell).collect(),
        }
    }

    /// What [`Plan::plan_sha256`] has to be.
    pub(super) fn digest(&self) -> String {
        let told = serde_json::to_vec(&(self.shards, &self.stages, &self.jobs));
        let digest = Sha256::digest(told.unwrap_or_default());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A matrix as GitHub Actions takes it: a job for each entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Matrix {
    /// A shard each.
    pub include: Vec<Cell>,
}

/// One entry of a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// `1/4`, as `qualify run --shard` takes it.
    pub shard: String,
    /// Its number alone, for names of files.
    pub index: u32,
    /// The names of its jobs.
    pub jobs: Vec<String>,
    /// What they cost together.
    pub cost: u64,
}

/// One of several shards, numbered from 1: `1/4` to `4/4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub index: u32,
    /// Of how many.
    pub count: u32,
}

/// Text that is no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it must be I/N, such as 1/4: shards are numbered from 1 to N")]
pub struct ShardError;

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        let (index, count) = text.split_once('/').ok_or(ShardError)?;
        match (number(index), number(count)) {
            (Some(index), Some(count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(ShardError),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}
