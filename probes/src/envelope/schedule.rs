//! Schedules: a pattern of additions with everything that decides its bits.

use std::fmt;

use super::{
    Start, Term, arithmetic,
    pattern::{Adder, Pattern},
};
use crate::order::Rounding;

/// A schedule: terms in, one result out.
///
/// ```
/// use probes::{
///     envelope::{Pattern, Schedule, Start, Term},
///     order::{Form, Rounding},
/// };
///
/// let terms = [16_777_216.0, 1.0, -16_777_216.0].map(Term::Value);
/// let schedule = |form, rounding| Schedule {
///     pattern: Pattern::Form(form),
///     rounding,
///     fused: false,
///     start: Start::Zero,
/// };
/// let forwards = schedule(Form::Sequential, Rounding::F32);
/// assert_eq!(forwards.sum(&terms), Some(0.0));
/// assert_eq!(schedule(Form::RightToLeft, Rounding::F32).sum(&terms), Some(1.0));
/// assert_eq!(schedule(Form::RightToLeft, Rounding::Bf16).sum(&terms), Some(0.0));
/// assert_eq!(forwards.to_string(), "sequential, F32 accumulator");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// Which terms are added to which.
    pub pattern: Pattern,
    /// What partial sums and the result are rounded to. Matrix units accumulate in F32.
    pub rounding: Rounding,
    /// Whether an addition with a product as an operand rounds once; of two products it is the
    /// second that is not rounded. Matrix units never round products.
    pub fused: bool,
    /// What running sums begin with. Those of GPU threads and matrix units begin with +0.
    pub start: Start,
}

impl Schedule {
    /// Every pattern of [`Pattern::all`] for `n` terms: unfused and, if there are products,
    /// fused; matrix units where the accumulator is F32.
    pub fn all(n: usize, products: bool, rounding: Rounding, start: Start) -> Vec<Schedule> {
        let mut schedules = Vec::new();
        for pattern in Pattern::all(n) {
            let block = matches!(pattern, Pattern::Block(_));
            if block && rounding == Rounding::Bf16 {
                continue;
            }
            for fused in [false, true] {
                if fused && (block || !products) {
                    continue;
                }
                schedules.push(Schedule {
                    pattern: pattern.clone(),
                    rounding,
                    fused,
                    start,
                });
            }
        }
        schedules
    }

    /// The sum before its last rounding, which only [`Rounding::Bf16Once`] has. `None` where the
    /// pattern is a tree over another number of terms.
    pub fn accumulated(&self, terms: &[Term]) -> Option<f32> {
        if let Pattern::Block(block) = self.pattern {
            return Some(block.sum(terms));
        }
        let mut numbers = Numbers {
            schedule: self,
            terms,
        };
        let sum = self.pattern.walk(terms.len(), &mut numbers)?;
        // A sum of one term is that term on the accumulator's grid.
        Some(arithmetic::partial(self.rounding, sum.value))
    }

    /// The sum. `None` where the pattern is a tree over another number of terms.
    pub fn sum(&self, terms: &[Term]) -> Option<f32> {
        let sum = self.accumulated(terms)?;
        Some(arithmetic::last(self.rounding, sum))
    }
}

/// A term or a sum of the evaluation of a schedule.
#[derive(Clone, Copy)]
struct Part {
    value: f32,
    product: Option<(f32, f32)>,
}

struct Numbers<'a> {
    schedule: &'a Schedule,
    terms: &'a [Term],
}

impl Adder for Numbers<'_> {
    type Part = Part;

    #[inline(always)]
    fn term(&mut self, index: usize) -> Part {
        let term = self.terms[index];
        let product = match term {
            Term::Product(a, b) if self.schedule.fused => Some((a, b)),
            _ => None,
        };
        let value = term.rounded(self.schedule.rounding);
        Part { value, product }
    }

    fn start(&mut self) -> Option<Part> {
        match self.schedule.start {
            Start::Zero => Some(self.zero()),
            Start::Term => None,
        }
    }

    fn zero(&mut self) -> Part {
        Part {
            value: 0.0,
            product: None,
        }
    }

    #[inline(always)]
    fn add(&mut self, x: Part, y: Part) -> Part {
        let rounding = self.schedule.rounding;
        let value = match (x.product, y.product) {
            (_, Some((a, b))) => arithmetic::fused(rounding, a, b, x.value),
            (Some((a, b)), None) => arithmetic::fused(rounding, a, b, y.value),
            (None, None) => arithmetic::partial(rounding, x.value + y.value),
        };
        Part {
            value,
            product: None,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accumulator = arithmetic::accumulator(self.rounding);
        write!(f, "{}, {accumulator}", self.pattern)?;
        if self.fused {
            f.write_str(", fused")?;
        }
        Ok(())
    }
}
