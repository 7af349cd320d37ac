//! Runs mutated steps beside the reference.

use std::{collections::BTreeMap, sync::Arc};

use emitter::{
    Contract, Cut,
    emit::{EmitError, Emitted, emit},
    program::{Program, Source},
};
use oracle::{
    Captures, MlxError, MlxSide,
    interp::{self, InterpSideError},
    iree::{self, IreeError, IreeSide, Unit},
    supply::Supply,
};
use stages::{Boundary, BoundaryId, Graph, Tensor, graph::GraphError};

use super::{
    inputs::{Inputs, needs},
    rules::{Mutated, mutations},
    step::Step,
};

/// Why controls were not run; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// A step is no graph of its own.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A step without a mutation cannot be emitted.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The interpreter cannot follow a step.
    #[error(transparent)]
    Interp(#[from] InterpSideError),
    /// A module is not compiled or not run.
    #[error(transparent)]
    Iree(#[from] IreeError),
    /// MLX does not run a step.
    #[error(transparent)]
    Mlx(#[from] MlxError),
    /// The reference lacks a boundary.
    #[error("find the reference's {0}")]
    Missing(BoundaryId),
    /// A result cannot be compared.
    #[error("compare {boundary}: {reason}")]
    Compare {
        /// The boundary.
        boundary: BoundaryId,
        /// Why.
        reason: String,
    },
}

/// What runs mutated steps.
#[derive(Clone, Copy, Debug)]
pub enum Candidate<'a> {
    /// The strict interpreter.
    Interp,
    /// All steps of a stage compiled in one module, and run on the device.
    Iree(&'a IreeSide),
}

/// The comparison under test: how many elements it finds differing from the reference.
pub type Compare<'a> = &'a (dyn Fn(&Tensor, &Tensor) -> Result<u64, String> + Sync);

/// Where the values come from that steps are handed.
pub struct Scene<'a> {
    /// Which inputs these are.
    pub kind: Inputs,
    /// The model for them.
    pub graph: &'a Graph,
    /// Which arithmetic is emitted.
    pub contract: Contract,
    /// The checkpoint's tensors.
    pub weights: &'a (dyn Fn(&str) -> Option<Tensor> + Sync),
    /// The model's inputs.
    pub inputs: &'a BTreeMap<String, Tensor>,
    /// The reference's captures.
    pub reference: &'a Captures,
    /// MLX, for steps that are run alone.
    pub mlx: &'a MlxSide,
}

/// A control and what came of it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The mutation's name within the step.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// The inputs to try it on where it changes nothing.
    pub needs: &'static [Inputs],
    /// Whether a bit of the result changed by it.
    pub changed: bool,
    /// How many elements the comparison finds differing from the reference.
    pub differing: u64,
    /// Whether the compiler refuses the mutated step, so that it was not run.
    pub refused: bool,
}

/// A boundary and its controls.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// The boundary.
    pub boundary: Boundary,
    /// Elements that differ from the reference without any mutation.
    pub differing: u64,
    /// Its controls.
    pub tried: Vec<Tried>,
}

