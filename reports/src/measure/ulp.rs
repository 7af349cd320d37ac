//! Distances in units in the last place, by the ordered-integer map.
//!
//! The map sends a float to its rank among the floats of its grid, +0 and −0 both to 0, so that
//! the distance of two values is how many steps of the grid lie between them.

use std::collections::BTreeMap;

use crate::grid::{F16_MIN_NORMAL, Grid, MAGNITUDE};

/// How many bins a histogram has: distance 0, then one for each power of two up to 2³¹.
pub const BINS: usize = 33;

/// The rank of a binary32 among all binary32: negative values below 0, ±0 both at 0.
///
/// Monotone over all numbers, infinities included; meaningless for NaN.
#[inline(always)]
#[must_use]
pub const fn ordered_f32(bits: u32) -> i32 {
    let sign = bits as i32 >> 31;
    ((bits & MAGNITUDE) as i32 ^ sign) - sign
}

/// The rank among all finite F16 of a binary32 that lies on the F16 grid; ±0 both at 0.
///
/// Meaningless off the grid, for infinities and for NaN, but never panics.
#[inline(always)]
#[must_use]
pub fn ordered_f16(bits: u32) -> i32 {
    let magnitude = bits & MAGNITUDE;
    let normal = (magnitude >> 13).wrapping_sub(112 << 10);
    let small = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    let rank = if magnitude >= F16_MIN_NORMAL {
        normal
    } else {
        small
    };
    let sign = bits as i32 >> 31;
    (rank as i32 ^ sign).wrapping_sub(sign)
}

/// The steps between two ranks. At most 2·0x7f80_0000, so it fits.
#[inline(always)]
#[must_use]
pub(crate) const fn gap(a: i32, b: i32) -> u32 {
    (if a > b {
        a.wrapping_sub(b)
    } else {
        b.wrapping_sub(a)
    }) as u32
}

/// The histogram bin of a distance: 0 for 0, k for [2ᵏ⁻¹, 2ᵏ).
///
/// Written without a leading-zeros count, which AVX2 lacks: clearing the bit below the highest
/// one keeps the conversion to binary32 from rounding up to the next power of two.
#[inline(always)]
#[must_use]
pub(crate) const fn bin(distance: u32) -> u32 {
    let held = (distance & !(distance >> 1)) as i32;
    let exponent = (held as f32).to_bits() >> 23;
    let shifted = (if exponent > 126 { exponent } else { 126 }) - 126;
    if (distance as i32) < 0 { 32 } else { shifted }
}

/// The smallest distance of a bin.
#[must_use]
pub(crate) const fn bin_start(bin: usize) -> u64 {
    if bin == 0 { 0 } else { 1 << (bin - 1) }
}

/// The distance of two binary32 values, given by their bits, in steps of `grid`.
///
/// `None` unless both lie on the grid and have a distance: equal values and two NaNs are at 0; a
/// NaN against a number, an infinity against anything else, and grids that are not of floats
/// have none.
///
/// ```
/// use reports::{Grid, measure::ulp::distance};
/// let (a, b) = (141234.56_f32.to_bits(), 141234.58_f32.to_bits());
/// assert_eq!(distance(a, b, Grid::F32), Some(1));
/// assert_eq!(distance(a, b, Grid::Bf16), None);
/// assert_eq!(distance(0.0_f32.to_bits(), (-0.0_f32).to_bits(), Grid::F16), Some(0));
/// ```
#[must_use]
pub fn distance(a: u32, b: u32, grid: Grid) -> Option<u32> {
    let on_grid = |bits| match grid {
        Grid::F32 => true,
        Grid::Bf16 => crate::grid::is_bf16(bits),
        Grid::F16 => crate::grid::is_f16(bits),
        Grid::I32 | Grid::Bool => false,
    };
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if !on_grid(a) || !on_grid(b) {
        return None;
    }
    if a == b || x.is_nan() && y.is_nan() {
        return Some(0);
    }
    if !x.is_finite() || !y.is_finite() {
        return None;
    }
    Some(match grid {
        Grid::F16 => gap(ordered_f16(a), ordered_f16(b)),
        Grid::Bf16 => gap(ordered_f32(a), ordered_f32(b)) >> 16,
        _ => gap(ordered_f32(a), ordered_f32(b)),
    })
}

/// How many pairs lie at which distance, by power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram(pub(crate) [u64; BINS]);

impl Histogram {
    /// The non-empty bins: smallest distance of the bin → number of pairs.
    #[must_use]
    pub fn by_lower_bound(&self) -> BTreeMap<u64, u64> {
        let bins = self.0.iter().enumerate();
        bins.filter(|&(_, &n)| n > 0)
            .map(|(bin, &n)| (bin_start(bin), n))
            .collect()
    }

    /// Number of pairs that have a distance at all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Number of pairs more than one step apart.
    #[must_use]
    pub fn over_one(&self) -> u64 {
        self.0[2..].iter().sum()
    }
}

