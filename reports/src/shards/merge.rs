//! All shards of a plan joined, or why they are not.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Job, JobOutcome, JobRun, Plan, Ran, SHARDS_VERSION, ShardRun, conclusion, found};
use crate::verdict::{FirstDivergence, Verdict};
use crate::wire::{Report, Tool};

/// What came of all jobs of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// [`SHARDS_VERSION`].
    pub schema_version: u32,
    /// What wrote it.
    pub tool: Tool,
    /// When, in UTC, RFC 3339.
    pub created: String,
    /// The command line.
    pub command: Vec<String>,
    /// The plan.
    pub plan_sha256: String,
    /// How many shards there were.
    pub shards: u32,
    /// What every job selected, as `--stage`; nothing stands for everything.
    pub stages: Vec<String>,
    /// What every job was told besides what the plan says.
    pub options: Vec<String>,
    /// What every job ran on, by name; what the compiler is told for each is not among it.
    pub fingerprint: BTreeMap<String, String>,
    /// Every job, in the plan's order.
    pub jobs: Vec<MergedJob>,
    /// How many came out how.
    pub totals: Totals,
    /// The exit code.
    pub exit_code: u8,
}

/// What came of one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedJob {
    /// What was planned.
    #[serde(flatten)]
    pub job: Job,
    /// What came of it.
    pub outcome: JobOutcome,
    /// The exit code of its process; null where it could not be started.
    pub exit_code: Option<i32>,
    /// Why it could not run; null where it did.
    pub reason: Option<String>,
    /// Seconds it took.
    pub seconds: f64,
    /// Digest of its report; null where it could not run.
    pub report_sha256: Option<String>,
    /// Boundaries judged; 0 where it could not run.
    pub boundaries: u64,
    /// How many boundaries have each verdict that any has.
    pub verdicts: BTreeMap<String, u64>,
    /// The first boundaries worse than `order_explained`; null where it could not run.
    pub first_divergence: Option<FirstDivergence>,
    /// What its policy loosened.
    pub relaxed: Vec<String>,
    /// The mistake that was made in its graph on purpose.
    pub planted: Option<String>,
}

/// How many jobs came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// With exit code 0.
    pub qualified: u64,
    /// Inconclusive or vacuous.
    pub inconclusive: u64,
    /// Without a report.
    pub could_not_run: u64,
    /// With a boundary that diverged.
    pub diverged: u64,
}

/// A folder in which a shard left its manifest and its reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// The manifest's file.
    pub manifest: PathBuf,
    /// What it says.
    pub run: ShardRun,
}

/// Why shards are not joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A shard of something else.
    #[error("{}: it is of another plan, {found}, not {plan}", file.display())]
    OtherPlan {
        /// The manifest.
        file: PathBuf,
        /// Its plan.
        found: String,
        /// The plan.
        plan: String,
    },
    /// A shard that the plan does not have.
    #[error("{}: it is shard {index} of {count}; the plan has shards 1 to {shards}", file.display())]
    NoSuchShard {
        /// The manifest.
        file: PathBuf,
        /// Which it says it is.
        index: u32,
        /// Of how many.
        count: u32,
        /// How many there are.
        shards: u32,
    },
    /// A shard that is there twice.
    #[error("shard {index} is there twice: {} and {}", first.display(), second.display())]
    Twice {
        /// Which.
        index: u32,
        /// One manifest.
        first: PathBuf,
        /// Another.
        second: PathBuf,
    },
    /// A shard that is not there.
    #[error("shard {index} is missing, and with it {}", jobs.join(", "))]
    Missing {
        /// Which.
        index: u32,
        /// Its jobs.
        jobs: Vec<String>,
    },
    /// A shard whose jobs are not the planned ones.
    #[error("{}: its jobs are {}; planned are {}", file.display(), found.join(", "), planned.join(", "))]
    OtherJobs {
        /// The manifest.
        file: PathBuf,
        /// What it ran.
        found: Vec<String>,
        /// What it should have.
        planned: Vec<String>,
    },
    /// A report that is not there as it was written.
    #[error("{job}, of {}: {why}", file.display())]
    Report {
        /// The manifest.
        file: PathBuf,
        /// The job.
        job: String,
        /// What is wrong.
        why: String,
    },
    /// Jobs that did not run on the same, or were not told the same.
    #[error("mixed {field}: {first:?} in {in_first}, {second:?} in {in_second}")]
    Mixed {
        /// What differs, such as `host.cpu`.
        field: String,
        /// One value; empty where there is none.
        first: String,
        /// The job it is of.
        in_first: String,
        /// Another.
        second: String,
        /// The job it is of.
        in_second: String,
    },
}

