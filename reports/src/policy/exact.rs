//! Counts that the histograms of a report do not tell, from the tensors.

use crate::Grid;
use crate::measure::{Values, ulp::distance};

/// How many pairs are more than `ulp` steps of `grid` apart. `None` unless both sides are floats of
/// one length and every pair has a distance: values off the grid, and a NaN or an infinity against
/// another value, have none.
///
/// ```
/// use reports::{Grid, measure::Values, policy::count_over};
/// let (a, b) = ([1.0, 2.0, 4.0], [1.0, 2.015625, 4.09375]);
/// let over = |ulp| count_over(Values::F32(&a), Values::F32(&b), Grid::Bf16, ulp);
/// assert_eq!([0, 1, 3].map(over), [Some(2), Some(1), Some(0)]);
/// ```
#[must_use]
pub fn count_over(
    reference: Values<'_>,
    candidate: Values<'_>,
    grid: Grid,
    ulp: u64,
) -> Option<u64> {
    if reference.len() != candidate.len() {
        return None;
    }
    let (reference, candidate) = (bits(reference)?, bits(candidate)?);
    reference.zip(candidate).try_fold(0, |over, (a, b)| {
        Some(over + u64::from(u64::from(distance(a, b, grid)?) > ulp))
    })
}

/// The bits of floats, widened to binary32.
fn bits(values: Values<'_>) -> Option<Box<dyn Iterator<Item = u32> + '_>> {
    Some(match values {
        Values::F32(v) => Box::new(v.iter().map(|v| v.to_bits())),
        Values::Bf16(v) => Box::new(v.iter().map(|v| u32::from(v.to_bits()) << 16)),
        Values::F16(v) => Box::new(v.iter().map(|v| v.to_f32().to_bits())),
        Values::I32(_) | Values::Bool(_) => return None,
    })
}
