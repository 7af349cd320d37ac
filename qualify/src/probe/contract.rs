//! `qualify probe contract`: which arithmetic gives what a side gave, from its captures alone.

mod asked;
mod text;
mod wire;

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use probes::contract::{Answer, ContractError, Limits, Operation, find, stated};
use reports::{verdict::ExitCode, wire::is_stdout};

use crate::{
    cli::{EngineArgs, ModelArgs, Side},
    failure::{Failure, Kind, OrFail},
    interrupt, run,
};
use asked::Asked;
use text::Own;

/// Said below the help.
pub const CODES: &str = "\
The search knows the step's primitives, its inputs and its results, and nothing of how either side
computes. What the emitter states is looked up afterwards, for comparison.

Examples:
  qualify probe contract --boundary sscp_conv_0.norm.mean
  qualify probe contract --boundary conformer.0.attention.softcap --inputs random
  qualify probe contract --boundary sscp_conv_1.convolution --side iree --contract native
  qualify probe contract --from fixtures/recorded/emulated-cuda-qmv-f32.safetensors

Exit codes:
  0    one contract gives every element
  1    none of those that were tried does; the ranking shows the best
  3    refused: the step does not round, the side is not repeatable, or it is too large; or one
       contract gives every element of a sample, and there are more (--all judges all)
  2, 4, 5 as of run";

/// Arguments of `probe contract`.
#[derive(Debug, Args)]
pub struct ContractArgs {
    /// A boundary of the model: its step from the nearest boundaries before it
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub boundary: Option<String>,

    /// Captures of one operation instead: safetensors with its operands by name and `result`
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// The operation that --from holds, such as `sum axis=0,2` or `rms_norm eps=1e-6` [default:
    /// `op` in the file's metadata]
    #[arg(long, value_name = "OP", requires = "from")]
    pub op: Option<Operation>,

    /// Whose results are explained: mlx, iree or recorded:FILE. A recording's own values of the
    /// boundaries before are the inputs
    #[arg(
        long,
        value_name = "SIDE",
        default_value = "mlx",
        value_parser = crate::cli::recordable,
        conflicts_with = "from"
    )]
    pub side: Side,

    /// Whose values of the boundaries before the side is handed: mlx or recorded:FILE
    #[arg(
        long,
        value_name = "SIDE",
        default_value = "mlx",
        value_parser = crate::cli::reference,
        conflicts_with = "from"
    )]
    pub reference: Side,

    /// Nothing but the captured values, or also random ones of a wide range that the live side is
    /// run on, which tell more contracts apart
    #[arg(long, value_enum, default_value_t, conflicts_with = "from")]
    pub inputs: Inputs,

    /// Judge every element, however long that takes, and show all that was found
    #[arg(long)]
    pub all: bool,

    /// How long may be searched; what was found by then is shown
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    pub seconds: u64,

    /// Write the answer here, as JSON; `-`, or no name, is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// What the step is run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Inputs {
    /// The captured values.
    #[default]
    Captured,
    /// These, and random ones.
    Random,
}

/// Rows of the ranking.
const ROWS: usize = 5;
const ALL_ROWS: usize = 40;

impl ContractArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        if !self.model.stages.is_empty() {
            return Some("--boundary says which boundary: --stage is not for it");
        }
        if self.inputs == Inputs::Random && matches!(self.side, Side::Recorded(_)) {
            return Some("a recording cannot be run on random values");
        }
        if self.from.is_some() {
            return None;
        }
        self.model.contradiction()
    }

    /// Whether standard output is taken by the JSON.
    pub fn takes_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }
}

/// Asks. Gives what to print, and the exit code.
///
/// # Errors
/// When the model, a side or a file cannot be used.
pub fn contract(args: &ContractArgs) -> Result<(String, ExitCode), Failure> {
    if let Some(file) = &args.json {
        let mut inputs = args.model.files();
        inputs.extend(args.from.clone());
        run::check_output(file, &inputs)?;
    }
    let (text, json, code) = match asked::ask(args)? {
        Ok(asked) => {
            let usual = Limits::default();
            let limits = Limits {
                time: Duration::from_secs(args.seconds),
                work: if args.all { usize::MAX } else { usual.work },
                ..usual
            };
            let rows = if args.all { ALL_ROWS } else { ROWS };
            match find(&asked.question, limits, rows) {
                Ok(answer) => told(args, &asked, &answer),
                Err(error) => untold(&asked.name, &error),
            }
        }
        Err(refusal) => untold(&refusal.0, &refusal.1),
    };
    if let Some(file) = &args.json {
        let _putting = interrupt::putting();
        reports::wire::write_json(file, &json).or_fail(Kind::Environment)?;
    }
    Ok((text, code))
}

fn told(args: &ContractArgs, asked: &Asked, answer: &Answer) -> (String, wire::Wire, ExitCode) {
    let code = match answer.contract() {
        Some(_) if answer.all_elements => ExitCode::QUALIFIED,
        Some(_) => ExitCode::INCONCLUSIVE,
        None => ExitCode::DIVERGED,
    };
    let lines = answer.ranking.first().map_or(&[][..], |best| &best.lines);
    let own: Vec<Own> = lines
        .iter()
        .map(|line| {
            Own::of(
                line,
                stated(&asked.question, line.value, args.model.contract),
            )
        })
        .collect();
    let text = text::text(args, asked, answer, &own);
    (text, wire::wire(args, asked, answer, &own, code), code)
}

fn untold(name: &str, error: &ContractError) -> (String, wire::Wire, ExitCode) {
    let code = ExitCode::INCONCLUSIVE;
    let text = format!("{name}: not told: failed to {error}\n");
    (text, wire::untold(name, error, code), code)
}
