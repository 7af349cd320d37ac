//! Which single schedule explains many sums at once.

use super::{Schedule, Term};

/// One sum and what came out of it.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    /// The terms.
    pub terms: &'a [Term],
    /// The result, after whatever follows the sum.
    pub observed: f32,
    /// What follows the sum, for several sums of these terms at once. `None`: nothing but the
    /// schedule's own last rounding.
    pub finish: Option<Finish<'a>>,
}

/// Results of sums.
pub type Finish<'a> = &'a dyn Fn(&[f32]) -> Vec<f32>;

impl Element<'_> {
    /// The results of such sums.
    pub fn results(&self, sums: &[f32]) -> Vec<f32> {
        self.finish
            .map_or_else(|| sums.to_vec(), |finish| finish(sums))
    }
}

/// Whether two results have the same bits; NaN is NaN whatever its payload.
pub fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Where a schedule failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rejection {
    /// The first element that rejects it, from 0.
    pub element: usize,
    /// What the schedule gives there; `None` where it is a tree over another number of terms.
    pub gives: Option<f32>,
}

/// Schedules, each with the first element that rejects it. Elements come one after the other, so
/// that no more than one has to be held.
///
/// Each value may lie in its own set of reachable sums while no one schedule gives them all:
///
/// ```
/// use probes::{
///     envelope::{Element, Joint, Schedule, Start, Term},
///     order::Rounding,
/// };
///
/// // Four outputs of a convolution of [16384, 1, −16384]: products from left to right.
/// let m = 16_777_216.0;
/// let channels = [[m, 1.0, -m], [m, -m, 1.0], [1.0, m, -m], [-m, 1.0, m]];
/// let explains = |rounding, observed: [f32; 4]| -> Vec<String> {
///     let mut joint = Joint::new(Schedule::all(3, false, rounding, Start::Zero));
///     for (terms, observed) in channels.iter().zip(observed) {
///         let terms = terms.map(Term::Value);
///         joint.observe(&Element { terms: &terms, observed, finish: None });
///     }
///     joint.survivors().map(ToString::to_string).collect()
/// };
/// // MLX's outputs, and another implementation's.
/// assert_eq!(explains(Rounding::F32, [0., 1., 0., 1.]), ["sequential, F32 accumulator"]);
/// assert!(explains(Rounding::F32, [0., 1., 0., 0.]).is_empty());
/// assert_eq!(explains(Rounding::Bf16, [0., 1., 0., 0.]), ["sequential, BF16 accumulator"]);
/// ```
#[derive(Clone, Debug)]
pub struct Joint {
    candidates: Vec<(Schedule, Option<Rejection>)>,
    elements: usize,
    telling: usize,
}

impl Joint {
    /// Schedules that nothing is known of.
    pub fn new(schedules: impl IntoIterator<Item = Schedule>) -> Joint {
        Joint {
            candidates: schedules.into_iter().map(|s| (s, None)).collect(),
            elements: 0,
            telling: 0,
        }
    }

    /// Asks the schedules that are left for this element's result.
    pub fn observe(&mut self, element: &Element<'_>) {
        let left = self.candidates.iter_mut().filter(|(_, r)| r.is_none());
        let mut asked: Vec<_> = left.collect();
        let sums: Vec<Option<f32>> = asked
            .iter()
            .map(|(schedule, _)| schedule.sum(element.terms))
            .collect();
        let known: Vec<f32> = sums.iter().copied().flatten().collect();
        let mut results = element.results(&known).into_iter();
        let before = asked.len();
        let mut after = 0;
        for ((_, rejection), sum) in asked.iter_mut().zip(sums) {
            let gives = sum.and_then(|_| results.next());
            if gives.is_some_and(|result| same(result, element.observed)) {
                after += 1;
            } else {
                let element = self.elements;
                *rejection = Some(Rejection { element, gives });
            }
        }
        self.elements += 1;
        self.telling += usize::from(after < before);
    }

    /// How many elements were asked about.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// How many of them rejected a schedule that all before had left.
    pub fn telling(&self) -> usize {
        self.telling
    }

    /// Whether every schedule is rejected.
    pub fn is_empty(&self) -> bool {
        self.survivors().next().is_none()
    }

    /// The schedules that explain all elements.
    pub fn survivors(&self) -> impl Iterator<Item = &Schedule> {
        let left = self.candidates.iter().filter(|(_, r)| r.is_none());
        left.map(|(schedule, _)| schedule)
    }

    /// The schedules that do not, each with where it failed.
    pub fn rejected(&self) -> impl Iterator<Item = (&Schedule, Rejection)> {
        let all = self.candidates.iter();
        all.filter_map(|(schedule, rejection)| Some((schedule, (*rejection)?)))
    }
}
