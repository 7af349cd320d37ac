//! What was found out.

use rayon::prelude::*;

use super::{
    ContractError, Limits,
    compute::Sample,
    question::Question,
    score::{Score, score},
    search::Search,
    space::{Pick, Space},
    statement::Statement,
};
use crate::envelope::Evidence;

/// One primitive of a step and its arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The value's place in the step's graph.
    pub value: usize,
    /// The primitive.
    pub op: &'static str,
    /// Its arithmetic.
    pub statement: Statement,
    /// Others in its place with which every captured element comes out too.
    pub others: Vec<Statement>,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.op, self.statement)
    }
}

/// A contract: a statement for every primitive that rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The primitives in evaluation order; those that are fused away left out.
    pub lines: Vec<Line>,
    /// Elements that come out as captured.
    pub explained: usize,
    /// Of how many.
    pub elements: usize,
    /// The first that does not.
    pub refuted: Option<Refuted>,
}

/// An element that a contract does not explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refuted {
    /// Which set of captured values.
    pub case: usize,
    /// Its row-major index.
    pub element: usize,
    /// What the contract gives.
    pub gives: f32,
    /// What was captured.
    pub observed: f32,
}

/// The contract of a step, as far as its captures tell.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Contracts, those that explain most first, the plainest first of equals: of those that explain
    /// everything as many as were asked for, and as many of the others.
    pub ranking: Vec<Candidate>,
    /// How many choices of statements there are, and how many were tried.
    pub choices: f64,
    /// See there.
    pub tried: usize,
    /// Whether all were tried.
    pub exhaustive: bool,
    /// Whether time ran out before.
    pub cut_short: bool,
    /// Of those tried, how many explain every element; each is another choice, not always another
    /// function.
    pub complete: usize,
    /// Others that explain the last sample and were not tried on all elements: too many.
    pub unjudged: usize,
    /// Captured elements.
    pub captured: usize,
    /// Whether the ranking's elements are all of these.
    pub all_elements: bool,
}

impl Answer {
    /// The contract that explains every element, if one does.
    pub fn contract(&self) -> Option<&Candidate> {
        self.ranking.first().filter(|best| best.refuted.is_none())
    }

    /// How strongly the arithmetic is known: E3 if one contract explains all captured elements,
    /// and there are several.
    pub fn evidence(&self) -> Evidence {
        match self.contract() {
            Some(_) if self.all_elements && self.captured > 1 => Evidence::Schedule,
            _ => Evidence::Nothing,
        }
    }
}

/// Looks for the arithmetic of a step.
///
/// # Errors
/// When the step has none, or even a small sample of it does not fit into memory.
pub fn find(question: &Question, limits: Limits, rows: usize) -> Result<Answer, ContractError> {
    let space = Space::new(question)?;
    let search = Search::new(question, &space, limits);
    let (found, samples) = search.run()?;
    let best = found.best;
    let complete = best.iter().filter(|(_, score)| score.is_complete()).count();
    let judge = Judge::new(question, &space, samples, limits)?;
    // Those that explain the samples, and a few that do not, on all elements.
    let shown = rows.max(1);
    let explain = complete.min(judge.most());
    let others = best.iter().skip(complete).take(shown);
    let picks: Vec<Pick> = best[..explain]
        .iter()
        .chain(others)
        .map(|(p, _)| p.clone())
        .collect();
    let mut judged = judge.scores(picks, explain, shown)?;
    judged.sort_by(|(p, a), (q, b)| {
        let explained = b.explained.cmp(&a.explained);
        explained
            .then(space.plainness(p).cmp(&space.plainness(q)))
            .then_with(|| p.cmp(q))
    });
    let explains = judged.iter().filter(|(_, score)| score.is_complete());
    let explaining: Vec<Pick> = explains.map(|(pick, _)| pick.clone()).collect();
    let winner = explaining.first();
    let (whole, partly): (Vec<_>, Vec<_>) =
        judged.iter().partition(|(_, score)| score.is_complete());
    let ranked = whole.iter().take(shown).chain(partly.iter().take(shown));
    let ranking = ranked.map(|(pick, score)| {
        let own = winner == Some(pick);
        let explaining = if own { &explaining[..] } else { &[] };
        candidate(question, &space, pick, score, explaining)
    });
    Ok(Answer {
        ranking: ranking.collect(),
        choices: space.choices(),
        tried: found.tried,
        exhaustive: found.exhaustive,
        cut_short: found.cut_short,
        complete: explaining.len(),
        unjudged: complete - explain,
        captured: question.elements(),
        all_elements: judge.elements() == question.elements(),
    })
}

