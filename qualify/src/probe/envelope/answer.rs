//! What can be said of sums and their results.

use probes::{
    envelope::{
        CommonOrder, Element, EnvelopeError, Evidence, Findings, Finish, Fusion, Interval, Joint,
        Leaves, Pattern, Reachable, Rules, Schedule, Start, StepError, Term, common_order,
    },
    order::Rounding,
};

use super::{
    case::{Asked, Case},
    revealed::Told,
};

/// Why there is no answer at all; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Untold {
    /// A step does not tell its terms.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A sum has no set of results.
    #[error("{error} (of sum {label})")]
    Sum {
        /// Its number.
        label: usize,
        /// Why.
        error: EnvelopeError,
    },
    /// There is too much to do.
    #[error("add up {sums} sums of {terms} terms in every schedule: ask for some with --element")]
    TooMany {
        /// Sums.
        sums: usize,
        /// Terms of the first.
        terms: usize,
    },
}

/// What is asked about every sum.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The accumulators, with what becomes of the last sum.
    pub roundings: Vec<Rounding>,
    /// Which products are fused.
    pub fusion: Fusion,
    /// Which trees there are.
    pub leaves: Leaves,
    /// What running sums begin with.
    pub start: Start,
    /// The most terms for which all orders are tried.
    pub most: usize,
}

/// Sums that are shown one by one.
const SHOWN: usize = 16;

/// Sums whose numbers are kept. More are never picked one by one.
const LABELS: usize = 1 << 16;

/// Additions of schedules, and pairs of parts in exact sets, that are not too many.
const MOST_ADDITIONS: usize = 2_000_000_000;
const MOST_PAIRS: f64 = 4e9;

/// What can be said.
#[derive(Debug)]
pub struct Answer {
    /// What the sums are.
    pub name: String,
    /// How many.
    pub count: usize,
    /// Their numbers where they come from; of many, those of the first.
    labels: Vec<usize>,
    /// Whether they are all outputs of one operation.
    pub complete: bool,
    /// How many terms they have, from … to.
    pub terms: [usize; 2],
    /// What was asked.
    pub settings: Settings,
    /// How a contract states the sums, if one does.
    pub stated: Option<Schedule>,
    /// What the operations that made all results told of their order.
    pub told: Vec<Told>,
    /// The first of them, one by one.
    pub shown: Vec<Shown>,
    /// The implementations' names.
    pub sides: Vec<String>,
    /// By accumulator: what explains each implementation's results.
    pub accounts: Vec<Vec<Account>>,
}

/// One sum.
#[derive(Debug)]
pub struct Shown {
    /// Its number where it comes from.
    pub label: usize,
    /// The sum.
    pub asked: Asked,
    /// By accumulator: where the sum lies, and its results.
    pub envelopes: Vec<(Interval, Result<Reachable, EnvelopeError>)>,
}

/// What explains the results of one implementation in one accumulator.
#[derive(Debug)]
pub struct Account {
    /// How strongly.
    pub evidence: Evidence,
    /// The named schedules, each with where it fails, if it does.
    pub joint: Joint,
    /// Whether results of sums lie inside their intervals; where that is known.
    pub inside: Option<bool>,
    /// Whether they are reachable; where that is known.
    pub reachable: Option<bool>,
    /// Whether one of them was revealed on the operation that made the results.
    pub revealed: bool,
    /// An order without a name that gives all results; asked only if no named one does.
    pub order: Option<Result<Option<CommonOrder>, EnvelopeError>>,
}

impl Answer {
    /// Answers for all sums.
    ///
    /// # Errors
    /// When a step does not tell its terms, one is NaN, or there is too much to do.
    pub fn of(case: &dyn Case, settings: &Settings) -> Result<Answer, Untold> {
        let first = case.sum(0)?;
        let (count, sides) = (case.len(), case.sides());
        let (sums, terms) = (count, first.terms.len());
        if sums.saturating_mul(terms) > MOST_ADDITIONS {
            return Err(Untold::TooMany { sums, terms });
        }
        let mut answer = Answer {
            name: case.name(),
            count,
            labels: (0..count.min(LABELS)).map(|i| case.label(i)).collect(),
            complete: case.is_complete(),
            terms: [usize::MAX, 0],
            settings: settings.clone(),
            stated: case.stated().cloned(),
            told: case.told().to_vec(),
            shown: Vec::new(),
            accounts: Vec::new(),
            sides,
        };
        // A running sum is longest at its end.
        let longest = (0..count).rev().take(1).chain([0]);
        let longest = longest.filter_map(|i| case.sum(i).ok());
        let longest = longest
            .max_by_key(|asked| asked.terms.len())
            .unwrap_or(first);
        answer.start(&longest.terms);
        for index in 0..count {
            let asked = case.sum(index)?;
            if let Some(term) = asked.terms.iter().position(|term| term.is_nan()) {
                let (label, error) = (case.label(index), EnvelopeError::Nan(term));
                return Err(Untold::Sum { label, error });
            }
            answer.observe(index, asked);
        }
        answer.search(case)?;
        answer.conclude();
        Ok(answer)
    }

