//! Runs cases on the three sides.

use std::{collections::BTreeMap, sync::mpsc, thread};

use emitter::{
    Contract, Cut,
    emit::{EmitError, Emitted, emit},
    mlir::canonical_text,
    program::{Program, Source},
    target::TargetClass,
};
use oracle::{
    MlxSide, interp,
    iree::{self, IreeError, IreeSide, Unit},
};
use runtime::CompileOptions;
use sha2::{Digest as _, Sha256};
use stages::{Boundary, Tensor, TensorError};

use super::{
    Case, Operand,
    outcome::{Compared, Differing, Digest, NAMED, Outcome, Result, SideError, carried, digest},
};

/// How many cases are compiled in one module, so that one does not wait for all.
const IN_MODULE: usize = 96;

/// What a case becomes.
pub type Emit<'a> = &'a (dyn Fn(&Case) -> Result<Emitted, EmitError> + Sync);

/// The targets that cases are compiled for. A model whose products must not fuse is compiled
/// without FMA as a whole, so all cases are tried there, and those that may have FMA with it too.
pub const TARGETS: [TargetClass; 2] = [TargetClass::Full, TargetClass::NoFma];

/// What cases run on.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    mlx: &'a MlxSide,
    iree: &'a IreeSide,
    emit: Emit<'a>,
}

/// A case under the contract that states MLX's arithmetic on CPU.
///
/// # Errors
/// When its primitive has no lowering for its operands.
pub fn under_contract(case: &Case) -> Result<Emitted, EmitError> {
    let graph = case.graph();
    emit(graph, &Cut::step(graph, case.result()), Contract::MlxCpu)
}

