//! Orders of sums whose terms cannot be negative: exponentials, squares.
//!
//! M and −M are not to be had there; but a large term B swallows what is less than half a unit in
//! its last place, and shows what is more. B is at place `j`, `c = 1/2 − (t + 1/2)·d` units at
//! place `i`, and all other live terms are `d` units, so few that together they are less than 1/2.
//! The sum that brings the `i`-th term to B has it and `m` others; it is `1/2 + (m − t − 1/2)·d`,
//! and makes B one unit larger if and only if `m > t`. Every other sum that comes to B is lost. So
//! a few vectors give `m`, by bisection, and with B and `c` in each other's place the number of
//! terms on B's side: what M and −M would have told in one vector, the number of terms outside of
//! the smallest sum that has both.

use super::{
    ProbeError, Revealed,
    masks::{Asks, Question},
    reveal::grown,
};

/// An operation that adds positive terms, one of which is large.
pub trait Positive {
    /// Why it fails.
    type Error;

    /// How many terms a row has.
    fn terms(&self) -> usize;

    /// How many rows a call takes, at most.
    fn rows(&self) -> usize;

    /// The `k` of the smallest term, `2⁻ᵏ` units, that sums are exact in: one less than an
    /// accumulator's significand has bits, or fewer. Below `2ᵏ⁻¹` terms are live at a time.
    fn fineness(&self) -> u32;

    /// Whether the sum of each row is one unit more than the large term (`true`) or the large term
    /// itself (`false`); nothing if it is neither. `large` says where that is in each row; the
    /// others are given in units in its last place, between 0 and 1.
    ///
    /// # Errors
    /// When the operation fails.
    fn grows(&mut self, large: &[usize], rows: &[f32]) -> Result<Vec<Option<bool>>, Self::Error>;
}

/// How many questions are put once more.
const REPEATED: usize = 2;

/// Reveals in which order `op` adds positive terms.
///
/// # Errors
/// When `op` fails, is not repeatable, does not round to nearest as it says, or gives results that
/// no tree of additions of two gives: see [`ProbeError`].
pub fn reveal_positive<P: Positive + ?Sized>(op: &mut P) -> Result<Revealed, ProbeError<P::Error>> {
    let n = op.terms();
    let fineness = op.fineness();
    let capacity = (1usize << fineness.clamp(4, 23) >> 1) - 2;
    let mut absorbed = Absorbed {
        unit: (-f64::from(fineness.clamp(4, 23))).exp2() as f32,
        op,
        n,
        vectors: 0,
        checks: 0,
        first: Vec::new(),
    };
    if n > 1 {
        absorbed.measure()?;
    }
    let tree = grown(n, (n > capacity).then_some(capacity), &mut absorbed)?;
    absorbed.repeat()?;
    Ok(Revealed {
        tree,
        vectors: absorbed.vectors,
        checks: absorbed.checks,
        counts: n.min(capacity),
    })
}

struct Absorbed<'a, P: ?Sized> {
    op: &'a mut P,
    n: usize,
    /// The smallest term, in units.
    unit: f32,
    vectors: usize,
    checks: usize,
    first: Vec<(Question, usize)>,
}

/// What a question still leaves open: from … to how many terms there are on the side of one term.
#[derive(Clone, Copy, Debug)]
struct Open {
    few: usize,
    many: usize,
    /// What was found on the other side.
    other: Option<usize>,
}

/// One row: where B is, where `c` is and how large.
struct Row<'q> {
    question: &'q Question,
    large: usize,
    middle: usize,
    size: f32,
}