fn candidate(
    question: &Question,
    space: &Space,
    pick: &Pick,
    score: &Score,
    explaining: &[Pick],
) -> Candidate {
    let observed = |case: usize, at: u32| {
        let bits = question.cases[case].observed.get(at as usize);
        f32::from_bits(bits.copied().unwrap_or(0))
    };
    let live = space.live(question, pick);
    let line = |&number: &usize| {
        let free = &space.free[number];
        let alone = explaining
            .iter()
            .filter(|other| live.iter().all(|&i| (i == number) != (other[i] == pick[i])));
        let mut others: Vec<u16> = alone.map(|other| other[number]).collect();
        others.sort_unstable();
        others.dedup();
        let statement = |i: u16| free.statements[usize::from(i)].clone();
        Line {
            value: free.value.index(),
            op: free.op,
            statement: statement(pick[number]),
            others: others.into_iter().map(statement).collect(),
        }
    };
    Candidate {
        lines: live.iter().map(line).collect(),
        explained: score.explained,
        elements: score.elements,
        refuted: score.refuted.map(|(case, at, gives)| Refuted {
            case,
            element: at as usize,
            gives,
            observed: observed(case, at),
        }),
    }
}

/// Elements that are read to judge all choices, if four of them do not read more.
const AT_ONCE: usize = 1 << 29;

/// Scores choices on all elements, piece by piece, or on a sample where that would be too much.
struct Judge<'q> {
    question: &'q Question,
    space: &'q Space,
    samples: Vec<Sample<'q>>,
    whole: bool,
    /// What one choice reads over all that is judged.
    work: usize,
    piece: usize,
}

impl<'q> Judge<'q> {
    fn new(
        question: &'q Question,
        space: &'q Space,
        samples: Vec<Sample<'q>>,
        limits: Limits,
    ) -> Result<Judge<'q>, ContractError> {
        let sampled: usize = samples.iter().map(|s| s.plan.wanted.len()).sum();
        let read: usize = samples.iter().map(|s| s.plan.work()).sum();
        let elements = question.elements();
        let each = read.div_ceil(sampled.max(1)).max(1);
        let all = each.saturating_mul(elements);
        let whole = sampled < elements && all <= limits.work;
        Ok(Judge {
            question,
            space,
            samples,
            whole,
            work: if whole { all } else { read },
            piece: ((1 << 22) / each).clamp(1, elements),
        })
    }

    /// How many choices are judged.
    fn most(&self) -> usize {
        (AT_ONCE / self.work.max(1)).clamp(4, 256)
    }

    /// How many elements are judged.
    fn elements(&self) -> usize {
        if self.whole {
            return self.question.elements();
        }
        self.samples.iter().map(|s| s.plan.wanted.len()).sum()
    }

    /// The scores of choices. Of the first `explain` those that fail somewhere are let go, down to
    /// `shown`.
    fn scores(
        &self,
        picks: Vec<Pick>,
        explain: usize,
        shown: usize,
    ) -> Result<Vec<(Pick, Score)>, ContractError> {
        let numbered = picks.into_iter().enumerate();
        let mut all: Vec<(Pick, (usize, Score))> = numbered
            .map(|(i, pick)| (pick, (i, Score::none())))
            .collect();
        let one = |all: &mut Vec<(Pick, (usize, Score))>, samples: &[Sample<'_>]| {
            let add = |(pick, (_, total)): &mut (Pick, (usize, Score))| {
                total.add(score(self.space, samples, pick)?);
                Ok(())
            };
            all.par_iter_mut().try_for_each(add)?;
            if all.len() > 2 * shown {
                all.retain(|(_, (i, score))| *i < shown || score.is_complete() || *i >= explain);
            }
            Ok::<(), ContractError>(())
        };
        if !self.whole {
            one(&mut all, &self.samples)?;
        }
        let cases = self
            .question
            .cases
            .iter()
            .enumerate()
            .filter(|_| self.whole);
        for (number, case) in cases {
            let elements = case.observed.len() as u32;
            for start in (0..elements).step_by(self.piece) {
                let end = elements.min(start.saturating_add(self.piece as u32));
                let sample = Sample::new(self.question, number, (start..end).collect())?;
                one(&mut all, &[sample])?;
            }
        }
        Ok(all
            .into_iter()
            .map(|(pick, (_, score))| (pick, score))
            .collect())
    }
}