impl<'a> Bench<'a> {
    /// These sides, cases [`under_contract`].
    pub fn new(mlx: &'a MlxSide, iree: &'a IreeSide) -> Bench<'a> {
        Bench {
            mlx,
            iree,
            emit: &|case| under_contract(case),
        }
    }

    /// The same, cases emitted otherwise: to find out what is noticed.
    #[must_use]
    pub fn emitting(self, emit: Emit<'a>) -> Bench<'a> {
        Bench { emit, ..self }
    }

    /// Runs cases in order and hands on each outcome as soon as it is there. Of values there are
    /// those of two cases at a time: MLX is one ahead, on a thread of its own.
    pub fn run(&self, cases: &[&Case], each: &mut dyn FnMut(&Case, Outcome)) {
        let (put, take) = mpsc::sync_channel(0);
        thread::scope(|scope| {
            scope.spawn(move || {
                for case in cases {
                    if put.send(Reference::of(case, self.mlx)).is_err() {
                        return;
                    }
                }
            });
            for cases in cases.chunks(IN_MODULE) {
                let emitted: Vec<_> = cases.iter().map(|case| (self.emit)(case)).collect();
                let programs = emitted.iter().map(|emitted| emitted.as_ref().ok());
                let programs: Vec<_> = programs.map(|e| e.map(|e| &e.laid_out)).collect();
                let mut built = self.build(&programs);
                for (case, emitted) in cases.iter().zip(emitted) {
                    let units = built
                        .iter_mut()
                        .map(|(class, units)| (*class, units.next()));
                    let units = units.filter_map(|(class, unit)| Some((class, unit??)));
                    // The other end sends as many as there are cases.
                    let Ok(reference) = take.recv() else { return };
                    each(
                        case,
                        self.outcome(case, reference, emitted, units.collect()),
                    );
                }
            }
        });
    }

    /// Compiles programs, for each target in one module if the compiler takes it.
    fn build(&self, programs: &[Option<&Program>]) -> Vec<(TargetClass, Built)> {
        thread::scope(|scope| {
            let tasks = TARGETS.map(|class| {
                let allowed = |program: &&Program| TargetClass::of(program) <= class;
                let wanted: Vec<_> = programs.iter().map(|p| p.filter(allowed)).collect();
                (class, scope.spawn(move || self.build_for(class, &wanted)))
            });
            let ended = tasks.into_iter();
            let ended = ended.filter_map(|(class, task)| Some((class, task.join().ok()?)));
            ended
                .map(|(class, units)| (class, units.into_iter()))
                .collect()
        })
    }

    /// In the order of the programs; where the compiler refuses a module, half by half, so that
    /// it refuses those only that are the reason.
    fn build_for(
        &self,
        class: TargetClass,
        programs: &[Option<&Program>],
    ) -> Vec<Option<Compiled>> {
        let there: Vec<Program> = programs.iter().flatten().map(|&p| p.clone()).collect();
        if there.is_empty() {
            return programs.iter().map(|_| None).collect();
        }
        let options = CompileOptions {
            reassociate: !there.iter().all(Program::is_exact),
            ..iree::options(class)
        };
        match self.iree.build_as("ops", there, &options) {
            Ok(unit) => {
                let unit = std::sync::Arc::new(unit);
                let mut index = 0..;
                let entry = |program: &Option<&Program>| {
                    program.and_then(|_| Some(Ok((unit.clone(), index.next()?))))
                };
                programs.iter().map(entry).collect()
            }
            Err(error) if programs.len() == 1 => vec![Some(Err(error))],
            Err(_) => {
                let (first, second) = programs.split_at(programs.len() / 2);
                let mut units = self.build_for(class, first);
                units.extend(self.build_for(class, second));
                units
            }
        }
    }

    fn outcome(
        &self,
        case: &Case,
        reference: Reference,
        emitted: Result<Emitted, EmitError>,
        units: Vec<(TargetClass, Compiled)>,
    ) -> Outcome {
        let elements = case.node().info.shape.elements();
        let mut outcome = Outcome {
            elements,
            case: reference.case,
            text: None,
            mlx: Err(SideError::NoResult),
            interp: None,
            iree: Vec::new(),
            first: Vec::new(),
        };
        let mut bits = Sides::default();
        match reference.mlx {
            Ok((tensor, own)) => {
                outcome.mlx = Ok(digest(tensor.shape(), &own));
                bits.mlx = Some((tensor, own));
            }
            Err(error) => outcome.mlx = Err(error),
        }
        let emitted = match emitted {
            Ok(emitted) => emitted,
            Err(error) => {
                outcome.interp = Some(Err(error.into()));
                return outcome;
            }
        };
        let mut hasher = Sha256::new();
        hasher.update(canonical_text(&emitted.laid_out));
        outcome.text = Some(Digest::of(hasher));
        let values = &reference.values;
        let supply = |source: &Source| match source {
            Source::Input(name) | Source::Weight(name) => values.get(name).cloned(),
            Source::Boundary(_) => None,
        };
        let expected = outcome.mlx.as_ref().ok().copied();
        if emitted.stated.is_exact() {
            let ran = interp::run(&emitted.stated, &supply).map_err(SideError::from);
            let ran = ran.and_then(|results| results.into_iter().next().ok_or(SideError::NoResult));
            outcome.interp = Some(ran.and_then(|tensor| {
                let (compared, own) = bits.compare(&tensor, expected)?;
                bits.interp = Some(own);
                Ok(compared)
            }));
        }
        for (class, unit) in units {
            let ran = unit.map_err(SideError::from).and_then(|(unit, index)| {
                let buffers = self.iree.call(&unit, index, &supply, &|_| None)?;
                let buffer = buffers.first().ok_or(SideError::NoResult)?;
                let (compared, own) = bits.compare(&iree::tensor(buffer)?, expected)?;
                bits.iree.push((class, own));
                Ok(compared)
            });
            outcome.iree.push((class, ran));
        }
        outcome.first = bits.first(case, values);
        outcome
    }
}

/// A program in a module: the module, and which of its functions.
type Compiled = std::result::Result<(std::sync::Arc<Unit>, usize), IreeError>;

/// For each program its compiled form, if it has one for a target.
type Built = std::vec::IntoIter<Option<Compiled>>;

