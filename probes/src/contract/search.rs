//! Looking for statements that give every captured element.

use std::{
    collections::{BTreeSet, HashSet},
    time::{Duration, Instant},
};

use rayon::prelude::*;

use super::{
    ContractError,
    compute::Sample,
    question::Question,
    score::{Score, score},
    space::{Pick, Space},
};
use crate::random::Random;

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Choices of statements that are all tried, if there are no more.
    pub exhaustive: usize,
    /// Elements that may be read to judge one choice on all of the result; where it would be more,
    /// a sample is judged.
    pub work: usize,
    /// How long the search may take; what was found by then is shown.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            exhaustive: 30_000,
            work: 1 << 29,
            time: Duration::from_secs(60),
        }
    }
}

/// What a search found.
#[derive(Debug)]
pub(super) struct Found {
    /// Choices with their scores on the last sample, the best first.
    pub best: Vec<(Pick, Score)>,
    /// Choices that were tried.
    pub tried: usize,
    /// Whether all there are were tried.
    pub exhaustive: bool,
    /// Whether time ran out.
    pub cut_short: bool,
}

/// Elements of the first sample if all choices are tried, and if not; and how much larger each next
/// one is.
const FIRST_OF_ALL: usize = 6;
const FIRST: usize = 40;
const GROWTH: usize = 8;

/// Choices that are kept from step to step, and of those that explain everything so far.
const BEAM: usize = 6;
const KEPT: usize = 400;

/// A search over one question.
pub(super) struct Search<'q> {
    question: &'q Question,
    space: &'q Space,
    limits: Limits,
    started: Instant,
    tried: HashSet<Pick>,
    /// Elements that refuted what looked right.
    telling: BTreeSet<(usize, u32)>,
}

