//! A judged boundary on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measured::Measured;
use super::ruling::Ruling;
use crate::Grid;
use crate::verdict::{Cause, Judgement, Origin, Outcome, Sides, Verdict, judge};

/// Everything the report says about one boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Boundary {
    /// Its name, unique in the model.
    pub name: String,
    /// The stage it belongs to.
    pub stage: String,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// The dtype its values are declared representable in.
    pub grid: Grid,
    /// Number of elements.
    pub elements: u64,
    /// The registered boundaries its step starts from.
    pub parents: Vec<String>,
    /// The worse of the local and the inherited verdict.
    pub verdict: Verdict,
    /// Whose arithmetic differs.
    pub cause: Option<Cause>,
    /// Where the error arises.
    pub origin: Option<Origin>,
    /// What else is to be known.
    pub flags: Vec<Flag>,
    /// The step on the reference's values for the parents.
    pub local: Option<Measured>,
    /// The candidate from the model's inputs.
    pub inherited: Measured,
    /// The interpretation against both sides; null where there is none.
    pub interp: Option<InterpCounts>,
    /// local.rms² / inherited.rms²; null where that does not exist.
    pub share_local: Option<f64>,
    /// What is known of the order of summation.
    pub evidence: Evidence,
    /// The negative controls that were caught here.
    pub guarded_by: Vec<String>,
    /// Distances from the F64 truth, on request.
    pub truth: Option<Truth>,
    /// What the policy says of it; null without one.
    #[serde(default)]
    pub policy: Option<Ruling>,
}

/// What a boundary is, apart from how it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundaryId {
    /// Its name.
    pub name: String,
    /// The stage it belongs to.
    pub stage: String,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// The declared grid.
    pub grid: Grid,
    /// The registered boundaries its step starts from.
    pub parents: Vec<String>,
    /// The negative controls known to be caught here; without any it is flagged `unguarded`.
    pub guarded_by: Vec<String>,
}

impl Boundary {
    /// Judges a boundary and puts all that is known of it in words of the wire.
    #[must_use]
    pub fn judged(id: BoundaryId, sides: Sides<'_>) -> Self {
        let Judgement {
            verdict,
            cause,
            origin,
            off_grid,
            non_finite,
            share_local,
            ..
        } = judge(sides);
        let measured = |outcome: &Outcome| Measured::new(outcome);
        let flags = [
            (off_grid, Flag::OffGrid),
            (non_finite, Flag::NonFinite),
            (id.guarded_by.is_empty(), Flag::Unguarded),
        ];
        Self {
            elements: id.shape.iter().map(|&extent| extent as u64).product(),
            name: id.name,
            stage: id.stage,
            shape: id.shape,
            grid: id.grid,
            parents: id.parents,
            verdict,
            cause,
            origin,
            flags: flags
                .into_iter()
                .filter_map(|(set, flag)| set.then_some(flag))
                .collect(),
            local: sides.local.map(measured),
            inherited: measured(sides.inherited),
            interp: sides
                .interp
                .map(|(differing, candidate_differing)| InterpCounts {
                    differing,
                    candidate_differing,
                }),
            share_local,
            evidence: Evidence::default(),
            guarded_by: id.guarded_by,
            truth: None,
            policy: None,
        }
    }
}

/// Something to know about a boundary that is not its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// A value of either side is not on the declared grid.
    OffGrid,
    /// The reference holds a NaN or an infinity.
    NonFinite,
    /// No negative control was caught on it.
    Unguarded,
}

/// How many elements the interpretation of the step differs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterpCounts {
    /// From the reference.
    pub differing: u64,
    /// From the candidate.
    pub candidate_differing: u64,
}

/// What is known of the order of summation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// How strong it is.
    pub level: EvidenceLevel,
    /// The one schedule that reproduces all outputs.
    pub schedule: Option<String>,
}

/// How strongly an order of summation is known.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum EvidenceLevel {
    /// Nothing.
    #[default]
    E0,
    /// Inside an error interval.
    E1,
    /// Inside the set of achievable sums of each element.
    E2,
    /// One schedule reproduces all outputs.
    E3,
    /// The tree was revealed on the production kernel and reproduces all outputs.
    E4,
}

/// Distances of both sides from the step computed without roundings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Truth {
    /// Of the reference.
    pub reference: TruthDistance,
    /// Of the candidate's step; null where it was not run on the reference's values.
    pub candidate: Option<TruthDistance>,
    /// Largest condition among the worst elements; null where nothing is added up or nothing
    /// differs.
    pub condition: Option<f64>,
}

/// A distance from the F64 truth, over elements where both are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TruthDistance {
    /// Largest absolute error.
    pub max_abs: f64,
    /// Root of the mean square error.
    pub rms: f64,
}
