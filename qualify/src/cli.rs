//! What the user typed: the command line, before anything is looked up or opened.

mod bucket;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use emitter::Contract;
use probes::audit::Target;
use stages::Profile;

pub use bucket::Bucket;

/// Says, boundary by boundary, whether an emitted IREE graph computes the bits of its MLX
/// reference, how far apart they are, and whose fault it is.
///
/// `qualify --stage GLOB …` is short for `qualify run --stage GLOB …`.
#[derive(Debug, Parser)]
#[command(name = "qualify", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    every judged boundary is bit-exact (or as its policy demands)
  1    a boundary diverged
  2    the command line was not understood
  3    nothing diverged, but a boundary is inconclusive or vacuous
  4    environment: a library, device, libm, cache or output location is not usable
  5    input: a checkpoint, recording, capture or report is missing or malformed
  130  interrupted (143: terminated); the last line says what was finished";

/// A subcommand.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run both sides and judge every selected boundary
    Run(Box<RunArgs>),
    /// List stages and boundaries as a tree, with shapes, grids and parents
    Stages(StagesArgs),
    /// Write one side's boundaries to a safetensors file
    Capture(CaptureArgs),
    /// Make mistakes in the candidate's graph, and see whether they are noticed
    #[command(after_help = CONTROLS_CODES)]
    Controls(ControlsArgs),
    /// Put a report that is there in other forms: CSV, JUnit XML, Markdown, HTML …
    #[command(after_help = crate::render::CODES)]
    Render(crate::render::RenderArgs),
    /// Look at what the compiler makes of every step
    #[command(after_help = AUDIT_CODES)]
    Audit(AuditArgs),
    /// Run twice, the same but for one thing, and say what that changes
    #[command(after_help = crate::ab::CODES)]
    Ab(crate::ab::AbArgs),
    /// Write one boundary's step as a folder that runs with `iree-compile` and `iree-run-module`
    #[command(after_help = crate::repro::CODES)]
    Repro(crate::repro::ReproArgs),
    /// Look for what a run needs, and say what to do about what is missing
    #[command(after_help = crate::doctor::CODES)]
    Doctor(crate::doctor::DoctorArgs),
    /// Ask a running operation what it does
    Probe(crate::probe::ProbeArgs),
    /// Print what a shell needs to complete this command line
    Completions(crate::manual::CompletionsArgs),
    /// Write manual pages
    Man(crate::manual::ManArgs),
    /// Run the catalogue of operations on all sides: what changed with a version of MLX or IREE?
    #[command(after_help = crate::ops::CODES)]
    Ops(crate::ops::OpsArgs),
    /// Judge a report by another policy, without running anything
    Judge(crate::judge::JudgeArgs),
    /// Compare two reports: what got better, what worse, what is not comparable
    #[command(after_help = crate::diff::CODES)]
    Diff(crate::diff::DiffArgs),
    /// Deal many runs to shards: a matrix of jobs
    #[command(after_help = crate::shards::PLAN_CODES)]
    Plan(crate::shards::PlanArgs),
    /// Join what the shards of a plan found
    #[command(after_help = crate::shards::MERGE_CODES)]
    Merge(crate::shards::MergeArgs),
    /// Write a deterministic checkpoint for a configuration
    Fixture(FixtureArgs),
}

const CONTROLS_CODES: &str = "\
Exit codes:
  0    every control is caught, or it is known why not, and every boundary has one that is
  1    a control was missed, or a step differs from the reference without a mistake
  3    a control changes nothing, for no known reason, or a boundary has none that is caught
  2, 4, 5 as of run";

const AUDIT_CODES: &str = "\
Exit codes:
  0    nothing in the code goes against its program
  1    something does
  4    the target cannot be compiled for
  2, 5 as of run";