    /// Whether what was asked is told: an exact set, or what explains the results.
    pub fn is_answered(&self) -> bool {
        !self.sides.is_empty()
            || self
                .shown
                .iter()
                .all(|shown| shown.envelopes.iter().all(|(_, set)| set.is_ok()))
    }

    /// The number of a sum where it comes from.
    pub fn label(&self, index: usize) -> usize {
        self.labels.get(index).copied().unwrap_or(index)
    }

    /// The rules of a set.
    fn rules(&self, rounding: Rounding) -> Rules {
        Rules {
            rounding,
            fusion: self.settings.fusion,
            start: self.settings.start,
            leaves: self.settings.leaves,
        }
    }

    /// Accounts of which nothing is known.
    fn start(&mut self, terms: &[Term]) {
        let products = terms.iter().any(|term| matches!(term, Term::Product(..)));
        let fusion = self.settings.fusion;
        let account = |rounding| {
            let start = self.settings.start;
            let mut schedules = Schedule::all(terms.len(), products, rounding, start);
            schedules.splice(0..0, self.own(terms.len(), products, rounding));
            let seen = self
                .told
                .iter()
                .filter_map(|told| told.schedule.as_ref().ok());
            for seen in seen.filter(|seen| seen.rounding == rounding) {
                if !schedules.iter().any(|known| same(known, seen, terms.len())) {
                    schedules.push(seen.clone());
                }
            }
            schedules.retain(|schedule| match fusion {
                Fusion::Never => !schedule.fused,
                Fusion::Always => schedule.fused || !products,
                Fusion::Either => true,
            });
            Account {
                evidence: Evidence::Nothing,
                joint: Joint::new(schedules),
                inside: None,
                reachable: None,
                revealed: false,
                order: None,
            }
        };
        let of = |&rounding: &Rounding| self.sides.iter().map(|_| account(rounding)).collect();
        self.accounts = self.settings.roundings.iter().map(of).collect();
    }

    /// The contract's own pattern, where it is none of those with a name.
    fn own(&self, terms: usize, products: bool, rounding: Rounding) -> Vec<Schedule> {
        let Some(stated) = &self.stated else {
            return Vec::new();
        };
        let tree = stated.pattern.tree(terms);
        let named = Pattern::all(terms);
        if tree.is_none() || named.iter().any(|pattern| pattern.tree(terms) == tree) {
            return Vec::new();
        }
        let fused = if products {
            &[false, true][..]
        } else {
            &[false]
        };
        let of = |&fused: &bool| Schedule {
            rounding,
            fused,
            ..stated.clone()
        };
        fused.iter().map(of).collect()
    }

    /// Takes in one sum.
    fn observe(&mut self, index: usize, asked: Asked) {
        let [fewest, most] = &mut self.terms;
        *fewest = (*fewest).min(asked.terms.len());
        *most = (*most).max(asked.terms.len());
        let show = self.shown.len() < SHOWN;
        // Sets of so many sums would take too long.
        let pairs = 3f64.powi(asked.terms.len() as i32) * self.count as f64;
        let mut envelopes = Vec::new();
        for (i, rounding) in self.settings.roundings.clone().into_iter().enumerate() {
            let interval = Interval::of(&asked.terms, rounding, self.settings.start);
            let set = || {
                let rules = self.rules(rounding);
                rules.reachable(&asked.terms, self.settings.most)
            };
            let set = (show || pairs < MOST_PAIRS).then(set);
            let results = match &set {
                Some(Ok(set)) => Some(asked.results(set.values())),
                _ => None,
            };
            for (side, account) in self.accounts[i].iter_mut().enumerate() {
                let observed = asked.observed[side];
                let follows = asked.follows.is_some();
                let inside = (!follows).then(|| interval.contains(observed));
                let found = |results: &Vec<f32>| {
                    let mut results = results.iter();
                    results.any(|&x| probes::envelope::same(x, observed))
                };
                account.note(inside, results.as_ref().map(found));
                let finish = |sums: &[f32]| asked.results(sums);
                let finish: Finish<'_> = &finish;
                account.joint.observe(&Element {
                    terms: &asked.terms,
                    observed,
                    finish: follows.then_some(finish),
                });
            }
            if let Some(set) = set {
                envelopes.push((interval, set));
            }
        }
        if show {
            self.shown.push(Shown {
                label: self.label(index),
                asked,
                envelopes,
            });
        }
    }

