//! Movements: copies of bits under every contract.

use stages::graph::Op as Primitive;

use super::{LowerError, call::Call};
use crate::program::{IndexMap, Op, Value};

/// MLX 0.32.2 moves values without changing them; so does every lowering of a movement. One that
/// changes nothing adds no operation.
pub(super) fn lower(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    let shape = call.result.shape.clone();
    let rank = call.kind(0)?.shape.rank();
    match call.op {
        Primitive::Full { .. } | Primitive::Broadcast { .. } => {
            let x = call.value(0)?;
            let map = IndexMap::broadcast(&call.kind(0)?.shape, &shape);
            Ok(call.movement(Op::Broadcast { map }, x, shape))
        }
        Primitive::ExpandDims { .. }
        | Primitive::Squeeze { .. }
        | Primitive::Reshape { .. }
        | Primitive::Flatten { .. }
        | Primitive::Unflatten { .. } => {
            let x = call.value(0)?;
            Ok(call.reshape(x, shape))
        }
        Primitive::Transpose { axes } => {
            let x = call.value(0)?;
            Ok(call.transpose(x, axes.clone()))
        }
        Primitive::Slice {
            start,
            stop,
            strides,
        } => {
            let x = call.value(0)?;
            Ok(call.slice(x, start.clone(), stop.clone(), strides.clone()))
        }
        Primitive::Split {
            indices,
            axis,
            part,
        } => {
            let x = call.value(0)?;
            let (mut start, mut stop) = (vec![0; rank], call.dims(x));
            if let Some(&first) = part.checked_sub(1).and_then(|i| indices.get(i)) {
                start[*axis] = first;
            }
            if let Some(&end) = indices.get(*part) {
                stop[*axis] = end;
            }
            Ok(call.slice(x, start, stop, vec![1; rank]))
        }
        Primitive::Pad {
            axes,
            low: before,
            high: after,
        } => {
            let Some(bits) = call.operands.get(1).and_then(|o| o.splat) else {
                return Err(call.unsupported("the filling scalar is not a constant"));
            };
            let x = call.value(0)?;
            let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
            for (i, &axis) in axes.iter().enumerate() {
                low[axis] = before[i];
                high[axis] = after[i];
            }
            Ok(call.pad(x, low, high, bits))
        }
        Primitive::Concatenate { axis } => {
            let inputs = (0..call.operands.len())
                .map(|operand| call.value(operand))
                .collect::<Result<Vec<_>, _>>()?;
            match inputs.as_slice() {
                [one] => Ok(*one),
                _ => {
                    let op = Op::Concatenate { axis: *axis };
                    call.push(op, inputs, shape, call.result.dtype)
                }
            }
        }
        Primitive::GatherAxis { axis } => {
            let (x, indices) = (call.value(0)?, call.value(1)?);
            let op = Op::Gather { axis: *axis };
            call.push(op, vec![x, indices], shape, call.result.dtype)
        }
        _ => Err(call.malformed("it is no movement")),
    }
}
