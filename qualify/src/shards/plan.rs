//! `qualify plan`: which jobs there are, and which shard runs which.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use emitter::Contract;
use fixtures::Fixture;
use reports::{
    shards::{Job, Plan, PlanError},
    verdict::ExitCode,
    wire::{is_stdout, write_json, write_text},
};
use stages::{
    AudioConfig, Graph, Profile, audio::PaddingSide, model::gemma3n_audio::audio_encoder,
    registry::select,
};

use super::{cost, tool};
use crate::{
    cli::{Bucket, DeviceArg},
    failure::{Failure, Kind, OrFail},
    inputs::Inputs,
    interrupt, run,
};

/// The exit codes, for the help.
pub const CODES: &str = "\
Where it goes:
  GitHub Actions   echo \"matrix=$(qualify plan --shards 4 --json plan.json --matrix -)\"
                   as an output of a step; then `matrix: ${{ fromJSON(…) }}`, and
                   `qualify run --shard ${{ matrix.shard }} --plan plan.json --reports DIR`
  Slurm            sbatch --array=1-4, and `qualify run --shard $SLURM_ARRAY_TASK_ID/4 …`
  then             qualify merge DIR … --plan plan.json

Exit codes:
  0    the plan is made
  2    the command line was not understood, or there are more shards than jobs
  4, 5 as of run";

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// How many shards, each of which has a job at least
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub shards: u32,

    /// A fixture. May be given several times; all if not given
    #[arg(long = "fixture", value_name = "NAME", value_parser = fixture)]
    pub fixtures: Vec<&'static str>,

    /// A profile. May be given several times; all if not given
    #[arg(long = "profile", value_name = "PROFILE")]
    pub profiles: Vec<Profile>,

    /// A contract. May be given several times; mlx-cpu if not given
    #[arg(long = "contract", value_name = "CONTRACT")]
    pub contracts: Vec<Contract>,

    /// An IREE device. May be given several times; local-task if not given
    #[arg(long = "device", value_enum)]
    pub devices: Vec<DeviceArg>,

    /// What each job selects, as of `run`. May be given several times; all if not given
    #[arg(long = "stage", value_name = "GLOB")]
    pub stages: Vec<String>,

    /// Write the plan here, as JSON; `-` is standard output, and the table then goes to stderr
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the shards here as a matrix of GitHub Actions, in one line of JSON; `-` is standard
    /// output, and the table then goes to stderr
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
}

impl PlanArgs {
    /// Whether standard output is taken.
    pub fn takes_stdout(&self) -> bool {
        [&self.json, &self.matrix]
            .into_iter()
            .flatten()
            .any(|file| is_stdout(file))
    }
}

fn fixture(name: &str) -> Result<&'static str, String> {
    let mut all = Fixture::NAMES.iter().copied();
    all.find(|known| *known == name)
        .ok_or_else(|| format!("it must be one of {}", Fixture::NAMES.join(", ")))
}

/// Makes a plan. Gives the table to print and the exit code.
///
/// # Errors
/// When a fixture is missing or malformed, nothing is selected in one, a shard would have no job,
/// or a file cannot be written.
pub fn plan(args: &PlanArgs) -> Result<(String, ExitCode), Failure> {
    for file in [&args.json, &args.matrix].into_iter().flatten() {
        run::check_output(file, &[])?;
    }
    if let (Some(json), Some(matrix)) = (&args.json, &args.matrix)
        && json == matrix
    {
        return Err(Failure::usage("--json and --matrix need a file each"));
    }
    let plan = Plan::deal(jobs(args)?, args.shards, args.stages.clone(), tool());
    let plan = plan.map_err(|error| {
        let kind = match error {
            PlanError::TooFew { .. } | PlanError::Twice(_) => Kind::Usage,
        };
        Failure::caused(kind, &error)
    })?;
    let matrix = plan.matrix();
    {
        let _putting = interrupt::putting();
        if let Some(file) = &args.json {
            run::unless_closed(file, write_json(file, &plan)).or_fail(Kind::Environment)?;
        }
        if let Some(file) = &args.matrix {
            let line = serde_json::to_string(&matrix).or_fail(Kind::Environment)? + "\n";
            run::unless_closed(file, write_text(file, &line)).or_fail(Kind::Environment)?;
        }
    }
    Ok((table(&plan), ExitCode::QUALIFIED))
}

/// Everything asked for, once each, in the order of the defaults.
fn jobs(args: &PlanArgs) -> Result<Vec<Job>, Failure> {
    fn wanted<T: Copy + PartialEq>(given: &[T], all: &[T], default: &[T]) -> Vec<T> {
        let wanted = if given.is_empty() { default } else { given };
        let all = all.iter().copied();
        all.filter(|one| wanted.contains(one)).collect()
    }
    let fixtures = wanted(&args.fixtures, Fixture::NAMES, Fixture::NAMES);
    let profiles = wanted(&args.profiles, &Profile::ALL, &Profile::ALL);
    let contracts = wanted(&args.contracts, &Contract::ALL, &[Contract::MlxCpu]);
    let all = DeviceArg::value_variants();
    let devices = wanted(&args.devices, all, &[DeviceArg::LocalTask]);
    let data = fixtures::data_dir().or_fail(Kind::Input)?;
    let clip = data.join("audio").join("jfk.wav");
    let mut jobs = Vec::new();
    for fixture in fixtures {
        let config = AudioConfig::read(&data.join(fixture)).or_fail(Kind::Input)?;
        // On which side a clip is padded changes no shape.
        let inputs = Inputs::recordings(&[&clip], PaddingSide::Right, false, Bucket::Auto)?;
        for &profile in &profiles {
            let graph = audio_encoder(&config, profile, inputs.clips, inputs.frames);
            let graph = graph.or_fail(Kind::Input)?;
            let cost = selected(&graph, &args.stages, fixture)?;
            for contract in &contracts {
                let devices = devices.iter().filter_map(ValueEnum::to_possible_value);
                jobs.extend(devices.map(|device| {
                    let names = [fixture, profile.name(), contract.name(), device.get_name()];
                    Job::new(names, cost)
                }));
            }
        }
    }
    Ok(jobs)
}

/// What a job costs that selects this.
fn selected(graph: &Graph, stages: &[String], fixture: &str) -> Result<u64, Failure> {
    let chosen = select(graph, stages).or_fail(Kind::Usage);
    let chosen = chosen.map_err(|failure| failure.hinting(&format!("in fixture {fixture}")))?;
    let share = chosen.len() as u128;
    let all = (graph.boundaries().len() as u128).max(1);
    let cost = u128::from(cost::of(graph)) * share / all;
    Ok(u64::try_from(cost).unwrap_or(u64::MAX))
}

fn table(plan: &Plan) -> String {
    let mut text = String::new();
    for cell in plan.matrix().include {
        let jobs = cell.jobs.join(" ");
        let cost = cell.cost as f64 / 1e9;
        text.push_str(&format!("{:>7}  {cost:>9.1} G  {jobs}\n", cell.shard));
    }
    let jobs = plan.jobs.len();
    let shards = plan.shards;
    let digest = plan.plan_sha256.get(..12).unwrap_or_default();
    text + &format!("\njobs {jobs}, shards {shards}, plan {digest}…\n")
}
