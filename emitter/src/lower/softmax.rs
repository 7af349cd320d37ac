//! `Softmax` over the last axis.

use stages::DType;

use super::{LowerError, call::Call};
use crate::{
    kernel::{KernelBuilder, Scalar},
    program::{Combine, IndexMap, Value},
};

/// MLX 0.32.2, `softmax.cpp`, CPU: the maximum, `e = exp(x − max)`, its sum from +0 along the
/// axis, and `e · (1 / sum)`. Everything is rounded onto the array's grid, or with `precise` only
/// the result.
pub(super) fn lower(call: &mut Call<'_, '_>, precise: bool) -> Result<Value, LowerError> {
    let forms = call.forms;
    let dtype = call.result.dtype;
    let inside = if precise { DType::F32 } else { dtype };
    let input = call.value(0)?;
    let dims = call.dims(input);
    let Some(last) = dims.len().checked_sub(1) else {
        return Err(call.malformed("it takes at least one axis"));
    };
    let each = IndexMap::identity(dims.len());
    let row = IndexMap((0..last).map(Some).collect());

    let largest = call.reduce(input, vec![last], Combine::Max, dtype)?;
    let mut k = KernelBuilder::new();
    let (x, m) = (k.operand(0, Scalar::F32), k.operand(1, Scalar::F32));
    let difference = k.sub(x, m);
    let difference = forms.round_inner(&mut k, inside, difference);
    let e = forms.exp(&mut k, difference);
    let e = forms.round_inner(&mut k, inside, e);
    let grid = forms.round_each(inside).unwrap_or(DType::F32);
    let operands = vec![(input, each.clone()), (largest, row.clone())];
    let exponentials = call.map(k.finish(e), operands, dims.clone(), grid)?;

    let sum = call.sum(exponentials, vec![last], inside)?;
    let mut k = KernelBuilder::new();
    let (e, s) = (k.operand(0, Scalar::F32), k.operand(1, Scalar::F32));
    let result = if forms.native() {
        k.div(e, s)
    } else {
        let one = k.f32(1.0);
        let inverse = k.div(one, s);
        let inverse = forms.round_inner(&mut k, inside, inverse);
        k.mul(e, inverse)
    };
    let result = forms.round(&mut k, dtype, result);
    let operands = vec![(exponentials, each), (sum, row)];
    call.map(k.finish(result), operands, dims, dtype)
}
