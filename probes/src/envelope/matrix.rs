//! Matrix units: several products and the accumulator added at once.

use std::fmt;

use super::Term;

/// How a matrix unit adds: `width` products and the accumulator, all exact, are shifted to the
/// largest exponent among them, cut off (towards zero) below `bits` binary places of it, added
/// exactly, and the sum is cut off to F32. A product's exponent is the sum of its factors', so
/// that its significand lies in [1, 4). The accumulator begins with +0; missing terms of the last
/// block are zeros.
///
/// This is the model of the literature for NVIDIA's tensor cores, which leaves subnormals and
/// special values open: Fasi, Higham, Mikaitis, Pranesh, PeerJ CS 330 (2021); Li et al., arXiv
/// 2403.00232; MMA-Sim, arXiv 2511.10909. It is published for other devices, not measured here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Products in one addition.
    pub width: usize,
    /// Binary places below the largest exponent that are kept, up to 60.
    pub bits: u32,
}

impl Block {
    /// What is published: V100, A100, H100.
    pub const KNOWN: [Block; 3] = [
        Block { width: 4, bits: 23 },
        Block { width: 8, bits: 24 },
        Block {
            width: 16,
            bits: 25,
        },
    ];

    /// The sum of `terms`, F32.
    pub fn sum(self, terms: &[Term]) -> f32 {
        let mut sum = 0.0;
        for block in terms.chunks(self.width.max(1)) {
            sum = self.step(sum, block);
        }
        sum
    }

    fn step(self, sum: f32, terms: &[Term]) -> f32 {
        let addends = || terms.iter().map(|term| term.exact());
        let plain = addends().sum::<f64>() + f64::from(sum);
        if !plain.is_finite() || !sum.is_finite() {
            return plain as f32;
        }
        let exponents = terms.iter().filter_map(|term| match *term {
            Term::Value(x) => exponent(x),
            Term::Product(a, b) => Some(exponent(a)? + exponent(b)?),
        });
        let Some(largest) = exponents.chain(exponent(sum)).max() else {
            return plain as f32;
        };
        let place = largest - self.bits.min(60) as i32;
        let places: i128 = addends()
            .chain([sum.into()])
            .map(|x| (x * two_to(-place)) as i128)
            .sum();
        cut(places, place)
    }
}

/// The exponent of the leading bit; none of zero.
fn exponent(x: f32) -> Option<i32> {
    (x != 0.0).then(|| ((f64::from(x).to_bits() >> 52 & 0x7ff) as i32) - 1023)
}

/// A power of two, which must be a normal F64.
fn two_to(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// `significand·2^exponent`, cut off to F32.
fn cut(significand: i128, exponent: i32) -> f32 {
    let size = significand.unsigned_abs();
    let length = 128 - size.leading_zeros() as i32;
    // F32 has 24 bits, and none below 2^-149.
    let drop = (length - 24).max(-149 - exponent).clamp(0, 127);
    let kept = (size >> drop) as f64 * two_to(exponent + drop);
    let kept = if kept > f64::from(f32::MAX) {
        f32::INFINITY
    } else {
        kept as f32
    };
    if significand < 0 { -kept } else { kept }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Block { width, bits } = self;
        write!(f, "blocks of {width} products, cut off at {bits} places")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(width: usize, bits: u32, terms: &[f32]) -> f32 {
        let terms: Vec<Term> = terms.iter().map(|&x| Term::Value(x)).collect();
        Block { width, bits }.sum(&terms)
    }

    #[test]
    fn what_lies_below_the_window_is_cut_off_towards_zero() {
        let large = 16_777_216.0;
        assert_eq!(sum(4, 23, &[large, 1.0, -large]), 0.0);
        assert_eq!(sum(4, 24, &[large, 1.0, -large]), 1.0);
        assert_eq!(sum(4, 24, &[large, 0.9, -large]), 0.0);
        assert_eq!(sum(4, 24, &[large, -0.9, -large]), 0.0);
        assert_eq!(sum(4, 24, &[large, -1.9, -large]), -1.0);
    }

    #[test]
    fn the_sum_is_cut_off_to_f32() {
        // To nearest it would be 16777220.
        assert_eq!(sum(2, 25, &[16_777_216.0, 3.0]), 16_777_218.0);
        assert_eq!(sum(2, 25, &[-16_777_216.0, -3.0]), -16_777_218.0);
    }

    #[test]
    fn the_order_within_a_block_makes_no_difference_and_that_of_blocks_does() {
        let terms = [16_777_216.0, 1.0, -16_777_216.0, 1.0];
        assert_eq!(sum(4, 24, &terms), 2.0);
        assert_eq!(sum(1, 24, &terms), 1.0);
    }

    #[test]
    fn a_products_exponent_is_its_factors() {
        // 1.5 times 1.5 counts as 2^0 although it is 2.25.
        let terms = [Term::Product(1.5, 1.5), Term::Value(0.125)];
        assert_eq!(Block { width: 2, bits: 3 }.sum(&terms), 2.375);
        assert_eq!(Block { width: 2, bits: 2 }.sum(&terms), 2.25);
    }

    #[test]
    fn small_numbers_and_bounds() {
        assert_eq!(sum(4, 24, &[1e-45, 1e-45]), 3e-45);
        assert_eq!(sum(4, 24, &[0.0, -0.0]).to_bits(), 0);
        assert_eq!(sum(4, 24, &[f32::MAX, f32::MAX]), f32::INFINITY);
        assert_eq!(sum(4, 24, &[f32::NEG_INFINITY, 1.0]), f32::NEG_INFINITY);
        assert!(sum(4, 24, &[f32::NEG_INFINITY, f32::INFINITY]).is_nan());
        assert_eq!(sum(4, 24, &[1e-40, -1e-40, 2e-40]), 2e-40);
    }
}
