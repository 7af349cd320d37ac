//! Every result that some order of additions gives: the question and the answer.

use super::{
    Term,
    arithmetic::{self, Fusion, Start},
    error::EnvelopeError,
    leaves::{Family, Leaves, Runs, Subsets},
    table::{Table, ToBf16, ToF32, canonical, tidy},
};
use crate::order::Rounding;

/// Terms up to which all orders are asked for where no limit is given.
pub const USUAL_TERMS: usize = 12;

/// The most terms of [`Leaves::Any`] that can be asked for.
pub const MOST_TERMS: usize = 20;

/// The most terms of [`Leaves::Fixed`] that can be asked for.
pub const MOST_TERMS_IN_PLACE: usize = 256;

/// The most values that are held, of all partial sums together.
pub const MOST_VALUES: usize = 1 << 23;

/// The most additions that are made for one answer.
pub const MOST_ADDITIONS: u64 = 1 << 31;

/// Which additions there are and how they round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// What partial sums and the result are rounded to.
    pub rounding: Rounding,
    /// Which additions take a product without rounding it first.
    pub fusion: Fusion,
    /// What running sums begin with.
    pub start: Start,
    /// Which trees there are.
    pub leaves: Leaves,
}

/// Every result that some order of additions gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Reachable {
    values: Vec<f32>,
}

impl Reachable {
    /// The results, ascending, −0 before +0, NaN last; no bits twice.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Whether a result has these bits; NaN is NaN whatever its payload.
    pub fn contains(&self, value: f32) -> bool {
        let value = canonical(value);
        let found = |x: &f32| x.total_cmp(&value);
        self.values.binary_search_by(found).is_ok()
    }
}

impl Leaves {
    /// The most terms that can be asked for.
    pub const fn most_terms(self) -> usize {
        match self {
            Leaves::Any => MOST_TERMS,
            Leaves::Fixed => MOST_TERMS_IN_PLACE,
        }
    }
}

impl Rules {
    /// Every result of adding `terms`, of which there may be `most`. No terms give +0.
    ///
    /// # Errors
    /// When there are more terms, one is NaN, or there are too many values to hold.
    pub fn reachable(&self, terms: &[Term], most: usize) -> Result<Reachable, EnvelopeError> {
        let (given, most) = (terms.len(), most.min(self.leaves.most_terms()));
        if given > most {
            return Err(EnvelopeError::TooManyTerms { given, most });
        }
        if let Some(term) = terms.iter().position(|term| term.is_nan()) {
            return Err(EnvelopeError::Nan(term));
        }
        let mut values = match (self.leaves, given) {
            (_, 0) => vec![0.0],
            (Leaves::Any, n) => self.solve(terms, Subsets(n))?,
            (Leaves::Fixed, n) => self.solve(terms, Runs(n))?,
        };
        for value in &mut values {
            *value = canonical(arithmetic::last(self.rounding, *value));
        }
        let negative_zero = |x: &f32| x.to_bits() == (-0.0f32).to_bits();
        if self.start == Start::Zero && values.iter().any(negative_zero) {
            values.push(0.0);
        }
        tidy(&mut values);
        Ok(Reachable { values })
    }

    fn solve<F: Family>(&self, terms: &[Term], family: F) -> Result<Vec<f32>, EnvelopeError> {
        match self.rounding {
            Rounding::F32 | Rounding::Bf16Once => Table::new(self, terms, family, ToF32).solve(),
            Rounding::Bf16 => Table::new(self, terms, family, ToBf16).solve(),
        }
    }
}