/// Which model, and what it is run on.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// A boundary, a stage, or a glob of them: `sscp_conv_1`, `sscp_conv_*.norm`, `**.norm.mean`.
    /// `*` stays between dots, `**` crosses them. May be given several times; all if not given
    #[arg(long = "stage", value_name = "GLOB")]
    pub stages: Vec<String>,

    /// Every result of arithmetic is a boundary as well, below the one it leads to:
    /// `sscp_conv_0.norm.mean/1.Maximum`. A step is then a single primitive
    #[arg(long)]
    pub ops: bool,

    /// A fixture of the repository: `tiny`, `tiny-4bit`, `sscp-real`, `encoder-real-2` or
    /// `encoder-real` [default: tiny]
    #[arg(long, value_name = "NAME", conflicts_with = "checkpoint")]
    pub fixture: Option<String>,

    /// A Gemma 3n checkpoint folder in Hugging Face or MLX layout
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,

    /// A WAV recording; the fixture's own if not given. May be given up to four times: one clip
    /// of the batch each
    #[arg(long, value_name = "FILE", conflicts_with = "mel")]
    pub audio: Vec<PathBuf>,

    /// Log-mel features instead of sound: safetensors with `mel` [B,T,128] F32 and `mask` [B,T] U8
    /// (1 = valid), or `input.mel` and `input.mask` in a recording of the whole encoder
    #[arg(long, value_name = "FILE")]
    pub mel: Option<PathBuf>,

    /// On which side the recording is padded; `auto` asks the checkpoint
    #[arg(long, value_enum, default_value_t, conflicts_with = "mel")]
    pub padding: Padding,

    /// How many frames the graph is stated for: `exact`, as many as the batch has; or the smallest
    /// bucket that holds it (`auto`), or this one. A graph for a bucket is what ships
    #[arg(long, value_name = "auto|exact|N", default_value_t)]
    pub bucket: Bucket,

    /// Cut recordings over 30 s instead of refusing them
    #[arg(long, conflicts_with = "mel")]
    pub truncate: bool,

    /// Which dtypes the model runs in: bf16, mixed or f32
    #[arg(long, value_name = "PROFILE", default_value_t)]
    pub profile: Profile,

    /// Which arithmetic the emitted graph reproduces: mlx-cpu or native
    #[arg(long, value_name = "CONTRACT", default_value_t)]
    pub contract: Contract,

    /// Seed of the fixture's weights, which are then generated [default: 0]
    #[arg(long, value_name = "N", conflicts_with = "checkpoint")]
    pub seed: Option<u64>,
}

/// Where and how the sides run.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// IREE device
    #[arg(long, value_enum, default_value_t)]
    pub device: DeviceArg,

    /// Worker threads of local-task and of the interpreter [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,

    /// Neither read nor write the caches of compiled modules and reference captures
    #[arg(long)]
    pub no_cache: bool,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub engine: EngineArgs,

    /// The side that is right by definition: mlx, or recorded:FILE
    #[arg(long, value_name = "SIDE", default_value = "mlx", value_parser = reference)]
    pub reference: Side,

    /// The side under test: iree, interp, or recorded:FILE
    #[arg(long, value_name = "SIDE", default_value = "iree", value_parser = candidate)]
    pub candidate: Side,

    /// Whether the strict interpreter runs beside the candidate, to tell whose fault a difference
    /// is; `auto`: if it is below 2·10⁹ multiply-adds
    #[arg(long, value_enum, default_value_t)]
    pub interp: InterpArg,

    /// Run each side this often; where a side does not give the same bits each time, nothing is
    /// concluded
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Compute every step without roundings as well: how far each side is from that, and how
    /// ill-conditioned the worst elements are
    #[arg(long)]
    pub truth: bool,

    /// What `qualify controls --json` wrote about the same graph: boundaries at which a control was
    /// caught are no longer flagged `unguarded`
    #[arg(long, value_name = "FILE")]
    pub controls: Option<PathBuf>,

    /// What may differ: a TOML file, as of `qualify judge`. Without one equal bits are demanded
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// Make a mistake in the candidate's graph, one of those that `controls` names, and see what a
    /// run says of it: `conformer.0.attention.pre_norm/bf16-accumulator@Reduce.1`. Such a run never
    /// ends with exit code 0
    #[arg(long, value_name = "BOUNDARY/MISTAKE")]
    pub plant: Option<String>,

    /// Write the JSON report here; `-` is standard output, and the table then goes to stderr
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Write every side's tensors here, as safetensors
    #[arg(long, value_name = "DIR")]
    pub captures: Option<PathBuf>,

    #[command(flatten)]
    pub outputs: crate::outputs::OutputArgs,

    #[command(flatten)]
    pub shard: crate::shards::ShardArgs,
}

/// Arguments of `stages`.
#[derive(Debug, Args)]
pub struct StagesArgs {
    #[command(flatten)]
    pub model: ModelArgs,
}

