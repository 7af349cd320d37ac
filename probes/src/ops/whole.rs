//! Whether a tree gives all elements of a result that is made from a sum of positive terms.

use super::{Of, OpError, Site, Whole};
use crate::{
    order::{Confirmation, Fused, ProbeError, Tree},
    random::Random,
};

/// What an operation does besides adding, as far as it can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    /// Whether squares are added without being rounded.
    pub fused: bool,
    /// Whether it divides where MLX multiplies by the inverse: by the sum, or by the number of
    /// terms.
    pub divides: bool,
}

impl Finish {
    /// MLX's on CPU first.
    pub const ALL: [Finish; 4] = [
        Finish::new(false, false),
        Finish::new(false, true),
        Finish::new(true, false),
        Finish::new(true, true),
    ];

    const fn new(fused: bool, divides: bool) -> Finish {
        Finish { fused, divides }
    }
}

/// The arguments of one seed: of either sign, up to 4.
fn arguments(n: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..n).map(|_| random.float() / 64.0).collect()
}

/// Compares all elements of the result with the tree's, for some seeds. `exponentials` computes
/// single exponentials as the operation does.
///
/// # Errors
/// When an operation fails, or a result has other bits than the tree's.
pub fn confirm_whole(
    site: &Site,
    tree: &Tree,
    finish: Finish,
    seeds: std::ops::Range<u64>,
    op: &mut dyn Whole,
    exponentials: &mut dyn Whole,
) -> Result<Confirmation, ProbeError<OpError>> {
    let (n, of) = (site.terms(), site.of);
    let mut confirmation = Confirmation::default();
    let seeds: Vec<u64> = seeds.collect();
    for seeds in seeds.chunks(site.rows().max(1)) {
        let rows: Vec<f32> = seeds.iter().flat_map(|&seed| arguments(n, seed)).collect();
        let found = op.whole(&rows).map_err(ProbeError::Op)?;
        let again = op.whole(&rows).map_err(ProbeError::Op)?;
        let terms = match of {
            Some(Of::Exponentials) => {
                let shifted = rows.chunks(n).flat_map(|row| {
                    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    row.iter().map(move |x| x - largest)
                });
                let shifted: Vec<f32> = shifted.collect();
                exponentials.whole(&shifted).map_err(ProbeError::Op)?
            }
            _ => rows.clone(),
        };
        for (row, &seed) in seeds.iter().enumerate() {
            let own = row * n..(row + 1) * n;
            let given = replay(of, tree, finish, &terms[own.clone()]);
            let pairs = given.iter().zip(&found[own.clone()]);
            for ((&tree, &found), &second) in pairs.zip(&again[own.clone()]) {
                if found.to_bits() != second.to_bits() {
                    let first = found;
                    return Err(ProbeError::NotRepeatable { first, second });
                }
                if tree.to_bits() != found.to_bits() {
                    return Err(ProbeError::Differs { seed, tree, found });
                }
            }
            // Whether the order mattered: the same terms in other places of the tree.
            let mut places: Vec<usize> = (0..n).collect();
            Random(seed).shuffle(&mut places);
            let shuffled: Vec<f32> = places.iter().map(|&k| terms[own.clone()][k]).collect();
            let other = replay(of, tree, finish, &shuffled);
            let moved = places.iter().zip(&other);
            let differing = moved.filter(|(k, x)| given[**k].to_bits() != x.to_bits());
            confirmation.outputs += n;
            confirmation.telling += differing.count();
        }
    }
    Ok(confirmation)
}

/// The result for exponentials, or for what is squared.
fn replay(of: Option<Of>, tree: &Tree, finish: Finish, terms: &[f32]) -> Vec<f32> {
    let n = terms.len() as f32;
    match of {
        Some(Of::Squares(eps)) => {
            let fused = Fused::new(vec![finish.fused; terms.len()]);
            let sum = tree.replay_products(crate::order::Rounding::F32, terms, terms, &fused);
            let mean = if finish.divides {
                sum / n
            } else {
                sum * (1.0 / f64::from(n)) as f32
            };
            let inverse = 1.0 / (mean + eps).sqrt();
            terms.iter().map(|x| x * inverse).collect()
        }
        _ => {
            let sum = tree.replay(terms);
            let inverse = 1.0 / sum;
            let one = |e: &f32| if finish.divides { e / sum } else { e * inverse };
            terms.iter().map(one).collect()
        }
    }
}

/// Checks that a row of the result does not depend on what stands in other rows.
///
/// # Errors
/// When the operation fails, or a row depends on others.
pub fn check_whole_rows(site: &Site, op: &mut dyn Whole) -> Result<(), ProbeError<OpError>> {
    let (n, rows) = (site.terms(), site.rows());
    if rows < 2 || n == 0 {
        return Ok(());
    }
    let plain: Vec<f32> = (0..rows as u64)
        .flat_map(|seed| arguments(n, seed))
        .collect();
    let expected = op.whole(&plain).map_err(ProbeError::Op)?;
    for kept in [0, 1] {
        let mut mixed = plain.clone();
        for (row, terms) in mixed.chunks_mut(n).enumerate() {
            if row % 2 != kept {
                let wild = [1e30, -1e30, f32::INFINITY, f32::NAN];
                terms
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, term)| *term = wild[(i + row) % 4]);
            }
        }
        let found = op.whole(&mixed).map_err(ProbeError::Op)?;
        for row in (kept..rows).step_by(2) {
            let own = row * n..(row + 1) * n;
            let pairs = found[own.clone()].iter().zip(&expected[own]);
            if pairs.clone().any(|(a, b)| a.to_bits() != b.to_bits()) {
                return Err(ProbeError::Rows { row });
            }
        }
    }
    Ok(())
}
