//! Whether any one order of additions explains many sums at once.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use super::{
    EnvelopeError, Fusion, Leaves, Rules, Start, Term, arithmetic,
    joint::{Element, same},
    leaves::{Family, Runs, Subsets},
};
use crate::order::Tree;

/// The most tuples of partial sums that are held.
const MOST_TUPLES: usize = 1 << 20;

/// The most additions of tuples.
const MOST_ADDITIONS: u64 = 1 << 26;

/// An order that gives the results of all elements.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonOrder {
    /// Which terms are added to which.
    pub tree: Tree,
    /// Terms whose products are fused with the addition that takes them, ascending.
    pub fused: Vec<usize>,
}

/// The tree of additions that gives the results of all elements, if one does: not one of those
/// with a name, but any. `None` is a proof that there is no such tree under these rules. Elements
/// have the same number of terms, and a term that is fused in one is fused in all.
///
/// ```
/// use probes::envelope::{Element, Rules, Term, common_order};
///
/// let m = 16_777_216.0;
/// let channels = [[m, 1.0, -m], [m, -m, 1.0], [1.0, m, -m], [-m, 1.0, m]];
/// let terms = channels.map(|channel| channel.map(Term::Value));
/// let order = |observed: [f32; 4]| {
///     let element = |(terms, observed)| Element { terms, observed, finish: None };
///     let elements: Vec<_> = terms.iter().map(|t| &t[..]).zip(observed).map(element).collect();
///     common_order(&elements, &Rules::default(), 12)
/// };
/// assert_eq!(order([0., 1., 0., 1.])?.unwrap().tree.to_string(), "sequential");
/// // Each of these can come out of F32 additions, but not all of them from one order.
/// assert_eq!(order([0., 1., 0., 0.])?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When there are more terms than `most`, or too many combinations of partial sums.
pub fn common_order(
    elements: &[Element<'_>],
    rules: &Rules,
    most: usize,
) -> Result<Option<CommonOrder>, EnvelopeError> {
    let Some(first) = elements.first() else {
        return Ok(None);
    };
    let n = first.terms.len();
    let most = most.min(rules.leaves.most_terms());
    if n > most {
        return Err(EnvelopeError::TooManyTerms { given: n, most });
    }
    if n == 0 || elements.iter().any(|element| element.terms.len() != n) {
        return Ok(None);
    }
    match rules.leaves {
        Leaves::Any => refine(elements, rules, Subsets(n), n),
        Leaves::Fixed => refine(elements, rules, Runs(n), n),
    }
}

/// Tries orders that explain a few elements on all of them, and takes in the first that fails.
fn refine<F: Family>(
    elements: &[Element<'_>],
    rules: &Rules,
    family: F,
    n: usize,
) -> Result<Option<CommonOrder>, EnvelopeError> {
    let mut chosen = vec![0];
    loop {
        let few: Vec<Element<'_>> = chosen.iter().map(|&i| elements[i]).collect();
        let mut search = Search::new(&few, rules, family);
        let Some(steps) = search.find()? else {
            return Ok(None);
        };
        let fails = |element: &Element<'_>| !element.gives(steps.sum(element.terms, rules), rules);
        match elements.iter().position(fails) {
            None => return Ok(steps.order(n)),
            Some(next) => chosen.push(next),
        }
    }
}

impl Element<'_> {
    /// Whether this sum, before its last rounding, gives what was observed.
    fn gives(&self, sum: f32, rules: &Rules) -> bool {
        let sum = arithmetic::last(rules.rounding, sum);
        let result = self.results(&[sum]).into_iter().next();
        result.is_some_and(|result| same(result, self.observed))
    }
}

/// How two parts are added.
#[derive(Clone, Copy, PartialEq)]
enum How {
    Plain,
    /// The first part is a product that is not rounded.
    First,
    /// The second is.
    Second,
}

/// Where the partial sums of all chosen elements come from.
#[derive(Clone, Copy)]
enum Origin {
    /// A term, begun from +0 or not.
    Term { term: usize, begun: bool },
    /// Tuples `a` and `b` of two sums.
    Sum { a: [u32; 2], b: [u32; 2], how: How },
}

/// The tuples of one sum.
#[derive(Default)]
struct Tuples {
    values: Vec<f32>,
    origins: Vec<Origin>,
}

struct Search<'a, F> {
    elements: &'a [Element<'a>],
    rules: &'a Rules,
    family: F,
    sums: Vec<Tuples>,
    held: usize,
    additions: u64,
    /// Whether a sum gives what was observed, by element and sum: what follows may be dear.
    explained: RefCell<HashMap<(usize, u32), bool>>,
}

