//! Sums of positive terms: their orders are told by what a large term swallows.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::convert::Infallible;

use probes::order::{Form, Join, Positive, ProbeError, Revealed, Rounding, Tree, reveal_positive};

/// Terms added in a tree's order, in F32 or in BF16; `shown` is what there is to see of a sum.
struct Adds<'t> {
    tree: &'t Tree,
    rounding: Rounding,
    shown: fn(f32) -> f32,
}

impl Adds<'_> {
    /// B, and the number after it.
    fn large(&self) -> [f32; 2] {
        let bits = if self.rounding == Rounding::F32 {
            23
        } else {
            7
        };
        let large = f32::from(2u8).powi(bits);
        [large, large + 1.0]
    }
}

impl Positive for Adds<'_> {
    type Error = Infallible;

    fn terms(&self) -> usize {
        self.tree.leaves()
    }

    fn rows(&self) -> usize {
        16
    }

    fn fineness(&self) -> u32 {
        if self.rounding == Rounding::F32 {
            20
        } else {
            7
        }
    }

    fn grows(&mut self, large: &[usize], rows: &[f32]) -> Result<Vec<Option<bool>>, Infallible> {
        let [b, next] = self.large();
        let answer = |(&large, row): (&usize, &[f32])| {
            let mut row = row.to_vec();
            assert!(row.iter().all(|term| (0.0..=1.0).contains(term)));
            row[large] = b;
            let sum = (self.shown)(self.tree.replay_rounded(self.rounding, &row));
            match sum {
                sum if sum == (self.shown)(b) => Some(false),
                sum if sum == (self.shown)(next) => Some(true),
                _ => None,
            }
        };
        Ok(large
            .iter()
            .zip(rows.chunks(self.terms()))
            .map(answer)
            .collect())
    }
}

fn revealed(tree: &Tree, rounding: Rounding) -> Revealed {
    let shown = |sum| sum;
    reveal_positive(&mut Adds {
        tree,
        rounding,
        shown,
    })
    .unwrap()
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }

    fn tree(&mut self, n: usize) -> Tree {
        let mut open: Vec<usize> = (0..n).collect();
        let mut merges = Vec::new();
        while open.len() > 1 {
            let parts = [(); 2].map(|()| open.swap_remove(self.below(open.len())));
            merges.push(parts);
            open.push(n + merges.len() - 1);
        }
        Tree::from_merges(n, &merges).unwrap()
    }
}

#[test]
fn any_tree_is_revealed_in_f32_and_in_bf16() {
    let mut draw = Draw(0x1234_5678_9abc_def1);
    for round in 0..1500 {
        let n = 2 + draw.below(if round % 50 == 0 { 150 } else { 40 });
        let tree = draw.tree(n);
        for rounding in [Rounding::F32, Rounding::Bf16] {
            let found = revealed(&tree, rounding);
            assert_eq!(found.tree, tree, "{tree} in {rounding:?}: {}", found.tree);
        }
    }
}

#[test]
fn shapes_with_a_name_are_revealed_from_fewer_vectors_than_there_are_pairs() {
    let (halving, then) = (Join::Halving, Join::Sequential);
    let forms = [
        Form::Sequential,
        Form::RightToLeft,
        Form::Pairwise,
        Form::Lanes {
            count: 8,
            then: halving,
        },
        Form::Lanes {
            count: 32,
            then: halving,
        },
        Form::Runs { len: 24, then },
    ];
    for form in forms {
        for n in [2, 3, 64, 100, 300] {
            let tree = form.tree(n);
            let found = revealed(&tree, Rounding::F32);
            assert_eq!(found.tree, tree, "{form} of {n}");
            let pairs = n * (n - 1) / 2;
            assert!(
                n < 300 || found.vectors < pairs,
                "{form}: {} of {pairs}",
                found.vectors
            );
            // In BF16 no more than 62 terms are live at a time.
            assert_eq!(
                revealed(&tree, Rounding::Bf16).tree,
                tree,
                "{form} of {n} in BF16"
            );
        }
    }
}

#[test]
fn what_does_not_show_the_last_bit_is_refused() {
    let tree = Tree::sequential(10);
    for rounding in [Rounding::F32, Rounding::Bf16] {
        let shown = |sum: f32| Rounding::Bf16.round(sum / 1e3).floor();
        let error = reveal_positive(&mut Adds {
            tree: &tree,
            rounding,
            shown,
        })
        .unwrap_err();
        assert!(matches!(error, ProbeError::Unabsorbed { .. }), "{error}");
    }
}

#[test]
fn terms_that_are_added_at_once_are_not_taken_for_additions_of_two() {
    let tree = Tree::from_merges(5, &[&[0, 1, 2][..], &[3, 4, 5]]).unwrap();
    let shown = |sum| sum;
    let found = reveal_positive(&mut Adds {
        tree: &tree,
        rounding: Rounding::F32,
        shown,
    });
    assert!(found.is_err_and(|error| matches!(error, ProbeError::Inconsistent { .. })));
}
