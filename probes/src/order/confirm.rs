//! Whether a tree gives an operation's results.

use super::{Fused, ProbeError, Rounding, Sums, Tree};
use crate::random::Random;

/// What an operation does besides adding.
#[derive(Clone, Debug, Default)]
pub struct Arithmetic {
    /// How it rounds.
    pub rounding: Rounding,
    /// What it multiplies each term by.
    pub factors: Option<Vec<f32>>,
    /// Which of these products it does not round.
    pub fused: Fused,
    /// What it multiplies the sum by.
    pub scale: Option<f32>,
}

impl Arithmetic {
    /// Nothing but additions, rounded so.
    pub fn of(rounding: Rounding) -> Arithmetic {
        Arithmetic {
            rounding,
            ..Arithmetic::default()
        }
    }

    /// The result for terms added in a tree's order.
    ///
    /// # Panics
    /// When there are not as many terms, or factors, as leaves.
    pub fn replay(&self, tree: &Tree, terms: &[f32]) -> f32 {
        let sum = match &self.factors {
            None => tree.replay_rounded(self.rounding, terms),
            Some(factors) => tree.replay_products(self.rounding, terms, factors, &self.fused),
        };
        self.scale
            .map_or(sum, |scale| self.rounding.round(sum * scale))
    }
}

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
/// 2⁻⁸ and 2⁸ in magnitude, in the dtype that the rounding says. Each set is given twice, and
/// stands in different rows if the operation takes several.
///
/// # Errors
/// When `op` fails or does not repeat itself, or a result has other bits than the tree's.
pub fn confirm<O: Sums + ?Sized>(
    tree: &Tree,
    arithmetic: &Arithmetic,
    seeds: impl IntoIterator<Item = u64>,
    op: &mut O,
) -> Result<Confirmation, ProbeError<O::Error>> {
    let mut confirmation = Confirmation::default();
    let rounding = arithmetic.rounding;
    let seeds: Vec<u64> = seeds.into_iter().collect();
    let terms = |random: &mut Random| -> Vec<f32> {
        let term = |_| rounding.round(random.float());
        (0..tree.leaves()).map(term).collect()
    };
    let asked = |seeds: &[u64]| -> Vec<f32> {
        seeds
            .iter()
            .flat_map(|&seed| terms(&mut Random(seed)))
            .collect()
    };
    for seeds in seeds.chunks(op.rows().max(1)) {
        let found = op.sums(&asked(seeds)).map_err(ProbeError::Op)?;
        let backwards: Vec<u64> = seeds.iter().rev().copied().collect();
        let again = op.sums(&asked(&backwards)).map_err(ProbeError::Op)?;
        for ((&seed, &found), &second) in seeds.iter().zip(&found).zip(again.iter().rev()) {
            if found.to_bits() != second.to_bits() {
                let first = found;
                return Err(ProbeError::NotRepeatable { first, second });
            }
            let mut random = Random(seed);
            let mut terms = terms(&mut random);
            let sum = arithmetic.replay(tree, &terms);
            if found.to_bits() != sum.to_bits() {
                let tree = sum;
                return Err(ProbeError::Differs { seed, tree, found });
            }
            random.shuffle(&mut terms);
            let other = arithmetic.replay(tree, &terms);
            confirmation.outputs += 1;
            confirmation.telling += usize::from(other.to_bits() != sum.to_bits());
        }
    }
    Ok(confirmation)
}
