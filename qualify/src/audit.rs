//! `qualify audit`: what the compiler made of each boundary's step, and what the lint says of the
//! whole model.

use std::{
    collections::HashMap,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use emitter::{lint::lint, mlir::canonical_text, program::Program, target::TargetClass};
use oracle::iree::IreeError;
use probes::audit::{AuditError, Audited, Sign, audit as look_at};
use rayon::prelude::*;
use reports::{
    events::{Event, Phase},
    verdict::ExitCode,
};
use runtime::{CompileError, Compiler, Native};
use serde_json::{Value, json};
use stages::Boundary;

use crate::{
    cli::AuditArgs,
    failure::{Failure, Kind, OrFail, said},
    interrupt,
    model::Model,
    run::{self, Plan},
    uncompiled,
};

/// Compiles every step and searches its code. Gives the table to print and the exit code.
///
/// # Errors
/// When the target cannot be compiled for, or the file cannot be written.
pub fn audit(args: &AuditArgs) -> Result<(String, ExitCode), Failure> {
    if let Some(file) = &args.json {
        run::check_output(file, &args.model.files())?;
    }
    let model = Model::open(&args.model)?;
    let plan = Plan::of(&model).or_fail(Kind::Environment)?;
    let native = Native::locate().map_err(|error| {
        let message = format!("locate the native libraries: {}", said(&error));
        Failure::new(Kind::Environment, message)
    })?;
    let compiler = Compiler::new(&native);
    let steps: Vec<&Program> = plan.steps.iter().map(|step| &step.laid_out).collect();
    // The class of the module in which a run compiles all steps.
    let class = TargetClass::joint(steps.iter().copied());

    // Equal programs are compiled once.
    let mut distinct: Vec<&Program> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut of_step = Vec::new();
    for &program in &steps {
        let at = *known.entry(canonical_text(program)).or_insert_with(|| {
            distinct.push(program);
            distinct.len() - 1
        });
        of_step.push(at);
    }
    let phase = Phase::Compile;
    interrupt::note(&Event::PhaseStarted {
        phase,
        total: Some(distinct.len() as u64),
    });
    let done = AtomicU64::new(0);
    let audited: Vec<Audited> = distinct
        .par_iter()
        .map(|program| {
            let audited = one(&compiler, program, args, class)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            interrupt::note(&Event::PhaseProgress {
                phase,
                done,
                at: None,
            });
            Ok(audited)
        })
        .collect::<Result<_, Failure>>()?;

    let whole = &plan.production.laid_out;
    let open: Vec<String> = lint(whole, model.contract)
        .iter()
        .map(ToString::to_string)
        .collect();
    let rows: Vec<(&Boundary, &Audited)> = model
        .selected()
        .into_iter()
        .zip(of_step.iter().map(|&at| &audited[at]))
        .collect();
    let found = !open.is_empty() || rows.iter().any(|(_, audited)| !audited.findings.is_empty());
    let code = if found {
        ExitCode::DIVERGED
    } else {
        ExitCode::QUALIFIED
    };
    if let Some(file) = &args.json {
        let any_order = !whole.is_exact();
        let report = json!({
            "schema_version": 1,
            "target": args.target.to_string(),
            "contract": model.contract.name(),
            "profile": model.profile.name(),
            "compiler": compiler.revision(),
            "flags": args.target.flags(class, any_order),
            "boundaries": rows.iter().map(boundary).collect::<Vec<_>>(),
            "lint": open,
            "exit_code": code.code(),
        });
        write(file, &report)?;
    }
    Ok((table(&rows, &open, args), code))
}

fn one(
    compiler: &Compiler,
    program: &Program,
    args: &AuditArgs,
    class: TargetClass,
) -> Result<Audited, Failure> {
    let folder = tempfile::Builder::new()
        .prefix("qualify-audit-")
        .tempdir()
        .or_fail(Kind::Environment)?;
    look_at(compiler, program, args.target, class, folder.path()).map_err(|error| match error {
        AuditError::Compile {
            error: CompileError::Parse { diagnostics } | CompileError::Compile { diagnostics },
            ..
        } => uncompiled::failure(IreeError::Compile {
            name: format!("a step for {}", args.target),
            text: canonical_text(program),
            diagnostics,
        }),
        error => Failure::caused(Kind::Environment, &error),
    })
}

fn boundary((boundary, audited): &(&Boundary, &Audited)) -> Value {
    let findings = audited.findings.iter().map(|finding| {
        json!({
            "sign": finding.sign.name(),
            "count": finding.found.count,
            "first": finding.found.first,
        })
    });
    let signs = audited.signs.iter();
    let signs: serde_json::Map<String, Value> = signs
        .map(|(sign, found)| (sign.name().to_owned(), found.count.into()))
        .collect();
    json!({
        "name": boundary.id.as_str(),
        "stage": boundary.stage,
        "states": {
            "exact": audited.states.exact,
            "fused": audited.states.fused,
            "sums": audited.states.sums,
        },
        "instructions": audited.instructions,
        "signs": signs,
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// A line a boundary: how often each sign is in its code, `!` where it goes against the program.
fn table(rows: &[(&Boundary, &Audited)], open: &[String], args: &AuditArgs) -> String {
    let signs: Vec<Sign> = Sign::ALL
        .into_iter()
        .filter(|sign| rows.iter().any(|(_, a)| a.signs.contains_key(sign)))
        .collect();
    let width = rows.iter().map(|(b, _)| b.id.as_str().chars().count());
    let width = width.chain(["boundary".len()]).max().unwrap_or(0);
    let mut out = format!("{:<width$}  {:>12}", "boundary", "instructions");
    for sign in &signs {
        out.push_str(&format!("  {sign:>13}"));
    }
    out.push('\n');
    for (boundary, audited) in rows {
        out.push_str(&format!(
            "{:<width$}  {:>12}",
            boundary.id, audited.instructions
        ));
        for sign in &signs {
            let count = audited.signs.get(sign).map_or(0, |found| found.count);
            let against = audited.findings.iter().any(|f| f.sign == *sign);
            let mark = if against { "!" } else { "" };
            out.push_str(&format!("  {:>13}", format!("{mark}{count}")));
        }
        out.push('\n');
    }
    for finding in open {
        out.push_str(&format!("lint: {finding}\n"));
    }
    let bad = rows.iter().filter(|(_, a)| !a.findings.is_empty()).count();
    out.push_str(&format!(
        "\n{bad} of {} steps with findings for {}; {} of the lint\n",
        rows.len(),
        args.target,
        open.len()
    ));
    out
}

fn write(file: &Path, report: &Value) -> Result<(), Failure> {
    let _putting = interrupt::putting();
    reports::wire::write_json(file, report).or_fail(Kind::Environment)
}
