//! `qualify repro`: one step as a folder that runs without qualify, for whoever has to mend what
//! differs in it.

mod case;
mod folder;
mod readme;
mod shrink;

use std::path::PathBuf;

use clap::Args;
use reports::{
    measure::compare,
    verdict::{ExitCode, Outcome},
    wire::Measured,
};

use crate::{
    cli::{EngineArgs, ModelArgs},
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    model::Model,
    run,
};

use case::{Case, Observed};

/// What `--help` says of exit codes.
pub const CODES: &str = "\
Exit codes:
  0    the folder is written, whether or not the sides differ
  3    --shrink: the sides do not differ, so nothing keeps the step from shrinking to nothing
  2, 4, 5 as of run";

/// Arguments of `repro`.
#[derive(Debug, Args)]
pub struct ReproArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    #[command(flatten)]
    pub engine: EngineArgs,

    /// The boundary whose step is written: `conformer.0.attention.query`
    #[arg(long, value_name = "NAME")]
    pub boundary: String,

    /// The folder to make: module, inputs, expected and observed results, worst elements, and a
    /// README with the commands of `iree-compile` and `iree-run-module`
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Cut rows, channels and summed axes down as long as the sides still differ
    #[arg(long)]
    pub shrink: bool,
}

impl ReproArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        let stages = (!self.model.stages.is_empty())
            .then_some("--stage selects several boundaries: name the one of repro with --boundary");
        self.model.contradiction().or(stages)
    }
}

/// What is compared, and how it came out.
struct Compared {
    case: Case,
    observed: Observed,
    measured: Measured,
}

/// Writes the folder. Gives what to print and the exit code.
///
/// # Errors
/// When a side cannot be used, or the folder cannot be written.
pub fn repro(args: &ReproArgs, command: &[String]) -> Result<(String, ExitCode), Failure> {
    folder::check(&args.out)?;
    let model = Model::open(&args.model)?;
    let boundary = model.named(&args.boundary)?;
    let needs = Needs {
        mlx: true,
        iree: true,
    };
    let engine = Engine::open(&args.engine, needs)?;
    let mut wanted = model.graph.parents(boundary);
    wanted.push(boundary);
    let captures = run::reference::capture(&model, &engine, &wanted, &mut || {})?.captures;

    let whole = Case::whole(&model, boundary, &captures)?;
    let observed = whole.observe(&engine)?;
    let measured = measure(&whole, &observed)?;
    let compared = Compared {
        case: whole,
        observed,
        measured,
    };
    let differs = compared.measured.differing != Some(0);
    if args.shrink && !differs {
        let text = format!(
            "{}: both sides have the same bits; nothing was written\n",
            args.boundary
        );
        return Ok((text, ExitCode::INCONCLUSIVE));
    }
    let (compared, story) = if args.shrink {
        shrink::shrink(&model, boundary, &captures, &engine)?
    } else {
        (compared, Vec::new())
    };
    let native = &engine.native;
    let text = readme::text(&compared, native, command, &story);
    folder::write(&args.out, &compared, &text)?;
    let elements = compared.case.expected.shape().elements();
    let differing = compared.measured.differing.unwrap_or_default();
    let mut said = story.join("\n");
    if !said.is_empty() {
        said.push('\n');
    }
    said.push_str(&format!(
        "{}: {differing} of {elements} elements differ; written to {}\n",
        args.boundary,
        args.out.display()
    ));
    Ok((said, ExitCode::QUALIFIED))
}

/// The difference of both sides of a case.
fn measure(case: &Case, observed: &Observed) -> Result<Measured, Failure> {
    let shape = case.expected.shape().dims();
    let measured = compare(
        run::values(&case.expected),
        run::values(&observed.result),
        shape,
        case.grid,
    );
    let measured = measured.or_fail(Kind::Environment)?;
    Ok(Measured::new(&Outcome::Measured(Box::new(measured))))
}
