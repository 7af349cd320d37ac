//! Counts that need only one side, written as loops over lanes so that they vectorise.

use super::partial::Side;
use crate::grid::{INFINITY, MAGNITUDE, bf16_mask, f16_mask, mask};

/// Counts one side of a group of at most `u32::MAX` elements.
#[inline(always)]
pub(super) fn tally(values: &[f32]) -> Side {
    let (mut bf16, mut f16, mut nonfinite, mut zero) = (0_u32, 0_u32, 0_u32, 0_u32);
    for value in values {
        let bits = value.to_bits();
        let magnitude = bits & MAGNITUDE;
        // Taking away −1 where it holds: one instruction on a mask.
        bf16 = bf16.wrapping_sub(bf16_mask(bits));
        f16 = f16.wrapping_sub(f16_mask(bits));
        nonfinite = nonfinite.wrapping_sub(mask(magnitude >= INFINITY));
        zero = zero.wrapping_sub(mask(magnitude == 0));
    }
    Side {
        bf16: bf16.into(),
        f16: f16.into(),
        f32: values.len() as u64,
        nonfinite: nonfinite.into(),
        zero: zero.into(),
    }
}

/// The value every element of the reference is held against to see whether it is constant.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    bits: u32,
    /// Which bits matter: not the sign where the first element is a zero.
    mask: u32,
}

impl First {
    pub fn new(value: f32) -> Self {
        let mask = if value == 0.0 { MAGNITUDE } else { u32::MAX };
        Self {
            bits: value.to_bits(),
            mask,
        }
    }

    /// Whether any of the values is another one. NaNs are told apart by payload here, which
    /// matters to nobody: a tensor of NaNs alone has nothing finite.
    #[inline(always)]
    pub fn unlike_any(self, values: &[f32]) -> bool {
        let unlike = values
            .iter()
            .fold(0, |or, v| or | ((v.to_bits() ^ self.bits) & self.mask));
        unlike != 0
    }
}
