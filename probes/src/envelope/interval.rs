//! An interval that holds the results of all orders, for any number of terms.

use super::{Start, Term, arithmetic};
use crate::order::Rounding;

/// The half-widths of a step at 1: the most that one rounding changes, relative to the result.
const F32_UNIT: f64 = 1.0 / (1u64 << 24) as f64;
const BF16_UNIT: f64 = 1.0 / 256.0;

/// The most that a rounding to a subnormal number changes.
const F32_SMALLEST: f64 = f64::from_bits((1023 - 150) << 52);
const BF16_SMALLEST: f64 = f64::from_bits((1023 - 134) << 52);

/// Where the results of all orders lie, rounded to nearest at each addition, fused or not.
///
/// A term goes through at most `h` roundings, `n − 1` additions and the ones before them, so every
/// result is `Σ xᵢ(1 + δᵢ)` with `|δᵢ| ≤ (1 + u)ʰ − 1`, which is at most `γₕ = h·u/(1 − h·u)`
/// (Higham, *Accuracy and Stability of Numerical Algorithms*, ch. 4). What roundings to subnormal
/// numbers change comes on top. Everything is directed outwards.
///
/// Matrix units cut off and are not covered.
///
/// ```
/// use probes::{envelope::{Interval, Start, Term}, order::Rounding};
///
/// let terms: Vec<Term> = (0..1000).map(|i| Term::Value((i % 7) as f32 - 2.9)).collect();
/// let interval = Interval::of(&terms, Rounding::F32, Start::Zero);
/// assert!(interval.high - interval.low < 1.0);
/// let sum: f32 = (0..1000).map(|i| (i % 7) as f32 - 2.9).sum();
/// assert!(interval.contains(sum) && !interval.contains(sum + 1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The sum without any rounding, to F64's accuracy.
    pub exact: f64,
    /// Σ|xᵢ| / |Σxᵢ|: infinite where the terms cancel, 1 for no terms.
    pub condition: f64,
    /// No result is less. −∞ where a partial sum may overflow.
    pub low: f64,
    /// No result is more. ∞ where a partial sum may overflow.
    pub high: f64,
    /// What the results are rounded to.
    rounding: Rounding,
}

impl Interval {
    /// The interval for a sum's terms. Where one is infinite or NaN, it is everything.
    pub fn of(terms: &[Term], rounding: Rounding, start: Start) -> Interval {
        let exact = || terms.iter().map(|term| term.exact());
        let (sum, slip) = compensated(exact());
        let n = terms.len() as f64;
        let size: f64 = exact().map(f64::abs).sum::<f64>() * (1.0 + n * f64::EPSILON);
        let products = terms.iter().any(|term| matches!(term, Term::Product(..)));
        let roundings = terms.len().saturating_sub(1)
            + usize::from(products)
            + usize::from(rounding == Rounding::Bf16 && (start == Start::Zero || terms.len() == 1));
        let (unit, smallest) = match rounding {
            Rounding::F32 | Rounding::Bf16Once => (F32_UNIT, F32_SMALLEST),
            // An addition in F32, and from there to BF16.
            Rounding::Bf16 => (
                F32_UNIT + BF16_UNIT + F32_UNIT * BF16_UNIT,
                2.0 * BF16_SMALLEST,
            ),
        };
        let growth = power(1.0 + unit, roundings);
        let radius = (growth - 1.0) * size + slip + 2.0 * (n + 1.0) * smallest * growth;
        let radius = radius * (1.0 + 1e-12);
        // Beyond the largest BF16 a partial sum may overflow, beyond the largest F32 it does.
        let bounded = size * growth < half::bf16::MAX.to_f64();
        let (low, high) = if bounded {
            ((sum - radius).next_down(), (sum + radius).next_up())
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        };
        let condition = if size == 0.0 { 1.0 } else { size / sum.abs() };
        Interval {
            exact: sum,
            condition,
            low,
            high,
            rounding,
        }
    }

    /// The least and the greatest result that some order may give, on the result's grid: rounding
    /// keeps order, and partial sums lie on F32's grid.
    pub fn ends(&self) -> (f32, f32) {
        let end = |x: f64| arithmetic::last(self.rounding, x as f32);
        (end(self.low), end(self.high))
    }

    /// Whether some order may give this result. A NaN or an infinity only where the interval has
    /// no bounds.
    pub fn contains(&self, result: f32) -> bool {
        let (low, high) = self.ends();
        self.low == f64::NEG_INFINITY || (low..=high).contains(&result)
    }
}

/// A sum and the most that it is off by (Ogita, Rump, Oishi, *Accurate sum and dot product*, 2005:
/// `|s̃ − s| ≤ ε|s| + γ²Σ|x|`, doubled).
fn compensated(terms: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut sum, mut rest, mut size, mut count) = (0.0, 0.0, 0.0, 0.0);
    for x in terms {
        let next = sum + x;
        let part = next - sum;
        rest += (sum - (next - part)) + (x - part);
        sum = next;
        size += x.abs();
        count += 1.0;
    }
    let sum: f64 = sum + rest;
    let relative = (count + 1.0) * f64::EPSILON;
    (
        sum,
        sum.abs() * f64::EPSILON + 4.0 * relative * relative * size,
    )
}

/// No less than `xⁿ` for `x` ≥ 1.
fn power(x: f64, n: usize) -> f64 {
    let (mut result, mut square, mut left) = (1.0, x, n);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    // Every factor of x brings at most one rounding.
    result * (1.0 + 2.0 * n as f64 * f64::EPSILON)
}
