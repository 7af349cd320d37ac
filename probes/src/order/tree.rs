//! A summation tree: which partial sums are added, down to single terms.

use half::bf16;

use super::{Form, Fused};

/// What an operation rounds its sums to; the nearest value, ties to even.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// F32 terms, every partial sum to F32.
    #[default]
    F32,
    /// BF16 terms, every partial sum to F32 and from there to BF16.
    Bf16,
    /// BF16 terms, every partial sum to F32, and the last one to BF16.
    Bf16Once,
}

impl Rounding {
    /// The value nearest to `x` in the dtype of terms and result.
    pub fn round(self, x: f32) -> f32 {
        match self {
            Rounding::F32 => x,
            Rounding::Bf16 | Rounding::Bf16Once => bf16::from_f32(x).to_f32(),
        }
    }

    /// What a partial sum is kept as.
    pub(super) fn partial(self, x: f32) -> f32 {
        match self {
            Rounding::F32 | Rounding::Bf16Once => x,
            Rounding::Bf16 => self.round(x),
        }
    }
}

/// Why merges are no tree; completes "failed to …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// Merges leave several sums, or there is nothing that they could add.
    #[error("build a tree of {leaves} leaves from {merges} merges")]
    Count {
        /// Leaves.
        leaves: usize,
        /// Merges given.
        merges: usize,
    },
    /// A merge adds what is not there yet, or is part of another sum already.
    #[error("add part {part} in merge {merge}: it is not there, or used before")]
    Part {
        /// The merge, from 0.
        merge: usize,
        /// The part.
        part: usize,
    },
    /// A merge of fewer than two parts.
    #[error("add {parts} parts in merge {merge}: a sum has two or more")]
    Parts {
        /// The merge, from 0.
        merge: usize,
        /// How many parts it has.
        parts: usize,
    },
}

/// The order in which `n` terms are added: a tree whose leaves are the terms `0..n`. A node adds
/// two parts, or more at once, as matrix units do.
///
/// Trees that differ only in which operand stands left are one tree: addition is commutative. So
/// equality is that of the arithmetic. A tree of no terms is the sum +0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    leaves: usize,
    /// The parts of all nodes, one node after the other. Leaf `i` is part `i`, node `k` is part
    /// `leaves + k` and adds earlier parts, the one with the smallest leaf first. Nodes stand in
    /// the order of a depth-first walk.
    parts: Vec<usize>,
    /// Where each node's parts end.
    ends: Vec<usize>,
}

impl Tree {
    /// The tree of sums made one after the other. Parts `0..leaves` are the leaves; the `k`-th
    /// merge adds parts and is then part `leaves + k`. The last is the root.
    ///
    /// # Errors
    /// When a merge has fewer than two parts, or the merges do not use every part but the root
    /// exactly once.
    pub fn from_merges<M: AsRef<[usize]>>(leaves: usize, merges: &[M]) -> Result<Tree, MergeError> {
        let mut used = vec![false; leaves + merges.len()];
        for (merge, parts) in merges.iter().enumerate() {
            let parts = parts.as_ref();
            if parts.len() < 2 {
                let parts = parts.len();
                return Err(MergeError::Parts { merge, parts });
            }
            for &part in parts {
                if part >= leaves + merge || std::mem::replace(&mut used[part], true) {
                    return Err(MergeError::Part { merge, part });
                }
            }
        }
        // The root alone is no part of anything.
        if used.iter().filter(|&&used| !used).count() != leaves.min(1) {
            let merges = merges.len();
            return Err(MergeError::Count { leaves, merges });
        }
        Ok(Tree::canonical(leaves, merges))
    }