impl<'a, F: Family> Search<'a, F> {
    fn new(elements: &'a [Element<'a>], rules: &'a Rules, family: F) -> Self {
        Search {
            elements,
            rules,
            family,
            sums: (0..family.size()).map(|_| Tuples::default()).collect(),
            held: 0,
            additions: 0,
            explained: RefCell::default(),
        }
    }

    /// The additions of a tree that explains the chosen elements.
    fn find(&mut self) -> Result<Option<Steps>, EnvelopeError> {
        let whole = self.family.whole();
        for sum in self.family.sums() {
            let last = sum == whole;
            if let Some(term) = self.family.leaf(sum) {
                if let Some(origin) = self.take(sum, term, last) {
                    return Ok(Some(self.steps(origin)));
                }
                continue;
            }
            if let Some(origin) = self.add_up(sum, last)? {
                return Ok(Some(self.steps(origin)));
            }
        }
        Ok(None)
    }

    /// Fills in the tuples of a sum of one term; if that is the whole one, finds one that explains.
    fn take(&mut self, sum: usize, term: usize, last: bool) -> Option<Origin> {
        for begun in [false, true] {
            if begun && self.rules.start == Start::Term {
                continue;
            }
            let one = |e: &Element<'_>| operand(e.terms[term], begun, self.rules);
            let tuple: Vec<f32> = self.elements.iter().map(one).collect();
            let origin = Origin::Term { term, begun };
            if last && self.explained(&tuple) {
                return Some(origin);
            }
            let bits = |x: &f32| x.to_bits();
            if !begun
                || !tuple
                    .iter()
                    .map(bits)
                    .eq(self.sums[sum].values.iter().map(bits))
            {
                self.sums[sum].values.extend(tuple);
                self.sums[sum].origins.push(origin);
            }
        }
        None
    }

    /// Fills in the tuples of a sum of several terms; of the whole one, finds one that explains.
    fn add_up(&mut self, sum: usize, last: bool) -> Result<Option<Origin>, EnvelopeError> {
        let width = self.elements.len();
        let mut found = Tuples::default();
        let mut known: HashSet<Vec<u32>> = HashSet::new();
        let mut tuple = vec![0.0; width];
        for (first, second) in self.family.splits(sum) {
            for how in self.ways(first, second) {
                let (a, b) = (&self.sums[first], &self.sums[second]);
                self.additions += (a.origins.len() * b.origins.len() * width) as u64;
                if self.additions > MOST_ADDITIONS {
                    return Err(EnvelopeError::TooManyAdditions(MOST_ADDITIONS));
                }
                for i in 0..a.origins.len() {
                    for j in 0..b.origins.len() {
                        let parts = (&a.values[i * width..], &b.values[j * width..]);
                        self.tuple(&mut tuple, (first, second), parts, how);
                        let origin = Origin::Sum {
                            a: [first as u32, i as u32],
                            b: [second as u32, j as u32],
                            how,
                        };
                        if last {
                            if self.explained(&tuple) {
                                return Ok(Some(origin));
                            }
                            continue;
                        }
                        let bits = tuple.iter().map(|x| x.to_bits()).collect();
                        if known.insert(bits) {
                            found.values.extend(&tuple);
                            found.origins.push(origin);
                        }
                    }
                }
                if self.held + found.origins.len() > MOST_TUPLES {
                    return Err(EnvelopeError::TooManyValues(MOST_TUPLES));
                }
            }
        }
        self.held += found.origins.len();
        self.sums[sum] = found;
        Ok(None)
    }

    fn explained(&self, sums: &[f32]) -> bool {
        let mut known = self.explained.borrow_mut();
        self.elements
            .iter()
            .zip(sums)
            .enumerate()
            .all(|(i, (element, &sum))| {
                let sum = arithmetic::partial(self.rules.rounding, sum);
                let gives = || element.gives(sum, self.rules);
                match element.finish {
                    None => gives(),
                    Some(_) => *known.entry((i, sum.to_bits())).or_insert_with(gives),
                }
            })
    }

    fn ways(&self, first: usize, second: usize) -> Vec<How> {
        let product = |sum| {
            let leaf = self.family.leaf(sum);
            let is = |term: usize| matches!(self.elements[0].terms[term], Term::Product(..));
            self.rules.fusion != Fusion::Never && leaf.is_some_and(is)
        };
        let (first, second) = (product(first), product(second));
        // A running sum that begins with a product fuses it with +0, which rounds it.
        let rounded = self.rules.fusion != Fusion::Always || self.rules.start == Start::Zero;
        let plain = rounded || !(first || second);
        let ways = [
            (plain, How::Plain),
            (second, How::Second),
            (first, How::First),
        ];
        let there = ways.into_iter().filter(|(is, _)| *is);
        there.map(|(_, how)| how).collect()
    }

    fn tuple(&self, tuple: &mut [f32], sums: (usize, usize), parts: (&[f32], &[f32]), how: How) {
        let leaves = (self.family.leaf(sums.0), self.family.leaf(sums.1));
        for (i, (out, element)) in tuple.iter_mut().zip(self.elements).enumerate() {
            let fused = match how {
                How::Plain => None,
                How::First => leaves.0,
                How::Second => leaves.1,
            };
            let term = fused.map(|term| element.terms[term]);
            *out = add(parts.0[i], parts.1[i], how, term, self.rules);
        }
    }

    /// The additions that lead to an origin.
    fn steps(&self, origin: Origin) -> Steps {
        let mut steps = Steps::default();
        self.lead(origin, &mut steps);
        steps
    }

    /// Adds what leads to an origin, which has the number that is given back. No tree is deeper
    /// than it has terms.
    fn lead(&self, origin: Origin, steps: &mut Steps) -> usize {
        match origin {
            Origin::Term { term, begun } => steps.0.push(Step::Term { term, begun }),
            Origin::Sum { a, b, how } => {
                let of = |[sum, at]: [u32; 2]| self.sums[sum as usize].origins[at as usize];
                let parts = [self.lead(of(a), steps), self.lead(of(b), steps)];
                steps.0.push(Step::Sum { parts, how });
            }
        }
        steps.0.len() - 1
    }
}

