//! Whether an error of a boundary got better or worse.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::{Part, unruled};
use crate::verdict::Verdict;
use crate::wire::{Boundary, Measured};

/// How something stands in the later report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing changed.
    Same,
    /// Better in something, worse in nothing.
    Better,
    /// Worse in something, better in nothing.
    Worse,
    /// Better in something, worse in something else.
    Changed,
    /// It cannot be said.
    NotComparable,
}

impl Standing {
    /// Of something that is good when it is small.
    pub(super) fn of<T: PartialOrd>(before: &T, after: &T) -> Self {
        match after.partial_cmp(before) {
            Some(Ordering::Equal) => Self::Same,
            Some(Ordering::Less) => Self::Better,
            Some(Ordering::Greater) => Self::Worse,
            None => Self::NotComparable,
        }
    }

    /// Of two things together.
    const fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotComparable, _) | (_, Self::NotComparable) => Self::NotComparable,
            (Self::Same, other) | (other, Self::Same) => other,
            (Self::Better, Self::Better) => Self::Better,
            (Self::Worse, Self::Worse) => Self::Worse,
            _ => Self::Changed,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::NotComparable => "not comparable",
        }
    }
}

/// What is measured of an error, and good when it is small. A verdict decides before the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The verdict without a policy.
    Verdict,
    /// Elements with different bits.
    Differing,
    /// Pairs of a NaN and a number.
    Nan,
    /// Pairs of an infinity and any other number.
    Inf,
    /// The largest distance on the declared grid; none, values off the grid, is the worst.
    MaxUlp,
    /// Pairs more than one step of the declared grid apart.
    OverOne,
    /// The largest distance in F32 steps, where the declared grid has none in either report.
    MaxUlpF32,
    /// Largest |a − b|.
    MaxAbs,
    /// Root of the mean of (a − b)².
    Rms,
}

impl Measure {
    /// What it is called among people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Differing => "differing",
            Self::Nan => "NaN",
            Self::Inf => "inf",
            Self::MaxUlp => "max ULP",
            Self::OverOne => "over 1 ULP",
            Self::MaxUlpF32 => "max F32 ULP",
            Self::MaxAbs => "max abs",
            Self::Rms => "rms",
        }
    }
}

/// A value of a measure; none stands for a distance that values off the grid do not have.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Quantity {
    /// A verdict.
    Verdict(Verdict),
    /// A count or a distance.
    Count(u64),
    /// A number.
    Real(f64),
    /// A distance there is not. The last, so that it is the largest.
    None,
}

/// A measure with another value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Of which error.
    pub of: Part,
    /// What was measured.
    pub measure: Measure,
    /// Whether it is better or worse.
    pub standing: Standing,
    /// Its value in the earlier report.
    pub before: Quantity,
    /// Its value in the later report.
    pub after: Quantity,
}

/// The measures of one error that have other values in the later report, the verdict first.
pub(super) fn changes(before: &Boundary, after: &Boundary, part: Part) -> Vec<Change> {
    let pairs = part.measured(before).zip(part.measured(after));
    let verdicts = unruled(before, part).zip(unruled(after, part));
    let Some(((a, b), verdicts)) = pairs.zip(verdicts) else {
        return Vec::new();
    };
    let verdict = (Quantity::Verdict(verdicts.0), Quantity::Verdict(verdicts.1));
    let all = [(Measure::Verdict, Some(verdict))].into_iter();
    let all = all.chain(measures(a, b));
    all.filter_map(|(measure, values)| {
        let (before, after) = values.filter(|(before, after)| before != after)?;
        let standing = Standing::of(&before, &after);
        Some(Change {
            of: part,
            measure,
            standing,
            before,
            after,
        })
    })
    .collect()
}

type Values = Option<(Quantity, Quantity)>;

/// Every measure that both reports have.
fn measures(a: &Measured, b: &Measured) -> [(Measure, Values); 8] {
    let count = |of: fn(&Measured) -> Option<u64>| -> Values {
        Some((Quantity::Count(of(a)?), Quantity::Count(of(b)?)))
    };
    let real = |of: fn(&Measured) -> Option<f64>| -> Values {
        Some((Quantity::Real(of(a)?), Quantity::Real(of(b)?)))
    };
    // Where only one report has distances, values of the other are off the grid.
    let either = a.ulp.is_some() || b.ulp.is_some();
    let distance = |of: fn(&Measured) -> Option<u64>| -> Values {
        let value = |m| of(m).map_or(Quantity::None, Quantity::Count);
        either.then(|| (value(a), value(b)))
    };
    let wide = count(|m| Some(m.ulp_f32.as_ref()?.max)).filter(|_| !either);
    [
        (Measure::Differing, count(|m| m.differing)),
        (Measure::Nan, count(|m| m.nan)),
        (Measure::Inf, count(|m| m.inf)),
        (Measure::MaxUlp, distance(|m| Some(m.ulp.as_ref()?.max))),
        (
            Measure::OverOne,
            distance(|m| Some(m.ulp.as_ref()?.over_one)),
        ),
        (Measure::MaxUlpF32, wide),
        (Measure::MaxAbs, real(|m| m.max_abs)),
        (Measure::Rms, real(|m| m.rms)),
    ]
}

/// How a boundary stands, from what changed of both its errors.
pub(super) fn of_both(changes: &[Change]) -> Standing {
    let of = |part: Part| {
        let own = || changes.iter().filter(|change| change.of == part);
        match own().find(|change| change.measure == Measure::Verdict) {
            Some(verdict) => verdict.standing,
            None => own().fold(Standing::Same, |all, change| all.with(change.standing)),
        }
    };
    of(Part::Local).with(of(Part::Inherited))
}
