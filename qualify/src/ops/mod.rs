//! `qualify ops`: the catalogue of operations on MLX, the interpreter and IREE, and what changed
//! against an earlier run.

mod selection;
mod table;
mod wire;

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use clap::Args;
use oracle::iree;
use probes::catalogue::{Bench, Size, TARGETS};
use reports::{
    baseline,
    events::Phase,
    verdict::ExitCode,
    wire::{
        Ops, OpsSummary, OpsTarget, SCHEMA_VERSION, Tool, is_stdout, read_ops, rfc3339, write_ops,
    },
};

use crate::{
    cli::EngineArgs,
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    interrupt,
    run::{self, Events},
};

use selection::{Selector, of_family};

/// Said below the help.
pub const CODES: &str = "\
Table:
  A line for each primitive and the dtype it computes in: how many cases and elements, and in how
  many elements the interpreter and IREE, compiled with and without FMA, have other bits than MLX.
  `–`: nothing of it may be compiled for that target. Cases that differ, and sides that fail, follow
  one by one, with the first elements and their operands' bits.

Baseline:
  `qualify ops --json ops.json` keeps a run: versions, libraries, processor, and of every case the
  digests of operands, compiled text and each side's bits. After an upgrade,
  `qualify ops --baseline ops.json` says what of the fingerprint changed, and then, case by case,
  what did: `mlx`, `interp`, `iree fma`, `iree no-fma` have other bits than then; `text` is what we
  emit, `operands` what the case is applied to. New and removed cases are listed. Removed are those
  only that the given families and patterns would take.

Exit codes:
  0    every side has MLX's bits in every case; with --baseline, nothing is worse than then
  1    a side has others, or fails; with --baseline, only if a case was equal then, or is new
  2    the command line was not understood, or names no case
  4, 5 as of run; 5 also for a baseline that is missing or malformed";

/// Arguments of `ops`.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// Only cases of this family: unary, binary, cast, reduction, contraction, quantized,
    /// convolution or movement. May be given several times
    #[arg(long = "family", value_name = "NAME", value_parser = of_family)]
    pub families: Vec<probes::catalogue::Family>,

    /// Only primitives that match: `Softmax`, `Log*`, `*.BF16`, `Sqrt.F32`. May be given several
    /// times
    #[arg(long = "op", value_name = "GLOB")]
    pub ops: Vec<String>,

    /// Sixteen times as many values for functions of F32
    #[arg(long)]
    pub full: bool,

    /// Write every case here, as JSON; `-` is standard output, and the table then goes to stderr
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// What an earlier run wrote with --json: says what changed since
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    #[command(flatten)]
    pub engine: EngineArgs,
}

impl OpsArgs {
    /// Whether standard output is taken by the JSON.
    pub fn takes_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }

    fn size(&self) -> Size {
        if self.full { Size::Full } else { Size::Short }
    }
}

/// Runs the selected cases. Gives the table to print and the exit code.
///
/// # Errors
/// When nothing is selected, the baseline cannot be used, a side cannot be opened, or the file
/// cannot be written.
pub fn ops(
    args: &OpsArgs,
    command: Vec<String>,
    events: &Events<'_>,
) -> Result<(String, ExitCode), Failure> {
    if let Some(file) = &args.json {
        let inputs: Vec<PathBuf> = args.baseline.iter().cloned().collect();
        run::check_output(file, &inputs)?;
    }
    let size = args.size();
    let selector = Selector::new(&args.families, &args.ops);
    let selected = selector.select(size)?;
    let before = match &args.baseline {
        None => None,
        Some(file) => {
            let before = read_ops(file).or_fail(Kind::Input)?;
            baseline::comparable(&before, size.name()).map_err(|error| {
                let kind = match error {
                    baseline::NotComparable::Size { .. } => Kind::Usage,
                    baseline::NotComparable::Twice(_) => Kind::Input,
                };
                Failure::caused(kind, &error).about(file)
            })?;
            Some(before)
        }
    };
    let needs = Needs {
        mlx: true,
        iree: true,
    };
    let engine = Engine::open(&args.engine, needs)?;
    let (mlx, iree) = engine.sides()?;

    let mut found = Vec::new();
    let mut summary = OpsSummary::default();
    let cases: Vec<_> = selected.iter().map(|(_, case)| case).collect();
    let names = cases.iter().map(|case| Arc::from(case.name()));
    let mut course = events.begin(Phase::Cases, names);
    let mut families = selected.iter().map(|(family, _)| *family);
    Bench::new(mlx, iree).run(&cases, &mut |case, outcome| {
        if let Some(family) = families.next() {
            let case = wire::case(family, case, &outcome);
            summary.count(&case);
            found.push(case);
        }
        course.step();
    });
    course.end(false);

    let targets = TARGETS.map(|class| OpsTarget {
        name: wire::target(class).to_owned(),
        flags: iree::options(class).flags(),
    });
    let mut report = Ops {
        schema_version: SCHEMA_VERSION,
        tool: Tool {
            name: "qualify".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("QUALIFY_COMMIT").to_owned(),
        },
        created: rfc3339(SystemTime::now()),
        command,
        fingerprint: engine.fingerprint_as(&targets[0].flags),
        targets: targets.to_vec(),
        size: size.name().to_owned(),
        selection: selector.described(),
        cases: found,
        summary,
        baseline: None,
        exit_code: 0,
    };
    if let Some(before) = &before {
        let taken = |case: &reports::wire::OpCase| selector.takes(case);
        report.baseline = Some(baseline::against(before, &report, &taken));
    }
    let code = report.conclusion();
    report.exit_code = code.code();
    if let Some(file) = &args.json {
        let _putting = interrupt::putting();
        match write_ops(file, &report) {
            // A closed pipe is the reader's decision.
            Err(error)
                if is_stdout(file) && error.source.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.or_fail(Kind::Environment)?,
        }
    }
    Ok((table::render(&report), code))
}