    /// Looks for an order without a name where no named schedule explains the results.
    fn search(&mut self, case: &dyn Case) -> Result<(), Untold> {
        let unexplained = |account: &Account| account.joint.is_empty();
        let few = self.terms[0] == self.terms[1] && self.terms[1] <= self.settings.most;
        if !few || !self.accounts.iter().flatten().any(unexplained) {
            return Ok(());
        }
        let sums = (0..self.count).map(|i| case.sum(i));
        let sums = sums.collect::<Result<Vec<Asked>, _>>()?;
        for (i, &rounding) in self.settings.roundings.iter().enumerate() {
            let rules = self.rules(rounding);
            for (side, account) in self.accounts[i].iter_mut().enumerate() {
                if !account.joint.is_empty() {
                    continue;
                }
                let finishes: Vec<_> = sums
                    .iter()
                    .map(|asked| |values: &[f32]| asked.results(values))
                    .collect();
                let elements: Vec<Element<'_>> = sums
                    .iter()
                    .zip(&finishes)
                    .map(|(asked, finish)| Element {
                        terms: &asked.terms,
                        observed: asked.observed[side],
                        finish: asked.follows.as_ref().map(|_| finish as Finish<'_>),
                    })
                    .collect();
                account.order = Some(common_order(&elements, &rules, self.settings.most));
            }
        }
        Ok(())
    }

    fn conclude(&mut self) {
        let complete = self.complete;
        let (told, [fewest, most]) = (&self.told, self.terms);
        let roundings = self.settings.roundings.iter();
        let accounts = roundings
            .zip(&mut self.accounts)
            .flat_map(|(rounding, accounts)| {
                let sides = self.sides.iter().zip(accounts);
                sides.map(move |(side, account)| (rounding, side, account))
            });
        for (rounding, side, account) in accounts {
            let mut own = told
                .iter()
                .filter(|told| side.contains(told.side))
                .peekable();
            // A tree over some of the terms is not seen in an operation over all.
            let all = own.peek().is_some() && fewest == most;
            account.revealed = all
                && own.all(|told| {
                    let gives = |seen: &Schedule| {
                        let mut left = account.joint.survivors();
                        seen.rounding == *rounding && left.any(|left| same(left, seen, most))
                    };
                    told.schedule.as_ref().is_ok_and(gives)
                });
            // An order that was looked for until it fits explains less than one of a short list.
            account.evidence = Evidence::of(Findings {
                inside: account.inside,
                reachable: account.reachable,
                schedule: !account.joint.is_empty(),
                complete,
                revealed: account.revealed,
            });
        }
    }
}

/// Whether two schedules are the same additions of `n` terms.
fn same(a: &Schedule, b: &Schedule, n: usize) -> bool {
    a.fused == b.fused && a.pattern.tree(n) == b.pattern.tree(n) && a.pattern.tree(n).is_some()
}

impl Account {
    /// Takes in whether one more result lies inside, and is reachable. What is not known of one is
    /// not known of all.
    fn note(&mut self, inside: Option<bool>, reachable: Option<bool>) {
        let first = self.joint.elements() == 0;
        let join = |all: Option<bool>, one: Option<bool>| match (first, all, one) {
            (true, ..) => one,
            (false, Some(false), _) | (false, _, Some(false)) => Some(false),
            (false, all, one) => all.and(one),
        };
        self.inside = join(self.inside, inside);
        self.reachable = join(self.reachable, reachable);
    }
}

impl Asked {
    /// The results that such sums lead to.
    pub fn results(&self, sums: &[f32]) -> Vec<f32> {
        match &self.follows {
            Some(follows) => follows.finish(sums),
            None => sums.to_vec(),
        }
    }
}
