//! From results to the tree.
//!
//! The algorithm is FPRev's refined one: all terms of a set are probed against one of them, the
//! pivot; those that meet it in the same sum are a set below that sum, treated in the same way.
//! FPRev takes a set's smallest term as the pivot, which needs n²/2 probes if the last terms are
//! added first. Here only the first pivot is the smallest term and the others are drawn: n − 1
//! probes for a running sum, about 2·n for one from right to left, and on average of the order of
//! n·log n for any tree, as in quicksort.

use super::{ProbeError, Tree};
use crate::random::Random;

/// The magnitude of the two large terms: it swallows any count of ones up to [`MOST_TERMS`],
/// since half the distance to the next number below it is 2¹⁰².
pub const MASK: f32 = f32::from_bits(0x7f00_0000);

/// Every whole number up to this one is an F32.
pub const MOST_TERMS: usize = 1 << 24;

/// The operation under test: the sum of as many terms as is asked about.
type Sum<'a, E> = &'a mut dyn FnMut(&[f32]) -> Result<f32, E>;

/// Reveals in which order `op` adds `n` terms. Every probe is made twice.
///
/// # Errors
/// When `op` fails, is not repeatable, or gives results that no binary tree gives: see
/// [`ProbeError`].
pub fn reveal<E>(n: usize, op: Sum<'_, E>) -> Result<Tree, ProbeError<E>> {
    if n > MOST_TERMS {
        return Err(ProbeError::TooManyTerms(n));
    }
    let mut probe = Probe {
        op,
        terms: vec![1.0; n],
    };
    probe.check_counting()?;
    if n < 2 {
        return Ok(Tree::sequential(n));
    }
    let mut random = Random(n as u64);
    let mut merges = Vec::with_capacity(n - 1);
    // Sums that are being put together, each below the one before it.
    let mut open = vec![Chain::of((0..n).collect(), 0, n, &mut probe)?];
    let mut done = None;
    while let Some(chain) = open.last_mut() {
        if let Some(part) = done.take() {
            merges.push([chain.sum, part]);
            chain.sum = n + merges.len() - 1;
        }
        match chain.below.pop() {
            None => {
                done = Some(chain.sum);
                open.pop();
            }
            Some((_, below)) if below.len() == 1 => done = Some(below[0]),
            Some((size, below)) => {
                let pivot = random.below(below.len());
                open.push(Chain::of(below, pivot, size, &mut probe)?);
            }
        }
    }
    Ok(Tree::canonical(n, &merges))
}

/// The sums that contain a pivot, of one set of terms.
struct Chain {
    /// What the pivot was added up to so far, as a part of the tree.
    sum: usize,
    /// What is still to be added to it, the nearest last: the size of the sum, and the terms that
    /// come in with it.
    below: Vec<(usize, Vec<usize>)>,
}

impl Chain {
    /// `set` is all that the tree has below some place; `parent` is the size of the smallest
    /// known sum above that place, or the set's own.
    fn of<E>(
        mut set: Vec<usize>,
        pivot: usize,
        parent: usize,
        probe: &mut Probe<'_, E>,
    ) -> Result<Chain, ProbeError<E>> {
        let members = set.len();
        let pivot = set.swap_remove(pivot);
        let mut sized = Vec::with_capacity(set.len());
        for term in set {
            let size = probe.common(pivot, term)?;
            if size > members {
                return Err(if size == parent {
                    let (first, second) = (pivot.min(term), pivot.max(term));
                    ProbeError::Multiway {
                        first,
                        second,
                        size,
                    }
                } else {
                    ProbeError::Inconsistent { size, members }
                });
            }
            sized.push((size, term));
        }
        sized.sort_unstable();
        let mut below: Vec<(usize, Vec<usize>)> = Vec::new();
        for (size, term) in sized {
            match below.last_mut() {
                Some((last, terms)) if *last == size => terms.push(term),
                _ => below.push((size, vec![term])),
            }
        }
        let mut members = 1;
        for (size, terms) in &below {
            members += terms.len();
            if *size != members {
                let size = *size;
                return Err(ProbeError::Inconsistent { size, members });
            }
        }
        below.reverse();
        Ok(Chain { sum: pivot, below })
    }
}

struct Probe<'a, E> {
    op: Sum<'a, E>,
    /// All 1 between probes.
    terms: Vec<f32>,
}

impl<E> Probe<'_, E> {
    /// The result for the terms as they are, which has to be the same twice.
    fn ask(&mut self) -> Result<f32, ProbeError<E>> {
        let mut once = || (self.op)(&self.terms).map_err(ProbeError::Op);
        let (first, second) = (once()?, once()?);
        if first.to_bits() == second.to_bits() {
            Ok(first)
        } else {
            Err(ProbeError::NotRepeatable { first, second })
        }
    }

    /// Whether n ones and n − 1 ones are counted. One of these numbers is odd, and a binary
    /// floating-point format that has an odd number has every whole number below it; so the
    /// result's format counts all that the probes ask for.
    fn check_counting(&mut self) -> Result<(), ProbeError<E>> {
        let n = self.terms.len();
        for zeros in 0..=n.min(1) {
            self.terms[..zeros].fill(0.0);
            let result = self.ask()?;
            self.terms[..zeros].fill(1.0);
            let count = n - zeros;
            if result != count as f32 {
                return Err(ProbeError::Uncounted { count, result });
            }
        }
        Ok(())
    }

    /// How many terms the smallest sum has that contains both.
    fn common(&mut self, plus: usize, minus: usize) -> Result<usize, ProbeError<E>> {
        (self.terms[plus], self.terms[minus]) = (MASK, -MASK);
        let result = self.ask()?;
        (self.terms[plus], self.terms[minus]) = (1.0, 1.0);
        let most = self.terms.len() - 2;
        if result.fract() == 0.0 && (0.0..=most as f32).contains(&result) {
            Ok(self.terms.len() - result as usize)
        } else {
            Err(ProbeError::OutOfRange {
                plus,
                minus,
                result,
                most,
            })
        }
    }
}
