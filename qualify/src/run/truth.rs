//! `--truth`: how far each side is from the step without roundings, and how ill-conditioned the
//! worst elements are.

use std::collections::HashMap;

use oracle::Captures;
use reports::wire::{Boundary as Judged, Truth, TruthDistance, WorstElement};
use stages::{
    Boundary, DType, Graph, Tensor,
    graph::{Op, ValueId},
    truth::{self, TruthError},
};

use crate::model::Model;

/// Adds to what was judged of a boundary its distances from the truth. Integers and booleans have
/// none, nor has a boundary that the reference lacks.
///
/// # Errors
/// When a value that the step starts from was not captured.
pub fn add(
    model: &Model,
    reference: &Captures,
    local: Option<&Captures>,
    boundary: &Boundary,
    judged: &mut Judged,
) -> Result<(), TruthError> {
    let graph = &model.graph;
    let kind = graph.info(boundary.value);
    let floats = matches!(kind.dtype, DType::F32 | DType::BF16 | DType::F16);
    let Some(own) = reference.get(&boundary.id).filter(|_| floats) else {
        return Ok(());
    };
    let given = given(model, reference, boundary);
    let worst = judged.local.as_mut().map(|local| &mut local.worst);
    let worst = worst.filter(|worst| !worst.is_empty());
    let found = truth::evaluate(graph, boundary.value, &given, worst.is_some())?;

    let strides = kind.shape.strides();
    let mut largest: Option<f64> = None;
    for element in worst.into_iter().flatten() {
        let at = position(element, &strides);
        element.truth = found.values.get(at).copied().filter(|x| x.is_finite());
        let conditions = found.condition.as_ref();
        let condition = conditions.and_then(|all| all.get(at)).copied();
        // JSON has no infinity.
        element.condition = condition.map(|c| c.min(f64::MAX)).filter(|c| !c.is_nan());
        largest = match (largest, element.condition) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
    judged.truth = Some(Truth {
        reference: distance(own, &found.values),
        candidate: local
            .and_then(|local| local.get(&boundary.id))
            .map(|tensor| distance(tensor, &found.values)),
        condition: largest,
    });
    Ok(())
}

/// What the step of a boundary starts from: the reference's values of registered boundaries,
/// inputs, weights.
fn given<'a>(
    model: &'a Model,
    reference: &'a Captures,
    boundary: &Boundary,
) -> impl Fn(ValueId) -> Option<Tensor> + 'a {
    let graph: &Graph = &model.graph;
    let own = boundary.value;
    let registered: HashMap<ValueId, &Boundary> = graph
        .boundaries()
        .iter()
        .filter(|b| b.value != own)
        .map(|b| (b.value, b))
        .collect();
    move |value| match (&graph.node(value).op, registered.get(&value)) {
        (_, Some(boundary)) => reference.get(&boundary.id).cloned(),
        (Op::Input { name }, _) => model.inputs.tensors.get(name).cloned(),
        (Op::Weight { name }, _) => model.checkpoint.tensor(name).cloned(),
        _ => None,
    }
}

fn position(element: &WorstElement, strides: &[usize]) -> usize {
    let pairs = element.index.iter().zip(strides);
    pairs.map(|(index, stride)| index * stride).sum()
}

/// The distance of a float tensor from the truth, where both are numbers.
fn distance(tensor: &Tensor, truth: &[f64]) -> TruthDistance {
    let values = tensor.to_f32().unwrap_or_default();
    let (mut max_abs, mut squares, mut count) = (0.0f64, 0.0, 0u64);
    for (&value, &truth) in values.iter().zip(truth) {
        let error = (f64::from(value) - truth).abs();
        if error.is_finite() {
            max_abs = max_abs.max(error);
            squares += error * error;
            count += 1;
        }
    }
    TruthDistance {
        max_abs,
        rms: if count == 0 {
            0.0
        } else {
            (squares / count as f64).sqrt()
        },
    }
}
