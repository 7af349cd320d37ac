//! Plans, shards and what is refused when they are joined.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod made;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use reports::Grid;
use reports::shards::{
    Folder, Job, JobOutcome, JobRun, Merged, Plan, PlanError, Refusal, Shard, ShardRun, conclusion,
    found, manifest_name, markdown, merge, read_plan, read_shard, report_digest, report_name,
    shards_schemas, table,
};
use reports::wire::{Report, Tool, write_json};
use tempfile::TempDir;

const ONE: [f32; 4] = [1.0, 2.0, 4.0, 8.0];
const OFF: [f32; 4] = [1.0, 2.0, 4.0, 8.5];

fn tool() -> Tool {
    Tool {
        name: "qualify".to_owned(),
        version: "0".to_owned(),
        commit: "c".to_owned(),
    }
}

fn job(fixture: &str, cost: u64) -> Job {
    Job::new([fixture, "bf16", "mlx-cpu", "local-task"], cost)
}

fn plan(costs: &[u64], shards: u32) -> Plan {
    let jobs = costs.iter().enumerate();
    let jobs = jobs.map(|(i, cost)| job(&format!("f{i}"), *cost)).collect();
    Plan::deal(jobs, shards, vec![], tool()).unwrap()
}

/// Shards in a folder, written as `qualify run --shard` writes them.
struct Written {
    place: TempDir,
    plan: Plan,
}

