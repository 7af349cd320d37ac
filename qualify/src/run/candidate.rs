//! The candidate's values: from the model's inputs, and of every step on the reference's values.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use emitter::program::Source;
use oracle::{
    Captures,
    interp::{self, InterpSideError},
    iree::{self, IreeError, IreeSide, Unit},
    supply::Supply,
};
use runtime::Buffer;
use stages::{BoundaryId, Tensor};

use super::plan::Plan;
use crate::model::Model;

/// What the candidate computed.
#[derive(Debug, Default)]
pub struct Candidate {
    /// From the model's inputs: every tapped boundary.
    pub inherited: Captures,
    /// From the reference's values for the parents: every selected boundary. `None` where the
    /// candidate cannot be run on given values.
    pub local: Option<Captures>,
    /// How long the production program took, its weights resident.
    pub production: Option<Duration>,
    /// Whether the production program gave the tapped program's bits.
    pub tapped_agrees: Option<bool>,
    /// Whether all steps, chained on the candidate's own values, gave them too.
    pub chained_agrees: Option<bool>,
}

/// The three modules of a run.
#[derive(Debug)]
pub struct Units {
    /// [`Plan::production`].
    pub production: Unit,
    /// [`Plan::tapped`].
    pub tapped: Unit,
    /// [`Plan::steps`].
    pub steps: Unit,
}

impl Units {
    /// What the modules are called, in the order they are compiled.
    pub const NAMES: [&str; 3] = ["production", "tapped", "steps"];

    /// Compiles and loads all three; `progress` is told after each.
    ///
    /// # Errors
    /// When the compiler refuses one.
    pub fn build(
        side: &IreeSide,
        plan: &Plan,
        progress: &mut dyn FnMut(),
    ) -> Result<Units, IreeError> {
        let mut build = |name, programs| {
            let unit = side.build(name, programs)?;
            progress();
            Ok::<_, IreeError>(unit)
        };
        let [production, tapped, steps] = Units::NAMES;
        let all_steps = plan.steps.iter().map(|step| step.laid_out.clone());
        Ok(Units {
            production: build(production, vec![plan.production.laid_out.clone()])?,
            tapped: build(tapped, vec![plan.tapped.laid_out.clone()])?,
            steps: build(steps, all_steps.collect())?,
        })
    }

    /// Whether nothing was compiled.
    pub fn cached(&self) -> bool {
        self.production.cached && self.tapped.cached && self.steps.cached
    }
}

/// Hands out inputs, weights and captured boundaries.
pub fn supply<'a>(model: &'a Model, boundaries: &'a Captures) -> impl Supply + 'a {
    move |source: &Source| match source {
        Source::Input(name) => model.inputs.tensors.get(name).cloned(),
        Source::Weight(name) => model.checkpoint.tensor(name).cloned(),
        Source::Boundary(name) => boundaries.get(&BoundaryId::new(name.clone())).cloned(),
    }
}

/// Runs the emitted graph on a device, in all three forms; `progress` is told after the production
/// program, after the tapped one, and after each step.
///
/// # Errors
/// When a call fails.
pub fn on_iree(
    model: &Model,
    plan: &Plan,
    side: &IreeSide,
    units: &Units,
    reference: &Captures,
    progress: &mut dyn FnMut(),
) -> Result<Candidate, IreeError> {
    let supply = supply(model, reference);
    let nothing = |_: &Source| None;
    for unit in [&units.production, &units.tapped, &units.steps] {
        side.make_resident(unit, &supply)?;
    }

    let started = Instant::now();
    let produced = side.call(&units.production, 0, &supply, &nothing)?;
    let production = started.elapsed();
    progress();

    let tapped = side.call(&units.tapped, 0, &supply, &nothing)?;
    let own: HashMap<&str, Buffer> = plan
        .tapped_ids
        .iter()
        .map(BoundaryId::as_str)
        .zip(tapped)
        .collect();
    let mut inherited = Captures::new();
    for id in &plan.tapped_ids {
        if let Some(buffer) = own.get(id.as_str()) {
            inherited.insert(id.clone(), iree::tensor(buffer)?);
        }
    }
    progress();
    let outputs = plan.production.laid_out.outputs();
    let mut tapped_agrees = outputs.len() == produced.len();
    for (output, buffer) in outputs.iter().zip(&produced) {
        let tapped = inherited.get(&BoundaryId::new(output.name.clone()));
        let same = same_bits(&iree::tensor(buffer)?, tapped);
        tapped_agrees &= same;
    }
    drop(produced);

    let mut local = Captures::new();
    let mut chained: HashMap<&str, Buffer> = HashMap::new();
    let mut chained_agrees = true;
    let selected = model.selected();
    for (i, boundary) in selected.iter().enumerate() {
        let given = side.call(&units.steps, i, &supply, &nothing)?;
        if let Some(buffer) = given.first() {
            local.insert(boundary.id.clone(), iree::tensor(buffer)?);
        }
        let candidates_own = |source: &Source| match source {
            Source::Boundary(name) => chained
                .get(name.as_str())
                .or_else(|| own.get(name.as_str()))
                .cloned(),
            _ => None,
        };
        let links = side.call(&units.steps, i, &supply, &candidates_own)?;
        if let Some(buffer) = links.into_iter().next() {
            chained_agrees &= same_bits(&iree::tensor(&buffer)?, inherited.get(&boundary.id));
            chained.insert(boundary.id.as_str(), buffer);
        }
        progress();
    }
    Ok(Candidate {
        inherited,
        local: Some(local),
        production: Some(production),
        tapped_agrees: Some(tapped_agrees),
        chained_agrees: Some(chained_agrees),
    })
}

/// The tapped program's results from the model's inputs.
///
/// # Errors
/// When the call fails.
pub fn inherited_on_iree(
    model: &Model,
    plan: &Plan,
    side: &IreeSide,
    unit: &Unit,
) -> Result<Captures, IreeError> {
    let nothing = Captures::new();
    let results = side.call(unit, 0, &supply(model, &nothing), &|_: &Source| None)?;
    let mut captures = Captures::new();
    for (id, buffer) in plan.tapped_ids.iter().zip(&results) {
        captures.insert(id.clone(), iree::tensor(buffer)?);
    }
    Ok(captures)
}

fn same_bits(a: &Tensor, b: Option<&Tensor>) -> bool {
    b.is_some_and(|b| a.shape() == b.shape() && a.bytes() == b.bytes())
}

/// Interprets the tapped program from the model's inputs.
///
/// # Errors
/// When the program leaves something to the compiler.
pub fn interpreted_whole(model: &Model, plan: &Plan) -> Result<Captures, InterpSideError> {
    let nothing = Captures::new();
    let results = interp::run(&plan.tapped.stated, &supply(model, &nothing))?;
    let mut captures = Captures::new();
    for (id, tensor) in plan.tapped_ids.iter().zip(results) {
        captures.insert(id.clone(), tensor);
    }
    Ok(captures)
}

/// Interprets every step on the reference's values; `progress` is told after each.
///
/// # Errors
/// When a step leaves something to the compiler.
pub fn interpreted_steps(
    model: &Model,
    plan: &Plan,
    reference: &Captures,
    progress: &mut dyn FnMut(),
) -> Result<Captures, InterpSideError> {
    let supply = supply(model, reference);
    let mut captures = Captures::new();
    for (boundary, step) in model.selected().into_iter().zip(&plan.steps) {
        if let Some(tensor) = interp::run(&step.stated, &supply)?.into_iter().next() {
            captures.insert(boundary.id.clone(), tensor);
        }
        progress();
    }
    Ok(captures)
}
