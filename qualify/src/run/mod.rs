//! `qualify run`: both sides, every selected boundary, one report.

pub mod candidate;
mod events;
mod judge;
mod plan;
mod policy;
pub mod reference;
mod repeat;
mod truth;
mod write;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use oracle::Captures;
use reports::{
    events::{Event, Phase},
    policy::Resolved,
    verdict::{ExitCode, Verdict},
    wire::{
        Controls, Inputs, Model as ModelReport, NonFinite, NonInterference, Report, SCHEMA_VERSION,
        Timing, Tool,
    },
};
use stages::{Boundary, BoundaryId};

use crate::{
    cli::{InterpArg, RunArgs, Side},
    controls,
    engine::{Engine, Needs, seconds},
    failure::{Failure, Kind, OrFail},
    judge as judged, memory,
    model::Model,
    uncompiled, weights,
};

use candidate::{Candidate, Units};
pub use events::{Course, Events};
use judge::Captured;
pub use judge::{grid, values};
pub use plan::{Plan, with_parents};
use reference::Reference;
use repeat::{Repeated, Unstable};
pub use write::{CAPTURED, capture_file, check_file, check_output, save, unless_closed};

/// Multiply-adds up to which `--interp auto` interprets.
const INTERP_LIMIT: u64 = 2_000_000_000;

/// How often a run holds a boundary: the reference's value, the candidate's inherited and local
/// ones, the interpreter's.
const SIDES: u64 = 4;

/// Everything the sides computed.
struct Sides {
    reference: Captures,
    candidate: Candidate,
    interp: Option<Captures>,
}

/// What the sides that are recordings say. It is read before anything is computed.
struct Recorded {
    reference: Option<Captures>,
    candidate: Option<Captures>,
}

impl Recorded {
    fn open(args: &RunArgs, model: &Model, plan: &Plan) -> Result<Recorded, Failure> {
        let read = |side: &Side, wanted: &[&Boundary]| match side {
            Side::Recorded(file) => reference::recorded(model, file, wanted).map(Some),
            _ => Ok(None),
        };
        Ok(Recorded {
            reference: read(&args.reference, &plan.tapped(model))?,
            candidate: read(&args.candidate, &model.selected())?,
        })
    }
}