/// Arguments of `capture`.
#[derive(Debug, Args)]
pub struct CaptureArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub engine: EngineArgs,

    /// The side to run: mlx, iree or interp
    #[arg(long, value_name = "SIDE", value_parser = live)]
    pub side: Side,

    /// The file to write; its keys are boundary names
    #[arg(long, value_name = "FILE.safetensors")]
    pub out: PathBuf,
}

/// Arguments of `controls`.
#[derive(Debug, Args)]
pub struct ControlsArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub engine: EngineArgs,

    /// What runs the mutated steps: interp, or iree, which compiles those of a stage in one module
    #[arg(long, value_name = "SIDE", default_value = "interp", value_parser = mutated)]
    pub candidate: Side,

    /// Write every control here, as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// What to compile for: cpu, cuda:sm_80, cuda:sm_89 or cuda:sm_121
    #[arg(long, value_name = "TARGET", default_value_t)]
    pub target: Target,

    /// Write the findings here, as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Arguments of `fixture`.
#[derive(Debug, Args)]
pub struct FixtureArgs {
    /// A Gemma 3n config.json
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Seed of the weights
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// The folder to write: config.json, model.safetensors and the processor's configuration
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// On which side recordings are padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Padding {
    Left,
    Right,
    #[default]
    Auto,
}

/// An IREE device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceArg {
    /// A pool of worker threads.
    #[default]
    LocalTask,
    /// The calling thread.
    LocalSync,
}

/// Whether the interpreter runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InterpArg {
    #[default]
    Auto,
    On,
    Off,
}

/// What produces boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The live MLX.
    Mlx,
    /// The emitted graph, compiled and run.
    Iree,
    /// The strict interpreter of the emitted graph.
    Interp,
    /// A capture of any implementation.
    Recorded(PathBuf),
}

/// Said of a checkpoint that is given alone.
pub const NOTHING_TO_RUN_ON: &str = "--checkpoint needs --audio FILE or --mel FILE to be run on";

impl ModelArgs {
    /// Why these arguments cannot be followed, if so: what the parser does not see.
    pub fn contradiction(&self) -> Option<&'static str> {
        let nothing_to_run_on =
            self.checkpoint.is_some() && self.audio.is_empty() && self.mel.is_none();
        nothing_to_run_on.then_some(NOTHING_TO_RUN_ON)
    }

    fn contradiction_if_interpreted(&self) -> Option<&'static str> {
        (self.contract == Contract::Native)
            .then_some("the native contract states no order: the interpreter cannot follow it")
    }
}

impl RunArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        let interpreted = self.interp == InterpArg::On || self.candidate == Side::Interp;
        let interpreted = interpreted.then(|| self.model.contradiction_if_interpreted());
        let planted = self.plant.is_some() && matches!(self.candidate, Side::Recorded(_));
        let planted = planted.then_some("--plant: a recorded candidate has no graph to plant in");
        let own = self.model.contradiction();
        own.or(interpreted.flatten()).or(planted)
    }
}

impl StagesArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        self.model.contradiction()
    }
}

impl CaptureArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        let interpreted = self.side == Side::Interp;
        let interpreted = interpreted.then(|| self.model.contradiction_if_interpreted());
        self.model.contradiction().or(interpreted.flatten())
    }
}

impl ControlsArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        let interpreted = self.candidate == Side::Interp;
        let interpreted = interpreted.then(|| self.model.contradiction_if_interpreted());
        self.model.contradiction().or(interpreted.flatten())
    }
}

impl AuditArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        self.model.contradiction()
    }
}

impl Side {
    /// The file a recording is in.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Side::Recorded(file) => Some(file.clone()),
            _ => None,
        }
    }
}

impl ModelArgs {
    /// The files named on the command line that the model is read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let folder = self
            .checkpoint
            .iter()
            .filter_map(|dir| std::fs::read_dir(dir).ok());
        let files = folder
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()));
        files
            .chain(self.audio.iter().cloned())
            .chain(self.mel.clone())
            .collect()
    }
}

