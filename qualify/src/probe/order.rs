//! `qualify probe order`: the order of additions of an operation, on one side or both.

mod positive;
pub(super) mod reveal;

use std::{fmt::Write as _, fs, path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};
use probes::{
    ops::{OpError, Site},
    order::{ProbeError, Revealed},
};
use reports::{verdict::ExitCode, wire::is_stdout};
use serde_json::{Value, json};
use stages::{BoundaryId, DType};

use crate::{
    cli::{EngineArgs, ModelArgs},
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    interrupt,
    model::Model,
    run,
};
use reveal::{Answer, Host};

/// Said below the help.
pub const CODES: &str = "\
Exit codes:
  0    the order is revealed, reproduces the operation's results, and is the same on both sides
  1    the sides add in different orders
  3    the order cannot be told, or does not reproduce the results; the reason is printed
  2, 4, 5 as of run";

/// Arguments of `probe order`.
#[derive(Debug, Args)]
pub struct OrderArgs {
    /// What is probed: sum, mean, cumsum, dot, conv2d, depthwise, softmax, rms_norm, or
    /// boundary:NAME, the operation that makes a boundary of the model
    #[arg(long, value_name = "OP")]
    pub op: Operation,

    /// Where it runs
    #[arg(long, value_enum, default_value_t)]
    pub side: Sides,

    /// How many terms are added; of conv2d, nine times the channels
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub n: Option<u32>,

    /// The dtype of terms and result
    #[arg(long, value_enum, default_value_t)]
    pub dtype: Float,

    /// How many rows the operation has: each carries a vector of its own [default: up to 64]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..))]
    pub rows: Option<u16>,

    /// Draw the tree here, as SVG; where the sides differ, that of IREE
    #[arg(long, value_name = "FILE.svg")]
    pub draw: Option<PathBuf>,

    /// Write trees and what supports them here, as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Sum,
    Mean,
    Cumsum,
    Dot,
    Conv2d,
    Depthwise,
    Softmax,
    RmsNorm,
    Boundary(String),
}

/// Which sides are probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sides {
    Mlx,
    Iree,
    #[default]
    Both,
}

/// A dtype that can be probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Float {
    #[default]
    F32,
    Bf16,
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Operation, String> {
        Ok(match text {
            "sum" => Operation::Sum,
            "mean" => Operation::Mean,
            "cumsum" => Operation::Cumsum,
            "dot" => Operation::Dot,
            "conv2d" => Operation::Conv2d,
            "depthwise" => Operation::Depthwise,
            "softmax" => Operation::Softmax,
            "rms_norm" => Operation::RmsNorm,
            _ => match text.strip_prefix("boundary:") {
                Some(name) if !name.is_empty() => Operation::Boundary(name.to_owned()),
                _ => {
                    return Err(
                        "it must be sum, mean, cumsum, dot, conv2d, depthwise, softmax, \
                                rms_norm or boundary:NAME"
                            .to_owned(),
                    );
                }
            },
        })
    }
}

impl OrderArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        let of_model = matches!(self.op, Operation::Boundary(_));
        match (of_model, self.n) {
            (false, None) => Some("--op needs --n N, the number of terms"),
            (true, Some(_)) => Some("a boundary has its own number of terms: --n is not for it"),
            _ if self.op == Operation::Conv2d && self.n.is_some_and(|n| n % 9 != 0) => {
                Some("conv2d has windows of 3 by 3: --n must be a multiple of 9")
            }
            _ => of_model.then(|| self.model.contradiction()).flatten(),
        }
    }

    /// Whether standard output is taken by the JSON.
    pub fn takes_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }

    fn site(&self, rows: usize) -> Result<Site, OpError> {
        let n = self.n.map_or(1, |n| n as usize);
        let dtype = match self.dtype {
            Float::F32 => DType::F32,
            Float::Bf16 => DType::BF16,
        };
        Ok(match &self.op {
            Operation::Sum => Site::sum(rows, n, dtype),
            Operation::Mean => Site::mean(rows, n, dtype),
            Operation::Cumsum => Site::cumsum(rows, n, dtype),
            Operation::Dot => Site::product(rows, n, 1, dtype),
            Operation::Conv2d => Site::convolution(rows, &[3, 3], n / 9, dtype),
            Operation::Depthwise => Site::depthwise(rows, n, 4, dtype),
            Operation::Softmax => Site::softmax(rows, n, dtype),
            Operation::RmsNorm => Site::rms_norm(rows, n, dtype),
            Operation::Boundary(name) => {
                return self.of_boundary(name);
            }
        }?)
    }

    fn of_boundary(&self, name: &str) -> Result<Site, OpError> {
        let refuse = |reason: String| OpError::Unanswerable {
            what: name.to_owned(),
            reason,
        };
        let model = Model::open(&self.model).map_err(|failure| refuse(failure.to_string()))?;
        let boundary = model.graph.boundary(&BoundaryId::new(name));
        let boundary = boundary.ok_or_else(|| refuse("there is no such boundary".to_owned()))?;
        Site::of_boundary(&model.graph, boundary)
    }
}