/// Runs, judges and reports.
///
/// # Errors
/// When something keeps the sides from being compared at all.
pub fn run(args: &RunArgs, command: Vec<String>, events: &Events<'_>) -> Result<ExitCode, Failure> {
    write::check(args)?;
    let rules = args.policy.as_deref().map(judged::read).transpose()?;
    let model = Model::open(&args.model)?;
    memory::check(&model, SIDES)?;
    let rules = rules.as_ref();
    let rules = rules
        .map(|rules| policy::resolve(rules, &model, args))
        .transpose()?;
    let plan = plan(&model, args.plant.as_deref())?;
    let needs = Needs {
        mlx: args.reference == Side::Mlx,
        iree: args.candidate == Side::Iree,
    };
    let recorded = Recorded::open(args, &model, &plan)?;
    let guards = args.controls.as_deref();
    let guards = guards
        .map(|file| controls::read(file, &model))
        .transpose()?;
    let engine = Engine::open(&args.engine, needs)?;
    let non_finite = weights::non_finite(&model.checkpoint);
    let mut timing = Timing::default();

    let (units, reference) = std::thread::scope(|scope| {
        let compiling = engine.iree.as_ref().map(|side| {
            let (plan, events) = (&plan, events);
            scope.spawn(move || {
                let mut course = events.begin(Phase::Compile, Units::NAMES.map(Arc::from));
                let units = Units::build(side, plan, &mut || course.step())?;
                let elapsed = course.end(units.cached());
                Ok::<_, oracle::iree::IreeError>((units, elapsed))
            })
        });
        let reference = capture_reference(&model, &plan, &engine, recorded.reference, events);
        let units = compiling.map(|thread| match thread.join() {
            Ok(units) => units.map_err(uncompiled::failure),
            Err(panic) => std::panic::resume_unwind(panic),
        });
        (units.transpose(), reference)
    });
    let (reference, elapsed) = reference?;
    timing.reference_s = Some(seconds(elapsed));
    if reference.cached {
        timing.cached.push("reference".to_owned());
    }
    let units = units?;
    if let Some((units, elapsed)) = &units {
        timing.compile_s = Some(seconds(*elapsed));
        if units.cached() {
            timing.cached.push("compile".to_owned());
        }
    }
    let units = units.map(|(units, _)| units);
    let reference = reference.captures;

    let (candidate, interp) = run_candidate(
        &model,
        &plan,
        &engine,
        units.as_ref(),
        recorded.candidate,
        &reference,
        args,
        events,
        &mut timing,
    )?;
    let repeated = repeat(
        &model,
        &plan,
        &engine,
        units.as_ref(),
        [&reference, &candidate.inherited],
        candidate.local.as_ref(),
        args,
        events,
    )?;
    let sides = Sides {
        reference,
        candidate,
        interp,
    };

    let mut course = events.begin(Phase::Compare, names(&model.selected()));
    let truth = args.truth;
    let judging = Judging {
        model: &model,
        sides: &sides,
        repeated: &repeated,
        guards: guards.as_ref(),
        truth,
        policy: rules.as_ref(),
    };
    let boundaries = judging.all(events, &mut course)?;
    timing.compare_s = Some(seconds(course.end(false)));

    let mut report = Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool {
            name: "qualify".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("QUALIFY_COMMIT").to_owned(),
        },
        created: reports::wire::rfc3339(SystemTime::now()),
        command,
        fingerprint: engine.fingerprint(units.as_ref().map(|units| &units.production)),
        model: described(&model, non_finite),
        inputs: Inputs {
            audio_sha256: model.inputs.sha256.clone(),
            frames: model.inputs.valid.clone(),
            padding: model.inputs.padding.to_string(),
        },
        planted: args.plant.clone(),
        boundaries,
        first_divergence: Default::default(),
        controls: guards.map(|guards| guards.controls).unwrap_or_default(),
        non_interference: NonInterference {
            tapped: sides.candidate.tapped_agrees,
            chained: sides.candidate.chained_agrees,
        },
        repeat: repeated.reported(),
        timing,
        policy: match rules.zip(args.policy.as_deref()) {
            Some((rules, file)) => rules.applied(&judged::named(file)),
            None => Default::default(),
        },
        verdict: Verdict::Inconclusive,
        exit_code: 0,
    };
    report.conclude();
    write::results(args, &model, &report, &sides)?;
    let code = ExitCode::from_verdict(report.verdict);
    events.send(&Event::RunFinished(Arc::new(report)));
    Ok(code)
}

/// What is emitted: the model or, with `--plant`, the model with a mistake in it.
fn plan(model: &Model, plant: Option<&str>) -> Result<Plan, Failure> {
    let Some(name) = plant else {
        return Plan::of(model).or_fail(Kind::Environment);
    };
    let (boundary, mutation) = name.rsplit_once('/').ok_or_else(|| {
        let message = format!("{name} is no mistake: they are named BOUNDARY/MISTAKE");
        Failure::usage(message)
    })?;
    let boundary = model.named(boundary)?;
    let planted = probes::controls::planted(&model.graph, boundary, mutation);
    let planted = planted.or_fail(Kind::Usage)?;
    Plan::on(model, &planted).or_fail(Kind::Environment)
}

/// The model, as reports describe it.
pub fn described(model: &Model, non_finite: Vec<NonFinite>) -> ModelReport {
    ModelReport {
        kind: "gemma3n-audio".to_owned(),
        checkpoint_sha256: model.checkpoint.audio_tensors_sha256(),
        config_sha256: model.checkpoint.config().sha256().to_owned(),
        profile: model.profile.name().to_owned(),
        contract: model.contract.name().to_owned(),
        bucket: model.inputs.frames.count(),
        clips: model.inputs.clips,
        non_finite,
    }
}

