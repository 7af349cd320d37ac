//! `qualify probe envelope`: which results a sum can have, and which schedules explain the ones
//! that it has.

mod answer;
mod boundary;
mod case;
mod numbers;
mod revealed;
mod text;
mod wire;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use probes::{
    envelope::{Fusion, Leaves, Start, USUAL_TERMS},
    order::Rounding,
};
use reports::{verdict::ExitCode, wire::is_stdout};

use self::{
    answer::{Answer, Settings},
    numbers::{List, Observed},
};
use crate::{
    cli::{EngineArgs, ModelArgs},
    failure::{Failure, Kind, OrFail},
    interrupt, run,
};

/// Said below the help.
pub const CODES: &str = "\
Numbers are decimal, or bits in hexadecimal: 0x3f800001 of an F32, 0x3f80 of a BF16.

Examples:
  qualify probe envelope --terms 1,2.5,0x3f800001
  qualify probe envelope --terms 1 --products 1.5*3,2*0x3f80 --fma both
  qualify probe envelope --terms 16777216,1,-16777216 --terms -16777216,1,16777216 \\
      --observed mlx=0,1 --observed other=0,0
  qualify probe envelope --boundary sscp_conv_0.convolution --element 17

Exit codes:
  0    the question is answered
  3    it cannot be: too many terms or values for the exact set, a NaN, no sum in the step
  2, 4, 5 as of run";

/// Arguments of `probe envelope`.
#[derive(Debug, Args)]
pub struct EnvelopeArgs {
    /// The terms of a sum: numbers, or products as `a*b`. Each --terms is another sum
    #[arg(long, value_name = "A,B,…", allow_hyphen_values = true)]
    pub terms: Vec<List>,

    /// More terms: products. Those of the first --products join the first --terms, and so on
    #[arg(long, value_name = "A*B,…", allow_hyphen_values = true)]
    pub products: Vec<List>,

    /// What came out, a value for each --terms: which one schedule gives all of them? May be given
    /// for several implementations, each with a name
    #[arg(long, value_name = "[NAME=]V,…", allow_hyphen_values = true)]
    pub observed: Vec<Observed>,

    /// A boundary of the model: the terms are those of its step on the reference's values, and the
    /// results the reference's and the candidate's
    #[arg(long, value_name = "NAME", conflicts_with_all = ["terms", "products", "observed"])]
    pub boundary: Option<String>,

    /// An element of the boundary, by its row-major index. May be given several times
    #[arg(long, value_name = "I", requires = "boundary")]
    pub element: Vec<usize>,

    /// All elements of the boundary: one schedule has to explain them all
    #[arg(long, requires = "boundary", conflicts_with = "element")]
    pub all: bool,

    /// The accumulator, which every partial sum is rounded to [default: f32, or with results both]
    #[arg(long, value_enum, value_name = "DTYPE")]
    pub acc: Option<Float>,

    /// What the sum in an F32 accumulator is rounded to at last [default: f32]
    #[arg(long, value_enum, value_name = "DTYPE", conflicts_with = "boundary")]
    pub result: Option<Float>,

    /// Whether products are fused with the additions that take them; `both`: each may be
    #[arg(long, value_enum, default_value_t)]
    pub fma: Fma,

    /// Whether terms may be added in any order, or only put into brackets as they stand
    #[arg(long, value_enum, default_value_t)]
    pub leaves: Places,

    /// What running sums begin with [default: term; a boundary has its own]
    #[arg(long, value_enum, value_name = "START", conflicts_with = "boundary")]
    pub start: Option<Begin>,

    /// The most terms for which all orders are tried, up to 20 (256 with --leaves fixed)
    #[arg(long, value_name = "N", default_value_t = USUAL_TERMS)]
    pub max_n: usize,

    /// Write the answer here, as JSON; `-`, or no name, is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// A dtype of accumulators and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Float {
    F32,
    Bf16,
}

/// Whether products are fused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Fma {
    /// Every one whose addition there is.
    On,
    /// None.
    Off,
    /// Any of them.
    #[default]
    Both,
}

/// Which trees there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Places {
    Fixed,
    #[default]
    Any,
}

/// What running sums begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Begin {
    /// Their first term.
    Term,
    /// +0.
    Zero,
}

impl EnvelopeArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        let lists = self.terms.len().max(self.products.len());
        if self.boundary.is_some() {
            if self.element.is_empty() && !self.all {
                return Some("--boundary needs --element I, or --all");
            }
            if !self.model.stages.is_empty() {
                return Some("--boundary says which boundary: --stage is not for it");
            }
            return self.model.contradiction();
        }
        if lists == 0 {
            return Some("it needs --terms, --products or --boundary");
        }
        if self.terms.len().min(self.products.len()) > 0 && self.terms.len() != self.products.len()
        {
            return Some("there must be as many --products as --terms, or none of one of them");
        }
        if self.observed.iter().any(|o| o.values.len() != lists) {
            return Some("--observed needs one value for each --terms");
        }
        (lists > 1 && self.observed.is_empty())
            .then_some("several --terms are asked about together: they need --observed")
    }

    /// Whether standard output is taken by the JSON.
    pub fn takes_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }

    /// What is asked about every sum. `once`: sums in an F32 accumulator are rounded to BF16.
    fn settings(&self, results: bool, once: bool, start: Start) -> Settings {
        let wide = if once {
            Rounding::Bf16Once
        } else {
            Rounding::F32
        };
        Settings {
            roundings: match self.acc {
                Some(Float::F32) => vec![wide],
                Some(Float::Bf16) => vec![Rounding::Bf16],
                None if results => vec![wide, Rounding::Bf16],
                None => vec![wide],
            },
            fusion: match self.fma {
                Fma::On => Fusion::Always,
                Fma::Off => Fusion::Never,
                Fma::Both => Fusion::Either,
            },
            leaves: match self.leaves {
                Places::Any => Leaves::Any,
                Places::Fixed => Leaves::Fixed,
            },
            start,
            most: self.max_n,
        }
    }
}

/// Asks. Gives what to print, and the exit code.
///
/// # Errors
/// When the model, a side or the file cannot be used.
pub fn envelope(args: &EnvelopeArgs) -> Result<(String, ExitCode), Failure> {
    if let Some(file) = &args.json {
        run::check_output(file, &args.model.files())?;
    }
    let answer = match &args.boundary {
        Some(name) => boundary::answer(args, name)?,
        None => {
            let start = match args.start {
                Some(Begin::Zero) => Start::Zero,
                Some(Begin::Term) | None => Start::Term,
            };
            let once = args.result == Some(Float::Bf16);
            let settings = args.settings(!args.observed.is_empty(), once, start);
            let case = case::Lists::new(&args.terms, &args.products, &args.observed);
            Answer::of(&case, &settings)
        }
    };
    let (text, json, code) = match answer {
        Ok(answer) => {
            let code = if answer.is_answered() {
                ExitCode::QUALIFIED
            } else {
                ExitCode::INCONCLUSIVE
            };
            (text::text(&answer), wire::wire(&answer, code), code)
        }
        Err(reason) => {
            let code = ExitCode::INCONCLUSIVE;
            let text = format!("not told: failed to {reason}\n");
            (text, wire::untold(&reason, code), code)
        }
    };
    if let Some(file) = &args.json {
        let _putting = interrupt::putting();
        reports::wire::write_json(file, &json).or_fail(Kind::Environment)?;
    }
    Ok((text, code))
}
