//! Constants with all elements equal: part of what is known of an operand's type.

use stages::{DType, graph::Op};

/// The element of a primitive's result by its carrier's bits, if all elements are one constant.
pub(super) fn of(op: &Op, dtype: DType, operand: Option<(u32, DType)>) -> Option<u32> {
    match op {
        Op::Constant { value } => literal(*value, dtype),
        Op::AsType { dtype: to } => operand.and_then(|(bits, from)| converted(bits, from, *to)),
        Op::Full { .. }
        | Op::Broadcast { .. }
        | Op::ExpandDims { .. }
        | Op::Squeeze { .. }
        | Op::Transpose { .. }
        | Op::Reshape { .. }
        | Op::Flatten { .. }
        | Op::Unflatten { .. }
        | Op::Slice { .. }
        | Op::Split { .. } => operand.map(|(bits, _)| bits),
        _ => None,
    }
}

/// A Python number as an array's element: rounded to F32 and then to the dtype.
fn literal(value: f64, dtype: DType) -> Option<u32> {
    match dtype {
        DType::F32 | DType::BF16 => Some(onto_grid(value as f32, dtype).to_bits()),
        DType::I32 => Some((value as i32).cast_unsigned()),
        DType::U32 => Some(value as u32),
        DType::Bool => Some((value != 0.0).into()),
        DType::F16 => None,
    }
}

/// `AsType` of a constant; the same values as the kernel's of `cast`.
fn converted(bits: u32, from: DType, to: DType) -> Option<u32> {
    match (from, to) {
        (DType::F32 | DType::BF16, _) => {
            let value = f32::from_bits(bits);
            match to {
                DType::F32 | DType::BF16 => Some(onto_grid(value, to).to_bits()),
                DType::I32 => Some(truncated(value).cast_unsigned()),
                DType::Bool => Some((value != 0.0).into()),
                DType::F16 | DType::U32 => None,
            }
        }
        (DType::I32 | DType::U32 | DType::Bool, DType::I32) => Some(bits),
        (DType::I32 | DType::U32 | DType::Bool, DType::Bool) => Some((bits != 0).into()),
        (DType::U32, DType::F32 | DType::BF16) => Some(onto_grid(bits as f32, to).to_bits()),
        (DType::I32 | DType::Bool, DType::F32 | DType::BF16) => {
            Some(onto_grid(bits.cast_signed() as f32, to).to_bits())
        }
        _ => None,
    }
}

/// Rounds an F32 onto a dtype's grid: BF16 to nearest even with one NaN, 0x7FC0 (MLX 0.32.2,
/// `bf16.h`).
pub(super) fn onto_grid(value: f32, dtype: DType) -> f32 {
    if dtype != DType::BF16 {
        return value;
    }
    if value.is_nan() {
        return f32::from_bits(0x7FC0_0000);
    }
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1));
    f32::from_bits(rounded & 0xFFFF_0000)
}

/// An F32 as x86-64 converts it to I32: towards zero, −2³¹ for everything out of range.
fn truncated(value: f32) -> i32 {
    if (-2_147_483_648.0..2_147_483_648.0).contains(&value) {
        value as i32
    } else {
        i32::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_number_is_rounded_to_f32_and_then_to_the_dtype() {
        assert_eq!(
            literal(1e10, DType::BF16).map(f32::from_bits),
            Some(9_999_220_736.0)
        );
        assert_eq!(
            literal(-1e9, DType::BF16).map(f32::from_bits),
            Some(-998_244_352.0)
        );
        assert_eq!(literal(0.1, DType::F32), Some(0.1f32.to_bits()));
        assert_eq!(literal(-3.0, DType::I32), Some(u32::MAX - 2));
        assert_eq!(literal(1.0, DType::F16), None);
    }

    #[test]
    fn casting_a_constant_gives_the_element_that_casting_the_array_gives() {
        let half = 2.5f32.to_bits();
        assert_eq!(converted(half, DType::F32, DType::I32), Some(2));
        let huge = 3e9f32.to_bits();
        assert_eq!(converted(huge, DType::F32, DType::I32), Some(0x8000_0000));
        assert_eq!(
            converted(16_777_217, DType::I32, DType::F32),
            Some(16_777_216f32.to_bits())
        );
        assert_eq!(converted(1, DType::Bool, DType::BF16), Some(1f32.to_bits()));
        let nan = f32::NAN.to_bits();
        assert_eq!(converted(nan, DType::F32, DType::Bool), Some(1));
    }
}
