//! The step that is asked about, what it was handed, and what came out.

use std::{collections::BTreeMap, path::Path};

use emitter::{Cut, emit::emit, program::Source};
use oracle::{Captures, iree::tensor};
use probes::{
    contract::{ContractError, NamedError, Operation, Question},
    controls::Step,
};
use stages::{Boundary, BoundaryId, DType, Tensor, graph::Op};

use super::{ContractArgs, Inputs};
use crate::{
    cli::Side,
    engine::{Engine, Needs},
    failure::{Failure, Kind, OrFail},
    model::Model,
    run, uncompiled,
};

/// A question with what it is called.
pub struct Asked {
    /// Boundary or file, and shape.
    pub name: String,
    /// Whose results, in words.
    pub side: String,
    /// The question.
    pub question: Question,
    /// What the results were computed from, a name for each set of captured values.
    pub cases: Vec<String>,
}

/// What was refused, and why.
pub type Refusal = (String, ContractError);

/// Sets of random values, and elements of the result that they come to at most.
const DRAWN_SETS: usize = 12;
const DRAWN_ELEMENTS: usize = 400_000;

/// The question that the command line puts.
///
/// # Errors
/// When the model, a side or a file cannot be used.
pub fn ask(args: &ContractArgs) -> Result<Result<Asked, Refusal>, Failure> {
    match (&args.from, &args.boundary) {
        (Some(file), _) => of_file(args, file),
        (None, Some(name)) => of_boundary(args, name),
        (None, None) => Err(Failure::usage("it needs --boundary or --from")),
    }
}

fn of_file(args: &ContractArgs, file: &Path) -> Result<Result<Asked, Refusal>, Failure> {
    let loaded = Captures::load(file).or_fail(Kind::Input);
    let (captures, notes) = loaded.map_err(|failure| failure.about(file))?;
    let operation = match (&args.op, notes.get("op")) {
        (Some(operation), _) => operation.clone(),
        (None, Some(text)) => text
            .parse::<Operation>()
            .map_err(|reason| Failure::new(Kind::Input, reason).about(file))?,
        (None, None) => {
            let message = format!(
                "{} does not say which operation it is of: --op does",
                file.display()
            );
            return Err(Failure::usage(message));
        }
    };
    let name = format!("{}: {operation}", file.display());
    let tensor = |name: &str| captures.get(&BoundaryId::new(name)).cloned();
    match operation.question(&tensor) {
        Ok(question) => Ok(Ok(Asked {
            name,
            side: notes
                .get("from")
                .cloned()
                .unwrap_or_else(|| "the file".to_owned()),
            question,
            cases: vec!["captured".to_owned()],
        })),
        Err(NamedError::Contract(
            error
            @ (ContractError::NotFloat(_) | ContractError::DType(_) | ContractError::Empty(_)),
        )) => Ok(Err((name, error))),
        Err(error) => Err(Failure::caused(Kind::Input, &error).about(file)),
    }
}

fn of_boundary(args: &ContractArgs, name: &str) -> Result<Result<Asked, Refusal>, Failure> {
    let model = Model::open(&args.model)?;
    let boundary = model.named(name)?;
    let step = Step::of(&model.graph, boundary).or_fail(Kind::Environment)?;
    let shape = model.graph.info(boundary.value).shape.clone();
    let name = format!("{name}{shape}");
    // What can never be answered is refused before anything runs.
    let mut question = match Question::new(step.graph(), step.result().value) {
        Ok(question) => question,
        Err(error) => return Ok(Err((name, error))),
    };
    // A recording of the side has the result too; else the step is run on the reference's values.
    let of_recording = matches!(args.side, Side::Recorded(_));
    let recorded = match (&args.side, &args.reference) {
        (Side::Recorded(file), _) | (_, Side::Recorded(file)) => Some(file),
        _ => None,
    };
    let has_result = of_recording || args.side == Side::Mlx && recorded.is_none();
    let mut wanted = model.graph.parents(boundary);
    if has_result {
        wanted.push(boundary);
    }
    let read = recorded
        .map(|file| run::reference::recorded(&model, file, &wanted))
        .transpose()?;
    let needs = Needs {
        mlx: args.side == Side::Mlx || recorded.is_none(),
        iree: args.side == Side::Iree,
    };
    let engine = Engine::open(&args.engine, needs)?;
    let captures = match read {
        Some(captures) => captures,
        None => run::reference::capture(&model, &engine, &wanted, &mut || {})?.captures,
    };
    let runner = Runner::new(args, &model, boundary, &step, &engine)?;
    let mut cases = vec!["captured".to_owned()];
    let captured = Values::captured(&model, &step, &captures);
    let result = match captures.get(&boundary.id) {
        Some(result) if has_result => result.clone(),
        _ => runner.run(&captured)?,
    };
    if !of_recording {
        // The step alone on the same values: its results must come again.
        let again = runner.run(&captured)?;
        if !same(&again, &result) {
            return Ok(Err((name, ContractError::NotRepeatable)));
        }
    }
    let mut observe =
        |values: &Values, result: &Tensor| question.observe(&|op: &Op| values.of(op), result);
    if let Err(error) = observe(&captured, &result) {
        return Ok(Err((name, error)));
    }
    if args.inputs == Inputs::Random {
        let sets = (DRAWN_ELEMENTS / shape.elements().max(1)).clamp(1, DRAWN_SETS);
        for set in 0..sets {
            let drawn = captured.drawn(set);
            let result = runner.run(&drawn)?;
            if let Err(error) = observe(&drawn, &result) {
                return Ok(Err((name, error)));
            }
            cases.push(format!("random {}", set + 1));
        }
    }
    let side = match &args.side {
        Side::Iree => format!("iree, contract {}", model.contract),
        Side::Recorded(file) => format!("recorded:{}", file.display()),
        Side::Mlx | Side::Interp => "mlx".to_owned(),
    };
    Ok(Ok(Asked {
        name,
        side,
        question,
        cases,
    }))
}

