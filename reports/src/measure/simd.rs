//! The widest instructions the processor has, for loops written once.
//!
//! The same generic bodies are compiled for the baseline and for AVX2; no operation is contracted
//! or reordered by it, so the results are the same bits. The only unsafe code of this crate.

use super::heat::{self, Level};
use super::pair::{self, Run, Subject};
use super::ulp::{gap, ordered_f16, ordered_f32};
use crate::Grid;

/// [`pair::block`] with the best instructions at hand.
pub(super) fn block(subject: &Subject, base: u64, a: &[f32], b: &[f32], run: &mut Run) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only requirement of the callee.
        return unsafe { block_avx2(subject, base, a, b, run) };
    }
    pair::block(subject, base, a, b, run);
}

/// [`pair::count_differing`] with the best instructions at hand.
pub(super) fn count_differing(a: &[f32], b: &[f32]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only requirement of the callee.
        return unsafe { count_differing_avx2(a, b) };
    }
    pair::count_differing(a, b)
}

/// [`heat::level`] in steps of a grid of floats, with the best instructions at hand.
pub(super) fn level(a: &[f32], b: &[f32], grid: Grid) -> Level {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only requirement of the callee.
        return unsafe { level_avx2(a, b, grid) };
    }
    level_on(a, b, grid)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn level_avx2(a: &[f32], b: &[f32], grid: Grid) -> Level {
    level_on(a, b, grid)
}

#[inline(always)]
fn level_on(a: &[f32], b: &[f32], grid: Grid) -> Level {
    let f32s = |x, y| gap(ordered_f32(x), ordered_f32(y));
    match grid {
        Grid::Bf16 => heat::level(a, b, |x, y| f32s(x, y) >> 16),
        Grid::F16 => heat::level(a, b, |x, y| gap(ordered_f16(x), ordered_f16(y))),
        Grid::F32 | Grid::I32 | Grid::Bool => heat::level(a, b, f32s),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn block_avx2(subject: &Subject, base: u64, a: &[f32], b: &[f32], run: &mut Run) {
    pair::block(subject, base, a, b, run);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn count_differing_avx2(a: &[f32], b: &[f32]) -> u32 {
    pair::count_differing(a, b)
}

#[cfg(test)]
mod tests {
    use super::super::side::First;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_instructions_do_not_change_a_bit(
            pairs in proptest::collection::vec((any::<u32>(), any::<u32>(), 0..4_u8), 1..2000),
        ) {
            let a: Vec<f32> = pairs.iter().map(|p| f32::from_bits(p.0)).collect();
            let b: Vec<f32> = pairs.iter()
                .map(|p| f32::from_bits(if p.2 == 0 { p.1 } else { p.0 ^ u32::from(p.2 == 1) }))
                .collect();
            let subject = Subject { first: First::new(a[0]), f16: true };
            let (mut plain, mut best) = (Run::new(), Run::new());
            pair::block(&subject, 0, &a, &b, &mut plain);
            block(&subject, 0, &a, &b, &mut best);
            prop_assert_eq!(plain.finish(), best.finish());
            prop_assert_eq!(pair::count_differing(&a, &b), count_differing(&a, &b));
        }
    }
}
