//! `qualify controls`: mistakes made on purpose in the candidate's graph, and whether they are
//! noticed.
//!
//! A control is tried on the reference's captures of the run. Where it changes nothing there it
//! is tried on the other inputs it names: a batch padded on the left, the profile `f32`, values
//! large enough for bounds.

mod scene;
mod table;

use std::{collections::BTreeMap, fmt::Write, path::Path, sync::Arc, time::SystemTime};

use oracle::iree::IreeSide;
use probes::controls::{Candidate, Guarded, Inputs as On, OTHERS, counterpart, reason};
use reports::{
    events::Phase,
    measure::count_differing,
    verdict::ExitCode,
    wire::{
        Control, ControlOutcome, Controls, Guard, Inputs, SCHEMA_VERSION, Tool, read_controls,
        write_controls,
    },
};
use sha2::{Digest, Sha256};
use stages::{Boundary, BoundaryId, Graph, Tensor};

use crate::{
    cli::{ControlsArgs, Side},
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    inputs::hex,
    interrupt, memory,
    model::Model,
    run::{self, Events},
    uncompiled, weights,
};

use scene::Setting;

/// Applies the controls of the selected boundaries. Gives the table to print and the exit code.
///
/// # Errors
/// When a side cannot be run, or the file cannot be written.
pub fn controls(
    args: &ControlsArgs,
    command: Vec<String>,
    events: &Events<'_>,
) -> Result<(String, ExitCode), Failure> {
    if let Some(file) = &args.json {
        run::check_output(file, &args.model.files())?;
    }
    let model = Model::open(&args.model)?;
    memory::check(&model, 1)?;
    let on_device = args.candidate == Side::Iree;
    let needs = Needs {
        mlx: true,
        iree: on_device,
    };
    let engine = Engine::open(&args.engine, needs)?;
    let wanted = run::with_parents(&model);
    let mut course = events.begin(Phase::Reference, run::names(&wanted));
    let reference = run::reference::capture(&model, &engine, &wanted, &mut || course.step())?;
    course.end(reference.cached);

    let own = Setting::own(&model, &engine, reference.captures)?;
    let stages = by_stage(&model.selected());
    let names = stages.iter().map(|(stage, _)| Arc::from(*stage));
    let mut course = events.begin(Phase::Candidate, names);
    let mut found = Vec::new();
    for (_, boundaries) in &stages {
        let candidate = candidate(engine.iree.as_ref());
        let guarded = apply(&own, boundaries, candidate, &|_, _| true)?;
        found.extend(guarded);
        course.step();
    }
    course.end(false);
    let elsewhere = elsewhere(args, &model, &own, &stages, &found, events)?;

    let (controls, boundaries) = judged(&found, &elsewhere);
    let mut report = Controls {
        schema_version: SCHEMA_VERSION,
        tool: Tool {
            name: "qualify".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("QUALIFY_COMMIT").to_owned(),
        },
        created: reports::wire::rfc3339(SystemTime::now()),
        command,
        fingerprint: engine.fingerprint(None),
        model: run::described(&model, weights::non_finite(&model.checkpoint)),
        graph_sha256: digest(&model.graph),
        inputs: Inputs {
            audio_sha256: model.inputs.sha256.clone(),
            frames: model.inputs.valid.clone(),
            padding: model.inputs.padding.to_string(),
        },
        candidate: if on_device { "iree" } else { "interp" }.to_owned(),
        controls,
        boundaries,
        exit_code: 0,
    };
    let code = report.conclusion();
    report.exit_code = code.code();
    if let Some(file) = &args.json {
        let _putting = interrupt::putting();
        write_controls(file, &report).or_fail(Kind::Environment)?;
    }
    Ok((table::render(&report), code))
}

fn candidate(side: Option<&IreeSide>) -> Candidate<'_> {
    side.map_or(Candidate::Interp, Candidate::Iree)
}

/// The boundaries of each stage, stages in the order of their first.
fn by_stage<'m>(boundaries: &[&'m Boundary]) -> Vec<(&'m str, Vec<&'m Boundary>)> {
    let mut stages: Vec<(&str, Vec<&Boundary>)> = Vec::new();
    for boundary in boundaries {
        match stages.iter_mut().find(|(name, _)| *name == boundary.stage) {
            Some((_, members)) => members.push(boundary),
            None => stages.push((&boundary.stage, vec![boundary])),
        }
    }
    stages
}

fn apply(
    setting: &Setting<'_>,
    boundaries: &[&Boundary],
    candidate: Candidate<'_>,
    wanted: &dyn Fn(&BoundaryId, &str) -> bool,
) -> Result<Vec<Guarded>, Failure> {
    let compare = |reference: &Tensor, result: &Tensor| {
        count_differing(run::values(reference), run::values(result)).map_err(|e| e.to_string())
    };
    let weights = setting.weights();
    let guarded = setting
        .scene(&weights)
        .apply(boundaries, candidate, wanted, &compare);
    guarded.map_err(|error| match error {
        probes::controls::ControlError::Iree(error) => uncompiled::failure(error),
        error => Failure::caused(Kind::Environment, &error),
    })
}

/// A control by its boundary and its name.
type Key = (BoundaryId, String);

