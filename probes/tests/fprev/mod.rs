//! FPRev's own algorithm (`fprev` in its fprev.py, commit 0d7a198), for counting and comparing.

#![allow(dead_code, reason = "each test takes what it needs")]

use probes::order::Tree;

/// How often FPRev calls an operation that adds in a tree's order.
pub fn calls(tree: &Tree) -> usize {
    let mut calls = 0;
    let common = Common::of(tree);
    run((0..tree.leaves()).collect(), &mut |i, j| {
        calls += 1;
        common.size(i, j)
    });
    calls
}

/// How many edges the tree has that FPRev finds.
pub fn edges(n: usize, mut l: impl FnMut(usize, usize) -> i64) -> usize {
    run((0..n).collect(), &mut l).2
}

/// The root, the number of leaves it is said to have, and edges.
fn run(indexes: Vec<usize>, l: &mut dyn FnMut(usize, usize) -> i64) -> (usize, i64, usize) {
    let i = indexes[0];
    if indexes.len() == 1 {
        return (i, 1, 0);
    }
    let mut sized: Vec<(i64, usize)> = indexes[1..].iter().map(|&j| (l(i, j), j)).collect();
    sized.sort_unstable();
    let (mut root, mut edges, mut k) = (i, 0, 0);
    while k < sized.len() {
        let same = sized[k..]
            .iter()
            .take_while(|(size, _)| *size == sized[k].0);
        let part: Vec<usize> = same.map(|&(_, j)| j).collect();
        let count = part.len();
        let (other, leaves, inner) = run(part, l);
        edges += inner;
        if leaves == count as i64 {
            edges += 2;
            root = i;
        } else {
            edges += 1;
            root = other;
        }
        k += count;
    }
    (root, sized[sized.len() - 1].0, edges)
}

/// Sizes of smallest common sums.
struct Common {
    leaves: usize,
    parent: Vec<usize>,
    depth: Vec<usize>,
    size: Vec<i64>,
}

impl Common {
    fn of(tree: &Tree) -> Common {
        let (n, parts) = (tree.leaves(), tree.leaves() + tree.nodes());
        let (mut parent, mut depth) = (vec![0; parts], vec![0; parts]);
        let mut size = vec![1; parts];
        for (k, own) in tree.merges().enumerate() {
            size[n + k] = own.iter().map(|&part| size[part]).sum();
            own.iter().for_each(|&part| parent[part] = n + k);
        }
        for part in (0..parts.saturating_sub(1)).rev() {
            depth[part] = depth[parent[part]] + 1;
        }
        Common {
            leaves: n,
            parent,
            depth,
            size,
        }
    }

    fn size(&self, mut a: usize, mut b: usize) -> i64 {
        assert!(a < self.leaves && b < self.leaves);
        while a != b {
            if self.depth[a] >= self.depth[b] {
                a = self.parent[a];
            } else {
                b = self.parent[b];
            }
        }
        self.size[a]
    }
}