impl Scene<'_> {
    fn value(&self, id: &BoundaryId) -> Result<Tensor, ControlError> {
        let value = self.reference.get(id);
        let value = value.ok_or_else(|| ControlError::Missing(id.clone()))?;
        Ok(self.kind.changed(value))
    }

    fn weight(&self, name: &str) -> Option<Tensor> {
        (self.weights)(name).map(|tensor| self.kind.reweighted(tensor))
    }

    fn supply(&self) -> impl Supply + '_ {
        move |source: &Source| match source {
            Source::Input(name) => self.inputs.get(name).cloned(),
            Source::Weight(name) => self.weight(name),
            Source::Boundary(name) => self.value(&BoundaryId::new(name.clone())).ok(),
        }
    }

    /// What the reference makes of a step.
    fn reference(&self, step: &Step) -> Result<Tensor, ControlError> {
        let result = step.result();
        if !self.kind.is_alone() {
            return self.value(&result.id);
        }
        let mut inputs = self.inputs.clone();
        for given in step.given() {
            inputs.insert(Step::input_of(&given.id), self.value(&given.id)?);
        }
        let weight = |name: &str| self.weight(name);
        let captures = self
            .mlx
            .capture(step.graph(), &weight, &inputs, &[result], &mut |_| {})?;
        let value = captures.get(&result.id).cloned();
        value.ok_or_else(|| ControlError::Missing(result.id.clone()))
    }

    /// Applies to the boundaries of one stage the controls that `wanted` names.
    ///
    /// # Errors
    /// When an unmutated step cannot be emitted, or a step cannot be run.
    pub fn apply(
        &self,
        boundaries: &[&Boundary],
        candidate: Candidate<'_>,
        wanted: &dyn Fn(&BoundaryId, &str) -> bool,
        compare: Compare<'_>,
    ) -> Result<Vec<Guarded>, ControlError> {
        let mut cases = Vec::new();
        let mut programs = Vec::new();
        for boundary in boundaries {
            let step = Step::of(self.graph, boundary)?;
            let reference = self.reference(&step)?;
            programs.push(emitted(&step, self.contract)?);
            let mut mutants = Vec::new();
            for mutated in mutations(&step, &reference) {
                if !wanted(&boundary.id, &mutated.name) {
                    continue;
                }
                // What the contract has no arithmetic for is no candidate.
                if let Ok(program) = emitted(&mutated.step, self.contract) {
                    programs.push(program);
                    mutants.push(mutated);
                }
            }
            cases.push((step, reference, mutants));
        }
        let name = boundaries.first().map_or("controls", |b| &b.stage);
        let results = self.run(name, programs, candidate)?;
        let mut results = results.into_iter();
        let mut guarded = Vec::new();
        for (step, reference, mutants) in cases {
            let id = &step.result().id;
            let missing = || ControlError::Missing(id.clone());
            let count = |result: &Tensor| {
                compare(&reference, result).map_err(|reason| ControlError::Compare {
                    boundary: id.clone(),
                    reason,
                })
            };
            let own = results.next().ok_or_else(missing)??;
            let mut tried = Vec::new();
            for mutated in mutants {
                let Mutated {
                    mutation,
                    name,
                    about,
                    ..
                } = mutated;
                let result = match results.next().ok_or_else(missing)? {
                    Ok(result) => Some(result),
                    Err(ControlError::Iree(IreeError::Compile { .. })) => None,
                    Err(error) => return Err(error),
                };
                let differing = result.as_ref().map(count).transpose()?;
                tried.push(Tried {
                    needs: match result {
                        Some(_) => needs(&mutation, &step),
                        None => &[],
                    },
                    name,
                    about,
                    changed: result.as_ref().is_some_and(|result| !same(&own, result)),
                    differing: differing.unwrap_or(0),
                    refused: result.is_none(),
                });
            }
            guarded.push(Guarded {
                boundary: step.result().clone(),
                differing: count(&own)?,
                tried,
            });
        }
        Ok(guarded)
    }

    /// The programs' results, in order; of each its own error.
    fn run(
        &self,
        name: &str,
        programs: Vec<Emitted>,
        candidate: Candidate<'_>,
    ) -> Result<Vec<Result<Tensor, ControlError>>, ControlError> {
        let supply = self.supply();
        let none = || ControlError::Missing(BoundaryId::new(name));
        match candidate {
            Candidate::Interp => Ok(programs
                .iter()
                .map(|Emitted { stated, .. }| {
                    let results = interp::run(stated, &supply)?;
                    results.into_iter().next().ok_or_else(none)
                })
                .collect()),
            Candidate::Iree(side) => {
                let programs: Vec<Program> = programs.into_iter().map(|p| p.laid_out).collect();
                let call = |compiled: Compiled| {
                    let (unit, index) = compiled?;
                    let buffers = side.call(&unit, index, &supply, &|_| None)?;
                    Ok(iree::tensor(buffers.first().ok_or_else(none)?)?)
                };
                let compiled = compile(side, &identifier(name), &programs)?;
                Ok(compiled.into_iter().map(call).collect())
            }
        }
    }
}

/// A program in a module: the module, and which of its functions.
type Compiled = Result<(Arc<Unit>, usize), IreeError>;

/// Compiles programs in one module; where the compiler refuses that, half by half, so that it
/// refuses those only that are the reason. A mutated step may have a form that it does not get
/// through, and the others are tried all the same.
fn compile(
    side: &IreeSide,
    name: &str,
    programs: &[Program],
) -> Result<Vec<Compiled>, ControlError> {
    match side.build(name, programs.to_vec()) {
        Ok(unit) => {
            let unit = Arc::new(unit);
            Ok((0..programs.len()).map(|i| Ok((unit.clone(), i))).collect())
        }
        Err(error @ IreeError::Compile { .. }) if programs.len() < 2 => Ok(vec![Err(error)]),
        Err(IreeError::Compile { .. }) => {
            let (first, second) = programs.split_at(programs.len() / 2);
            let mut compiled = compile(side, name, first)?;
            compiled.extend(compile(side, name, second)?);
            Ok(compiled)
        }
        Err(error) => Err(error.into()),
    }
}

/// A module's name out of a stage's.
fn identifier(stage: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("controls_{}", stage.chars().map(plain).collect::<String>())
}

fn emitted(step: &Step, contract: Contract) -> Result<Emitted, EmitError> {
    let cut = Cut::step(step.graph(), step.result());
    emit(step.graph(), &cut, contract)
}

/// Whether two results have the same bits; NaNs are the same whatever their payload. Written apart
/// from the comparison under test.
fn same(a: &Tensor, b: &Tensor) -> bool {
    if a.shape() != b.shape() {
        return false;
    }
    match (a.to_f32(), b.to_f32()) {
        (Some(a), Some(b)) => a
            .iter()
            .zip(b.iter())
            .all(|(x, y)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())),
        _ => a.bytes() == b.bytes(),
    }
}
