//! The sums of a boundary: its step's, on the reference's values.

use emitter::{Contract, Cut, emit::emit, program::Source};
use oracle::{Captures, iree::tensor, supply::prepared};
use probes::{
    envelope::{Schedule, Step, StepError},
    ops::Site,
    order::Rounding,
};
use stages::{Boundary, Tensor};

use super::{
    EnvelopeArgs,
    answer::{Answer, Untold},
    case::{Asked, Case},
    revealed::{Told, told},
};
use crate::{
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    model::Model,
    probe::order::reveal::Host,
    run, uncompiled,
};

/// Elements of a boundary, with the reference's and the candidate's values.
struct Elements {
    name: String,
    step: Step,
    chosen: Option<Vec<usize>>,
    sides: Vec<String>,
    /// By side.
    values: Vec<Vec<f32>>,
    told: Vec<Told>,
}

/// What explains a boundary's values. Both sides are handed the reference's values of its parents.
///
/// # Errors
/// When the model or a side cannot be used.
pub fn answer(args: &EnvelopeArgs, name: &str) -> Result<Result<Answer, Untold>, Failure> {
    let model = Model::open(&args.model)?;
    let boundary = model.named(name)?;
    let cut = Cut::step(&model.graph, boundary);
    let emitted = |contract| emit(&model.graph, &cut, contract).or_fail(Kind::Environment);
    // The reference's own arithmetic tells the terms, whatever the candidate's.
    let stated = emitted(Contract::MlxCpu)?.stated;
    let program = emitted(model.contract)?.laid_out;
    let needs = Needs {
        mlx: true,
        iree: true,
    };
    let engine = Engine::open(&args.engine, needs)?;
    let mut wanted = model.graph.parents(boundary);
    wanted.push(boundary);
    let captures = run::reference::capture(&model, &engine, &wanted, &mut || {})?.captures;
    let supply = run::candidate::supply(&model, &captures);
    let tensors = stated.args().iter().map(|arg| prepared(arg, &supply));
    let tensors = tensors.collect::<Result<Vec<_>, _>>();
    let step = match Step::of(&stated, &tensors.or_fail(Kind::Environment)?) {
        Ok(step) => step,
        Err(error) => return Ok(Err(error.into())),
    };
    let candidate = match &engine.iree {
        Some(side) => {
            let unit = side.build("envelope", vec![program]);
            let unit = unit.map_err(uncompiled::failure)?;
            side.make_resident(&unit, &supply)
                .or_fail(Kind::Environment)?;
            let nothing = |_: &Source| None;
            let results = side
                .call(&unit, 0, &supply, &nothing)
                .or_fail(Kind::Environment)?;
            results
                .first()
                .map(tensor)
                .transpose()
                .or_fail(Kind::Environment)?
        }
        None => None,
    };
    let mut elements = Elements::new(args, boundary, step, &captures, candidate.as_ref());
    if let Some(&element) = elements.chosen.iter().flatten().max()
        && element >= elements.step.elements()
    {
        let elements = elements.step.elements();
        let message = format!("{name} has {elements} elements: there is none of index {element}");
        return Err(Failure::usage(message));
    }
    let stated = elements.step.stated();
    let mut settings = args.settings(true, stated.rounding != Rounding::F32, stated.start);
    if stated.rounding == Rounding::Bf16Once && elements.is_off_grid() {
        // A rounding that was left out.
        let wide = settings
            .roundings
            .iter()
            .position(|&r| r == Rounding::Bf16Once);
        settings.roundings.extend(wide.map(|_| Rounding::F32));
    }
    if elements.is_complete() {
        let site = Site::of_boundary(&model.graph, boundary);
        let hosts = Host::all(&engine, model.contract);
        let start = elements.step.stated().start;
        elements.told = hosts.iter().map(|host| told(host, &site, start)).collect();
    }
    Ok(Answer::of(&elements, &settings))
}

impl Elements {
    fn new(
        args: &EnvelopeArgs,
        boundary: &Boundary,
        step: Step,
        captures: &Captures,
        candidate: Option<&Tensor>,
    ) -> Elements {
        let floats = |tensor: Option<&Tensor>| {
            let values = tensor.and_then(Tensor::to_f32);
            values.map(|values| values.into_owned()).unwrap_or_default()
        };
        let reference = floats(captures.get(&boundary.id));
        let candidate = floats(candidate);
        let chosen = (!args.all).then(|| args.element.clone());
        let same = |i: usize| match (reference.get(i), candidate.get(i)) {
            (Some(&a), Some(&b)) => probes::envelope::same(a, b),
            _ => false,
        };
        let equal = match &chosen {
            Some(chosen) => chosen.iter().all(|&i| same(i)),
            None => (0..reference.len()).all(same),
        };
        let (sides, values) = if equal {
            (vec!["mlx = iree".to_owned()], vec![reference])
        } else {
            let sides = vec!["mlx".to_owned(), "iree".to_owned()];
            (sides, vec![reference, candidate])
        };
        Elements {
            name: format!("{}{}", boundary.id.as_str(), step.shape()),
            step,
            chosen,
            sides,
            values,
            told: Vec::new(),
        }
    }
}

impl Elements {
    /// Whether a value is no BF16.
    fn is_off_grid(&self) -> bool {
        let all = (0..self.len()).map(|index| self.label(index));
        let mut values = all.flat_map(|at| self.values.iter().filter_map(move |v| v.get(at)));
        values.any(|x| x.to_bits() & 0xffff != 0)
    }
}

impl Case for Elements {
    fn name(&self) -> String {
        match &self.chosen {
            None => format!("{}: all elements", self.name),
            Some(chosen) => {
                let list: Vec<String> = chosen.iter().take(8).map(usize::to_string).collect();
                let noun = if chosen.len() == 1 {
                    "element"
                } else {
                    "elements"
                };
                format!("{}: {noun} {}", self.name, list.join(", "))
            }
        }
    }

    fn len(&self) -> usize {
        self.chosen.as_ref().map_or(self.step.elements(), Vec::len)
    }

    fn is_complete(&self) -> bool {
        self.chosen.is_none() && self.step.elements() > 1
    }

    fn label(&self, index: usize) -> usize {
        match &self.chosen {
            Some(chosen) => chosen[index],
            None => index,
        }
    }

    fn sum(&self, index: usize) -> Result<Asked, StepError> {
        let label = self.label(index);
        let mut sum = self.step.sum(label)?;
        let at = |values: &Vec<f32>| values.get(label).copied().unwrap_or(f32::NAN);
        Ok(Asked {
            terms: std::mem::take(&mut sum.terms),
            observed: self.values.iter().map(at).collect(),
            follows: (!sum.is_result()).then_some(sum),
        })
    }

    fn sides(&self) -> Vec<String> {
        self.sides.clone()
    }

    fn stated(&self) -> Option<&Schedule> {
        Some(self.step.stated())
    }

    fn told(&self) -> &[Told] {
        &self.told
    }
}