impl MergedJob {
    /// What came of a job, and its report if there is one.
    #[must_use]
    pub fn of(job: &Job, run: &JobRun, ran: Option<&Ran>) -> Self {
        let report = ran.map(|ran| &ran.report);
        let mut verdicts = BTreeMap::new();
        for boundary in report.iter().flat_map(|report| &report.boundaries) {
            *verdicts
                .entry(boundary.verdict.name().to_owned())
                .or_insert(0) += 1;
        }
        Self {
            job: job.clone(),
            outcome: ran.map_or(JobOutcome::CouldNotRun, |ran| ran.outcome),
            exit_code: run.exit_code,
            reason: run.reason.clone(),
            seconds: run.seconds,
            report_sha256: ran.map(|ran| ran.sha256.clone()),
            boundaries: report.map_or(0, |report| report.boundaries.len() as u64),
            verdicts,
            first_divergence: report.map(|report| report.first_divergence.clone()),
            relaxed: report.map_or_else(Vec::new, |report| report.policy.relaxed.clone()),
            planted: report.and_then(|report| report.planted.clone()),
        }
    }

    /// How many boundaries have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(verdict.name()).copied().unwrap_or(0)
    }
}

impl Totals {
    /// Counts jobs.
    #[must_use]
    pub fn of(jobs: &[MergedJob]) -> Self {
        let mut totals = Self::default();
        for job in jobs {
            *match job.outcome {
                JobOutcome::Qualified => &mut totals.qualified,
                JobOutcome::Inconclusive => &mut totals.inconclusive,
                JobOutcome::CouldNotRun => &mut totals.could_not_run,
                JobOutcome::Diverged => &mut totals.diverged,
            } += 1;
        }
        totals
    }
}

/// What must be the same in every report: the fingerprint without what the compiler is told, which
/// follows from profile, contract and device, and the program that wrote it.
fn common(report: &Report) -> BTreeMap<String, String> {
    const OWN: [&str; 3] = ["iree.flags", "iree.target", "iree.device"];
    let entries = report.fingerprint.entries().into_iter();
    let mut common: BTreeMap<String, String> = entries
        .filter(|(name, _)| !OWN.contains(&name.as_str()))
        .collect();
    common.insert("tool.version".to_owned(), report.tool.version.clone());
    common.insert("tool.commit".to_owned(), report.tool.commit.clone());
    common
}

/// The first report or manifest, which all others have to agree with.
struct Agreed {
    name: String,
    said: BTreeMap<String, String>,
}

impl Agreed {
    fn check(
        first: &mut Option<Self>,
        name: &str,
        said: BTreeMap<String, String>,
        refused: &mut Vec<Refusal>,
    ) {
        let Some(agreed) = first else {
            let name = name.to_owned();
            *first = Some(Self { name, said });
            return;
        };
        let mut fields: Vec<&String> = agreed.said.keys().chain(said.keys()).collect();
        fields.sort_unstable();
        fields.dedup();
        for field in fields {
            let [one, other] = [&agreed.said, &said].map(|said| said.get(field));
            if one != other {
                refused.push(Refusal::Mixed {
                    field: field.clone(),
                    first: one.cloned().unwrap_or_default(),
                    in_first: agreed.name.clone(),
                    second: other.cloned().unwrap_or_default(),
                    in_second: name.to_owned(),
                });
            }
        }
    }
}