impl Written {
    fn new(shards: u32) -> Self {
        let place = TempDir::new().unwrap();
        let written = Self {
            place,
            plan: plan(&[3, 2, 2, 1], shards),
        };
        for index in 1..=shards {
            written.shard(index);
        }
        written
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn report(&self, job: &Job, candidate: &[f32], edit: impl Fn(&mut Report)) -> JobRun {
        let mut report = made::report(&[("a", Grid::Bf16, &ONE, None, candidate)]);
        report.model.profile = job.profile.clone();
        report.model.contract = job.contract.clone();
        report.fingerprint.iree.as_mut().unwrap().device = job.device.clone();
        edit(&mut report);
        let file = self.path(&report_name(&job.name));
        write_json(&file, &report).unwrap();
        JobRun {
            name: job.name.clone(),
            exit_code: Some(i32::from(report.exit_code)),
            report_sha256: Some(report_digest(&file).unwrap()),
            reason: None,
            seconds: 1.0,
        }
    }

    fn shard(&self, index: u32) {
        let jobs = self.plan.of(index);
        let jobs = jobs.map(|job| self.report(job, &ONE, |_| {})).collect();
        self.manifest(index, jobs);
    }

    fn manifest(&self, index: u32, jobs: Vec<JobRun>) {
        let shard = Shard {
            index,
            count: self.plan.shards,
        };
        let run = ShardRun {
            schema_version: 1,
            tool: tool(),
            created: String::new(),
            command: vec![],
            plan_sha256: self.plan.plan_sha256.clone(),
            index,
            count: shard.count,
            options: vec![],
            jobs,
            exit_code: 0,
        };
        write_json(&self.path(&manifest_name(shard)), &run).unwrap();
    }

    /// Rewrites one job's report and what the manifest says of it.
    fn again(&self, name: &str, candidate: &[f32], edit: impl Fn(&mut Report)) {
        let job = self.plan.jobs.iter().find(|job| job.name.starts_with(name));
        let job = job.unwrap();
        let run = self.report(job, candidate, edit);
        self.change(job.shard, |shard| {
            let of_job = shard.jobs.iter_mut().find(|run| run.name == job.name);
            *of_job.unwrap() = run.clone();
        });
    }

    fn change(&self, index: u32, edit: impl Fn(&mut ShardRun)) {
        let mut folder = self.folder(index);
        edit(&mut folder.run);
        write_json(&folder.manifest, &folder.run).unwrap();
    }

    fn folder(&self, index: u32) -> Folder {
        let count = self.plan.shards;
        let manifest = self.path(&manifest_name(Shard { index, count }));
        let run = read_shard(&manifest).unwrap();
        Folder { manifest, run }
    }

    fn merge_of(&self, folders: &[Folder]) -> Result<Merged, Vec<Refusal>> {
        merge(&self.plan, folders, tool(), String::new(), vec![])
    }

    fn merge(&self) -> Result<Merged, Vec<Refusal>> {
        let shards = 1..=self.plan.shards;
        self.merge_of(&shards.map(|index| self.folder(index)).collect::<Vec<_>>())
    }

    #[track_caller]
    fn refused(&self) -> Vec<String> {
        let refused = self.merge().unwrap_err();
        refused.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn the_longest_job_goes_first_to_the_shard_with_the_least_to_do() {
    let plan = plan(&[1, 7, 4, 4], 2);
    let shards: Vec<u32> = plan.jobs.iter().map(|job| job.shard).collect();
    assert_eq!(shards, [1, 1, 2, 2]);
    let matrix = serde_json::to_value(plan.matrix()).unwrap();
    assert_eq!(
        matrix["include"][1],
        serde_json::json!({
            "shard": "2/2",
            "index": 2,
            "jobs": ["f2-bf16-mlx-cpu-local-task", "f3-bf16-mlx-cpu-local-task"],
            "cost": 8
        })
    );
    // A key beside `include` would be a dimension of the matrix.
    assert_eq!(matrix.as_object().unwrap().len(), 1);
}

#[test]
fn a_shard_without_a_job_and_a_job_twice_are_refused() {
    let dealt = |jobs: Vec<Job>, shards| Plan::deal(jobs, shards, vec![], tool());
    let few = dealt(vec![job("a", 1)], 2).unwrap_err();
    assert_eq!(few, PlanError::TooFew { jobs: 1, shards: 2 });
    assert!(dealt(vec![], 0).is_err());
    let twice = dealt(vec![job("a", 1), job("a", 2)], 1).unwrap_err();
    assert_eq!(twice.to_string(), "plan a-bf16-mlx-cpu-local-task twice");
}

proptest! {
    #[test]
    fn every_job_is_dealt_once_no_shard_is_empty_and_none_has_far_too_much(
        costs in prop::collection::vec(0_u64..1000, 1..40),
        shards in 1_u32..8,
    ) {
        prop_assume!(costs.len() >= shards as usize);
        let plan = plan(&costs, shards);
        let matrix = plan.matrix().include;
        let dealt: usize = matrix.iter().map(|cell| cell.jobs.len()).sum();
        prop_assert_eq!(dealt, costs.len());
        prop_assert!(matrix.iter().all(|cell| !cell.jobs.is_empty()));
        let total: u64 = costs.iter().sum();
        let longest = costs.iter().copied().max().unwrap_or(0);
        let most = matrix.iter().map(|cell| cell.cost).max().unwrap_or(0);
        prop_assert!(most <= total / u64::from(shards) + longest);
    }
}

#[test]
fn shards_are_numbered_from_one() {
    assert_eq!("1/4".parse(), Ok(Shard { index: 1, count: 4 }));
    for text in [
        "0/4",
        "5/4",
        "1",
        "1/0",
        "a/b",
        "+1/2",
        "1/ 2",
        "/",
        "1/99999999999",
    ] {
        assert!(text.parse::<Shard>().is_err(), "{text}");
    }
}

#[test]
fn a_plan_is_read_back_and_one_that_was_changed_is_not() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("plan.json");
    let plan = plan(&[3, 1, 2], 2);
    write_json(&file, &plan).unwrap();
    assert_eq!(read_plan(&file).unwrap(), plan);
    let refused = |edit: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        edit(&mut plan);
        write_json(&file, &plan).unwrap();
        read_plan(&file).unwrap_err().to_string()
    };
    let why = refused(&|plan| plan.jobs[0].name = "../../etc/passwd".to_owned());
    assert!(why.contains("is not named after what it runs"), "{why}");
    let why = refused(&|plan| plan.jobs[1].shard = 1);
    assert!(why.contains("dealt otherwise"), "{why}");
    let why = refused(&|plan| plan.stages.push("lengths".to_owned()));
    assert!(why.contains("not its digest"), "{why}");
    let why = refused(&|plan| plan.shards = 9);
    assert!(why.contains("cannot deal 3 jobs to 9 shards"), "{why}");
    fs::write(&file, "{\"schema_version\": 1}").unwrap();
    assert!(read_plan(&file).is_err());
}

#[test]
fn shards_are_joined_in_the_plans_order() {
    let written = Written::new(3);
    let merged = written.merge().unwrap();
    let names: Vec<&str> = merged
        .jobs
        .iter()
        .map(|job| job.job.fixture.as_str())
        .collect();
    assert_eq!(names, ["f0", "f1", "f2", "f3"]);
    assert_eq!((merged.exit_code, merged.totals.qualified), (0, 4));
    assert!(merged.fingerprint.contains_key("host.cpu"));
    insta::assert_snapshot!(table(&merged.jobs));
    assert!(markdown(&merged).starts_with("**4 jobs: 4 qualified**\n"));
}

#[test]
fn what_the_compiler_is_told_may_differ_between_jobs() {
    let written = Written::new(2);
    written.again("f2", &ONE, |report| {
        let iree = report.fingerprint.iree.as_mut().unwrap();
        iree.flags.push("--other".to_owned());
        iree.target = "other".to_owned();
    });
    assert!(written.merge().is_ok());
}

#[test]
fn the_worst_job_decides_and_one_that_could_not_run_is_said_to() {
    let written = Written::new(2);
    let name = written.plan.jobs[2].name.clone();
    written.change(written.plan.jobs[2].shard, |shard| {
        let run = shard.jobs.iter_mut().find(|run| run.name == name).unwrap();
        run.exit_code = Some(0);
        run.report_sha256 = None;
        run.reason = Some("exit code 137".to_owned());
    });
    let merged = written.merge().unwrap();
    assert_eq!((merged.exit_code, merged.totals.could_not_run), (4, 1));
    assert_eq!(merged.jobs[2].outcome, JobOutcome::CouldNotRun);
    assert_eq!(conclusion([merged.jobs[2].outcome]).code(), 4);
    written.again("f0", &OFF, |_| {});
    let merged = written.merge().unwrap();
    assert_eq!((merged.exit_code, merged.totals.diverged), (1, 1));
    insta::assert_snapshot!(table(&merged.jobs));
    let page = markdown(&merged);
    assert!(
        page.contains("4 jobs: 2 qualified, 1 diverged, 1 could not run"),
        "{page}"
    );
}

#[test]
fn gaps_and_duplicates_are_refused() {
    let written = Written::new(3);
    let [one, two, three] = [1, 2, 3].map(|index| written.folder(index));
    let refused = written.merge_of(&[one.clone(), three.clone()]).unwrap_err();
    assert!(matches!(&refused[..], [Refusal::Missing { index: 2, jobs }] if jobs.len() == 2));
    let refused = written.merge_of(&[one.clone(), two.clone(), three.clone(), two.clone()]);
    assert!(matches!(
        &refused.unwrap_err()[..],
        [Refusal::Twice { index: 2, .. }]
    ));
    assert_eq!(written.merge_of(&[]).unwrap_err().len(), 3);
    let mut short = three.clone();
    short.run.jobs.clear();
    let refused = written
        .merge_of(&[one.clone(), two.clone(), short])
        .unwrap_err();
    assert!(matches!(&refused[..], [Refusal::OtherJobs { .. }]));
    let mut twice = three;
    twice.run.jobs.push(twice.run.jobs[0].clone());
    let refused = written.merge_of(&[one, two, twice]).unwrap_err();
    assert!(matches!(&refused[..], [Refusal::OtherJobs { .. }]));
}

#[test]
fn shards_of_another_plan_are_refused() {
    let written = Written::new(2);
    written.change(1, |shard| shard.plan_sha256 = "0".repeat(64));
    let refused = written.refused();
    assert!(
        refused[0].contains("it is of another plan, 000000000000"),
        "{refused:?}"
    );
    let written = Written::new(2);
    written.change(2, |shard| shard.count = 3);
    let refused = written.refused();
    assert!(refused[0].contains("it is shard 2 of 3"), "{refused:?}");
}

#[test]
fn mixed_fingerprints_programs_and_options_are_refused_and_named() {
    let written = Written::new(2);
    written.again("f3", &ONE, |report| {
        report.fingerprint.host.cpu = "another".to_owned();
        report.fingerprint.host.glibc = None;
        report.tool.commit = "d".to_owned();
    });
    let refused = written.refused();
    let fields: Vec<&str> = refused
        .iter()
        .map(|why| why.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(fields, ["host.cpu:", "host.glibc:", "tool.commit:"]);
    assert!(
        refused[0].contains("\"another\" in f3-bf16-mlx-cpu-local-task"),
        "{refused:?}"
    );
    let written = Written::new(2);
    written.change(2, |shard| shard.options = vec!["--truth".to_owned()]);
    assert!(written.refused()[0].starts_with("mixed options: \"\" in"));
}

#[test]
fn a_report_that_is_not_the_one_that_was_written_is_refused() {
    let written = Written::new(2);
    let job = &written.plan.jobs[0];
    let file = written.path(&report_name(&job.name));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.clone() + " ").unwrap();
    assert!(written.refused()[0].ends_with("its report is not the one the shard wrote"));
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    assert!(written.refused()[0].contains("failed to parse the report"));
    fs::remove_file(&file).unwrap();
    assert!(written.refused()[0].contains("failed to read the report"));

    let why = |edit: &dyn Fn(&mut Report)| {
        let run = written.report(job, &ONE, edit);
        found(written.place.path(), job, run.exit_code).unwrap_err()
    };
    let other = |report: &mut Report| report.model.profile = "f32".to_owned();
    assert_eq!(why(&other), "its report is of profile f32, not bf16");
    let other = |report: &mut Report| report.fingerprint.iree = None;
    assert_eq!(why(&other), "its report is of device none, not local-task");
    written.report(job, &ONE, |_| {});
    let at: &Path = written.place.path();
    assert_eq!(
        found(at, job, Some(1)).unwrap_err(),
        "its report says exit code 0, not 1"
    );
    assert_eq!(found(at, job, Some(137)).unwrap_err(), "exit code 137");
    assert_eq!(found(at, job, None).unwrap_err(), "it could not be started");
}

#[test]
fn the_schemas_are_the_committed_ones() {
    for (file, schema) in shards_schemas() {
        made::committed(file, &schema);
    }
}