/// Whether two tensors have the same bits, NaN whatever its payload.
fn same(a: &Tensor, b: &Tensor) -> bool {
    match (a.to_f32(), b.to_f32()) {
        (Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|(&a, &b)| probes::envelope::same(a, b))
        }
        _ => false,
    }
}

/// Values of a step's inputs and weights, by the names in its own graph.
struct Values {
    inputs: BTreeMap<String, Tensor>,
    weights: BTreeMap<String, Tensor>,
}

impl Values {
    fn captured(model: &Model, step: &Step, captures: &Captures) -> Values {
        let given: BTreeMap<String, &BoundaryId> = step
            .given()
            .map(|boundary| (Step::input_of(&boundary.id), &boundary.id))
            .collect();
        let (mut inputs, mut weights) = (BTreeMap::new(), BTreeMap::new());
        for (_, node) in step.graph().nodes() {
            match &node.op {
                Op::Input { name } => {
                    let tensor = match given.get(name) {
                        Some(id) => captures.get(id).cloned(),
                        None => model.inputs.tensors.get(name).cloned(),
                    };
                    inputs.extend(tensor.map(|tensor| (name.clone(), tensor)));
                }
                Op::Weight { name } => {
                    let tensor = model.checkpoint.tensor(name).cloned();
                    weights.extend(tensor.map(|tensor| (name.clone(), tensor)));
                }
                _ => {}
            }
        }
        Values { inputs, weights }
    }

    fn of(&self, op: &Op) -> Option<Tensor> {
        match op {
            Op::Input { name } => self.inputs.get(name).cloned(),
            Op::Weight { name } => self.weights.get(name).cloned(),
            _ => None,
        }
    }

    /// The same with random floats for inputs; weights, masks and integers stay. Ranges and scales
    /// change from set to set.
    fn drawn(&self, set: usize) -> Values {
        let mut state = 0x5eed_u64 + set as u64;
        let mut bits = || {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        // Both signs, from 2⁻¹² to 2⁷ over all sets.
        let (lowest, wide) = [(125, 4), (115, 15), (121, 8), (129, 5)][set % 4];
        let mut float = || {
            let bits = bits();
            let exponent = lowest + (bits >> 40) as u32 % wide;
            f32::from_bits((bits as u32 & 0x807f_ffff) | exponent << 23)
        };
        let mut draw = |tensor: &Tensor| {
            let count = tensor.shape().elements();
            let values: Vec<f32> = (0..count).map(|_| float()).collect();
            let drawn = match tensor.dtype() {
                DType::F32 => Tensor::from_f32(tensor.shape().clone(), &values),
                DType::BF16 => {
                    let values: Vec<_> = values.into_iter().map(half::bf16::from_f32).collect();
                    Tensor::from_bf16(tensor.shape().clone(), &values)
                }
                _ => return tensor.clone(),
            };
            drawn.unwrap_or_else(|_| tensor.clone())
        };
        let inputs = self.inputs.iter();
        Values {
            inputs: inputs
                .map(|(name, tensor)| (name.clone(), draw(tensor)))
                .collect(),
            weights: self.weights.clone(),
        }
    }
}

/// A side that runs the step.
struct Runner<'r> {
    step: &'r Step,
    engine: &'r Engine,
    unit: Option<oracle::iree::Unit>,
}

impl<'r> Runner<'r> {
    fn new(
        args: &ContractArgs,
        model: &Model,
        boundary: &Boundary,
        step: &'r Step,
        engine: &'r Engine,
    ) -> Result<Runner<'r>, Failure> {
        let unit = match (&args.side, &engine.iree) {
            (Side::Iree, Some(side)) => {
                let cut = Cut::step(&model.graph, boundary);
                let program =
                    emit(&model.graph, &cut, model.contract).or_fail(Kind::Environment)?;
                let unit = side.build("contract", vec![program.laid_out]);
                Some(unit.map_err(uncompiled::failure)?)
            }
            _ => None,
        };
        Ok(Runner { step, engine, unit })
    }

    fn run(&self, values: &Values) -> Result<Tensor, Failure> {
        if let (Some(unit), Some(side)) = (&self.unit, &self.engine.iree) {
            let supply = |source: &Source| match source {
                Source::Input(name) => values.inputs.get(name).cloned(),
                Source::Weight(name) => values.weights.get(name).cloned(),
                Source::Boundary(name) => {
                    let id = BoundaryId::new(name.clone());
                    values.inputs.get(&Step::input_of(&id)).cloned()
                }
            };
            side.make_resident(unit, &supply)
                .or_fail(Kind::Environment)?;
            let nothing = |_: &Source| None;
            let results = side
                .call(unit, 0, &supply, &nothing)
                .or_fail(Kind::Environment)?;
            let result = results
                .first()
                .map(tensor)
                .transpose()
                .or_fail(Kind::Environment)?;
            return result.ok_or_else(|| Failure::new(Kind::Environment, "read the step's result"));
        }
        let Some(mlx) = &self.engine.mlx else {
            return Err(Failure::new(
                Kind::Environment,
                "run the step: no side is open",
            ));
        };
        let result = self.step.result();
        let weights = |name: &str| values.weights.get(name).cloned();
        let captures = mlx
            .capture(
                self.step.graph(),
                &weights,
                &values.inputs,
                &[result],
                &mut |_| {},
            )
            .or_fail(Kind::Environment)?;
        let tensor = captures.get(&result.id).cloned();
        tensor.ok_or_else(|| Failure::new(Kind::Environment, "read the step's result"))
    }
}
