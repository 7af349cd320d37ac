//! From results to the tree.
//!
//! The algorithm is FPRev's refined one: all terms of a set are probed against one of them, the
//! pivot; those that meet it in the same sum are a set below that sum, treated in the same way.
//! Where several of them come in at that sum itself, it adds more than two parts at once.
//!
//! FPRev takes a set's smallest term as the pivot, which needs n²/2 probes if the last terms are
//! added first. Here that pivot is tried on a few terms first: if they all come in at one sum, it
//! stands near the top of a long chain, and a term further down is looked for among them. So no
//! chain takes more than about 2n probes. Of trees without any shape one in some thousands takes a
//! few probes more than FPRev's; no other tree does.
//!
//! A running sum from one end to the other is told from n/18 vectors: see `chain.rs`.
//!
//! Where the operation does not count all its terms ([`Revealed::counts`]), only so many are 1 at
//! a time and all others 0: of those in question a sample, then all between two of the sample.

use std::rc::Rc;

use super::{
    ProbeError, Sums, Tree,
    chain::chain,
    masks::{Asks, Live, Masks},
    set::{Key, Place, Set, Step, crowd, grouped, regrouped},
};
use crate::random::Random;

/// The magnitude of the two large terms: it swallows any count of ones up to [`MOST_TERMS`],
/// since half the distance to the next number below it is 2¹⁰².
pub const MASK: f32 = f32::from_bits(0x7f00_0000);

/// Every whole number up to this one is an F32.
pub const MOST_TERMS: usize = 1 << 24;

/// Sets of fewer terms are probed against the smallest one without a trial.
const TRIED_FROM: usize = 64;

/// How many terms the smallest one is tried on, and among how many a better pivot is looked for.
const TRIALS: usize = 16;
const CANDIDATES: usize = 8;

/// A tree and what it took to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revealed {
    /// The order of additions.
    pub tree: Tree,
    /// How many masked vectors were put to the operation.
    pub vectors: usize,
    /// How many further vectors checked that it counts and repeats itself.
    pub checks: usize,
    /// How many ones the result counts; if fewer than there are terms, the others were 0.
    pub counts: usize,
}

/// Reveals in which order `op` adds its terms.
///
/// # Errors
/// When `op` fails, is not repeatable, or gives results that no tree gives: see [`ProbeError`].
pub fn reveal<O: Sums + ?Sized>(op: &mut O) -> Result<Revealed, ProbeError<O::Error>> {
    let n = op.terms();
    let mut masks = Masks::new(op)?;
    if let Some(tree) = chain(&mut masks, n)? {
        masks.repeat(false)?;
        return Ok(Revealed {
            tree,
            vectors: masks.vectors,
            checks: masks.checks,
            counts: masks.capacity,
        });
    }
    let capacity = (!masks.counts_all()).then_some(masks.capacity);
    let tree = match grown(n, capacity, &mut masks) {
        Ok(tree) => tree,
        Err(ProbeError::Op(error)) => return Err(ProbeError::Op(error)),
        Err(error) => {
            // What contradicts itself may not be the same twice.
            masks.repeat(true)?;
            masks.repeat(false)?;
            return Err(error);
        }
    };
    masks.repeat(false)?;
    Ok(Revealed {
        tree,
        vectors: masks.vectors,
        checks: masks.checks,
        counts: masks.capacity,
    })
}

/// The tree of `n` terms that the answers give. `capacity` says how many may be live, if not all.
pub(super) fn grown<A: Asks + ?Sized>(
    n: usize,
    capacity: Option<usize>,
    asks: &mut A,
) -> Result<Tree, ProbeError<A::Error>> {
    let mut forest = Forest {
        n,
        nodes: Vec::new(),
        random: Random(n as u64),
        capacity,
    };
    if n > 1 {
        forest.grow(asks)?;
    }
    Ok(forest.tree())
}

