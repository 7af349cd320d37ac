//! `qualify run --shard I/N`: the jobs of a shard, one after the other.
//!
//! Each job is a process of its own, so that one which is killed, or ends without a word, takes no
//! other with it and frees its memory. It is the plain `qualify run` that its report's command line
//! shows.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Instant, SystemTime},
};

use clap::ValueEnum;
use reports::{
    shards::{
        Job, JobRun, MergedJob, Plan, Ran, SHARDS_VERSION, Shard, ShardRun, conclusion, found,
        manifest_name, read_plan, report_name, table,
    },
    verdict::ExitCode,
    wire::{rfc3339, write_json},
};

use super::tool;
use crate::{
    cli::{InterpArg, RunArgs},
    failure::{Failure, Kind, OrFail, beginning},
    interrupt, say,
};

/// Runs the jobs of a shard. Gives the table to print and the exit code.
///
/// # Errors
/// When the plan cannot be read, has no such shard, or the folder cannot be written: before any
/// job runs, or if the manifest cannot be written in the end.
pub fn run(
    args: &RunArgs,
    shard: Shard,
    command: Vec<String>,
) -> Result<(String, ExitCode), Failure> {
    let missing = || Failure::usage("--shard needs --plan FILE and --reports DIR");
    let file = args.shard.plan.as_deref().ok_or_else(missing)?;
    let folder = args.shard.reports.as_deref().ok_or_else(missing)?;
    let plan = read_plan(file).or_fail(Kind::Input)?;
    if shard.count != plan.shards {
        let message = format!("run shard {shard}: the plan has {} shards", plan.shards);
        return Err(Failure::new(Kind::Usage, message));
    }
    let options = options(args)?;
    let manifest = folder.join(manifest_name(shard));
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    remove(&manifest)?;
    let jobs: Vec<&Job> = plan.of(shard.index).collect();
    let (mut runs, mut table_rows) = (Vec::new(), Vec::new());
    for (i, job) in jobs.iter().enumerate() {
        say(format_args!(
            "job {} of {}: {}",
            i + 1,
            jobs.len(),
            job.name
        ));
        let (run, ran) = run_job(&plan, job, &options, folder)?;
        if let Some(reason) = &run.reason {
            say(format_args!("  could not run: {reason}"));
        }
        table_rows.push(MergedJob::of(job, &run, ran.as_ref()));
        runs.push(run);
    }
    let code = conclusion(table_rows.iter().map(|job| job.outcome));
    let found = ShardRun {
        schema_version: SHARDS_VERSION,
        tool: tool(),
        created: rfc3339(SystemTime::now()),
        command,
        plan_sha256: plan.plan_sha256.clone(),
        index: shard.index,
        count: shard.count,
        options,
        jobs: runs,
        exit_code: code.code(),
    };
    let _putting = interrupt::putting();
    write_json(&manifest, &found).or_fail(Kind::Environment)?;
    Ok((table(&table_rows), code))
}

/// What every job is told besides what the plan says.
fn options(args: &RunArgs) -> Result<Vec<String>, Failure> {
    let mut options = Vec::new();
    let mut add = |flag: &str, value: String| options.extend([flag.to_owned(), value]);
    if let Some(threads) = args.engine.threads {
        add("--threads", threads.to_string());
    }
    if args.interp != InterpArg::default()
        && let Some(interp) = args.interp.to_possible_value()
    {
        add("--interp", interp.get_name().to_owned());
    }
    if args.repeat > 1 {
        add("--repeat", args.repeat.to_string());
    }
    if let Some(policy) = &args.policy {
        let name = policy.to_str().ok_or_else(|| {
            Failure::usage(format!(
                "--policy {}: its name is no text",
                policy.display()
            ))
        })?;
        add("--policy", name.to_owned());
    }
    if let Some(plant) = &args.plant {
        add("--plant", plant.clone());
    }
    let flags = [
        (args.engine.no_cache, "--no-cache"),
        (args.truth, "--truth"),
    ];
    let flags = flags.into_iter().filter(|(given, _)| *given);
    options.extend(flags.map(|(_, flag)| flag.to_owned()));
    Ok(options)
}

/// Runs one job; what keeps it from running is no failure of the shard.
fn run_job(
    plan: &Plan,
    job: &Job,
    options: &[String],
    folder: &Path,
) -> Result<(JobRun, Option<Ran>), Failure> {
    let at = |ending: &str| folder.join(format!("{}.{ending}", job.name));
    let report = folder.join(report_name(&job.name));
    // One of an earlier run would be taken for this run's.
    remove(&report)?;
    let open = |file: PathBuf| File::create(&file).map_err(|error| unwritable(&file, &error));
    let (table, log) = (open(at("txt"))?, open(at("log"))?);
    let began = Instant::now();
    let status = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.arg("run");
        for (flag, value) in [
            ("--fixture", &job.fixture),
            ("--profile", &job.profile),
            ("--contract", &job.contract),
            ("--device", &job.device),
        ] {
            command.args([flag, value]);
        }
        for stage in &plan.stages {
            command.args(["--stage", stage]);
        }
        command.args(options).arg("--report").arg(&report);
        command.stdin(Stdio::null()).stdout(table).stderr(log);
        interrupt::run(&mut command)
    });
    let seconds = began.elapsed().as_secs_f64();
    let (exit_code, started) = match status {
        Ok(code) => (Some(code), None),
        Err(error) => (None, Some(format!("it could not be started: {error}"))),
    };
    let (ran, reason) = match found(folder, job, exit_code) {
        Ok(ran) => (Some(ran), None),
        Err(why) => {
            let why = started.unwrap_or(why);
            (None, Some(why + &last_words(&at("log"))))
        }
    };
    let run = JobRun {
        name: job.name.clone(),
        exit_code,
        report_sha256: ran.as_ref().map(|ran| ran.sha256.clone()),
        reason,
        seconds,
    };
    Ok((run, ran))
}

/// What a job said that could not run: the line of `qualify:`, else the last line of its log.
fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let own = text.lines().find(|line| line.starts_with("qualify: "));
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    match own.or(last) {
        Some(line) => format!(": {}", beginning(line.trim_start_matches("qualify: ")).0),
        None => String::new(),
    }
}

fn remove(file: &Path) -> Result<(), Failure> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let message = format!("remove {}: {error}", file.display());
            Err(Failure::new(Kind::Environment, message))
        }
        _ => Ok(()),
    }
}

fn unwritable(place: &Path, error: &io::Error) -> Failure {
    let message = format!("write {}: {error}", place.display());
    Failure::new(Kind::Environment, message)
}