fn operand(term: Term, begun: bool, rules: &Rules) -> f32 {
    let x = term.rounded(rules.rounding);
    if begun {
        arithmetic::partial(rules.rounding, x + 0.0)
    } else {
        x
    }
}

/// A sum of two parts; `fused` is the term that is not rounded, if any.
fn add(x: f32, y: f32, how: How, fused: Option<Term>, rules: &Rules) -> f32 {
    let sum = match (how, fused) {
        (How::First, Some(Term::Product(a, b))) => arithmetic::fused(rules.rounding, a, b, y),
        (How::Second, Some(Term::Product(a, b))) => arithmetic::fused(rules.rounding, a, b, x),
        _ => arithmetic::partial(rules.rounding, x + y),
    };
    if sum.is_nan() { f32::NAN } else { sum }
}

/// Additions one after the other, parts before sums.
#[derive(Default)]
struct Steps(Vec<Step>);

enum Step {
    Term { term: usize, begun: bool },
    Sum { parts: [usize; 2], how: How },
}

impl Steps {
    /// The sum of such terms, before its last rounding.
    fn sum(&self, terms: &[Term], rules: &Rules) -> f32 {
        let mut values: Vec<f32> = Vec::with_capacity(self.0.len());
        for step in &self.0 {
            values.push(match *step {
                Step::Term { term, begun } => operand(terms[term], begun, rules),
                Step::Sum { parts: [a, b], how } => {
                    let fused = self.fused(a, b, how).map(|term| terms[term]);
                    add(values[a], values[b], how, fused, rules)
                }
            });
        }
        arithmetic::partial(rules.rounding, values.last().copied().unwrap_or(0.0))
    }

    fn fused(&self, a: usize, b: usize, how: How) -> Option<usize> {
        let part = match how {
            How::Plain => return None,
            How::First => a,
            How::Second => b,
        };
        match self.0[part] {
            Step::Term { term, .. } => Some(term),
            Step::Sum { .. } => None,
        }
    }

    /// The same as a tree over `n` terms.
    fn order(&self, n: usize) -> Option<CommonOrder> {
        let (mut merges, mut fused) = (Vec::new(), Vec::new());
        let mut parts = Vec::with_capacity(self.0.len());
        for step in &self.0 {
            parts.push(match *step {
                Step::Term { term, .. } => term,
                Step::Sum { parts: [a, b], how } => {
                    fused.extend(self.fused(a, b, how));
                    merges.push([parts[a], parts[b]]);
                    n + merges.len() - 1
                }
            });
        }
        fused.sort_unstable();
        let tree = Tree::from_merges(n, &merges).ok()?;
        Some(CommonOrder { tree, fused })
    }
}