/// Joins all shards of a plan. Reports are read one after the other; of each only what is in
/// [`MergedJob`] is kept.
///
/// # Errors
/// With everything that keeps them from being joined.
pub fn merge(
    plan: &Plan,
    folders: &[Folder],
    tool: Tool,
    created: String,
    command: Vec<String>,
) -> Result<Merged, Vec<Refusal>> {
    let mut refused = Vec::new();
    let shards = by_index(plan, folders, &mut refused);
    let mut jobs = Vec::new();
    let (mut ran_on, mut told) = (None, None);
    for job in &plan.jobs {
        let Some((folder, run)) = shards.get(&job.shard).and_then(|folder| {
            let mut runs = folder.run.jobs.iter();
            Some((*folder, runs.find(|run| run.name == job.name)?))
        }) else {
            continue;
        };
        let options = BTreeMap::from([("options".to_owned(), folder.run.options.join(" "))]);
        Agreed::check(&mut told, &job.name, options, &mut refused);
        match report(folder, job, run) {
            Ok(ran) => {
                if let Some(ran) = &ran {
                    let said = common(&ran.report);
                    Agreed::check(&mut ran_on, &job.name, said, &mut refused);
                }
                jobs.push(MergedJob::of(job, run, ran.as_ref()));
            }
            Err(why) => refused.push(Refusal::Report {
                file: folder.manifest.clone(),
                job: job.name.clone(),
                why,
            }),
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    Ok(Merged {
        schema_version: SHARDS_VERSION,
        tool,
        created,
        command,
        plan_sha256: plan.plan_sha256.clone(),
        shards: plan.shards,
        stages: plan.stages.clone(),
        options: folders
            .first()
            .map_or_else(Vec::new, |first| first.run.options.clone()),
        fingerprint: ran_on.map_or_else(BTreeMap::new, |agreed| agreed.said),
        totals: Totals::of(&jobs),
        exit_code: conclusion(jobs.iter().map(|job| job.outcome)).code(),
        jobs,
    })
}

/// The shards that are there, once each and with their jobs.
fn by_index<'a>(
    plan: &Plan,
    folders: &'a [Folder],
    refused: &mut Vec<Refusal>,
) -> BTreeMap<u32, &'a Folder> {
    let mut shards: BTreeMap<u32, &Folder> = BTreeMap::new();
    for folder in folders {
        let (run, file) = (&folder.run, folder.manifest.clone());
        if run.plan_sha256 != plan.plan_sha256 {
            refused.push(Refusal::OtherPlan {
                file,
                found: short(&run.plan_sha256),
                plan: short(&plan.plan_sha256),
            });
            continue;
        }
        if run.count != plan.shards || !(1..=plan.shards).contains(&run.index) {
            refused.push(Refusal::NoSuchShard {
                file,
                index: run.index,
                count: run.count,
                shards: plan.shards,
            });
            continue;
        }
        match shards.entry(run.index) {
            Entry::Occupied(there) => refused.push(Refusal::Twice {
                index: run.index,
                first: there.get().manifest.clone(),
                second: file,
            }),
            Entry::Vacant(place) => {
                place.insert(folder);
                let planned: Vec<String> = plan.of(run.index).map(|job| job.name.clone()).collect();
                let found: Vec<String> = run.jobs.iter().map(|job| job.name.clone()).collect();
                if planned != found {
                    refused.push(Refusal::OtherJobs {
                        file,
                        found,
                        planned,
                    });
                }
            }
        }
    }
    for index in (1..=plan.shards).filter(|index| !shards.contains_key(index)) {
        let jobs = plan.of(index).map(|job| job.name.clone()).collect();
        refused.push(Refusal::Missing { index, jobs });
    }
    shards
}

/// The report that a manifest speaks of, none where it says that the job could not run.
fn report(folder: &Folder, job: &Job, run: &JobRun) -> Result<Option<Ran>, String> {
    let Some(sha256) = &run.report_sha256 else {
        return Ok(None);
    };
    let place = folder.manifest.parent().unwrap_or(Path::new("."));
    let ran = found(place, job, run.exit_code)?;
    if ran.sha256 != *sha256 {
        return Err("its report is not the one the shard wrote".to_owned());
    }
    Ok(Some(ran))
}

fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}