    /// [`Tree::from_merges`] of merges that are known to be a tree.
    pub(super) fn canonical<M: AsRef<[usize]>>(leaves: usize, merges: &[M]) -> Tree {
        let mut first: Vec<usize> = (0..leaves).collect();
        for merge in merges {
            let smallest = merge.as_ref().iter().map(|&part| first[part]).min();
            first.push(smallest.unwrap_or(0));
        }
        let mut tree = Tree {
            leaves,
            parts: Vec::with_capacity(leaves + merges.len()),
            ends: Vec::with_capacity(merges.len()),
        };
        let mut renamed: Vec<usize> = (0..leaves + merges.len()).collect();
        let root = (leaves + merges.len()).checked_sub(1);
        let mut walk: Vec<(usize, bool)> = root.into_iter().map(|root| (root, false)).collect();
        let mut ordered = Vec::new();
        while let Some((part, seen)) = walk.pop() {
            let Some(node) = part.checked_sub(leaves) else {
                continue;
            };
            ordered.clear();
            ordered.extend_from_slice(merges[node].as_ref());
            ordered.sort_unstable_by_key(|&part| first[part]);
            if seen {
                renamed[part] = leaves + tree.ends.len();
                tree.parts.extend(ordered.iter().map(|&part| renamed[part]));
                tree.ends.push(tree.parts.len());
            } else {
                walk.push((part, true));
                walk.extend(ordered.iter().rev().map(|&part| (part, false)));
            }
        }
        tree
    }

    /// `((x₀ + x₁) + x₂) + …`
    pub fn sequential(n: usize) -> Tree {
        Form::Sequential.tree(n)
    }

    /// Terms added one after the other, in this order: all of `0..n`.
    pub(super) fn chain(order: &[usize]) -> Tree {
        let n = order.len();
        let before = |k: usize| if k == 1 { order[0] } else { n + k - 2 };
        let merges: Vec<[usize; 2]> = (1..n).map(|k| [before(k), order[k]]).collect();
        Tree::canonical(n, &merges)
    }

    /// How many terms are added.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// How many sums are made.
    pub fn nodes(&self) -> usize {
        self.ends.len()
    }

    /// What the `k`-th sum adds, the part with the smallest term first.
    ///
    /// # Panics
    /// When there is no such sum.
    pub fn node(&self, k: usize) -> &[usize] {
        let start = k.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.parts[start..self.ends[k]]
    }

    /// The sums in an order in which they can be made, as [`Tree::from_merges`] takes them.
    pub fn merges(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        (0..self.nodes()).map(|k| self.node(k))
    }

    /// The most parts that a sum adds at once; 2 in a tree of plain additions.
    pub fn fan_in(&self) -> usize {
        self.merges().map(<[usize]>::len).max().unwrap_or(0)
    }

    /// The most additions that a term takes part in.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.leaves];
        for parts in self.merges() {
            depths.push(1 + parts.iter().map(|&part| depths[part]).max().unwrap_or(0));
        }
        depths.last().copied().unwrap_or(0)
    }

    /// The shape with a name that the tree has, if any.
    pub fn form(&self) -> Option<Form> {
        Form::of(self)
    }

    /// The sum of `terms` in this order, in F32.
    ///
    /// # Panics
    /// When there are not as many terms as leaves.
    pub fn replay(&self, terms: &[f32]) -> f32 {
        self.replay_rounded(Rounding::F32, terms)
    }

    /// The sum of `terms` in this order, rounded as said. A node of more than two parts adds them
    /// in F64 and rounds once: how a matrix unit does it, the tree does not tell.
    ///
    /// # Panics
    /// When there are not as many terms as leaves.
    pub fn replay_rounded(&self, rounding: Rounding, terms: &[f32]) -> f32 {
        let add = |parts: &[usize], sums: &[f32]| match parts {
            [a, b] => sums[*a] + sums[*b],
            _ => at_once(parts.iter().map(|&part| f64::from(sums[part]))),
        };
        self.walk(rounding, terms.to_vec(), add)
    }

    /// The sum of products in this order, rounded as said. Those that are fused are added without
    /// being rounded; of two that are added to each other, the second.
    ///
    /// # Panics
    /// When there are not as many terms and factors as leaves.
    pub fn replay_products(
        &self,
        rounding: Rounding,
        terms: &[f32],
        factors: &[f32],
        fused: &Fused,
    ) -> f32 {
        assert_eq!(factors.len(), self.leaves, "one factor for each leaf");
        let products = terms
            .iter()
            .zip(factors)
            .map(|(term, factor)| term * factor);
        let add = |parts: &[usize], sums: &[f32]| match *parts {
            [a, b] if fused.contains(b) => terms[b].mul_add(factors[b], sums[a]),
            [a, b] if fused.contains(a) => terms[a].mul_add(factors[a], sums[b]),
            [a, b] => sums[a] + sums[b],
            _ => at_once(parts.iter().map(|&part| match fused.contains(part) {
                true => f64::from(terms[part]) * f64::from(factors[part]),
                false => f64::from(sums[part]),
            })),
        };
        self.walk(rounding, products.collect(), add)
    }

    fn walk(
        &self,
        rounding: Rounding,
        mut sums: Vec<f32>,
        add: impl Fn(&[usize], &[f32]) -> f32,
    ) -> f32 {
        assert_eq!(sums.len(), self.leaves, "one term for each leaf");
        sums.reserve(self.nodes());
        for parts in self.merges() {
            sums.push(rounding.partial(add(parts, &sums)));
        }
        rounding.round(sums.last().copied().unwrap_or(0.0))
    }
}

