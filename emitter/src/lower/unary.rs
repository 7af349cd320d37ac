//! Primitives of one operand: one function an element.

use stages::graph::Op;

use super::{LowerError, call::Call};
use crate::{
    kernel::{self, NativeFn},
    program::Value,
};

/// MLX 0.32.2, `unary_ops.h` and `simd/math.h`, CPU: BF16 operands are widened, the function is
/// computed in F32 and its result rounded. `Sigmoid` rounds its exponential and `Sqrt` with
/// `reciprocal` its root too.
pub(super) fn lower(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    let forms = call.forms;
    let dtype = call.result.dtype;
    match call.op {
        Op::LogicalNot => call.elementwise(|k, r| k.not(r[0])),
        Op::Negative => call.elementwise(|k, r| k.neg(r[0])),
        Op::Square => call.elementwise(|k, r| {
            let square = forms.mul(k, r[0], r[0]);
            forms.round(k, dtype, square)
        }),
        Op::Sqrt { reciprocal: false } => call.elementwise(|k, r| {
            let root = k.sqrt(r[0]);
            forms.round(k, dtype, root)
        }),
        Op::Sqrt { reciprocal: true } => call.elementwise(|k, r| {
            let result = if forms.native() {
                k.native(NativeFn::Rsqrt, r[0], None)
            } else {
                let root = k.sqrt(r[0]);
                let root = forms.round_inner(k, dtype, root);
                let one = k.f32(1.0);
                k.div(one, root)
            };
            forms.round(k, dtype, result)
        }),
        Op::Sigmoid => call.elementwise(|k, r| {
            let result = if forms.native() {
                let minus = k.neg(r[0]);
                let e = forms.exp(k, minus);
                let one = k.f32(1.0);
                let sum = k.add(one, e);
                k.div(one, sum)
            } else {
                kernel::sigmoid(k, r[0], forms.inner(dtype))
            };
            forms.round(k, dtype, result)
        }),
        Op::Tanh | Op::Exp | Op::Log | Op::Sin | Op::Cos => {
            let op = call.op;
            call.elementwise(|k, r| {
                let result = match op {
                    Op::Tanh => forms.tanh(k, r[0]),
                    Op::Exp => forms.exp(k, r[0]),
                    Op::Log => forms.log(k, r[0]),
                    Op::Sin => forms.sin(k, r[0]),
                    _ => forms.cos(k, r[0]),
                };
                forms.round(k, dtype, result)
            })
        }
        _ => Err(call.malformed("it is not unary")),
    }
}
