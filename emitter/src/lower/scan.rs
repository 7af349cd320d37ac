//! `Scan`: running sums.

use stages::DType;

use super::{LowerError, call::Call};
use crate::program::{Op, Value};

/// MLX 0.32.2, `scan.cpp`, CPU: `o₀ = x₀`, `oᵢ = oᵢ₋₁ + xᵢ`, rounded each time, or without its
/// own element `o₀ = +0`, `oᵢ = oᵢ₋₁ + xᵢ₋₁`; from the end if `reverse`; whatever the axis and
/// the view.
pub(super) fn lower(
    call: &mut Call<'_, '_>,
    axis: usize,
    reverse: bool,
    inclusive: bool,
) -> Result<Value, LowerError> {
    let input = call.value(0)?;
    let dims = call.dims(input);
    let round_each = call.forms.round_each(call.result.dtype);
    let scan = Op::PrefixScan {
        axis,
        reverse,
        inclusive,
        order: call.forms.order(),
        round_each,
    };
    let sums = call.push(scan, vec![input], dims, round_each.unwrap_or(DType::F32))?;
    if round_each.is_some() {
        return Ok(sums);
    }
    call.rounded(sums)
}