/// What a node makes of more than two parts: the exact sum, as long as F64 holds it, rounded.
fn at_once(parts: impl Iterator<Item = f64>) -> f32 {
    parts.sum::<f64>() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_equal_whatever_side_operands_stand_on() {
        let one = Tree::from_merges(4, &[[0, 1], [2, 3], [4, 5]]).unwrap();
        let other = Tree::from_merges(4, &[[3, 2], [1, 0], [4, 5]]).unwrap();
        assert_eq!(one, other);
        assert_ne!(one, Tree::sequential(4));
        assert_eq!((one.depth(), Tree::sequential(4).depth()), (2, 3));
        let many = Tree::from_merges(5, &[vec![4, 2, 3], vec![1, 5, 0]]).unwrap();
        let same = Tree::from_merges(5, &[vec![3, 4, 2], vec![0, 1, 5]]).unwrap();
        assert_eq!(many, same);
        assert_eq!((many.fan_in(), many.nodes(), many.depth()), (3, 2, 2));
    }

    #[test]
    fn merges_that_are_no_tree_are_refused() {
        let merge = |merges: &[&[usize]]| Tree::from_merges(3, merges).unwrap_err();
        assert_eq!(
            merge(&[&[0, 1]]),
            MergeError::Count {
                leaves: 3,
                merges: 1
            }
        );
        assert_eq!(
            merge(&[&[0, 1], &[3, 1]]),
            MergeError::Part { merge: 1, part: 1 }
        );
        assert_eq!(
            merge(&[&[0, 4], &[1, 2]]),
            MergeError::Part { merge: 0, part: 4 }
        );
        assert_eq!(
            merge(&[&[0, 0], &[1, 2]]),
            MergeError::Part { merge: 0, part: 0 }
        );
        assert_eq!(
            merge(&[&[0], &[1, 2, 3]]),
            MergeError::Parts { merge: 0, parts: 1 }
        );
    }

    #[test]
    fn a_replay_adds_in_the_order_of_the_tree_and_rounds_each_sum() {
        let terms = [1.0, 1e8, -1e8, 1.0];
        assert_eq!(Tree::sequential(4).replay(&terms), 1.0);
        let inner = Tree::from_merges(4, &[[1, 2], [0, 4], [5, 3]]).unwrap();
        assert_eq!(inner.replay(&terms), 2.0);
        let at_once = Tree::from_merges(4, &[[0, 1, 2, 3]]).unwrap();
        assert_eq!(at_once.replay(&terms), 2.0);
        let ones = vec![1.0; 300];
        assert_eq!(
            Tree::sequential(300).replay_rounded(Rounding::Bf16, &ones),
            256.0
        );
        assert_eq!(Tree::sequential(0).replay(&[]), 0.0);
        assert_eq!(
            Tree::sequential(1).replay(&[-0.0]).to_bits(),
            (-0.0f32).to_bits()
        );
    }
}
