//! The grids a boundary may declare, and whether a value lies on one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The set of values a boundary's elements must be representable in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Grid {
    /// IEEE binary32.
    F32,
    /// The upper half of binary32: 8 significand bits.
    #[serde(rename = "BF16")]
    Bf16,
    /// IEEE binary16: 11 significand bits, subnormals down to 2⁻²⁴.
    F16,
    /// Two's complement 32-bit integers.
    I32,
    /// One byte, 0 or 1.
    #[serde(rename = "BOOL")]
    Bool,
}

impl Grid {
    /// Whether the grid is one of floating-point values.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::Bf16 | Self::F16)
    }

    /// The name used in reports: `F32`, `BF16`, `F16`, `I32`, `BOOL`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::Bf16 => "BF16",
            Self::F16 => "F16",
            Self::I32 => "I32",
            Self::Bool => "BOOL",
        }
    }
}

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Everything of a binary32 but its sign.
pub(crate) const MAGNITUDE: u32 = 0x7fff_ffff;
/// The bits of +Inf; also the exponent field.
pub(crate) const INFINITY: u32 = 0x7f80_0000;
/// The bits of 2⁻¹⁴, the smallest normal binary16.
pub(crate) const F16_MIN_NORMAL: u32 = 0x3880_0000;
/// The bits of 65504, the largest finite binary16.
const F16_MAX: u32 = 0x477f_e000;

/// Whether the binary32 with these bits is a BF16 value. NaN is, whatever its payload.
#[inline(always)]
#[must_use]
pub const fn is_bf16(bits: u32) -> bool {
    bf16_mask(bits) != 0
}

/// [`is_bf16`] as a mask, all ones or all zeros: conditions joined as masks stay 32 bits wide in
/// vector code, where joined booleans are packed and unpacked.
#[inline(always)]
pub(crate) const fn bf16_mask(bits: u32) -> u32 {
    mask(bits & 0xffff == 0) | mask(bits & MAGNITUDE > INFINITY)
}

/// All ones where the condition holds.
#[inline(always)]
pub(crate) const fn mask(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}

/// Whether the binary32 with these bits is an F16 value. NaN is, whatever its payload.
///
/// Below 2⁻¹⁴ the F16 grid has step 2⁻²⁴, which is the step of binary32 in [0.5, 1): adding 0.5
/// and taking it away returns exactly the values on that grid. The result is compared by bits, so
/// the test also holds where denormals are flushed.
#[inline(always)]
#[must_use]
pub fn is_f16(bits: u32) -> bool {
    f16_mask(bits) != 0
}

/// [`is_f16`] as a mask, all ones or all zeros.
#[inline(always)]
pub(crate) fn f16_mask(bits: u32) -> u32 {
    let magnitude = bits & MAGNITUDE;
    let normal = mask(magnitude & 0x1fff == 0) & mask(magnitude <= F16_MAX);
    let stepped = ((f32::from_bits(magnitude) + 0.5) - 0.5).to_bits();
    let small = mask(magnitude < F16_MIN_NORMAL);
    (small & mask(stepped == magnitude)) | (!small & normal) | mask(magnitude >= INFINITY)
}

/// Whether an integer is representable with `significand` significant bits.
#[must_use]
pub(crate) const fn integer_fits(value: i32, significand: u32) -> bool {
    let magnitude = value.unsigned_abs();
    magnitude == 0 || 32 - magnitude.leading_zeros() - magnitude.trailing_zeros() <= significand
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// A stride prime to every power of two visits all exponents and many significands.
    fn many_bits() -> impl Iterator<Item = u32> {
        (0..=u32::MAX)
            .step_by(9973)
            .chain((0..=u16::MAX).flat_map(|h| {
                let f = f16::from_bits(h).to_f32().to_bits();
                let b = u32::from(h) << 16;
                [
                    f,
                    f.wrapping_add(1),
                    f.wrapping_sub(1),
                    b,
                    b | 1,
                    b | 0x8000,
                ]
            }))
    }

    #[test]
    fn the_bf16_test_agrees_with_half() {
        for bits in many_bits() {
            let value = f32::from_bits(bits);
            let back = bf16::from_f32(value).to_f32();
            assert_eq!(
                is_bf16(bits),
                value.is_nan() || back.to_bits() == bits,
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn the_f16_test_agrees_with_half() {
        for bits in many_bits() {
            let value = f32::from_bits(bits);
            let back = f16::from_f32(value).to_f32();
            assert_eq!(
                is_f16(bits),
                value.is_nan() || back.to_bits() == bits,
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn integers_fit_exactly_when_the_conversion_round_trips() {
        for value in (0..40_000_000)
            .step_by(37)
            .chain([i32::MIN, i32::MAX, -1, -257, 1 << 30])
        {
            assert_eq!(
                integer_fits(value, 24),
                value as f32 as f64 == f64::from(value)
            );
            let b = bf16::from_f64(f64::from(value)).to_f64();
            assert_eq!(integer_fits(value, 8), b == f64::from(value), "{value}");
        }
    }

    #[test]
    fn grids_serialise_by_their_report_names() {
        for grid in [Grid::F32, Grid::Bf16, Grid::F16, Grid::I32, Grid::Bool] {
            assert_eq!(serde_json::to_value(grid).unwrap(), grid.name());
        }
    }
}
