//! What is added, and how one addition rounds.

use half::bf16;

use crate::order::Rounding;

/// One term of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// A number, which an addition takes as it is, whatever the accumulator's dtype.
    Value(f32),
    /// A product. An addition that is not fused with it takes it rounded to the accumulator's
    /// dtype, once.
    Product(f32, f32),
}

impl Term {
    /// Whether it is, or may be, NaN.
    pub fn is_nan(self) -> bool {
        match self {
            Term::Value(x) => x.is_nan(),
            Term::Product(a, b) => (a * b).is_nan(),
        }
    }

    /// The term without a rounding: a product of two F32 has at most 48 bits.
    pub fn exact(self) -> f64 {
        match self {
            Term::Value(x) => x.into(),
            Term::Product(a, b) => f64::from(a) * f64::from(b),
        }
    }

    /// What an addition takes that is not fused with it.
    pub fn rounded(self, rounding: Rounding) -> f32 {
        match self {
            Term::Value(x) => x,
            Term::Product(a, b) => match rounding {
                Rounding::Bf16 => bf16_once(f64::from(a) * f64::from(b)),
                Rounding::F32 | Rounding::Bf16Once => a * b,
            },
        }
    }
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Term::Value(x) => write!(f, "{x:?}"),
            Term::Product(a, b) => write!(f, "{a:?}*{b:?}"),
        }
    }
}

/// Which additions take a product without rounding it first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fusion {
    /// None.
    #[default]
    Never,
    /// Every addition with a product as one of its two operands; of two products one, whichever.
    /// Where running sums begin with +0, that is fused with a product like any other operand, so
    /// that a sum may begin with a rounded product anywhere.
    Always,
    /// Any of these additions or none of them, each on its own.
    Either,
}

/// What a running sum begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// Its first term.
    #[default]
    Term,
    /// +0, to which its first term is added. This turns a sum of −0 into +0 and rounds a first
    /// term that does not lie on the accumulator's grid; else it changes nothing.
    Zero,
}

/// The nearest BF16, ties to even, of a number that is not NaN.
#[inline(always)]
pub(super) fn nearest_bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    let up = 0x7fff + (bits >> 16 & 1);
    f32::from_bits(bits.wrapping_add(up) & 0xffff_0000)
}

/// What a partial sum is kept as.
pub(crate) fn partial(rounding: Rounding, x: f32) -> f32 {
    match rounding {
        Rounding::F32 | Rounding::Bf16Once => x,
        Rounding::Bf16 => bf16::from_f32(x).to_f32(),
    }
}

/// The result of a whole sum.
pub(crate) fn last(rounding: Rounding, x: f32) -> f32 {
    match rounding {
        Rounding::F32 => x,
        Rounding::Bf16 | Rounding::Bf16Once => bf16::from_f32(x).to_f32(),
    }
}

/// What partial sums are kept in and what becomes of the last, in words.
pub fn accumulator(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::F32 => "F32 accumulator",
        Rounding::Bf16 => "BF16 accumulator",
        Rounding::Bf16Once => "F32 accumulator, BF16 result",
    }
}

/// `a·b + c`, rounded once to the accumulator's dtype.
pub(crate) fn fused(rounding: Rounding, a: f32, b: f32, c: f32) -> f32 {
    match rounding {
        Rounding::F32 | Rounding::Bf16Once => a.mul_add(b, c),
        Rounding::Bf16 => bf16_once(odd_sum(f64::from(a) * f64::from(b), c.into())),
    }
}

/// `a + b` rounded to odd: where it is inexact, to the neighbour with an odd last bit, so that a
/// second rounding to a format of at most 51 bits gives the nearest value to `a + b`.
fn odd_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    odd(sum, error)
}

/// `near`, or where it is off by `error` and even, its neighbour on the side of the error.
fn odd(near: f64, error: f64) -> f64 {
    let bits = near.to_bits();
    if error == 0.0 || !error.is_finite() || bits & 1 == 1 {
        near
    } else if (error > 0.0) == (near > 0.0) {
        f64::from_bits(bits + 1)
    } else {
        f64::from_bits(bits - 1)
    }
}

/// The BF16 nearest to `x`, ties to even, with one rounding; `x` itself may be rounded to odd.
fn bf16_once(x: f64) -> f32 {
    let near = x as f32;
    let error = x - f64::from(near);
    let bits = near.to_bits();
    let odd = if error == 0.0 || !error.is_finite() || bits & 1 == 1 {
        near
    } else if (error > 0.0) == (x > 0.0) {
        f32::from_bits(bits + 1)
    } else {
        f32::from_bits(bits - 1)
    };
    bf16::from_f32(odd).to_f32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fused_addition_to_bf16_rounds_once() {
        let step = 1.0 / 128.0;
        // A little less than half a step, by what not even F64 keeps beside 1.
        let (a, b) = (1.0 / 16.0 + 2f32.powi(-27), 1.0 / 16.0 - 2f32.powi(-27));
        for sign in [1.0, -1.0] {
            let odd = sign * (1.0 + step);
            assert_eq!(fused(Rounding::Bf16, sign * a, b, odd), odd);
            // Half a step itself is a tie, and a little more is more.
            let half = sign / 16.0;
            assert_eq!(
                fused(Rounding::Bf16, half, 1.0 / 16.0, odd),
                odd + sign * step
            );
            assert_eq!(fused(Rounding::Bf16, half, a, sign), odd);
            assert_eq!(fused(Rounding::Bf16, half, 1.0 / 16.0, sign), sign);
        }
        // In F32 the first is a tie: rounding twice goes wrong.
        let twice = bf16::from_f32(a.mul_add(b, 1.0 + step)).to_f32();
        assert_eq!(twice, 1.0 + 2.0 * step);
    }

    #[test]
    fn products_are_rounded_once_to_the_accumulator() {
        // A little less than 1 + 3/256, half way between two BF16. F32 rounds it to that.
        let (a, b) = (f32::from_bits(0x3f81_5fa8), f32::from_bits(0x3f80_2000));
        let product = Term::Product(a, b);
        assert_eq!(product.rounded(Rounding::F32), 1.0 + 3.0 / 256.0);
        assert_eq!(bf16::from_f32(a * b).to_f32(), 1.0 + 4.0 / 256.0);
        assert_eq!(product.rounded(Rounding::Bf16), 1.0 + 2.0 / 256.0);
    }

    #[test]
    fn zeros_and_bounds_stay_what_they_are() {
        assert_eq!(bf16_once(1e-60).to_bits(), 0);
        assert_eq!(bf16_once(-1e-60).to_bits(), (-0.0f32).to_bits());
        assert_eq!(bf16_once(1e60), f32::INFINITY);
        assert_eq!(bf16_once(-0.0).to_bits(), (-0.0f32).to_bits());
        assert!(fused(Rounding::Bf16, f32::INFINITY, 1.0, f32::NEG_INFINITY).is_nan());
        assert_eq!(
            fused(Rounding::Bf16, f32::INFINITY, 1.0, 1.0),
            f32::INFINITY
        );
    }
}
