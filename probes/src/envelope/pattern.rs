//! Patterns: which terms are added to which, stated for any number of terms.

use std::{collections::HashSet, fmt};

use super::matrix::Block;
use crate::order::{Form, Join, Tree};

/// A pattern of additions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// A shape with a name: sequential (forwards), right to left, pairwise, lanes, runs. Over a
    /// power of two of lanes, [`Join::Halving`] is the XOR butterfly with masks from half their
    /// number down to 1 (all lanes end with the same bits, for additions commute), and
    /// [`Join::Pairwise`] the one with masks from 1 up.
    Form(Form),
    /// A block of GPU threads: each adds `each` neighbours of every round to its running sum from
    /// +0, thread after thread; the 32 of a warp are joined by an XOR butterfly with masks 16, 8,
    /// 4, 2, 1; then the warps' sums are joined, up to 32 of them, as `then` says. Butterflies
    /// take +0 for a thread or warp that is not there.
    Warps {
        /// How many warps; 0 is as 1.
        warps: usize,
        /// Neighbours that a thread takes at a time; 0 is as 1.
        each: usize,
        /// How the warps' sums become one.
        then: Stage,
    },
    /// A matrix unit. No tree of additions of two.
    Block(Block),
    /// Any tree of additions of two, such as [`crate::order::reveal`] gives.
    Tree(Tree),
}

/// How the sums of warps become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// By a second butterfly, masks 16, 8, 4, 2, 1.
    Butterfly,
    /// One after the other.
    Sequential,
}

/// Threads in a warp.
const WARP: usize = 32;

/// What patterns are made of.
pub(super) trait Adder {
    /// A term or a sum.
    type Part: Copy;
    /// A term.
    fn term(&mut self, index: usize) -> Self::Part;
    /// What running sums begin with, if not with their first term.
    fn start(&mut self) -> Option<Self::Part>;
    /// +0.
    fn zero(&mut self) -> Self::Part;
    /// A sum.
    fn add(&mut self, a: Self::Part, b: Self::Part) -> Self::Part;
}

impl Pattern {
    /// The whole sum of `n` terms, which is +0 where there are none. `None` where the pattern is
    /// no tree over as many terms, or adds more than two operands at once.
    pub(super) fn walk<A: Adder>(&self, n: usize, adder: &mut A) -> Option<A::Part> {
        let sum = match self {
            Pattern::Form(form) => walk_form(*form, n, adder),
            &Pattern::Warps { warps, each, then } => {
                let (warps, each) = (warps.max(1), each.max(1));
                let mut sums = Vec::with_capacity(warps.max(WARP));
                for warp in 0..warps {
                    let lanes = (warp * WARP..(warp + 1) * WARP).map(|thread| {
                        let mut sum = adder.zero();
                        let rounds = (thread * each..n).step_by(warps * WARP * each);
                        for term in rounds.flat_map(|first| first..n.min(first + each)) {
                            let term = adder.term(term);
                            sum = adder.add(sum, term);
                        }
                        sum
                    });
                    let lanes = lanes.collect();
                    sums.extend(join(Join::Halving, lanes, adder));
                }
                match then {
                    Stage::Butterfly => {
                        let zero = adder.zero();
                        sums.resize(sums.len().next_multiple_of(WARP), zero);
                        // No block has more than 32 warps; more are joined block by block.
                        let blocks = sums.chunks(WARP).map(<[_]>::to_vec);
                        let blocks: Vec<_> = blocks
                            .filter_map(|block| join(Join::Halving, block, adder))
                            .collect();
                        join(Join::Sequential, blocks, adder)
                    }
                    Stage::Sequential => join(Join::Sequential, sums, adder),
                }
            }
            Pattern::Block(_) => return None,
            Pattern::Tree(tree) => {
                if tree.leaves() != n {
                    return None;
                }
                let mut parts: Vec<A::Part> = (0..n).map(|term| adder.term(term)).collect();
                for merge in tree.merges() {
                    let &[a, b] = merge else {
                        return None;
                    };
                    parts.push(adder.add(parts[a], parts[b]));
                }
                parts.pop()
            }
        };
        Some(sum.unwrap_or_else(|| adder.zero()))
    }

    /// The tree over `n` terms, if it is one.
    pub fn tree(&self, n: usize) -> Option<Tree> {
        let mut merges = Merges { n, merges: vec![] };
        self.walk(n, &mut merges)?;
        Tree::from_merges(n, &merges.merges).ok()
    }