impl<P: Positive + ?Sized> Absorbed<'_, P> {
    /// Whether the operation swallows less than half a unit and shows more.
    fn measure(&mut self) -> Result<(), ProbeError<P::Error>> {
        let half = 0.5;
        for (small, wanted) in [
            (0.0, false),
            (half - self.unit, false),
            (half + self.unit, true),
            (1.0, true),
        ] {
            for (large, place) in [(0, self.n - 1), (self.n - 1, 0)] {
                let mut row = vec![0.0; self.n];
                row[place] = small;
                let grows = self.op.grows(&[large], &row).map_err(ProbeError::Op)?;
                self.checks += 1;
                if grows != [Some(wanted)] {
                    return Err(ProbeError::Unabsorbed { small });
                }
            }
        }
        Ok(())
    }

    fn repeat(&mut self) -> Result<(), ProbeError<P::Error>> {
        let before = self.vectors;
        for (question, first) in std::mem::take(&mut self.first) {
            let again = self.ask(std::slice::from_ref(&question))?;
            if again != [first] {
                let [first, second] = [first, again[0]].map(|count| count as f32);
                return Err(ProbeError::NotRepeatable { first, second });
            }
        }
        self.checks += self.vectors - before;
        self.vectors = before;
        Ok(())
    }

    fn put(&mut self, rows: &[Row<'_>]) -> Result<Vec<bool>, ProbeError<P::Error>> {
        let n = self.n;
        let mut answers = Vec::with_capacity(rows.len());
        let mut buffer = Vec::new();
        for rows in rows.chunks(self.op.rows().max(1)) {
            buffer.clear();
            buffer.resize(rows.len() * n, 0.0);
            for (row, terms) in rows.iter().zip(buffer.chunks_mut(n)) {
                row.question.live.fill(terms, self.unit);
                terms[row.large] = 0.0;
                terms[row.middle] = row.size;
            }
            let large: Vec<usize> = rows.iter().map(|row| row.large).collect();
            let grows = self.op.grows(&large, &buffer).map_err(ProbeError::Op)?;
            for (row, grows) in rows.iter().zip(grows) {
                answers.push(grows.ok_or(ProbeError::Unabsorbed { small: row.size })?);
            }
        }
        self.vectors += rows.len();
        Ok(answers)
    }
}

impl<P: Positive + ?Sized> Asks for Absorbed<'_, P> {
    type Error = P::Error;

    fn ask(&mut self, questions: &[Question]) -> Result<Vec<usize>, ProbeError<P::Error>> {
        let others = |question: &Question| {
            let own = [question.plus, question.minus];
            let own = own.iter().filter(|&&term| question.live.contains(term));
            question.live.count(self.n) - own.count()
        };
        let others: Vec<usize> = questions.iter().map(others).collect();
        let open = |&many: &usize| Open {
            few: 0,
            many,
            other: None,
        };
        let mut open: Vec<Open> = others.iter().map(open).collect();
        loop {
            let mut rows = Vec::new();
            let mut asked = Vec::new();
            for (index, (question, open)) in questions.iter().zip(&mut open).enumerate() {
                if open.few == open.many && open.other.is_none() {
                    *open = Open {
                        few: 0,
                        many: others[index] - open.few,
                        other: Some(open.few),
                    };
                }
                if open.few == open.many {
                    continue;
                }
                let (middle, large) = match open.other {
                    None => (question.plus, question.minus),
                    Some(_) => (question.minus, question.plus),
                };
                // A term that comes alone is frequent on the second side.
                let least = match open.other {
                    Some(_)
                        if open.few == 0
                            && open.many == others[index] - open.other.unwrap_or(0) =>
                    {
                        0
                    }
                    _ => (open.few + open.many - 1) / 2,
                };
                rows.push(Row {
                    question,
                    large,
                    middle,
                    size: 0.5 - (least as f32 + 0.5) * self.unit,
                });
                asked.push((index, least));
            }
            if rows.is_empty() {
                break;
            }
            for ((index, least), more) in asked.into_iter().zip(self.put(&rows)?) {
                let open = &mut open[index];
                if more {
                    open.few = least + 1;
                } else {
                    open.many = least;
                }
            }
        }
        let inside = |open: &Open| open.few + open.other.unwrap_or(0);
        let left: Vec<usize> = others
            .iter()
            .zip(&open)
            .map(|(others, open)| others - inside(open))
            .collect();
        if self.first.is_empty() {
            let pairs = questions.iter().cloned().zip(left.iter().copied());
            self.first = pairs.take(REPEATED).collect();
        }
        Ok(left)
    }
}
