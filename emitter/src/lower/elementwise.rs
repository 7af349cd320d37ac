//! Primitives of two or three operands: one arithmetic step an element, rounded once.

use stages::{
    DType,
    graph::{BitwiseKind, Op},
};

use super::{LowerError, call::Call, forms::Forms};
use crate::{
    kernel::{self, Binary, IntBinary, KernelBuilder, NativeFn, Predicate, Reg, Scalar},
    program::Value,
};

/// MLX 0.32.2, `binary_ops.h` and `ternary.h`, CPU: BF16 operands are widened, combined in F32
/// and the result rounded; extrema and selections are copies. Whatever compares takes I32 for
/// signed, so U32 is refused.
pub(super) fn lower(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    let forms = call.forms;
    let dtype = call.kind(0)?.dtype;
    let rounded = |k: &mut KernelBuilder, op, r: &[Reg]| {
        let result = k.binary(op, r[0], r[1]);
        forms.round(k, dtype, result)
    };
    if dtype == DType::U32 && !matches!(call.op, Op::BitwiseBinary { .. }) {
        return Err(LowerError::DType {
            op: call.op.name(),
            dtype,
        });
    }
    match call.op {
        Op::Add => call.elementwise(|k, r| rounded(k, Binary::Add, r)),
        Op::Subtract => call.elementwise(|k, r| rounded(k, Binary::Sub, r)),
        Op::Divide => call.elementwise(|k, r| rounded(k, Binary::Div, r)),
        Op::Multiply => call.elementwise(|k, r| {
            let product = forms.mul(k, r[0], r[1]);
            forms.round(k, dtype, product)
        }),
        Op::Maximum => call.elementwise(|k, r| match k.type_of(r[0]) {
            Scalar::Bool => k.int(IntBinary::Or, r[0], r[1]),
            _ => kernel::maximum(k, r[0], r[1]),
        }),
        Op::Minimum => call.elementwise(|k, r| match k.type_of(r[0]) {
            Scalar::Bool => k.int(IntBinary::And, r[0], r[1]),
            _ => kernel::minimum(k, r[0], r[1]),
        }),
        Op::Power => {
            let exponent = call.operands.get(1).and_then(|o| o.splat);
            call.elementwise(|k, r| {
                let result = power(forms, k, r[0], r[1], exponent.map(f32::from_bits));
                forms.round(k, dtype, result)
            })
        }
        Op::LogAddExp => call.elementwise(|k, r| {
            let result = if forms.native() {
                native_logaddexp(k, r[0], r[1])
            } else {
                kernel::logaddexp(k, r[0], r[1], forms.inner(dtype))
            };
            forms.round(k, dtype, result)
        }),
        Op::GreaterEqual => call.elementwise(|k, r| match k.type_of(r[0]) {
            // a ≥ b of Booleans: a, or not b.
            Scalar::Bool => {
                let inverse = k.not(r[1]);
                k.int(IntBinary::Or, r[0], inverse)
            }
            _ => k.compare(Predicate::Ge, r[0], r[1]),
        }),
        Op::LogicalAnd => call.elementwise(|k, r| k.int(IntBinary::And, r[0], r[1])),
        Op::BitwiseBinary { kind } => call.elementwise(|k, r| {
            let op = match kind {
                BitwiseKind::LeftShift => IntBinary::Shl,
                BitwiseKind::RightShift => IntBinary::ShrU,
            };
            k.int(op, r[0], r[1])
        }),
        Op::Select => call.elementwise(|k, r| k.select(r[0], r[1], r[2])),
        _ => Err(call.malformed("it is not elementwise")),
    }
}

fn power(forms: Forms, k: &mut KernelBuilder, x: Reg, y: Reg, exponent: Option<f32>) -> Reg {
    match (forms.native(), exponent) {
        (true, Some(2.0)) => forms.mul(k, x, x),
        (true, _) => k.native(NativeFn::Pow, x, Some(y)),
        (false, Some(exponent)) => kernel::pow_known(k, x, exponent),
        (false, None) => kernel::pow(k, x, y),
    }
}

/// The natural form: the larger plus log1p of the difference's exponential.
fn native_logaddexp(k: &mut KernelBuilder, a: Reg, b: Reg) -> Reg {
    let larger = kernel::maximum(k, a, b);
    let smaller = kernel::minimum(k, a, b);
    let difference = k.sub(smaller, larger);
    let e = k.native(NativeFn::Exp, difference, None);
    let logarithm = k.native(NativeFn::Log1p, e, None);
    k.add(larger, logarithm)
}
