//! Whether rows of one call know of each other.

use super::{MASK, ProbeError, Sums};
use crate::random::Random;

/// Checks that the sum of a row does not depend on what stands in the others, on random terms
/// beside masks, infinities and NaNs. Of an operation that takes one row nothing is asked.
///
/// # Errors
/// When `op` fails, or a row depends on others.
pub fn check_rows<O: Sums + ?Sized>(op: &mut O) -> Result<(), ProbeError<O::Error>> {
    let (n, rows) = (op.terms(), op.rows());
    if rows < 2 || n == 0 {
        return Ok(());
    }
    let mut random = Random(rows as u64);
    let plain: Vec<f32> = (0..n * rows).map(|_| random.float().round()).collect();
    let expected = op.sums(&plain).map_err(ProbeError::Op)?;
    for kept in [0, 1] {
        let mut mixed = plain.clone();
        for (row, terms) in mixed.chunks_mut(n).enumerate() {
            if row % 2 != kept {
                let wild = [MASK, -MASK, f32::INFINITY, f32::NAN];
                terms
                    .iter_mut()
                    .for_each(|term| *term = wild[random.below(wild.len())]);
            }
        }
        let found = op.sums(&mixed).map_err(ProbeError::Op)?;
        for row in (kept..rows).step_by(2) {
            if found[row].to_bits() != expected[row].to_bits() {
                return Err(ProbeError::Rows { row });
            }
        }
    }
    Ok(())
}
