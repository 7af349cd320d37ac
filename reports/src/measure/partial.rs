//! Totals of a run of consecutive elements, and how two adjacent runs join.

use super::ulp::UlpTotals;
use super::worst::{Offender, Worst};

/// What is counted of one side alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Side {
    pub bf16: u64,
    pub f16: u64,
    pub f32: u64,
    pub nonfinite: u64,
    pub zero: u64,
}

impl Side {
    #[inline(always)]
    pub fn add(&mut self, other: Self) {
        self.bf16 += other.bf16;
        self.f16 += other.f16;
        self.f32 += other.f32;
        self.nonfinite += other.nonfinite;
        self.zero += other.zero;
    }
}

/// Everything measured over a run of elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Partial {
    pub elements: u64,
    pub reference: Side,
    pub candidate: Side,
    /// Some element of the reference differs in value from the first of the tensor.
    pub varies: bool,
    pub differing: u64,
    pub nan: u64,
    pub inf: u64,
    pub neg_zero: u64,
    /// Pairs of two finite numbers.
    pub finite_pairs: u64,
    /// Finite pairs whose reference is not 0.
    pub relative_pairs: u64,
    pub square_sum: f64,
    pub max_abs: f64,
    pub max_abs_at: Option<Offender>,
    pub max_rel: f64,
    pub gaps: UlpTotals,
    pub gaps_f16: UlpTotals,
    pub worst: Worst,
}

impl Partial {
    pub fn new() -> Self {
        Self {
            elements: 0,
            reference: Side::default(),
            candidate: Side::default(),
            varies: false,
            differing: 0,
            nan: 0,
            inf: 0,
            neg_zero: 0,
            finite_pairs: 0,
            relative_pairs: 0,
            square_sum: 0.0,
            max_abs: 0.0,
            max_abs_at: None,
            max_rel: 0.0,
            gaps: UlpTotals::EMPTY,
            gaps_f16: UlpTotals::EMPTY,
            worst: Worst::new(),
        }
    }

    /// Joins the run that follows this one. Sums of squares add in element order, so the result
    /// depends on where the runs were cut and on nothing else.
    pub fn join(mut self, next: Self) -> Self {
        self.elements += next.elements;
        self.reference.add(next.reference);
        self.candidate.add(next.candidate);
        self.varies |= next.varies;
        self.differing += next.differing;
        self.nan += next.nan;
        self.inf += next.inf;
        self.neg_zero += next.neg_zero;
        self.finite_pairs += next.finite_pairs;
        self.relative_pairs += next.relative_pairs;
        self.square_sum += next.square_sum;
        if next.max_abs > self.max_abs {
            (self.max_abs, self.max_abs_at) = (next.max_abs, next.max_abs_at);
        }
        self.max_rel = self.max_rel.max(next.max_rel);
        self.gaps.merge(&next.gaps);
        self.gaps_f16.merge(&next.gaps_f16);
        self.worst.merge(&next.worst);
        self
    }
}