/// Tries what changed nothing on the inputs it names; the first that catch it, by control.
fn elsewhere(
    args: &ControlsArgs,
    model: &Model,
    own: &Setting<'_>,
    stages: &[(&str, Vec<&Boundary>)],
    found: &[Guarded],
    events: &Events<'_>,
) -> Result<BTreeMap<Key, On>, Failure> {
    let mut caught: BTreeMap<Key, On> = BTreeMap::new();
    for on in OTHERS {
        let open: Vec<Key> = found
            .iter()
            .flat_map(|guarded| {
                let vacuous = guarded.tried.iter().filter(|tried| !tried.changed);
                let here = vacuous.filter(move |tried| tried.needs.contains(&on));
                here.map(|tried| (guarded.boundary.id.clone(), tried.name.clone()))
            })
            .filter(|key| !caught.contains_key(key))
            .collect();
        if open.is_empty() {
            continue;
        }
        let ids: Vec<&BoundaryId> = open.iter().map(|(id, _)| id).collect();
        let setting = own.on(on, args, model, &ids)?;
        // Inputs of the same name are other tensors here, and a device keeps those it has.
        let device = match args.candidate {
            Side::Iree => {
                let needs = Needs {
                    mlx: false,
                    iree: true,
                };
                Engine::open(&args.engine, needs)?.iree
            }
            _ => None,
        };
        let there = open.iter().filter_map(|key| {
            let other = counterpart(own.graph(), setting.graph(), &key.0)?;
            Some((key, &other.id))
        });
        let there: Vec<(&Key, &BoundaryId)> = there.collect();
        let members = |stage: &str| -> Vec<&Boundary> {
            let all = setting.graph().boundaries().iter();
            all.filter(|b| b.stage == stage && there.iter().any(|(_, id)| **id == b.id))
                .collect()
        };
        let stages: Vec<(&str, Vec<&Boundary>)> = stages
            .iter()
            .map(|(stage, _)| (*stage, members(stage)))
            .filter(|(_, boundaries)| !boundaries.is_empty())
            .collect();
        let names = stages.iter().map(|(stage, _)| Arc::from(*stage));
        let mut course = events.begin(Phase::Candidate, names);
        for (_, boundaries) in &stages {
            let wanted = |id: &BoundaryId, name: &str| {
                there
                    .iter()
                    .any(|((_, n), other)| *other == id && n == name)
            };
            for guarded in apply(&setting, boundaries, candidate(device.as_ref()), &wanted)? {
                let sound = guarded.differing == 0;
                for tried in guarded.tried.into_iter().filter(|t| sound && t.changed) {
                    let id = &guarded.boundary.id;
                    let key = there
                        .iter()
                        .find(|((_, name), other)| *other == id && *name == tried.name);
                    if let Some((key, _)) = key.filter(|_| tried.differing > 0) {
                        caught.insert((*key).clone(), on);
                    }
                }
            }
            course.step();
        }
        course.end(false);
    }
    Ok(caught)
}

/// What came of each control, and of each boundary's.
fn judged(found: &[Guarded], elsewhere: &BTreeMap<Key, On>) -> (Vec<Control>, Vec<Guard>) {
    let (mut controls, mut guards) = (Vec::new(), Vec::new());
    for guarded in found {
        let (id, stage) = (&guarded.boundary.id, &guarded.boundary.stage);
        let mut guard = Guard::new(id.as_str(), stage, guarded.differing);
        for tried in &guarded.tried {
            let outcome = match (tried.changed, tried.differing) {
                (false, _) => ControlOutcome::Vacuous,
                (true, 0) => ControlOutcome::Missed,
                (true, _) => ControlOutcome::Caught,
            };
            let vacuous = outcome == ControlOutcome::Vacuous;
            let on = elsewhere.get(&(id.clone(), tried.name.clone()));
            let on = on.filter(|_| vacuous);
            let noticed = outcome == ControlOutcome::Caught || on.is_some();
            let refused = tried
                .refused
                .then_some("the compiler refuses the mutated step");
            let why = refused
                .or(reason(id.as_str(), &tried.name))
                .filter(|_| vacuous && on.is_none());
            let control = Control {
                name: format!("{id}/{}", tried.name),
                stage: stage.clone(),
                about: tried.about.clone(),
                outcome,
                caught_by: noticed.then(|| id.to_string()).into_iter().collect(),
                fixture: on.map(|on| on.name().to_owned()),
                reason: why.map(str::to_owned),
            };
            guard.count(&control);
            controls.push(control);
        }
        guards.push(guard);
    }
    (controls, guards)
}

/// Digest of a model on level one, with the names of its boundaries.
fn digest(graph: &Graph) -> String {
    let mut text = String::new();
    for (value, node) in graph.nodes() {
        let _ = writeln!(text, "{value:?} {node:?}");
    }
    for boundary in graph.boundaries() {
        let _ = writeln!(text, "{} {:?}", boundary.id, boundary.value);
    }
    hex(&Sha256::digest(text.as_bytes()))
}

/// Reads the controls of the same graph, checkpoint and profile.
///
/// # Errors
/// When the file cannot be read, or is about another graph, checkpoint or profile.
pub fn read(file: &Path, model: &Model) -> Result<Controls, Failure> {
    let described = run::described(model, Vec::new());
    let mut controls = read_controls(file).or_fail(Kind::Input)?;
    let other = &controls.model;
    let differs = [
        (
            other.checkpoint_sha256 != described.checkpoint_sha256,
            "checkpoint",
        ),
        (
            other.config_sha256 != described.config_sha256,
            "configuration",
        ),
        (other.profile != described.profile, "profile"),
        (other.contract != described.contract, "contract"),
        (controls.graph_sha256 != digest(&model.graph), "graph"),
    ];
    match differs.into_iter().find(|(differs, _)| *differs) {
        None => {
            // What was not selected is not the report's business.
            let selected = model.selected();
            controls.controls.retain(|control| {
                let of = control.name.rsplit_once('/').map_or("", |name| name.0);
                selected.iter().any(|boundary| boundary.id.as_str() == of)
            });
            Ok(controls)
        }
        Some((_, what)) => {
            let file = file.display();
            let message = format!("use the controls {file}: they are about another {what}");
            Err(Failure::new(Kind::Input, message))
        }
    }
}