fn side(text: &str, allowed: &[&str]) -> Result<Side, String> {
    let side = match text.split_once(':') {
        Some(("recorded", file)) if !file.is_empty() => {
            Some((Side::Recorded(file.into()), "recorded:FILE"))
        }
        _ => match text {
            "mlx" => Some((Side::Mlx, "mlx")),
            "iree" => Some((Side::Iree, "iree")),
            "interp" => Some((Side::Interp, "interp")),
            _ => None,
        },
    };
    match side {
        Some((side, name)) if allowed.contains(&name) => Ok(side),
        _ => Err(format!("it must be one of {}", allowed.join(", "))),
    }
}

/// A reference.
pub(crate) fn reference(text: &str) -> Result<Side, String> {
    side(text, &["mlx", "recorded:FILE"])
}

/// A side whose values are explained.
pub(crate) fn recordable(text: &str) -> Result<Side, String> {
    side(text, &["mlx", "iree", "recorded:FILE"])
}

fn candidate(text: &str) -> Result<Side, String> {
    side(text, &["iree", "interp", "recorded:FILE"])
}

fn mutated(text: &str) -> Result<Side, String> {
    side(text, &["interp", "iree"])
}

fn live(text: &str) -> Result<Side, String> {
    side(text, &["mlx", "iree", "interp"])
}

/// The arguments with `run` put in where the first one is a flag of it: `qualify --stage X`.
pub fn with_default_command(
    args: impl Iterator<Item = std::ffi::OsString>,
) -> Vec<std::ffi::OsString> {
    let mut args: Vec<_> = args.collect();
    let own = ["-h", "--help", "-V", "--version"];
    if args
        .get(1)
        .and_then(|arg| arg.to_str())
        .is_some_and(|arg| arg.starts_with('-') && !own.contains(&arg))
    {
        args.insert(1, "run".into());
    }
    args
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(with_default_command(line.split(' ').map(Into::into)))
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_flag_first_means_run() {
        let cli = parse("qualify --stage sscp_conv_1 --profile f32").unwrap();
        let Command::Run(args) = cli.command else {
            panic!("not run")
        };
        assert_eq!(args.model.stages, ["sscp_conv_1"]);
        assert_eq!(args.model.profile, Profile::F32);
        assert_eq!(args.reference, Side::Mlx);
    }

    #[test]
    fn sides_are_checked_where_they_are_given() {
        assert!(parse("qualify run --reference iree").is_err());
        assert!(parse("qualify run --candidate mlx").is_err());
        assert!(parse("qualify run --candidate recorded:").is_err());
        assert!(parse("qualify run --candidate recorded:a.safetensors").is_ok());
        assert!(parse("qualify capture --side recorded:x --out y.safetensors").is_err());
    }

    #[test]
    fn a_seed_with_a_checkpoint_is_a_usage_error() {
        assert!(parse("qualify run --checkpoint d --seed 1").is_err());
        assert!(parse("qualify run --checkpoint d --fixture tiny").is_err());
        assert!(parse("qualify run --threads 0").is_err());
    }

    #[test]
    fn what_contradicts_itself_is_found_before_anything_is_opened() {
        let contradicts = |line: &str| match parse(line).unwrap().command {
            Command::Run(args) => args.contradiction().is_some(),
            Command::Stages(args) => args.contradiction().is_some(),
            Command::Capture(args) => args.contradiction().is_some(),
            Command::Controls(args) => args.contradiction().is_some(),
            Command::Audit(args) => args.contradiction().is_some(),
            Command::Probe(args) => args.contradiction().is_some(),
            Command::Repro(args) => args.contradiction().is_some(),
            _ => false,
        };
        assert!(contradicts("qualify stages --checkpoint d"));
        assert!(!contradicts("qualify stages --checkpoint d --mel m"));
        assert!(contradicts("qualify run --interp on --contract native"));
        assert!(contradicts(
            "qualify run --candidate interp --contract native"
        ));
        assert!(contradicts(
            "qualify capture --side interp --contract native --out f"
        ));
        assert!(!contradicts("qualify run --contract native"));
        assert!(!contradicts("qualify run --interp on"));
        assert!(contradicts("qualify controls --contract native"));
        assert!(!contradicts(
            "qualify controls --contract native --candidate iree"
        ));
        assert!(!contradicts("qualify audit --contract native"));
    }

    #[test]
    fn bare_is_a_usage_error() {
        assert_eq!(parse("qualify").unwrap_err().exit_code(), 2);
    }
}
