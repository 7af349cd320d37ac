//! `qualify capture`: one side's boundaries in a file.

use std::{sync::Arc, time::Instant};

use crate::{
    cli::{CaptureArgs, Side},
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    interrupt, memory,
    model::Model,
    run::{self, Events},
    say, uncompiled, weights,
};
use reports::{events::Phase, verdict::ExitCode};

/// The one program that is compiled or interpreted.
fn tapped() -> [Arc<str>; 1] {
    ["tapped".into()]
}

/// Runs one side and writes the values of the selected boundaries and of those that their steps
/// start from, each under its name: what a recording has to hold to stand for a side.
///
/// # Errors
/// When the side cannot be run, or the file cannot be written.
pub fn capture(args: &CaptureArgs, events: &Events<'_>) -> Result<ExitCode, Failure> {
    run::check_file(&args.out, &args.model.files())?;
    let model = Model::open(&args.model)?;
    memory::check(&model, 1)?;
    let needs = Needs {
        mlx: args.side == Side::Mlx,
        iree: args.side == Side::Iree,
    };
    let engine = Engine::open(&args.engine, needs)?;
    weights::non_finite(&model.checkpoint);
    let started = Instant::now();
    let (captures, fingerprint) = match (&args.side, &engine.iree) {
        (Side::Mlx, _) => {
            let wanted = run::with_parents(&model);
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
    let fingerprint = serde_json::to_string(&fingerprint).or_fail(Kind::Environment)?;
    let _putting = interrupt::putting();
    run::save(&captures, &model, &fingerprint, &args.out)?;
    let selected = model.selected().len();
    let parents = match captures.len().saturating_sub(selected) {
        0 => String::new(),
        more => format!(" and {more} that their steps start from"),
    };
    let noun = if selected == 1 {
        "boundary"
    } else {
        "boundaries"
    };
    say(format_args!(
        "{selected} {noun}{parents} written to {} in {:.2} s",
        args.out.display(),
        started.elapsed().as_secs_f64()
    ));
    Ok(ExitCode::QUALIFIED)
}
