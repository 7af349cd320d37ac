//! Running sums are told from few vectors, and nothing else is taken for one.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod fprev;

use std::convert::Infallible;

use probes::order::{Each, Form, Revealed, Rounding, Tree, reveal};

/// Marsaglia's xorshift.
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }
}

fn revealed(tree: &Tree, sum: impl Fn(&Tree, &[f32]) -> f32) -> Revealed {
    let op = |terms: &[f32]| Ok::<f32, Infallible>(sum(tree, terms));
    reveal(&mut Each::new(tree.leaves(), op)).unwrap()
}

/// Adds as [`Tree::replay`] does, and several parts at once as matrix units do: cut off where the
/// largest of them ends.
fn units(tree: &Tree, terms: &[f32]) -> f32 {
    let mut sums = terms.to_vec();
    for parts in tree.merges() {
        let parts: Vec<f64> = parts.iter().map(|&part| f64::from(sums[part])).collect();
        let largest = parts.iter().fold(0.0f64, |most, part| most.max(part.abs()));
        let last = 2f64.powi(largest.max(f64::MIN_POSITIVE).log2().floor() as i32 - 26);
        sums.push(match parts[..] {
            [a, b] => a as f32 + b as f32,
            _ => (parts.iter().map(|part| (part / last).trunc()).sum::<f64>() * last) as f32,
        });
    }
    sums.last().copied().unwrap_or(0.0)
}

/// Adds parts in turn; a part is a term, or terms that are added to each other before.
fn spine(parts: &[Vec<usize>]) -> Tree {
    let n: usize = parts.iter().map(Vec::len).sum();
    let mut merges: Vec<Vec<usize>> = Vec::new();
    let mut sums = Vec::new();
    for part in parts {
        let mut sum = part[0];
        for &term in &part[1..] {
            merges.push(vec![sum, term]);
            sum = n + merges.len() - 1;
        }
        sums.push(sum);
    }
    let mut sum = sums[0];
    for &part in &sums[1..] {
        merges.push(vec![sum, part]);
        sum = n + merges.len() - 1;
    }
    Tree::from_merges(n, &merges).unwrap()
}

/// A tree that is nearly the sequential one, or its mirror image.
fn nearly(draw: &mut Draw, n: usize) -> Tree {
    let mut parts: Vec<Vec<usize>> = (0..n).map(|term| vec![term]).collect();
    let (a, b) = (draw.below(n), draw.below(n));
    match draw.below(5) {
        0 => parts.swap(a, b),
        1 => {
            let a = a.min(n - 2);
            parts.swap(a, a + 1);
        }
        2 => {
            let part = parts.remove(a);
            parts.insert(b.min(n - 1), part);
        }
        3 => {
            // Some are added to each other first.
            let a = a.min(n - 2);
            let count = 2 + draw.below(3.min(n - a - 1));
            let own: Vec<usize> = (a..n.min(a + count)).collect();
            parts.splice(a..n.min(a + count), [own]);
        }
        _ => {
            let (low, high) = (a.min(b), a.max(b));
            parts[low..=high].reverse();
        }
    }
    if draw.below(4) == 0 {
        parts.reverse();
    }
    spine(&parts)
}

/// Any tree.
fn any(draw: &mut Draw, n: usize) -> Tree {
    let mut open: Vec<usize> = (0..n).collect();
    let mut merges = Vec::new();
    while open.len() > 1 {
        let many = 2 + usize::from(draw.below(8) == 0 && open.len() > 2);
        let parts: Vec<usize> = (0..many)
            .map(|_| open.swap_remove(draw.below(open.len())))
            .collect();
        merges.push(parts);
        open.push(n + merges.len() - 1);
    }
    Tree::from_merges(n, &merges).unwrap()
}

/// The sequential tree with a node that adds several terms at once.
fn at_once(draw: &mut Draw, n: usize) -> Tree {
    let (at, many) = (draw.below(n - 3), 2 + draw.below(2));
    let mut merges: Vec<Vec<usize>> = Vec::new();
    let (mut sum, mut term) = (0, 1);
    while term < n {
        let count = if term > at && merges.len() <= at {
            many
        } else {
            1
        };
        let own = term..n.min(term + count);
        merges.push([sum].into_iter().chain(own.clone()).collect());
        (sum, term) = (n + merges.len() - 1, own.end);
    }
    Tree::from_merges(n, &merges).unwrap()
}

#[test]
fn no_other_tree_is_taken_for_a_running_sum() {
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    for round in 0..12_000 {
        let n = 32 + draw.below(60);
        let tree = match round % 6 {
            0 => any(&mut draw, n),
            1 => at_once(&mut draw, n),
            _ => nearly(&mut draw, n),
        };
        let found = revealed(&tree, units);
        assert_eq!(found.tree, tree, "{tree}: {}", found.tree);
        let peer = fprev::calls(&tree);
        // Of a tree without any shape, one in some thousands takes a few more.
        let most = if round % 6 == 0 { peer + 8 } else { peer };
        assert!(
            found.vectors <= most,
            "{tree}: {} for {peer}",
            found.vectors
        );
    }
}

/// A result in BF16 would hide what is missing from the trial's.
#[test]
fn a_narrow_result_is_not_trusted() {
    let once = |tree: &Tree, terms: &[f32]| tree.replay_rounded(Rounding::Bf16Once, terms);
    let mut draw = Draw(11);
    for _ in 0..300 {
        let n = 130 + draw.below(120);
        let tree = nearly(&mut draw, n);
        assert_eq!(revealed(&tree, once).tree, tree);
    }
}

/// Every swap of two places, of neighbours too.
#[test]
fn every_single_swap_is_seen() {
    let n = 45;
    for a in 0..n {
        for b in a..n {
            let mut parts: Vec<Vec<usize>> = (0..n).map(|term| vec![term]).collect();
            parts.swap(a, b);
            let tree = spine(&parts);
            assert_eq!(revealed(&tree, Tree::replay).tree, tree, "{a} and {b}");
        }
    }
}

/// The sum in F64, rounded at the end: M and −M hide nothing that the trial would not see.
#[test]
fn a_wider_accumulator_is_not_taken_for_a_running_sum_in_f32() {
    let wide = |tree: &Tree, terms: &[f32]| {
        let mut sums: Vec<f64> = terms.iter().map(|&term| f64::from(term)).collect();
        for parts in tree.merges() {
            sums.push(parts.iter().map(|&part| sums[part]).sum());
        }
        sums.last().copied().unwrap_or(0.0) as f32
    };
    let n = 200;
    let mut draw = Draw(7);
    for _ in 0..50 {
        let tree = nearly(&mut draw, n);
        let found = revealed(&tree, wide);
        assert_eq!(found.tree, tree);
    }
    assert!(revealed(&Tree::sequential(n), wide).vectors >= n - 1);
    assert!(revealed(&Tree::sequential(n), Tree::replay).vectors < n / 10);
}

#[test]
fn running_sums_take_few_vectors_either_way() {
    for n in [32, 33, 50, 51, 52, 100, 1152, 4096] {
        for form in [Form::Sequential, Form::RightToLeft] {
            let tree = form.tree(n);
            let found = revealed(&tree, Tree::replay);
            assert_eq!(found.tree, tree);
            // A vector for 18 terms, and one each time that some are known to be in place.
            assert!(
                found.vectors <= n.div_ceil(18) + 2,
                "{n}: {}",
                found.vectors
            );
            assert!(found.checks <= 10);
        }
    }
}
