//! Compares the sides boundary by boundary.

use oracle::Captures;
use reports::{
    Grid,
    measure::{Values, compare_and_map, count_differing},
    verdict::{Outcome, Sides, Verdict},
    wire::{Boundary as Judged, BoundaryId as Identity, Controls},
};
use stages::{Boundary, DType, Graph, Tensor};

use super::repeat::Repeated;

/// The captures of all sides.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The reference.
    pub reference: &'a Captures,
    /// The candidate from the model's inputs.
    pub inherited: &'a Captures,
    /// The candidate on the reference's values; `None` where it cannot be run on them.
    pub local: Option<&'a Captures>,
    /// The interpreter on the reference's values.
    pub interp: Option<&'a Captures>,
    /// What running the sides again showed.
    pub repeated: &'a Repeated,
    /// The negative controls that were applied to the model before.
    pub guards: Option<&'a Controls>,
}

impl Captured<'_> {
    /// Whether the candidate, run from the model's inputs, has other bits there.
    pub fn inherits_error(&self, boundary: &Boundary) -> Option<bool> {
        differing(boundary, self.inherited, self.reference).map(|n| n > 0)
    }

    /// Judges one boundary; `parents` is the worst inherited verdict among its parents.
    pub fn judge(&self, graph: &Graph, boundary: &Boundary, parents: Verdict) -> Judged {
        let info = graph.info(boundary.value);
        let (shape, grid) = (info.shape.dims(), grid(info.dtype));
        let refusal = self.repeated.refusal(&boundary.id);
        let against_reference = |side: &str, captures: &Captures| match (
            self.reference.get(&boundary.id),
            captures.get(&boundary.id),
        ) {
            _ if refusal.is_some() => Outcome::Inconclusive(refusal.clone().unwrap_or_default()),
            (None, _) => Outcome::Inconclusive("the reference lacks it".to_owned()),
            (_, None) => Outcome::Inconclusive(format!("{side} lacks it")),
            (Some(reference), Some(tensor)) => {
                match compare_and_map(values(reference), values(tensor), shape, grid) {
                    Ok(measurement) => Outcome::Measured(Box::new(measurement)),
                    Err(error) => Outcome::Inconclusive(error.to_string()),
                }
            }
        };
        let local = self
            .local
            .map(|captures| against_reference("the candidate's step", captures));
        let inherited = against_reference("the candidate", self.inherited);
        let interp = self.interp.and_then(|interp| {
            Some((
                differing(boundary, interp, self.reference)?,
                differing(boundary, interp, self.local?)?,
            ))
        });
        let identity = Identity {
            name: boundary.id.as_str().to_owned(),
            stage: boundary.stage.clone(),
            shape: shape.to_vec(),
            grid,
            parents: graph
                .parents(boundary)
                .iter()
                .map(|p| p.id.as_str().to_owned())
                .collect(),
            guarded_by: self
                .guards
                .map(|guards| guards.guarding(boundary.id.as_str()))
                .unwrap_or_default(),
        };
        Judged::judged(
            identity,
            Sides {
                local: local.as_ref(),
                inherited: &inherited,
                interp,
                parents,
            },
        )
    }
}

/// How many elements of a boundary differ, if both have it.
fn differing(boundary: &Boundary, a: &Captures, b: &Captures) -> Option<u64> {
    let (a, b) = (a.get(&boundary.id)?, b.get(&boundary.id)?);
    count_differing(values(a), values(b)).ok()
}

/// The grid of a dtype.
pub const fn grid(dtype: DType) -> Grid {
    match dtype {
        DType::Bool => Grid::Bool,
        DType::I32 | DType::U32 => Grid::I32,
        DType::F16 => Grid::F16,
        DType::BF16 => Grid::Bf16,
        DType::F32 => Grid::F32,
    }
}

/// The tensor's elements, as they are compared.
pub fn values(tensor: &Tensor) -> Values<'_> {
    tensor
        .as_f32()
        .map(Values::F32)
        .or_else(|| tensor.as_bf16().map(Values::Bf16))
        .or_else(|| tensor.as_f16().map(Values::F16))
        .or_else(|| tensor.as_i32().map(Values::I32))
        .unwrap_or_else(|| Values::Bool(tensor.bytes()))
}
