//! `AsType`.

use stages::DType;

use super::{LowerError, call::Call};
use crate::{
    kernel::{IntBinary, KernelBuilder, Predicate, Reg, Scalar},
    program::Value,
};

/// MLX 0.32.2, `copy.cpp`, CPU: C++ conversions as x86-64 makes them. Widening BF16 changes
/// nothing in its carrier, so no operation is added; an integer becomes BF16 by way of F32; a
/// float becomes I32 towards zero and −2³¹ where it is out of range or NaN; U32 becomes I32 by its
/// bits; anything but zero becomes true.
pub(super) fn lower(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    let (from, to) = (call.kind(0)?.dtype, call.result.dtype);
    if from == to || (from, to) == (DType::BF16, DType::F32) {
        return call.value(0);
    }
    let forms = call.forms;
    match to {
        DType::F32 | DType::BF16 => call.elementwise(|k, r| {
            let value = match from {
                DType::U32 => unsigned_to_float(k, r[0]),
                _ => to_float(k, r[0]),
            };
            forms.round(k, to, value)
        }),
        DType::I32 if from == DType::U32 => call.elementwise(|_, r| r[0]),
        DType::I32 => call.elementwise(|k, r| to_int(k, r[0])),
        DType::Bool => call.elementwise(|k, r| {
            let zero = if k.type_of(r[0]).is_float() {
                k.f32(0.0)
            } else {
                k.i32(0)
            };
            k.compare(Predicate::Ne, r[0], zero)
        }),
        DType::F16 | DType::U32 => Err(LowerError::DType {
            op: call.op.name(),
            dtype: to,
        }),
    }
}

fn to_float(k: &mut KernelBuilder, x: Reg) -> Reg {
    match k.type_of(x) {
        Scalar::I32 => k.from_int(x),
        Scalar::Bool => {
            let (one, zero) = (k.f32(1.0), k.f32(0.0));
            k.select(x, one, zero)
        }
        _ => x,
    }
}

/// Exactly to F64, and from there with the one rounding that there is.
fn unsigned_to_float(k: &mut KernelBuilder, x: Reg) -> Reg {
    let (wide, low) = (k.extend_int(x), k.i64(0xFFFF_FFFF));
    let wide = k.int(IntBinary::And, wide, low);
    let exact = k.from_int(wide);
    k.truncate(exact)
}

fn to_int(k: &mut KernelBuilder, x: Reg) -> Reg {
    if k.type_of(x) == Scalar::Bool {
        let (one, zero) = (k.i32(1), k.i32(0));
        return k.select(x, one, zero);
    }
    let (low, high) = (k.f32(-2_147_483_648.0), k.f32(2_147_483_648.0));
    let above = k.compare(Predicate::Ge, x, low);
    let below = k.compare(Predicate::Lt, x, high);
    let zero = k.f32(0.0);
    let inside = k.select(above, x, zero);
    let inside = k.select(below, inside, zero);
    let value = k.to_int(inside);
    let outside = k.i32(i32::MIN);
    let value = k.select(above, value, outside);
    k.select(below, value, outside)
}