/// What the phases that do these boundaries are at.
pub fn names(boundaries: &[&Boundary]) -> Vec<Arc<str>> {
    boundaries.iter().map(|b| b.id.as_str().into()).collect()
}

fn capture_reference(
    model: &Model,
    plan: &Plan,
    engine: &Engine,
    recorded: Option<Captures>,
    events: &Events<'_>,
) -> Result<(Reference, Duration), Failure> {
    let wanted = plan.tapped(model);
    let mut course = events.begin(Phase::Reference, names(&wanted));
    let captured = match recorded {
        Some(captures) => Reference {
            captures,
            cached: false,
        },
        None => reference::capture(model, engine, &wanted, &mut || course.step())?,
    };
    let elapsed = course.end(captured.cached);
    Ok((captured, elapsed))
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parts of a run, each borrowed once"
)]
fn run_candidate(
    model: &Model,
    plan: &Plan,
    engine: &Engine,
    units: Option<&Units>,
    recorded: Option<Captures>,
    reference: &Captures,
    args: &RunArgs,
    events: &Events<'_>,
    timing: &mut Timing,
) -> Result<(Candidate, Option<Captures>), Failure> {
    let steps = names(&model.selected());
    let interpret = || {
        let mut course = events.begin(Phase::Interp, steps.clone());
        let step = &mut || course.step();
        let captures = candidate::interpreted_steps(model, plan, reference, step)
            .or_fail(Kind::Environment)?;
        Ok::<_, Failure>((captures, course.end(false)))
    };
    let mut candidate = match (recorded, engine.iree.as_ref().zip(units)) {
        (Some(inherited), _) => Candidate {
            inherited,
            ..Candidate::default()
        },
        (None, Some((side, units))) => {
            let whole = ["production", "tapped"].map(Arc::from);
            let programs = whole.into_iter().chain(steps.iter().cloned());
            let mut course = events.begin(Phase::Candidate, programs);
            let step = &mut || course.step();
            let candidate = candidate::on_iree(model, plan, side, units, reference, step)
                .or_fail(Kind::Environment)?;
            course.end(false);
            timing.candidate_s = candidate.production.map(seconds);
            candidate
        }
        (None, None) => {
            let course = events.begin(Phase::Candidate, ["tapped".into()]);
            let inherited = candidate::interpreted_whole(model, plan).or_fail(Kind::Environment)?;
            timing.candidate_s = Some(seconds(course.end(false)));
            Candidate {
                inherited,
                ..Candidate::default()
            }
        }
    };
    let exact = plan.steps.iter().all(|step| step.stated.is_exact());
    let wanted = match args.interp {
        InterpArg::On => true,
        InterpArg::Off => false,
        // A recording was not made step by step: there is nothing to tell apart.
        InterpArg::Auto => {
            let runs = !matches!(args.candidate, Side::Recorded(_));
            runs && exact && plan.multiply_adds() < INTERP_LIMIT
        }
    };
    let is_candidate = args.candidate == Side::Interp;
    let mut interp = None;
    if wanted || is_candidate {
        let (captures, elapsed) = interpret()?;
        timing.interp_s = Some(seconds(elapsed));
        if is_candidate {
            candidate.local = Some(captures.clone());
        }
        interp = Some(captures);
    }
    Ok((candidate, interp))
}

