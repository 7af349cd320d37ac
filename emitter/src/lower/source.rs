//! Where values come from: arguments, constants and `Arange`.

use stages::{
    DType,
    graph::{Op as Primitive, ValueInfo as Kind},
};

use super::{
    LowerError,
    call::{Call, carrier},
    splat::onto_grid,
};
use crate::{
    kernel::{IntBinary, KernelBuilder, Predicate, Reg, Scalar},
    program::{Elem, IndexMap, Op, Prepare, Program, Source, Value, ValueInfo},
};

fn info(op: &'static str, kind: &Kind) -> Result<ValueInfo, LowerError> {
    let elem = carrier(kind.dtype).ok_or(LowerError::DType {
        op,
        dtype: kind.dtype,
    })?;
    Ok(ValueInfo {
        shape: kind.shape.clone(),
        elem,
        grid: kind.dtype,
    })
}

/// What brings a tensor into its carrier.
fn carried(kind: &Kind) -> Vec<Prepare> {
    match kind.dtype {
        DType::BF16 => vec![Prepare::Widen],
        DType::U32 => vec![Prepare::Reinterpret],
        _ => Vec::new(),
    }
}

/// The argument of a given boundary.
pub(super) fn boundary(
    program: &mut Program,
    name: &str,
    kind: &Kind,
) -> Result<Value, LowerError> {
    let info = info("Boundary", kind)?;
    Ok(program.arg(Source::Boundary(name.to_owned()), carried(kind), info))
}

/// The argument of a model input, if `op` is one.
pub(super) fn input(
    program: &mut Program,
    op: &Primitive,
    kind: &Kind,
) -> Result<Option<Value>, LowerError> {
    let Primitive::Input { name } = op else {
        return Ok(None);
    };
    let info = info(op.name(), kind)?;
    Ok(Some(program.arg(
        Source::Input(name.clone()),
        carried(kind),
        info,
    )))
}

/// The argument of a weight, if `op` is one: stored as it is in the checkpoint.
pub(super) fn weight(
    program: &mut Program,
    op: &Primitive,
    kind: &Kind,
) -> Result<Option<Value>, LowerError> {
    let Primitive::Weight { name } = op else {
        return Ok(None);
    };
    let mut info = info(op.name(), kind)?;
    let mut prepare = carried(kind);
    if kind.dtype == DType::BF16 {
        info.elem = Elem::Bf16;
        prepare.clear();
    }
    Ok(Some(program.arg(
        Source::Weight(name.clone()),
        prepare,
        info,
    )))
}

/// An input or weight: its argument, widened if it is stored as BF16.
pub(super) fn argument(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    let Some(value) = call.own else {
        return Err(call.malformed("it is no argument"));
    };
    if call.program.info(value).elem != Elem::Bf16 {
        return Ok(value);
    }
    let dims = call.dims(value);
    let mut k = KernelBuilder::new();
    let x = k.operand(0, Scalar::F32);
    let map = IndexMap::identity(dims.len());
    call.map(k.finish(x), vec![(value, map)], dims, DType::BF16)
}

/// A constant that has no carrier; all others are known without an operation.
pub(super) fn constant(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    Err(LowerError::DType {
        op: call.op.name(),
        dtype: call.result.dtype,
    })
}

/// A tensor with all elements equal.
pub(super) fn fill(
    program: &mut Program,
    op: &Primitive,
    kind: &Kind,
    bits: Option<u32>,
) -> Result<Value, LowerError> {
    let Some(bits) = bits else {
        return Err(LowerError::Malformed {
            op: op.name(),
            reason: "it has no value".into(),
        });
    };
    let info = info(op.name(), kind)?;
    Ok(program.push(Op::Fill { bits }, Vec::new(), info))
}

/// `Arange` (MLX 0.32.2, `arange.h`, CPU): start and start + step are converted to the dtype,
/// their difference is the step, and the elements are its running sum, rounded each time. Where
/// `start + i·step` gives the same values it is stated so, else as the running sum it is.
pub(super) fn arange(
    call: &mut Call<'_, '_>,
    start: f64,
    step: f64,
    len: usize,
) -> Result<Value, LowerError> {
    let dtype = call.result.dtype;
    match dtype {
        DType::I32 => {
            let first = start as i32;
            let step = ((start + step) as i32).wrapping_sub(first);
            let mut k = KernelBuilder::new();
            let index = k.index(0);
            let (first, step) = (k.i32(first), k.i32(step));
            let product = k.int(IntBinary::Mul, index, step);
            let element = k.int(IntBinary::Add, product, first);
            call.map(k.finish(element), Vec::new(), [len], dtype)
        }
        DType::F32 | DType::BF16 => {
            let round = |value: f32| onto_grid(value, dtype);
            let first = round(start as f32);
            let step = round(round((start + step) as f32) - first);
            let mut sum = first;
            let direct = (0..len).all(|i| {
                let same = round(i as f32 * step + first).to_bits() == sum.to_bits();
                sum = round(sum + step);
                same
            });
            let mut k = KernelBuilder::new();
            let index = k.index(0);
            if direct || call.forms.native() {
                let element = linear(call, &mut k, index, first, step);
                return call.map(k.finish(element), Vec::new(), [len], dtype);
            }
            let zero = k.i32(0);
            let is_first = k.compare(Predicate::Eq, index, zero);
            let (first, step) = (k.f32(first), k.f32(step));
            let term = k.select(is_first, first, step);
            let terms = call.map(k.finish(term), Vec::new(), [len], dtype)?;
            let scan = Op::PrefixScan {
                axis: 0,
                reverse: false,
                inclusive: true,
                order: call.forms.order(),
                round_each: call.forms.round_each(dtype),
            };
            call.push(scan, vec![terms], [len], dtype)
        }
        DType::Bool | DType::U32 | DType::F16 => Err(LowerError::DType {
            op: call.op.name(),
            dtype,
        }),
    }
}

/// `index·step + first`, without the steps that change nothing.
fn linear(call: &Call<'_, '_>, k: &mut KernelBuilder, index: Reg, first: f32, step: f32) -> Reg {
    let mut element = k.from_int(index);
    if step != 1.0 {
        let step = k.f32(step);
        element = k.mul(element, step);
    }
    if first.to_bits() != 0 {
        let first = k.f32(first);
        element = k.add(element, first);
    }
    call.forms.round(k, call.result.dtype, element)
}
