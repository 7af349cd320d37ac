//! A summation tree: which partial sums are added, down to single terms.

use half::bf16;

use super::Form;

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
    fn partial(self, x: f32) -> f32 {
        match self {
            Rounding::F32 | Rounding::Bf16Once => x,
            Rounding::Bf16 => self.round(x),
        }
    }
}

/// Why merges are no tree; completes "failed to …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// One tree takes one merge less than it has leaves.
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
}

/// The order in which `n` terms are added: a binary tree whose leaves are the terms `0..n`.
///
/// Trees that differ only in which operand stands left are one tree: addition is commutative. So
/// equality is that of the arithmetic. A tree of no terms is the sum +0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    leaves: usize,
    /// Parts: leaf `i` is part `i`, node `k` is part `leaves + k` and adds two earlier parts, the
    /// one with the smallest leaf first. Nodes stand in the order of a depth-first walk.
    nodes: Vec<[usize; 2]>,
}

impl Tree {
    /// The tree of sums made one after the other. Parts `0..leaves` are the leaves; the `k`-th
    /// merge adds two parts and is then part `leaves + k`. The last is the root.
    ///
    /// # Errors
    /// When the merges do not use every part but the root exactly once.
    pub fn from_merges(leaves: usize, merges: &[[usize; 2]]) -> Result<Tree, MergeError> {
        if merges.len() != leaves.saturating_sub(1) {
            let merges = merges.len();
            return Err(MergeError::Count { leaves, merges });
        }
        let mut used = vec![false; leaves + merges.len()];
        for (merge, parts) in merges.iter().enumerate() {
            for &part in parts {
                if part >= leaves + merge || std::mem::replace(&mut used[part], true) {
                    return Err(MergeError::Part { merge, part });
                }
            }
        }
        Ok(Tree::canonical(leaves, merges))
    }

    /// [`Tree::from_merges`] of merges that are known to be a tree.
    pub(super) fn canonical(leaves: usize, merges: &[[usize; 2]]) -> Tree {
        let mut first: Vec<usize> = (0..leaves).collect();
        let mut ordered = Vec::with_capacity(merges.len());
        for &[a, b] in merges {
            ordered.push(if first[a] < first[b] { [a, b] } else { [b, a] });
            first.push(first[a].min(first[b]));
        }
        let mut nodes = Vec::with_capacity(merges.len());
        let mut renamed: Vec<usize> = (0..leaves + merges.len()).collect();
        let mut walk: Vec<(usize, bool)> = (leaves + merges.len())
            .checked_sub(1)
            .into_iter()
            .map(|root| (root, false))
            .collect();
        while let Some((part, seen)) = walk.pop() {
            let Some(node) = part.checked_sub(leaves) else {
                continue;
            };
            let [a, b] = ordered[node];
            if seen {
                renamed[part] = leaves + nodes.len();
                nodes.push([renamed[a], renamed[b]]);
            } else {
                walk.extend([(part, true), (b, false), (a, false)]);
            }
        }
        Tree { leaves, nodes }
    }

    /// `((x₀ + x₁) + x₂) + …`
    pub fn sequential(n: usize) -> Tree {
        Form::Sequential.tree(n)
    }

    /// How many terms are added.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// The additions in an order in which they can be made, as [`Tree::from_merges`] takes them.
    pub fn merges(&self) -> &[[usize; 2]] {
        &self.nodes
    }

    /// The most additions that a term takes part in.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.leaves];
        for &[a, b] in &self.nodes {
            depths.push(1 + depths[a].max(depths[b]));
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

    /// The sum of `terms` in this order, rounded as said.
    ///
    /// # Panics
    /// When there are not as many terms as leaves.
    pub fn replay_rounded(&self, rounding: Rounding, terms: &[f32]) -> f32 {
        assert_eq!(terms.len(), self.leaves, "one term for each leaf");
        let mut parts = Vec::with_capacity(self.leaves + self.nodes.len());
        parts.extend_from_slice(terms);
        for &[a, b] in &self.nodes {
            parts.push(rounding.partial(parts[a] + parts[b]));
        }
        rounding.round(parts.last().copied().unwrap_or(0.0))
    }
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
    }

    #[test]
    fn merges_that_are_no_tree_are_refused() {
        let merge = |merges: &[[usize; 2]]| Tree::from_merges(3, merges).unwrap_err();
        assert_eq!(
            merge(&[[0, 1]]),
            MergeError::Count {
                leaves: 3,
                merges: 1
            }
        );
        assert_eq!(
            merge(&[[0, 1], [3, 1]]),
            MergeError::Part { merge: 1, part: 1 }
        );
        assert_eq!(
            merge(&[[0, 4], [1, 2]]),
            MergeError::Part { merge: 0, part: 4 }
        );
        assert_eq!(
            merge(&[[0, 0], [1, 2]]),
            MergeError::Part { merge: 0, part: 0 }
        );
    }

    #[test]
    fn a_replay_adds_in_the_order_of_the_tree_and_rounds_each_sum() {
        let terms = [1.0, 1e8, -1e8, 1.0];
        assert_eq!(Tree::sequential(4).replay(&terms), 1.0);
        let inner = Tree::from_merges(4, &[[1, 2], [0, 4], [5, 3]]).unwrap();
        assert_eq!(inner.replay(&terms), 2.0);
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
