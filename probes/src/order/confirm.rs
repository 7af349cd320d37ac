//! Whether a tree gives an operation's results.

use super::{ProbeError, Rounding, Tree};
use crate::random::Random;

/// What a comparison that found no difference is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// How many results were compared; all had the same bits.
    pub outputs: usize,
    /// For how many of them the order mattered: a tree of the same shape over shuffled terms
    /// gives other bits. If 0, the comparison says nothing of the order: so always for two terms,
    /// and mostly where a narrow result hides the last bits ([`Rounding::Bf16Once`]).
    pub telling: usize,
}

/// Compares `op` with the tree on random terms, one set for each seed: of either sign, between
/// 2⁻⁸ and 2⁸ in magnitude, in the dtype that `rounding` says.
///
/// # Errors
/// When `op` fails, or a result has other bits than the tree's.
pub fn confirm<E>(
    tree: &Tree,
    rounding: Rounding,
    seeds: impl IntoIterator<Item = u64>,
    op: &mut dyn FnMut(&[f32]) -> Result<f32, E>,
) -> Result<Confirmation, ProbeError<E>> {
    let mut confirmation = Confirmation::default();
    for seed in seeds {
        let mut random = Random(seed);
        let mut terms: Vec<f32> = (0..tree.leaves())
            .map(|_| rounding.round(random.float()))
            .collect();
        let found = op(&terms).map_err(ProbeError::Op)?;
        let sum = tree.replay_rounded(rounding, &terms);
        if found.to_bits() != sum.to_bits() {
            let tree = sum;
            return Err(ProbeError::Differs { seed, tree, found });
        }
        random.shuffle(&mut terms);
        let other = tree.replay_rounded(rounding, &terms);
        confirmation.outputs += 1;
        confirmation.telling += usize::from(other.to_bits() != sum.to_bits());
    }
    Ok(confirmation)
}
