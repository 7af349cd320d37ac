//! Shapes of trees that have a name.

use super::{Device, Tree};

/// How several partial sums become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Join {
    /// `((s₀ + s₁) + s₂) + …`
    Sequential,
    /// The `i`-th with the one half their number away, until one is left: `(s₀ + s₂) + (s₁ + s₃)`.
    /// Where the number is odd, the last waits for the next round.
    Halving,
    /// Neighbours, until one is left: `(s₀ + s₁) + (s₂ + s₃)`. Where the number is odd, the last
    /// waits for the next round.
    Pairwise,
}

impl Join {
    /// All joins, from the plainest on: where they are the same, the first one names them.
    const ALL: [Join; 3] = [Join::Sequential, Join::Halving, Join::Pairwise];

    const fn name(self) -> &'static str {
        match self {
            Join::Sequential => "sequential",
            Join::Halving => "halving",
            Join::Pairwise => "pairwise",
        }
    }
}

/// A shape of trees that is stated for any number of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `((x₀ + x₁) + x₂) + …`
    Sequential,
    /// `x₀ + (x₁ + (x₂ + …))`
    RightToLeft,
    /// [`Join::Pairwise`] of the terms.
    Pairwise,
    /// `count` running sums, the `i`-th over the terms `i`, `i + count`, `i + 2·count`, …
    Lanes {
        /// How many; 0 is as 1.
        count: usize,
        /// How they become one.
        then: Join,
    },
    /// Running sums over `len` neighbours each, the last over what is left.
    Runs {
        /// How many terms; 0 is as 1.
        len: usize,
        /// How they become one.
        then: Join,
    },
    /// A shape that GPU threads add in.
    Device(Device),
}

impl Form {
    /// The tree of this shape over `n` terms.
    pub fn tree(self, n: usize) -> Tree {
        let mut sums = Merges {
            next: n,
            merges: Vec::with_capacity(n.saturating_sub(1)),
        };
        match self {
            Form::Sequential => sums.join(Join::Sequential, 0..n),
            Form::RightToLeft => sums.join(Join::Sequential, (0..n).rev()),
            Form::Pairwise => sums.join(Join::Pairwise, 0..n),
            Form::Lanes { count, then } => {
                let count = count.max(1);
                let lanes: Vec<usize> = (0..count.min(n))
                    .filter_map(|lane| sums.join(Join::Sequential, (lane..n).step_by(count)))
                    .collect();
                sums.join(then, lanes)
            }
            Form::Runs { len, then } => {
                let len = len.max(1);
                let runs: Vec<usize> = (0..n)
                    .step_by(len)
                    .filter_map(|start| sums.join(Join::Sequential, start..n.min(start + len)))
                    .collect();
                sums.join(then, runs)
            }
            Form::Device(device) => return device.tree(n),
        };
        Tree::canonical(n, &sums.merges)
    }

    /// The shape of a tree. Where several are the same tree, the first in the order of the
    /// variants names it.
    pub(super) fn of(tree: &Tree) -> Option<Form> {
        let n = tree.leaves();
        let joined = |form: fn(usize, Join) -> Form, size: usize| {
            Join::ALL.into_iter().map(move |then| form(size, then))
        };
        // The term that is added to the first one has the number of lanes as its own.
        let partner = tree.merges().find(|parts| parts[0] == 0);
        let partner = partner.map(|parts| parts[1]);
        let lanes = partner.filter(|&b| 2 * b <= n).into_iter();
        let lanes =
            lanes.flat_map(|count| joined(|count, then| Form::Lanes { count, then }, count));
        // The running sum that begins with the first term is the first run.
        let mut run = (1, 0);
        for parts in tree.merges() {
            if *parts == [run.1, run.0] {
                run = (run.0 + 1, n + run.0 - 1);
            }
        }
        let runs = Some(run.0).filter(|&len| len > 1).into_iter();
        let runs = runs.flat_map(|len| joined(|len, then| Form::Runs { len, then }, len));
        [Form::Sequential, Form::RightToLeft, Form::Pairwise]
            .into_iter()
            .chain(lanes)
            .chain(runs)
            .find(|form| form.tree(n) == *tree)
            .or_else(|| Device::of(tree).map(Form::Device))
    }
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Form::Sequential => f.write_str("sequential"),
            Form::RightToLeft => f.write_str("right to left"),
            Form::Pairwise => f.write_str("pairwise"),
            Form::Lanes { count, then } => write!(f, "{count} lanes, then {}", then.name()),
            Form::Device(device) => device.fmt(f),
            Form::Runs { len, then } => write!(f, "runs of {len}, then {}", then.name()),
        }
    }
}

/// Merges as they are made.
struct Merges {
    next: usize,
    merges: Vec<[usize; 2]>,
}

impl Merges {
    fn add(&mut self, a: usize, b: usize) -> usize {
        self.merges.push([a, b]);
        self.next += 1;
        self.next - 1
    }

    /// One part of many; none of none.
    fn join(&mut self, join: Join, parts: impl IntoIterator<Item = usize>) -> Option<usize> {
        let mut parts: Vec<usize> = parts.into_iter().collect();
        if join == Join::Sequential {
            return parts.into_iter().reduce(|sum, part| self.add(sum, part));
        }
        while parts.len() > 1 {
            let half = parts.len() / 2;
            let mut next: Vec<usize> = (0..half)
                .map(|i| match join {
                    Join::Halving => self.add(parts[i], parts[i + half]),
                    _ => self.add(parts[2 * i], parts[2 * i + 1]),
                })
                .collect();
            next.extend(&parts[2 * half..]);
            parts = next;
        }
        parts.pop()
    }
}
