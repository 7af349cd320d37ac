//! Weights that are not numbers: said, and then run with as the reference runs with them.

use reports::wire::NonFinite;
use stages::Checkpoint;

use crate::say;

/// The audio tensors that hold a NaN or an infinity, each said on stderr.
pub fn non_finite(checkpoint: &Checkpoint) -> Vec<NonFinite> {
    let found = checkpoint.non_finite().into_iter();
    found
        .map(|tensor| {
            let (nan, infinite) = (tensor.nan, tensor.infinite);
            say(format_args!(
                "qualify: warning: tensor {} holds {nan} NaN and {infinite} infinite values",
                tensor.name
            ));
            NonFinite {
                tensor: tensor.name,
                nan: nan as u64,
                infinite: infinite as u64,
            }
        })
        .collect()
}