impl<'q> Search<'q> {
    pub fn new(question: &'q Question, space: &'q Space, limits: Limits) -> Search<'q> {
        Search {
            question,
            space,
            limits,
            started: Instant::now(),
            tried: HashSet::new(),
            telling: BTreeSet::new(),
        }
    }

    /// Samples of about `count` elements of every case, those that told choices apart included.
    pub fn samples(&self, count: usize) -> Result<Vec<Sample<'q>>, ContractError> {
        let cases = self.question.cases.iter().enumerate();
        let of = |(number, case): (usize, &super::question::Case)| {
            let elements = case.observed.len();
            let mut wanted: BTreeSet<u32> = if count >= elements {
                (0..elements as u32).collect()
            } else {
                let mut random = Random(0x5eed);
                // The last element is where running sums are longest.
                let ends = [0, elements - 1];
                let drawn = (2..count).map(|_| random.below(elements));
                ends.into_iter().chain(drawn).map(|at| at as u32).collect()
            };
            let telling = self.telling.iter().filter(|(case, _)| *case == number);
            wanted.extend(telling.map(|(_, at)| *at));
            Sample::new(self.question, number, wanted.into_iter().collect())
        };
        cases.map(of).collect()
    }

    fn late(&self) -> bool {
        self.started.elapsed() > self.limits.time
    }

    /// Scores choices that were not tried before.
    fn scores(
        &mut self,
        samples: &[Sample<'_>],
        picks: Vec<Pick>,
    ) -> Result<Vec<(Pick, Score)>, ContractError> {
        let plain = |pick: Pick| self.space.without_dead(self.question, pick);
        let mut new: Vec<Pick> = picks.into_par_iter().map(plain).collect();
        new.sort_unstable();
        new.dedup();
        new.retain(|pick| !self.tried.contains(pick));
        self.tried.extend(new.iter().cloned());
        let space = self.space;
        new.into_par_iter()
            .map(|pick| Ok((pick.clone(), score(space, samples, &pick)?)))
            .collect()
    }

    /// Puts the best first, and forgets all but the best.
    fn rank(&self, found: &mut Vec<(Pick, Score)>, keep: usize) {
        let plain = |pick: &Pick| self.space.plainness(pick);
        found.sort_by(|(p, a), (q, b)| {
            let explained = b.explained.cmp(&a.explained);
            explained
                .then(a.distance.total_cmp(&b.distance))
                .then_with(|| plain(p).cmp(&plain(q)))
                .then_with(|| p.cmp(q))
        });
        found.truncate(keep);
    }

    /// Looks for choices that explain all samples.
    pub fn run(mut self) -> Result<(Found, Vec<Sample<'q>>), ContractError> {
        let exhaustive = self.space.choices() <= self.limits.exhaustive as f64;
        let mut cut_short = false;
        let mut attempts = 0;
        loop {
            attempts += 1;
            // Of every case, so that there are not more of them for many.
            let cases = self.question.cases.len().max(1);
            let first = if exhaustive { FIRST_OF_ALL } else { FIRST };
            let first = (first / cases).max(2);
            let samples = self.samples(first)?;
            self.tried.clear();
            let mut found = if exhaustive {
                let all = all(self.space);
                self.scores(&samples, all)?
            } else {
                self.descend(&samples)?
            };
            let complete = found.iter().filter(|(_, s)| s.is_complete()).count();
            self.rank(&mut found, KEPT.max(complete + BEAM));
            let survived = self.grow(&mut found, first)?;
            cut_short |= self.late();
            let complete = found.first().is_some_and(|(_, score)| score.is_complete());
            if complete || attempts == 4 || cut_short || !survived.1 {
                let found = Found {
                    best: found,
                    tried: self.tried.len(),
                    exhaustive,
                    cut_short,
                };
                return Ok((found, survived.0));
            }
        }
    }

    /// Judges what was found on larger and larger samples. Also tells whether elements were found
    /// that refute what explained the first one.
    fn grow(
        &mut self,
        found: &mut Vec<(Pick, Score)>,
        first: usize,
    ) -> Result<(Vec<Sample<'q>>, bool), ContractError> {
        let largest = self.question.cases.iter().map(|case| case.observed.len());
        let largest = largest.max().unwrap_or(0);
        let mut count = first;
        let mut refuted = false;
        let mut last = self.samples(count)?;
        while count < largest {
            count = (count * GROWTH).min(largest);
            let Ok(samples) = self.samples(count) else {
                break;
            };
            // The most that is evaluated at once; more is done piece by piece at the end.
            if samples.iter().map(|s| s.plan.work()).sum::<usize>() > 1 << 24 && count > 4096 {
                break;
            }
            let complete = found
                .iter()
                .filter(|(_, score)| score.is_complete())
                .count();
            // Of those that fail already, more while that is cheap: the sample was small.
            let others = if count <= FIRST_OF_ALL * GROWTH {
                KEPT
            } else {
                2 * BEAM
            };
            found.truncate(complete + others);
            let space = self.space;
            let again: Result<Vec<_>, ContractError> = std::mem::take(found)
                .into_par_iter()
                .map(|(pick, _)| Ok((pick.clone(), score(space, &samples, &pick)?)))
                .collect();
            *found = again?;
            self.rank(found, usize::MAX);
            let still = found
                .iter()
                .filter(|(_, score)| score.is_complete())
                .count();
            last = samples;
            if complete > 0 && still == 0 {
                for (case, at, _) in found.iter().filter_map(|(_, score)| score.refuted) {
                    refuted |= self.telling.insert((case, at));
                }
                break;
            }
            if self.late() {
                break;
            }
        }
        Ok((last, refuted))
    }

    /// From a few plain choices, one primitive after the other.
    fn descend(&mut self, samples: &[Sample<'_>]) -> Result<Vec<(Pick, Score)>, ContractError> {
        let free = self.space.free.len();
        let plain: Pick = vec![0; free];
        let mut seeds = vec![plain];
        // Nothing rounded but sums and products: the last statement of an elementwise primitive.
        seeds.push(self.unrounded());
        let mut pool = self.scores(samples, seeds)?;
        self.rank(&mut pool, KEPT);
        loop {
            let before = pool.first().map(|(_, s)| (s.explained, s.distance));
            let beam: Vec<Pick> = pool
                .iter()
                .take(BEAM)
                .map(|(pick, _)| pick.clone())
                .collect();
            let mut moves = Vec::new();
            for pick in &beam {
                for number in self.space.live(self.question, pick) {
                    for other in 0..self.space.free[number].statements.len() {
                        let mut next = pick.clone();
                        next[number] = other as u16;
                        moves.push(next);
                    }
                }
            }
            pool.extend(self.scores(samples, moves)?);
            self.rank(&mut pool, KEPT);
            let after = pool.first().map(|(_, s)| (s.explained, s.distance));
            let complete = pool.first().is_some_and(|(_, s)| s.is_complete());
            if self.late() || (complete && before == after) {
                return Ok(pool);
            }
            if before == after {
                let moved = self.pairs(samples, &mut pool)?;
                if !moved {
                    return Ok(pool);
                }
            }
        }
    }

    /// The choice in which no elementwise result is rounded to BF16 on the way.
    fn unrounded(&self) -> Pick {
        use super::{expr::Expr, statement::Statement};
        let of = |free: &super::space::Free| {
            let unrounded = |s: &Statement| match s {
                Statement::Each(expr) => !matches!(expr, Expr::Bf16(_) | Expr::FmaBf16(..)),
                _ => false,
            };
            free.statements.iter().position(unrounded).unwrap_or(0) as u16
        };
        let mut pick: Pick = self.space.free.iter().map(of).collect();
        if let Some(last) = pick.last_mut() {
            *last = 0;
        }
        pick
    }

    /// Two primitives at once, from the best choice: each in the statements that were best alone.
    fn pairs(
        &mut self,
        samples: &[Sample<'_>],
        pool: &mut Vec<(Pick, Score)>,
    ) -> Result<bool, ContractError> {
        const SHORT: usize = 10;
        let Some((best, score)) = pool.first().cloned() else {
            return Ok(false);
        };
        let live = self.space.live(self.question, &best);
        let mut lists: Vec<Vec<u16>> = Vec::new();
        for &number in &live {
            let alone = |pick: &Pick| (0..pick.len()).all(|i| i == number || pick[i] == best[i]);
            let mut list: Vec<u16> = pool
                .iter()
                .filter(|(pick, _)| alone(pick))
                .map(|(pick, _)| pick[number])
                .take(SHORT)
                .collect();
            let few = self.space.free[number].statements.len().min(SHORT) as u16;
            list.extend(0..few);
            list.sort_unstable();
            list.dedup();
            lists.push(list);
        }
        let mut moves = Vec::new();
        for (i, a) in lists.iter().enumerate() {
            for (j, b) in lists.iter().enumerate().skip(i + 1) {
                for (&x, &y) in a.iter().flat_map(|x| b.iter().map(move |y| (x, y))) {
                    let mut next = best.clone();
                    (next[live[i]], next[live[j]]) = (x, y);
                    moves.push(next);
                }
            }
        }
        pool.extend(self.scores(samples, moves)?);
        self.rank(pool, KEPT);
        let after = pool.first().map(|(_, s)| (s.explained, s.distance));
        Ok(after != Some((score.explained, score.distance)))
    }
}

/// Every choice there is.
fn all(space: &Space) -> Vec<Pick> {
    let mut all: Vec<Pick> = vec![vec![]];
    for free in &space.free {
        let count = free.statements.len() as u16;
        all = all
            .iter()
            .flat_map(|head| (0..count).map(move |i| [&head[..], &[i]].concat()))
            .collect();
    }
    all
}