/// Probes. Gives what to print, and the exit code.
///
/// # Errors
/// When a side cannot be used, or a file cannot be written.
pub fn order(args: &OrderArgs) -> Result<(String, ExitCode), Failure> {
    let inputs = args.model.files();
    for file in [&args.json, &args.draw].into_iter().flatten() {
        run::check_output(file, &inputs)?;
    }
    let n = args.n.unwrap_or(1) as usize;
    // As many rows as stay in a processor's caches.
    let few = ((1 << 18) / n).clamp(1, 64);
    let site = match args.site(args.rows.map_or(few, usize::from)) {
        Ok(site) => site,
        Err(error) => return refusal(&ProbeError::Op(error)),
    };
    let needs = Needs {
        mlx: args.side != Sides::Iree,
        iree: args.side != Sides::Mlx,
    };
    let engine = Engine::open(&args.engine, needs)?;
    let mut answers = Vec::new();
    for host in Host::all(&engine, args.model.contract) {
        match host.ask(&site, || args.site(1)) {
            Ok(answer) => answers.push((host.name(), answer)),
            Err(error) => return refusal(&error),
        }
    }
    let differ = answers.windows(2).any(|pair| !pair[0].1.same(&pair[1].1));
    let confirmed = answers.iter().all(|(_, answer)| answer.replay.is_ok());
    let code = if differ {
        ExitCode::DIVERGED
    } else if confirmed {
        ExitCode::QUALIFIED
    } else {
        ExitCode::INCONCLUSIVE
    };
    let mut text = format!("{}\n", site.name());
    for (name, answer) in &answers {
        let _ = writeln!(text, "  {name:<5} {}", answer.told());
    }
    if answers.len() > 1 {
        let words = if differ {
            "different orders or fused products"
        } else if !confirmed {
            "whether both have one order is not known: one was not reproduced"
        } else {
            "the same order on both sides"
        };
        let _ = writeln!(text, "  {words}");
    }
    let _putting = interrupt::putting();
    if let (Some(file), Some((_, answer))) = (&args.draw, answers.last()) {
        let svg = answer.revealed.tree.svg(site.name());
        fs::write(file, svg).map_err(|error| {
            let message = format!("write {}: {error}", file.display());
            Failure::new(Kind::Environment, message)
        })?;
    }
    if let Some(file) = &args.json {
        let sides: Vec<Value> = answers
            .iter()
            .map(|(name, answer)| wire(name, answer))
            .collect();
        let report = json!({
            "schema_version": 1,
            "op": site.name(),
            "terms": site.terms(),
            "rows": site.rows(),
            "contract": args.model.contract.name(),
            "sides": sides,
            // An order that was not reproduced is none to compare.
            "equal": (differ || confirmed).then_some(!differ),
            "exit_code": code.code(),
        });
        reports::wire::write_json(file, &report).or_fail(Kind::Environment)?;
    }
    Ok((text, code))
}

/// A question that has no answer is a result; a side that does not run is none.
fn refusal(error: &ProbeError<OpError>) -> Result<(String, ExitCode), Failure> {
    match error {
        ProbeError::Op(error) if !matches!(error, OpError::Unanswerable { .. }) => {
            Err(Failure::caused(Kind::Environment, error))
        }
        error => Ok((
            format!("not told: failed to {error}\n"),
            ExitCode::INCONCLUSIVE,
        )),
    }
}

fn wire(name: &str, answer: &Answer) -> Value {
    let Revealed {
        tree,
        vectors,
        checks,
        counts,
    } = &answer.revealed;
    json!({
        "side": name,
        "order": tree.to_string(),
        "leaves": tree.leaves(),
        "depth": tree.depth(),
        "fan_in": tree.fan_in(),
        "nodes": tree.merges().collect::<Vec<_>>(),
        "fused": answer.fused.as_ref().map(ToString::to_string),
        "rounding": answer.rounding(),
        "vectors": vectors,
        "checks": checks,
        "ones_counted": counts,
        "rows_independent": answer.rows_apart,
        "evidence": if answer.replay.is_ok() { "E4" } else { "E0" },
        "outputs": answer.replay.as_ref().map_or(0, |replay| replay.outputs),
        "telling": answer.replay.as_ref().map_or(0, |replay| replay.telling),
        "not_reproduced": answer.replay.as_ref().err(),
        "one_row_reproduced": answer.one_row,
    })
}