/// Distances of all pairs of a boundary, in steps of one grid.
///
/// A NaN against a number and an infinity against anything else have no distance: they are left
/// out here and counted in `nan` and `inf` of the [`Measurement`](super::Measurement).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UlpStats {
    /// The grid whose steps are counted.
    pub grid: Grid,
    /// The largest distance.
    pub max: u32,
    /// Mean distance over all pairs that have one, equal pairs included.
    pub mean: f64,
    /// All distances by power of two.
    pub histogram: Histogram,
}

/// Running totals of distances; pairs at distance 0 are not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UlpTotals {
    pub max: u32,
    pub sum: u128,
    pub bins: [u64; BINS],
}

impl UlpTotals {
    pub const EMPTY: Self = Self {
        max: 0,
        sum: 0,
        bins: [0; BINS],
    };

    #[inline(always)]
    pub fn record(&mut self, distance: u32) {
        self.max = self.max.max(distance);
        self.sum += u128::from(distance);
        self.bins[bin(distance) as usize] += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        for (bin, n) in self.bins.iter_mut().zip(&other.bins) {
            *bin += n;
        }
    }

    /// The statistics over `pairs` pairs, at least one, of steps that are `2^shift` recorded steps long.
    ///
    /// With all values on the BF16 grid every binary32 distance is a multiple of 2¹⁶, so that
    /// `shift` = 16 gives the BF16 distances exactly.
    pub fn stats(&self, grid: Grid, pairs: u64, shift: u32) -> UlpStats {
        let mut bins = [0; BINS];
        let shifted = self.bins[1..].iter().skip(shift as usize);
        for (to, &from) in bins[1..].iter_mut().zip(shifted) {
            *to = from;
        }
        bins[0] = pairs - bins.iter().skip(1).sum::<u64>();
        let mean = if pairs == 0 {
            0.0
        } else {
            (self.sum >> shift) as f64 / pairs as f64
        };
        UlpStats {
            grid,
            max: self.max >> shift,
            mean,
            histogram: Histogram(bins),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use proptest::prelude::*;

    #[test]
    fn ranks_of_neighbouring_f16_differ_by_one_across_zero_and_subnormals() {
        let mut rank = ordered_f16(f16::MIN.to_f32().to_bits()) - 1;
        let down = (0..=0x7bff_u16).rev().map(|h| 0x8000 | h);
        for half in down.chain(1..=0x7bff) {
            let next = ordered_f16(f16::from_bits(half).to_f32().to_bits());
            assert_eq!(next, rank + 1, "{half:#x}");
            rank = next;
        }
    }

    #[test]
    fn bins_are_the_powers_of_two() {
        let edges = (0..32).flat_map(|k| [1_u32 << k, (1 << k) - 1, (1 << k) + 1]);
        for distance in edges.chain([0xff00_0000, u32::MAX]) {
            assert_eq!(
                bin(distance),
                32 - distance.leading_zeros(),
                "{distance:#x}"
            );
        }
    }

    #[test]
    fn opposite_largest_values_do_not_overflow() {
        let (a, b) = (f32::MAX.to_bits(), f32::MIN.to_bits());
        assert_eq!(distance(a, b, Grid::F32), Some(2 * 0x7f7f_ffff));
    }

    proptest! {
        #[test]
        fn any_distance_falls_in_the_bin_of_its_highest_bit(d: u32) {
            prop_assert_eq!(bin(d), 32 - d.leading_zeros());
        }

        #[test]
        fn the_map_is_monotone(a: f32, b: f32) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            let (x, y) = (ordered_f32(a.to_bits()), ordered_f32(b.to_bits()));
            prop_assert_eq!(a.partial_cmp(&b), Some(x.cmp(&y)));
        }

        #[test]
        fn distance_is_symmetric_and_zero_only_for_equal_values(a: u32, b: u32) {
            for grid in [Grid::F32, Grid::Bf16, Grid::F16] {
                let (a, b) = match grid {
                    Grid::Bf16 => (a << 16, b << 16),
                    Grid::F16 => (widened(a), widened(b)),
                    _ => (a, b),
                };
                let ab = distance(a, b, grid);
                prop_assert_eq!(ab, distance(b, a, grid));
                let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                if let Some(d) = ab {
                    prop_assert_eq!(d == 0, x == y || (x.is_nan() && y.is_nan()));
                }
            }
        }

        #[test]
        fn one_step_of_bf16_is_one_step_of_its_own_bits(half: u16) {
            let (a, b) = (u32::from(half) << 16, (u32::from(half) + 1) << 16);
            let (x, y) = (f32::from_bits(a), f32::from_bits(b));
            prop_assume!(half != u16::MAX && x.is_finite() && y.is_finite());
            prop_assert_eq!(distance(a, b, Grid::Bf16), Some(1));
        }
    }

    fn widened(bits: u32) -> u32 {
        f16::from_bits(bits as u16).to_f32().to_bits()
    }
}