/// Runs each live side again, as often as was asked for, and compares it with its first run.
#[expect(
    clippy::too_many_arguments,
    reason = "the parts of a run, each borrowed once"
)]
fn repeat(
    model: &Model,
    plan: &Plan,
    engine: &Engine,
    units: Option<&Units>,
    [reference, inherited]: [&Captures; 2],
    local: Option<&Captures>,
    args: &RunArgs,
    events: &Events<'_>,
) -> Result<Repeated, Failure> {
    let live = |side: &Side| !matches!(side, Side::Recorded(_));
    let unstable = |side: &Side| (args.repeat > 1 && live(side)).then(Unstable::default);
    let mut repeated = Repeated {
        runs: args.repeat,
        reference: unstable(&args.reference),
        candidate: unstable(&args.candidate),
    };
    for run in 2..=args.repeat {
        if let Some(unstable) = &mut repeated.reference {
            let wanted = plan.tapped(model);
            let mut course = events.begin(Phase::Reference, names(&wanted));
            let again = reference::live(model, engine, &wanted, &mut || course.step())?;
            course.end(false);
            unstable.note(run, reference, &again);
        }
        let Some(unstable) = &mut repeated.candidate else {
            continue;
        };
        match engine.iree.as_ref().zip(units) {
            Some((side, units)) => {
                let steps = names(&model.selected());
                let whole = ["production", "tapped"].map(Arc::from);
                let programs = whole.into_iter().chain(steps);
                let mut course = events.begin(Phase::Candidate, programs);
                let step = &mut || course.step();
                let again = candidate::on_iree(model, plan, side, units, reference, step)
                    .or_fail(Kind::Environment)?;
                course.end(false);
                unstable.note(run, inherited, &again.inherited);
                if let Some((first, again)) = local.zip(again.local.as_ref()) {
                    unstable.note(run, first, again);
                }
            }
            None => {
                let course = events.begin(Phase::Candidate, ["tapped".into()]);
                let again = candidate::interpreted_whole(model, plan);
                let again = again.or_fail(Kind::Environment)?;
                course.end(false);
                unstable.note(run, inherited, &again);
            }
        }
    }
    Ok(repeated)
}

/// What boundaries are judged from.
struct Judging<'a> {
    model: &'a Model,
    sides: &'a Sides,
    repeated: &'a Repeated,
    guards: Option<&'a Controls>,
    truth: bool,
    policy: Option<&'a Resolved<'a>>,
}

impl Judging<'_> {
    fn all(
        &self,
        events: &Events<'_>,
        course: &mut Course<'_, '_>,
    ) -> Result<Vec<reports::wire::Boundary>, Failure> {
        let (model, sides) = (self.model, self.sides);
        let captured = Captured {
            reference: &sides.reference,
            inherited: &sides.candidate.inherited,
            local: sides.candidate.local.as_ref(),
            interp: sides.interp.as_ref(),
            repeated: self.repeated,
            guards: self.guards,
        };
        let mut inherited: HashMap<BoundaryId, Verdict> = HashMap::new();
        let mut judged = Vec::new();
        let selected = model.selected();
        // What was not selected is not judged, but may have handed on an error.
        for boundary in with_parents(model) {
            if !selected.iter().any(|b| b.id == boundary.id)
                && captured.inherits_error(boundary) == Some(true)
            {
                inherited.insert(boundary.id.clone(), Verdict::Diverged);
            }
        }
        for boundary in selected {
            let parents = model.graph.parents(boundary);
            let worst = parents
                .iter()
                .filter_map(|parent| inherited.get(&parent.id).copied())
                .max()
                .unwrap_or(Verdict::BitExact);
            let mut result = captured.judge(&model.graph, boundary, worst);
            inherited.insert(boundary.id.clone(), result.inherited.verdict);
            if self.truth {
                let local = sides.candidate.local.as_ref();
                truth::add(model, &sides.reference, local, boundary, &mut result)
                    .or_fail(Kind::Environment)?;
            }
            if let Some(policy) = self.policy {
                let count =
                    |name: &str, part, grid, ulp| policy::count(sides, name, part, grid, ulp);
                policy.rule(judged.len(), &mut result, &count);
            }
            events.send(&Event::BoundaryJudged(Arc::new(result.clone())));
            judged.push(result);
            course.step();
        }
        Ok(judged)
    }
}
