//! `Scan`: running sums.

use super::{LowerError, call::Call};
use crate::program::{Op, Value};

/// MLX 0.32.2, `scan.cpp`, CPU: `o₀ = x₀`, `oᵢ = oᵢ₋₁ + xᵢ`, rounded each time; from the end if
/// `reverse`; whatever the axis and the view. Without its own element it is the running sum of
/// the elements shifted by one, with +0 first.
pub(super) fn lower(
    call: &mut Call<'_, '_>,
    axis: usize,
    reverse: bool,
    inclusive: bool,
) -> Result<Value, LowerError> {
    let dtype = call.result.dtype;
    let mut input = call.value(0)?;
    let dims = call.dims(input);
    if !inclusive {
        let (mut low, mut high) = (vec![0; dims.len()], vec![0; dims.len()]);
        let (mut start, mut stop) = (vec![0; dims.len()], dims.clone());
        if reverse {
            high[axis] = 1;
            start[axis] = 1;
            stop[axis] = dims[axis] + 1;
        } else {
            low[axis] = 1;
        }
        let padded = call.pad(input, low, high, 0);
        input = call.slice(padded, start, stop, vec![1; dims.len()]);
    }
    let round_each = call.forms.round_each(dtype);
    let scan = Op::PrefixScan {
        axis,
        reverse,
        inclusive: true,
        order: call.forms.order(),
        round_each,
    };
    let sums = call.push(
        scan,
        vec![input],
        dims,
        round_each.unwrap_or(stages::DType::F32),
    )?;
    if round_each.is_some() {
        return Ok(sums);
    }
    call.rounded(sums)
}
