//! `qualify capture`: one side's boundaries in a file.

use std::{sync::Arc, time::Instant};

use oracle::Captures;
use reports::{events::Phase, verdict::ExitCode};
use stages::Boundary;

use crate::{
    cli::{CaptureArgs, Side},
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    interrupt,
    model::Model,
    run::{self, Events},
    say, uncompiled,
};

/// The one program that is compiled or interpreted.
fn tapped() -> [Arc<str>; 1] {
    ["tapped".into()]
}

/// Runs one side and writes the selected boundaries' values, each under its name.
///
/// # Errors
/// When the side cannot be run, or the file cannot be written.
pub fn capture(args: &CaptureArgs, events: &Events<'_>) -> Result<ExitCode, Failure> {
    run::check_file(&args.out, &args.model.files())?;
    let model = Model::open(&args.model)?;
    let needs = Needs {
        mlx: args.side == Side::Mlx,
        iree: args.side == Side::Iree,
    };
    let engine = Engine::open(&args.engine, needs)?;
    let started = Instant::now();
    let (captures, fingerprint) = match (&args.side, &engine.iree) {
        (Side::Mlx, _) => {
            let wanted: Vec<&Boundary> = model.selected();
            let mut course = events.begin(Phase::Reference, run::names(&wanted));
            let step = &mut || course.step();
            let reference = run::reference::capture(&model, &engine, &wanted, step)?;
            course.end(reference.cached);
            (reference.captures, engine.fingerprint(None))
        }
        (Side::Iree, Some(side)) => {
            let plan = run::Plan::of(&model).or_fail(Kind::Environment)?;
            let course = events.begin(Phase::Compile, tapped());
            let program = plan.tapped.laid_out.clone();
            let unit = side.build("tapped", vec![program]);
            let unit = unit.map_err(uncompiled::failure)?;
            course.end(unit.cached);
            let course = events.begin(Phase::Candidate, tapped());
            let captures = run::candidate::inherited_on_iree(&model, &plan, side, &unit)
                .map_err(uncompiled::failure)?;
            course.end(false);
            (captures, engine.fingerprint(Some(&unit)))
        }
        _ => {
            let plan = run::Plan::of(&model).or_fail(Kind::Environment)?;
            let course = events.begin(Phase::Interp, tapped());
            let captures =
                run::candidate::interpreted_whole(&model, &plan).or_fail(Kind::Environment)?;
            course.end(false);
            (captures, engine.fingerprint(None))
        }
    };
    let mut selected = Captures::new();
    for boundary in model.selected() {
        if let Some(tensor) = captures.get(&boundary.id) {
            selected.insert(boundary.id.clone(), tensor.clone());
        }
    }
    let fingerprint = serde_json::to_string(&fingerprint).or_fail(Kind::Environment)?;
    let _putting = interrupt::putting();
    run::save(&selected, &model, &fingerprint, &args.out)?;
    say(format_args!(
        "{} boundaries written to {} in {:.2} s",
        selected.len(),
        args.out.display(),
        started.elapsed().as_secs_f64()
    ));
    Ok(ExitCode::QUALIFIED)
}
