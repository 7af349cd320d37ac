//! How well a choice of statements explains captured elements.

use super::{
    ContractError,
    compute::Sample,
    space::{Pick, Space},
};
use crate::envelope::same;

/// How well a choice explains a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// Elements with the observed bits.
    pub explained: usize,
    /// Of how many.
    pub elements: usize,
    /// Sum of the logarithms of the others' distances in units of the last place: the smaller, the
    /// nearer.
    pub distance: f64,
    /// The first that is not explained: its case, its row-major index, what comes out.
    pub refuted: Option<(usize, u32, f32)>,
}

impl Score {
    /// Whether every element is explained.
    pub fn is_complete(&self) -> bool {
        self.refuted.is_none()
    }

    pub fn none() -> Score {
        Score {
            explained: 0,
            elements: 0,
            distance: 0.0,
            refuted: None,
        }
    }

    pub fn add(&mut self, other: Score) {
        self.explained += other.explained;
        self.elements += other.elements;
        self.distance += other.distance;
        self.refuted = self.refuted.or(other.refuted);
    }
}

/// Scores a choice on samples.
pub(super) fn score(
    space: &Space,
    samples: &[Sample<'_>],
    pick: &Pick,
) -> Result<Score, ContractError> {
    let mut total = Score::none();
    for sample in samples {
        let column = sample.result(space, pick)?;
        let mut score = Score::none();
        for ((&bits, observed), &at) in column
            .iter()
            .zip(sample.observed())
            .zip(&sample.plan.wanted)
        {
            let gives = f32::from_bits(bits);
            score.elements += 1;
            if same(gives, observed) {
                score.explained += 1;
            } else {
                score.distance += distance(gives, observed);
                score.refuted = score.refuted.or(Some((sample.number, at, gives)));
            }
        }
        total.add(score);
    }
    Ok(total)
}

/// 1 plus the logarithm of the distance in units of the last place.
fn distance(a: f32, b: f32) -> f64 {
    let ordered = |x: f32| {
        let bits = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -bits } else { bits }
    };
    1.0 + f64::log2(1.0 + (ordered(a) - ordered(b)).unsigned_abs() as f64)
}
