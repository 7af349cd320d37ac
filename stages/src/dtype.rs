//! Which number types tensors are made of, and MLX's rule for combining two of them.

use serde::{Deserialize, Serialize};

/// The element type of a tensor. Serialised as reports spell it (`"BF16"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of an IEEE binary32.
    BF16,
    /// IEEE binary32.
    F32,
}

impl DType {
    /// Bytes of one element in memory.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool => 1,
            DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
        }
    }

    /// Whether values are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32)
    }

    /// The dtype of a binary operation on `self` and `other` (MLX 0.32.2, `promote_types`):
    /// two different 16-bit floats meet in F32, a float wins over an integer, `I32` with `U32`
    /// would be 64-bit in MLX and is `None` here.
    pub fn promote(self, other: DType) -> Option<DType> {
        use DType::*;
        if self == other {
            return Some(self);
        }
        match (self, other) {
            (Bool, x) | (x, Bool) => Some(x),
            (I32, U32) | (U32, I32) => None,
            (I32 | U32, x) | (x, I32 | U32) => Some(x),
            _ => Some(F32),
        }
    }

    /// The name used in reports and in safetensors headers.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "BOOL",
            DType::I32 => "I32",
            DType::U32 => "U32",
            DType::F16 => "F16",
            DType::BF16 => "BF16",
            DType::F32 => "F32",
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::DType::*;

    #[test]
    fn a_wider_float_wins_and_two_half_types_meet_in_f32() {
        assert_eq!(BF16.promote(F32), Some(F32));
        assert_eq!(BF16.promote(F16), Some(F32));
        assert_eq!(BF16.promote(I32), Some(BF16));
        assert_eq!(Bool.promote(BF16), Some(BF16));
        assert_eq!(I32.promote(U32), None);
    }
}
