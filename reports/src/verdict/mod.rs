//! What a measurement means: verdicts of boundaries, causes, origins, the verdict of a run.
//!
//! Nothing here measures and nothing here prints; the rules are those of the design (§3, §5).

mod boundary;
mod exit_code;
mod run;

pub use boundary::{Judgement, Outcome, Sides, judge};
pub use exit_code::ExitCode;
pub use run::{FirstDivergence, run_verdict};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a boundary, or a run, came out; later is worse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every element has the same bits.
    BitExact,
    /// One stated schedule reproduces all outputs of the boundary on the production op.
    OrderExplained,
    /// Different bits inside the bounds of a policy file.
    WithinPolicy,
    /// Equal, but equality proves nothing: constant or nowhere finite.
    Vacuous,
    /// Not repeatable, or a side failed.
    Inconclusive,
    /// Different bits nobody explained.
    Diverged,
}

impl Verdict {
    /// All verdicts, best first.
    pub const ALL: [Self; 6] = [
        Self::BitExact,
        Self::OrderExplained,
        Self::WithinPolicy,
        Self::Vacuous,
        Self::Inconclusive,
        Self::Diverged,
    ];

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitExact => "bit_exact",
            Self::OrderExplained => "order_explained",
            Self::WithinPolicy => "within_policy",
            Self::Vacuous => "vacuous",
            Self::Inconclusive => "inconclusive",
            Self::Diverged => "diverged",
        }
    }

    /// Whether the boundary counts for the first divergence: worse than `order_explained`.
    #[must_use]
    pub fn is_suspect(self) -> bool {
        self > Self::OrderExplained
    }

    /// Whether the verdict speaks of an unexplained error that was measured.
    #[must_use]
    pub const fn has_error(self) -> bool {
        matches!(self, Self::WithinPolicy | Self::Diverged)
    }
}

/// Whose arithmetic differs, by the three sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The compiler or runtime did not honour the graph.
    Backend,
    /// The graph states other arithmetic than the reference uses.
    Contract,
    /// Both of these.
    Both,
}

impl Cause {
    /// The cause, from how many elements the interpretation of the graph differs in from the
    /// reference and from the candidate; `None` where all three agree.
    ///
    /// ```
    /// use reports::verdict::Cause;
    /// assert_eq!(Cause::from_interp(0, 0), None);
    /// assert_eq!(Cause::from_interp(0, 3), Some(Cause::Backend));
    /// assert_eq!(Cause::from_interp(3, 0), Some(Cause::Contract));
    /// assert_eq!(Cause::from_interp(1, 1), Some(Cause::Both));
    /// ```
    #[must_use]
    pub const fn from_interp(reference_differs: u64, candidate_differs: u64) -> Option<Self> {
        match (reference_differs, candidate_differs) {
            (0, 0) => None,
            (0, _) => Some(Self::Backend),
            (_, 0) => Some(Self::Contract),
            _ => Some(Self::Both),
        }
    }

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Contract => "contract",
            Self::Both => "both",
        }
    }
}

/// Where the error of a boundary arises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// In the step of this boundary, whose inputs were right.
    Local,
    /// In what the step was handed.
    Inherited,
    /// In both.
    Both,
}

impl Origin {
    /// The origin, from whether the step itself errs on right inputs and whether any of its
    /// inputs was wrong when it erred in the whole model.
    ///
    /// The local error alone does not tell: a step that errs on right inputs errs in the whole
    /// model too, and that is still a local error if its parents were right there.
    #[must_use]
    pub const fn new(local: bool, inherited: bool, parents: bool) -> Option<Self> {
        match (local, inherited && parents) {
            (true, false) => Some(Self::Local),
            (true, true) => Some(Self::Both),
            (false, true) => Some(Self::Inherited),
            // Right step, right parents, wrong in the whole model: the production module
            // computes something else than its steps, which was handed on to this boundary.
            (false, false) if inherited => Some(Self::Inherited),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_ordered_from_good_to_bad() {
        assert!(Verdict::ALL.is_sorted());
        assert!(!Verdict::OrderExplained.is_suspect() && Verdict::WithinPolicy.is_suspect());
    }

    #[test]
    fn names_are_those_of_the_report() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
        }
        for cause in [Cause::Backend, Cause::Contract, Cause::Both] {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
        }
    }

    #[test]
    fn an_error_on_right_inputs_is_local_though_it_shows_in_the_whole_model() {
        assert_eq!(Origin::new(true, true, false), Some(Origin::Local));
        assert_eq!(Origin::new(true, true, true), Some(Origin::Both));
        assert_eq!(Origin::new(true, false, true), Some(Origin::Local));
        assert_eq!(Origin::new(false, true, true), Some(Origin::Inherited));
        assert_eq!(Origin::new(false, true, false), Some(Origin::Inherited));
        assert_eq!(Origin::new(false, false, true), None);
    }
}