struct Forest {
    n: usize,
    /// Parts of each node; each node stands before those below it.
    nodes: Vec<Vec<usize>>,
    random: Random,
    /// How many terms may be 1 at a time, if not all.
    capacity: Option<usize>,
}

impl Forest {
    fn grow<A: Asks + ?Sized>(&mut self, asks: &mut A) -> Result<(), ProbeError<A::Error>> {
        let mut open = vec![self.set((0..self.n).collect(), None)];
        while !open.is_empty() {
            let mut questions = Vec::new();
            let mut spans = Vec::with_capacity(open.len());
            for set in &open {
                let start = questions.len();
                set.ask(&mut questions);
                spans.push(start..questions.len());
            }
            let answers = asks.ask(&questions)?;
            let mut next = Vec::new();
            for (mut set, span) in open.into_iter().zip(spans) {
                let asked = &questions[span.clone()];
                let answers = asked.iter().zip(&answers[span]);
                let answers = answers
                    .map(|(question, &survivors)| {
                        (set.key(self.n, question, survivors), question.minus)
                    })
                    .collect();
                if self.advance(&mut set, answers)? {
                    self.place(set, &mut next);
                } else {
                    next.push(set);
                }
            }
            open = next;
        }
        Ok(())
    }

    fn set(&mut self, terms: Vec<usize>, at: Option<Place>) -> Set {
        let pivot = terms[0];
        let step = if terms.len() < TRIED_FROM {
            Step::Split
        } else {
            // The second smallest among them: if they come in at one sum, it is the pivot below.
            let mut others = terms[2..].to_vec();
            let mut tried = vec![terms[1]];
            tried.extend_from_slice(self.some(&mut others, TRIALS - 1));
            Step::Try(tried)
        };
        Set {
            live: self.live(&terms, at),
            terms,
            at,
            pivot,
            step,
            known: Vec::new(),
            aside: None,
            groups: Vec::new(),
        }
    }