/// A case's values and what MLX makes of them.
struct Reference {
    case: Digest,
    values: BTreeMap<String, Tensor>,
    mlx: Result<(Tensor, Vec<u32>)>,
}

impl Reference {
    fn of(case: &Case, mlx: &MlxSide) -> Reference {
        let tensors = |operands: &BTreeMap<String, Operand>| {
            let made = |(name, operand): (&String, &Operand)| Ok((name.clone(), operand.tensor()?));
            operands
                .iter()
                .map(made)
                .collect::<Result<BTreeMap<_, _>, TensorError>>()
        };
        let mut hasher = Sha256::new();
        for (_, node) in case.graph().nodes() {
            hasher.update(format!("{node:?}\n"));
        }
        let mut values = BTreeMap::new();
        let mlx = (|| {
            let (inputs, weights) = (tensors(case.inputs())?, tensors(case.weights())?);
            values = inputs.clone();
            values.extend(weights.clone());
            values
                .values()
                .for_each(|tensor| hasher.update(tensor.bytes()));
            let wanted: [&Boundary; 1] = [case.result()];
            let weight = |name: &str| weights.get(name).cloned();
            let captures = mlx.capture(case.graph(), &weight, &inputs, &wanted, &mut |_| {})?;
            let tensor = captures
                .get(&wanted[0].id)
                .ok_or(SideError::NoResult)?
                .clone();
            let bits = carried(&tensor)?;
            Ok((tensor, bits))
        })();
        Reference {
            case: Digest::of(hasher),
            values,
            mlx,
        }
    }
}

/// The bits of all sides.
#[derive(Default)]
struct Sides {
    mlx: Option<(Tensor, Vec<u32>)>,
    interp: Option<Vec<u32>>,
    iree: Vec<(TargetClass, Vec<u32>)>,
}

impl Sides {
    /// Compares a result with MLX's, whose digest is `expected`.
    fn compare(&self, tensor: &Tensor, expected: Option<Digest>) -> Result<(Compared, Vec<u32>)> {
        let own = carried(tensor)?;
        let Some((mlx, bits)) = &self.mlx else {
            let digest = digest(tensor.shape(), &own);
            let compared = Compared {
                digest,
                differing: None,
            };
            return Ok((compared, own));
        };
        if mlx.shape() != tensor.shape() {
            return Err(SideError::Shape {
                expected: mlx.shape().clone(),
                found: tensor.shape().clone(),
            });
        }
        let differing = bits.iter().zip(&own).filter(|(a, b)| a != b).count() as u64;
        let digest = match expected {
            Some(digest) if differing == 0 => digest,
            _ => digest(tensor.shape(), &own),
        };
        let compared = Compared {
            digest,
            differing: Some(differing),
        };
        Ok((compared, own))
    }

    /// The first elements that a side has otherwise than MLX.
    fn first(&self, case: &Case, values: &BTreeMap<String, Tensor>) -> Vec<Differing> {
        let Some((_, mlx)) = &self.mlx else {
            return Vec::new();
        };
        let others = || {
            self.interp
                .iter()
                .chain(self.iree.iter().map(|(_, bits)| bits))
        };
        let differs = |&i: &usize| others().any(|bits| bits[i] != mlx[i]);
        let elements: Vec<usize> = (0..mlx.len()).filter(differs).take(NAMED).collect();
        if elements.is_empty() {
            return Vec::new();
        }
        let operands = case.inputs().keys().filter_map(|name| values.get(name));
        let operands = operands.filter_map(|tensor| carried(tensor).ok());
        let operands: Vec<_> = operands.filter(|bits| bits.len() == mlx.len()).collect();
        let differing = |i: usize| Differing {
            element: i,
            operands: operands.iter().map(|bits| bits[i]).collect(),
            mlx: mlx[i],
            interp: self.interp.as_ref().map(|bits| bits[i]),
            iree: self
                .iree
                .iter()
                .map(|(class, bits)| (*class, bits[i]))
                .collect(),
        };
        elements.into_iter().map(differing).collect()
    }
}