    /// The patterns with a name that `n` terms can be added in. Where several are the same tree,
    /// the first names it.
    pub fn all(n: usize) -> Vec<Pattern> {
        let mut patterns: Vec<Pattern> = [Form::Sequential, Form::RightToLeft, Form::Pairwise]
            .map(Pattern::Form)
            .into();
        let joins = [Join::Sequential, Join::Halving, Join::Pairwise];
        for count in (1..=8).map(|power| 1 << power) {
            patterns.extend(joins.map(|then| Pattern::Form(Form::Lanes { count, then })));
        }
        let powers = (1..=9).map(|power| 1 << power);
        // Of long sums only the powers: a number of thousands has too many divisors.
        let divisors = (3..=n.min(4096) / 2).filter(|len| n <= 4096 && n.is_multiple_of(*len));
        let divisors = divisors.filter(|len| !len.is_power_of_two());
        for len in powers.chain(divisors) {
            patterns.extend(joins.map(|then| Pattern::Form(Form::Runs { len, then })));
        }
        for warps in (0..=5).map(|power| 1 << power) {
            for each in [1, 2, 4, 8] {
                let pattern = |then| Pattern::Warps { warps, each, then };
                patterns.push(pattern(Stage::Butterfly));
                patterns.push(pattern(Stage::Sequential));
            }
        }
        // Patterns that are the same for so many terms are the same for more.
        let enough = n.min(1 << 14);
        let mut seen = HashSet::new();
        patterns.retain(|pattern| pattern.tree(enough).is_some_and(|tree| seen.insert(tree)));
        patterns.extend(Block::KNOWN.map(Pattern::Block));
        patterns
    }
}

fn walk_form<A: Adder>(form: Form, n: usize, adder: &mut A) -> Option<A::Part> {
    match form {
        Form::Device(device) => Pattern::Tree(device.tree(n)).walk(n, adder),
        Form::Sequential => run(0..n, adder),
        Form::RightToLeft => run((0..n).rev(), adder),
        Form::Pairwise => {
            let terms = (0..n).map(|term| adder.term(term)).collect();
            join(Join::Pairwise, terms, adder)
        }
        Form::Lanes { count, then } => {
            let count = count.max(1);
            let lanes = (0..count.min(n)).filter_map(|lane| run((lane..n).step_by(count), adder));
            let lanes = lanes.collect();
            join(then, lanes, adder)
        }
        Form::Runs { len, then } => {
            let len = len.max(1);
            let starts = (0..n).step_by(len);
            let runs = starts.filter_map(|first| run(first..n.min(first + len), adder));
            let runs = runs.collect();
            join(then, runs, adder)
        }
    }
}

/// A running sum.
fn run<A: Adder>(terms: impl Iterator<Item = usize>, adder: &mut A) -> Option<A::Part> {
    let mut sum = adder.start();
    for term in terms {
        let term = adder.term(term);
        sum = Some(match sum {
            Some(sum) => adder.add(sum, term),
            None => term,
        });
    }
    sum
}

/// One part of many, as [`Join`] says.
fn join<A: Adder>(how: Join, mut parts: Vec<A::Part>, adder: &mut A) -> Option<A::Part> {
    if how == Join::Sequential {
        return parts.into_iter().reduce(|sum, part| adder.add(sum, part));
    }
    while parts.len() > 1 {
        let half = parts.len() / 2;
        let odd = parts.len() % 2 == 1;
        for i in 0..half {
            parts[i] = match how {
                Join::Halving => adder.add(parts[i], parts[i + half]),
                _ => adder.add(parts[2 * i], parts[2 * i + 1]),
            };
        }
        if odd {
            parts.swap(half, 2 * half);
        }
        parts.truncate(half + usize::from(odd));
    }
    parts.pop()
}

/// The additions of a pattern, those of +0 left out.
struct Merges {
    n: usize,
    merges: Vec<[usize; 2]>,
}

impl Adder for Merges {
    type Part = Option<usize>;

    fn term(&mut self, index: usize) -> Option<usize> {
        Some(index)
    }

    fn start(&mut self) -> Option<Option<usize>> {
        None
    }

    fn zero(&mut self) -> Option<usize> {
        None
    }

    fn add(&mut self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        match (a, b) {
            (Some(a), Some(b)) => {
                self.merges.push([a, b]);
                Some(self.n + self.merges.len() - 1)
            }
            (part, None) | (None, part) => part,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Form(form) => form.fmt(f),
            Pattern::Warps { warps, each, then } => {
                let then = match then {
                    Stage::Butterfly => "butterfly",
                    Stage::Sequential => "sequential",
                };
                match warps {
                    0 | 1 => write!(f, "a warp of {WARP} by {each}, butterfly"),
                    _ => write!(
                        f,
                        "{warps} warps of {WARP} by {each}, butterfly, then {then}"
                    ),
                }
            }
            Pattern::Block(block) => block.fmt(f),
            Pattern::Tree(tree) => tree.fmt(f),
        }
    }
}
