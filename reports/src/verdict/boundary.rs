//! The judgement of one boundary.

use super::{Cause, Origin, Verdict};
use crate::measure::Measurement;

/// What became of one comparison, local or inherited.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Both sides produced the boundary and were compared.
    Measured(Box<Measurement>),
    /// A side failed, was not repeatable, or could not be compared: why.
    Inconclusive(String),
}

impl Outcome {
    /// The verdict of this comparison alone, without policy and without schedules.
    ///
    /// Different bits are `diverged` whatever the reference holds; equal bits are `vacuous` where
    /// they prove nothing.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Inconclusive(_) => Verdict::Inconclusive,
            Self::Measured(m) if !m.is_bit_exact() => Verdict::Diverged,
            Self::Measured(m) if m.is_vacuous() => Verdict::Vacuous,
            Self::Measured(_) => Verdict::BitExact,
        }
    }

    /// The measurement, if there is one.
    #[must_use]
    pub fn measurement(&self) -> Option<&Measurement> {
        match self {
            Self::Measured(m) => Some(m),
            Self::Inconclusive(_) => None,
        }
    }
}

/// What is known of a boundary when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// The candidate's step on the reference's own values for the parents.
    /// `None` where the candidate cannot be run on given values, as a recording cannot.
    pub local: Option<&'a Outcome>,
    /// The candidate from the model's inputs.
    pub inherited: &'a Outcome,
    /// Elements in which the interpretation differs from the reference and from the candidate,
    /// on the local step; `None` where there is no interpretation.
    pub interp: Option<(u64, u64)>,
    /// The worst inherited verdict of the parents; `bit_exact` for none.
    pub parents: Verdict,
}

/// The judgement of a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The worse of the two below.
    pub verdict: Verdict,
    /// On the reference's values for the parents.
    /// `None` where it was not measured.
    pub local: Option<Verdict>,
    /// From the model's inputs.
    pub inherited: Verdict,
    /// By the three sides; `None` where they agree or there is no interpretation.
    pub cause: Option<Cause>,
    /// Where the error arises; `None` without one.
    pub origin: Option<Origin>,
    /// A value of either side is off the declared grid.
    pub off_grid: bool,
    /// The reference holds a NaN or an infinity.
    pub non_finite: bool,
    /// local.rms² / inherited.rms²; `None` where either is missing or the latter is 0.
    pub share_local: Option<f64>,
}

/// Judges a boundary.
#[must_use]
pub fn judge(sides: Sides<'_>) -> Judgement {
    let inherited = sides.inherited.verdict();
    let local = sides.local.map(Outcome::verdict);
    let measured = [
        sides.local.and_then(Outcome::measurement),
        sides.inherited.measurement(),
    ];
    let rms = |outcome: &Outcome| outcome.measurement()?.rms;
    let share_local = sides
        .local
        .and_then(rms)
        .zip(rms(sides.inherited))
        .filter(|&(_, inherited)| inherited > 0.0)
        .map(|(local, inherited)| (local / inherited).powi(2));
    Judgement {
        verdict: local.map_or(inherited, |local| local.max(inherited)),
        local,
        inherited,
        cause: sides.interp.and_then(|(r, c)| Cause::from_interp(r, c)),
        origin: local.and_then(|local| {
            Origin::new(
                local.has_error(),
                inherited.has_error(),
                sides.parents.has_error(),
            )
        }),
        off_grid: measured.into_iter().flatten().any(Measurement::is_off_grid),
        non_finite: measured
            .into_iter()
            .flatten()
            .any(Measurement::is_non_finite),
        share_local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;
    use crate::measure::{Values, compare};

    fn outcome(a: &[f32], b: &[f32]) -> Outcome {
        let grid = Grid::Bf16;
        let m = compare(Values::F32(a), Values::F32(b), &[a.len()], grid).unwrap();
        Outcome::Measured(Box::new(m))
    }

    fn judged(local: &Outcome, inherited: &Outcome, parents: Verdict) -> Judgement {
        judge(Sides {
            local: Some(local),
            inherited,
            interp: Some((0, 1)),
            parents,
        })
    }

    #[test]
    fn the_verdict_is_the_worse_of_local_and_inherited() {
        let (exact, off) = (
            outcome(&[1.0, 2.0], &[1.0, 2.0]),
            outcome(&[1.0, 2.0], &[1.0, 4.0]),
        );
        let failed = Outcome::Inconclusive("the candidate stopped".into());
        let j = judged(&exact, &off, Verdict::Diverged);
        assert_eq!(
            (j.verdict, j.origin),
            (Verdict::Diverged, Some(Origin::Inherited))
        );
        assert_eq!((j.share_local, j.cause), (Some(0.0), Some(Cause::Backend)));
        assert_eq!(
            judged(&failed, &exact, Verdict::BitExact).verdict,
            Verdict::Inconclusive
        );
        assert_eq!(
            judged(&failed, &off, Verdict::BitExact).verdict,
            Verdict::Diverged
        );
        assert_eq!(judged(&exact, &exact, Verdict::BitExact).share_local, None);
    }

    #[test]
    fn what_the_reference_holds_beside_numbers_is_flagged_though_the_bits_are_equal() {
        let odd = outcome(&[1.0, f32::INFINITY], &[1.0, f32::INFINITY]);
        let j = judged(&odd, &odd, Verdict::BitExact);
        assert_eq!((j.verdict, j.non_finite), (Verdict::BitExact, true));
        let candidates = outcome(&[1.0, 2.0], &[1.0, f32::NAN]);
        assert!(!judged(&candidates, &candidates, Verdict::BitExact).non_finite);
    }

    #[test]
    fn what_cannot_be_run_on_given_values_is_judged_by_its_inherited_error() {
        let off = outcome(&[1.0, 2.0], &[1.0, 4.0]);
        let j = judge(Sides {
            local: None,
            inherited: &off,
            interp: None,
            parents: Verdict::BitExact,
        });
        assert_eq!((j.verdict, j.local), (Verdict::Diverged, None));
        assert_eq!((j.origin, j.share_local), (None, None));
    }

    #[test]
    fn a_constant_reference_is_vacuous_only_while_the_bits_are_equal() {
        let constant = [3.0; 4];
        assert_eq!(outcome(&constant, &constant).verdict(), Verdict::Vacuous);
        assert_eq!(
            outcome(&constant, &[3.0, 3.0, 3.0, 4.0]).verdict(),
            Verdict::Diverged
        );
        assert_eq!(outcome(&[3.0], &[3.0]).verdict(), Verdict::BitExact);
    }

    #[test]
    fn equal_bits_off_the_grid_are_exact_with_the_flag() {
        let fine = outcome(&[1.001, 2.0], &[1.001, 2.0]);
        let j = judged(&fine, &fine, Verdict::BitExact);
        assert_eq!(
            (j.verdict, j.off_grid, j.origin),
            (Verdict::BitExact, true, None)
        );
    }
}
