//! Whether products are rounded before they are added.

use super::{ProbeError, Sums, Tree};

/// Which products of an operation are not rounded before they are added: its fused
/// multiply-adds. Of a product that another one is added to, it makes no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fused(Vec<bool>);

/// A factor whose square needs more bits than an F32 has: 1 + 2⁻¹² squared is 1 + 2⁻¹¹ + 2⁻²⁴,
/// and rounds to [`ROUNDED`].
pub const FACTOR: f32 = 1.0 + 1.0 / 4096.0;

/// [`FACTOR`] squared and rounded.
pub const ROUNDED: f32 = 1.0 + 1.0 / 2048.0;

/// What rounding takes from the square of [`FACTOR`].
const LOST: f32 = 1.0 / 16_777_216.0;

impl Fused {
    /// Those with `true`.
    pub fn new(fused: Vec<bool>) -> Fused {
        Fused(fused)
    }

    /// Whether that product is.
    pub fn contains(&self, term: usize) -> bool {
        self.0.get(term).copied().unwrap_or(false)
    }

    /// How many are.
    pub fn count(&self) -> usize {
        self.0.iter().filter(|&&fused| fused).count()
    }

    /// Asks about some terms: each is [`FACTOR`] once, its partner −[`ROUNDED`] and all others 0.
    /// If the product is rounded nothing is left.
    ///
    /// # Errors
    /// When `op` fails, or something else is left than what rounding takes away.
    pub fn ask<O: Sums + ?Sized>(
        &mut self,
        plan: &Plan,
        side: bool,
        op: &mut O,
    ) -> Result<(), ProbeError<O::Error>> {
        let n = plan.partners.len();
        self.0.resize(n, false);
        if n < 2 {
            return Ok(());
        }
        let terms: Vec<usize> = (0..n).filter(|&term| plan.sides[term] == side).collect();
        for terms in terms.chunks(op.rows().max(1)) {
            let mut rows = vec![0.0; terms.len() * n];
            for (&term, row) in terms.iter().zip(rows.chunks_mut(n)) {
                row[term] = FACTOR;
                row[plan.partners[term]] = -ROUNDED;
            }
            let results = op.sums(&rows).map_err(ProbeError::Op)?;
            for (&term, &result) in terms.iter().zip(&results) {
                self.0[term] = result == LOST;
                if result != LOST && result != 0.0 {
                    return Err(ProbeError::Product { term, result });
                }
            }
        }
        Ok(())
    }
}

/// Which terms are asked about beside which others. A product can only be told to be fused where
/// something is in the sum it is added to: its partner is a term of that sum. The terms are of two
/// sides, each with its partners on the other one.
#[derive(Clone, Debug)]
pub struct Plan {
    partners: Vec<usize>,
    sides: Vec<bool>,
}

impl Plan {
    /// For the products of a tree.
    pub fn new(tree: &Tree) -> Plan {
        let n = tree.leaves();
        let mut first: Vec<usize> = (0..n).collect();
        let mut partners = vec![0; n];
        let mut sides = vec![false; n];
        for parts in tree.merges() {
            // Parts stand in the order of their smallest terms.
            for &part in parts.iter().filter(|&&part| part < n) {
                let other = if part == parts[0] { parts[1] } else { parts[0] };
                partners[part] = first[other];
            }
            first.push(first[parts[0]]);
            // A sum's smallest term is on the first side until it turns out to be alone there.
            for &part in parts.iter().filter(|&&part| part < n) {
                let alone = part == parts[0] && parts[1] >= n;
                sides[part] = if alone || part != parts[0] {
                    !sides[partners[part]]
                } else {
                    false
                };
            }
        }
        Plan { partners, sides }
    }

    /// The factors to give an operation that is asked about a side: [`FACTOR`] for its terms, 1
    /// for the others.
    pub fn factors(&self, side: bool) -> Vec<f32> {
        let factor = |&own: &bool| if own == side { FACTOR } else { 1.0 };
        self.sides.iter().map(factor).collect()
    }
}

/// In a few words: `no product`, `all products`, `all products but that of term 0`.
impl std::fmt::Display for Fused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.count(), self.0.len()) {
            (0, _) => f.write_str("no product"),
            (count, n) if count == n => f.write_str("all products"),
            (count, n) if count + 1 == n && !self.contains(0) => {
                f.write_str("all products but that of term 0")
            }
            (count, n) => write!(f, "{count} of {n} products"),
        }
    }
}
