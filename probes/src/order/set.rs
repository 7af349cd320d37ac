//! Sets of terms below one sum, and what answers say of them.

use super::{
    ProbeError,
    masks::{Live, Question},
};

/// A node that parts are still added to, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub node: usize,
    /// A term below the node and not in the set that hangs there.
    pub witness: usize,
    /// How many terms the node has, where all are counted.
    pub size: usize,
}

/// Terms that hang below a node: as one part of it, or as several.
#[derive(Debug)]
pub(super) struct Set {
    /// In ascending order.
    pub terms: Vec<usize>,
    /// `None` for all terms of the tree.
    pub at: Option<Place>,
    pub live: Live,
    pub pivot: usize,
    pub step: Step,
    /// What is known of terms against the pivot.
    pub known: Vec<(Key, usize)>,
    /// What is known of terms against another one.
    pub aside: Option<(usize, Vec<(Key, usize)>)>,
    /// Groups from the pivot upwards, and what was live when they were told apart.
    pub groups: Vec<Group>,
}

/// Where a term meets the pivot: the larger, the further up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Whether at the node that the set hangs below.
    pub outside: bool,
    /// How many live terms the sum has.
    pub size: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub key: Key,
    /// Those that are known to meet the pivot in one sum, the lowest of the group.
    pub same: Vec<usize>,
    /// Others, which may meet it there or further up, below the next group.
    pub open: Vec<usize>,
    /// What is live when the others are asked about.
    pub live: Live,
}

#[derive(Debug)]
pub(super) enum Step {
    /// Is the pivot a good one? It is tried on these.
    Try(Vec<usize>),
    /// Which of these is? The first is tried on the others.
    Seek(Vec<usize>),
    /// All terms that are not known yet.
    Split,
    /// Groups that are not settled yet.
    Settle,
}

impl Set {
    pub fn ask(&self, questions: &mut Vec<Question>) {
        let mut put = |plus, minus, live: &Live| {
            let live = live.clone();
            questions.push(Question { plus, minus, live });
        };
        match &self.step {
            Step::Try(tried) => tried
                .iter()
                .for_each(|&term| put(self.pivot, term, &self.live)),
            Step::Seek(tried) => {
                let others = tried[1..].iter();
                others.for_each(|&term| put(tried[0], term, &self.live));
            }
            Step::Split => {
                let known = |term: usize| self.known.iter().any(|&(_, known)| known == term);
                let unknown = self
                    .terms
                    .iter()
                    .filter(|&&term| term != self.pivot && !known(term));
                unknown.for_each(|&term| put(self.pivot, term, &self.live));
            }
            Step::Settle => {
                for group in self.groups.iter().filter(|group| !group.open.is_empty()) {
                    let asked = group.same.iter().take(1).chain(&group.open);
                    asked.for_each(|&term| put(self.pivot, term, &group.live));
                }
            }
        }
    }

    pub fn key(&self, n: usize, question: &Question, survivors: usize) -> Key {
        match &question.live {
            Live::All => {
                let size = n - survivors;
                let outside = self.at.is_some_and(|at| at.size == size);
                Key { outside, size }
            }
            Live::Some(live) => {
                let size =
                    live.len() - survivors - usize::from(question.live.contains(question.plus));
                // The witness is live: if it is lost too, they meet where it comes in.
                let outside = self.at.is_some() && survivors == 0;
                Key { outside, size }
            }
        }
    }
}

/// Terms by where they meet the pivot, the nearest first.
pub(super) fn grouped<E>(
    mut keyed: Vec<(Key, usize)>,
    live: &Live,
) -> Result<Vec<Group>, ProbeError<E>> {
    keyed.sort_unstable();
    let mut groups: Vec<Group> = Vec::new();
    // A sum has the live terms that come in there, and those below it. The pivot is one of them
    // where all terms are live.
    let mut below = usize::from(matches!(live, Live::All));
    for same in keyed.chunk_by(|(a, _), (b, _)| a == b) {
        let (key, alone) = (same[0].0, same.len() == 1);
        // Live terms that meet the pivot in sums of the same live terms meet it in the same sum.
        let known = |term: &usize| key.outside || alone || live.contains(*term);
        let terms = same.iter().map(|&(_, term)| term);
        let (same, open): (Vec<usize>, Vec<usize>) = terms.partition(known);
        below += same.iter().filter(|&&term| live.contains(term)).count();
        if !key.outside && key.size != below {
            let (size, members) = (key.size, below);
            return Err(ProbeError::Inconsistent { size, members });
        }
        let live = live.clone();
        groups.push(Group {
            key,
            same,
            open,
            live,
        });
    }
    Ok(groups)
}

/// What a group turns out to be once its open terms, and one of the others, are asked about.
pub(super) fn regrouped<E>(
    group: Group,
    answers: Vec<(Key, usize)>,
) -> Result<Vec<Group>, ProbeError<E>> {
    let stands_for = group.same.first().copied();
    let mut groups = grouped(answers, &group.live)?;
    if let Some(term) = stands_for {
        let lowest = groups.first_mut().filter(|lowest| !lowest.key.outside);
        let Some(lowest) =
            lowest.filter(|lowest| lowest.open.contains(&term) || lowest.same.contains(&term))
        else {
            let (size, members) = (group.key.size, group.same.len());
            return Err(ProbeError::Inconsistent { size, members });
        };
        lowest.open.retain(|&open| open != term);
        lowest.same.retain(|&same| same != term);
        lowest.same.extend(group.same);
    }
    Ok(groups)
}

/// The terms that come in at the sum at which most do.
pub(super) fn crowd(answers: &[(Key, usize)]) -> Vec<usize> {
    let of = |key: Key| answers.iter().filter(move |(other, _)| *other == key);
    let key = answers
        .iter()
        .map(|(key, _)| *key)
        .max_by_key(|&key| of(key).count());
    key.map_or_else(Vec::new, |key| of(key).map(|&(_, term)| term).collect())
}