    /// So many of the items, drawn, or all if there are fewer.
    fn some<'t>(&mut self, items: &'t mut [usize], count: usize) -> &'t [usize] {
        let count = count.min(items.len());
        for i in 0..count {
            let other = i + self.random.below(items.len() - i);
            items.swap(i, other);
        }
        &items[..count]
    }

    /// What is 1 while these terms are told apart.
    fn live(&mut self, terms: &[usize], at: Option<Place>) -> Live {
        let Some(capacity) = self.capacity else {
            return Live::All;
        };
        let mut live = if terms.len() < capacity {
            terms.to_vec()
        } else {
            let mut all = terms.to_vec();
            self.some(&mut all, capacity - 1).to_vec()
        };
        live.extend(at.map(|at| at.witness));
        live.sort_unstable();
        Live::Some(Rc::from(live))
    }

    /// Takes answers in; whether the set is split for good.
    fn advance<E>(
        &mut self,
        set: &mut Set,
        mut answers: Vec<(Key, usize)>,
    ) -> Result<bool, ProbeError<E>> {
        match std::mem::replace(&mut set.step, Step::Split) {
            Step::Try(tried) => {
                if crowd(&answers).len() == tried.len() {
                    set.step = Step::Seek(tried[..CANDIDATES].to_vec());
                }
                set.known = answers;
                Ok(false)
            }
            Step::Seek(tried) => {
                let most = crowd(&answers);
                let here = |answers: &[(Key, usize)], term: usize| {
                    answers
                        .iter()
                        .find(|&&(_, other)| other == term)
                        .map(|&(key, _)| key)
                };
                let first = tried[0] == set.terms[1];
                if first && here(&set.known, tried[0]) == here(&answers, most[0]) {
                    // They all come in at one node of many parts: no chain.
                    set.aside = Some((tried[0], answers));
                } else if most.len() > 2 && 2 * most.len() > answers.len() {
                    set.step = Step::Seek(most);
                } else {
                    let before = here(&set.known, tried[0]).filter(|_| self.capacity.is_none());
                    answers.extend(before.map(|key| (key, set.terms[0])));
                    set.pivot = tried[0];
                    set.known = answers;
                }
                Ok(false)
            }
            Step::Split => {
                answers.append(&mut set.known);
                let live = set.live.clone();
                set.groups = grouped(answers, &live)?;
                set.step = Step::Settle;
                Ok(self.settled(set))
            }
            Step::Settle => {
                let mut answers = answers.into_iter();
                let mut groups = Vec::with_capacity(set.groups.len());
                for group in std::mem::take(&mut set.groups) {
                    if group.open.is_empty() {
                        groups.push(group);
                        continue;
                    }
                    let asked = group.open.len() + group.same.len().min(1);
                    let own = answers.by_ref().take(asked).collect();
                    groups.extend(regrouped(group, own)?);
                }
                set.groups = groups;
                set.step = Step::Settle;
                Ok(self.settled(set))
            }
        }
    }

    /// Whether all groups are settled; if not, what is live for those that are not.
    fn settled(&mut self, set: &mut Set) -> bool {
        let mut settled = true;
        for group in set.groups.iter_mut().filter(|group| !group.open.is_empty()) {
            settled = false;
            group.live = self.live(&group.open, set.at);
        }
        settled
    }

    /// Makes the nodes that a split set has, and sets of what is below them.
    fn place(&mut self, mut set: Set, open: &mut Vec<Set>) {
        let rest = match set.groups.last() {
            Some(group) if group.key.outside => set.groups.pop(),
            _ => None,
        };
        let mut above = set.at.map(|at| at.node);
        let mut below = Vec::with_capacity(set.groups.len());
        for group in std::mem::take(&mut set.groups).into_iter().rev() {
            let node = self.nodes.len();
            self.nodes.push(Vec::new());
            if let Some(above) = above {
                self.nodes[above].push(self.n + node);
            }
            above = Some(node);
            below.push((node, group));
        }
        if let Some(above) = above {
            self.nodes[above].push(set.pivot);
        }
        for (node, group) in below {
            let (witness, size) = (set.pivot, group.key.size);
            self.hang(
                group.same,
                Place {
                    node,
                    witness,
                    size,
                },
                &mut set.aside,
                open,
            );
        }
        if let (Some(group), Some(at)) = (rest, set.at) {
            self.hang(group.same, at, &mut set.aside, open);
        }
    }

    fn hang(
        &mut self,
        mut terms: Vec<usize>,
        at: Place,
        aside: &mut Option<(usize, Vec<(Key, usize)>)>,
        open: &mut Vec<Set>,
    ) {
        if let [term] = terms[..] {
            self.nodes[at.node].push(term);
            return;
        }
        terms.sort_unstable();
        let mut set = self.set(terms, Some(at));
        // Sizes mean the same for all sets where all terms are live.
        let aside = aside.take_if(|(pivot, _)| *pivot == set.pivot && self.capacity.is_none());
        if let Some((_, known)) = aside {
            let outside = |size| size == at.size;
            let known = known.into_iter();
            let known = known.map(|(key, term)| {
                (
                    Key {
                        outside: outside(key.size),
                        ..key
                    },
                    term,
                )
            });
            set.known = known
                .filter(|(_, term)| set.terms.binary_search(term).is_ok())
                .collect();
            set.step = Step::Split;
        }
        open.push(set);
    }

    fn tree(self) -> Tree {
        // Merges have what is below first.
        let (n, count) = (self.n, self.nodes.len());
        let turned = |part: usize| {
            part.checked_sub(n)
                .map_or(part, |node| n + count - 1 - node)
        };
        let merges: Vec<Vec<usize>> = self
            .nodes
            .into_iter()
            .rev()
            .map(|parts| parts.into_iter().map(turned).collect())
            .collect();
        Tree::canonical(n, &merges)
    }
}
