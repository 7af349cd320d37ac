//! Masked vectors: questions about two terms, many in one call, and what the answers count.

use super::{MASK, MOST_TERMS, ProbeError, Sums};

/// Which terms are 1 while a question is asked; all others are 0.
#[derive(Clone, Debug)]
pub(super) enum Live {
    /// All of them.
    All,
    /// These, in ascending order.
    Some(std::rc::Rc<[usize]>),
}

impl Live {
    pub fn contains(&self, term: usize) -> bool {
        match self {
            Live::All => true,
            Live::Some(live) => live.binary_search(&term).is_ok(),
        }
    }

    /// How many of `n` terms.
    pub fn count(&self, n: usize) -> usize {
        match self {
            Live::All => n,
            Live::Some(live) => live.len(),
        }
    }

    /// Makes the live ones of terms that are all 0 a number.
    pub fn fill(&self, terms: &mut [f32], number: f32) {
        match self {
            Live::All => terms.fill(number),
            Live::Some(live) => live.iter().for_each(|&term| terms[term] = number),
        }
    }
}

/// M at one place, −M at another.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub plus: usize,
    pub minus: usize,
    pub live: Live,
}

/// What answers questions.
pub(super) trait Asks {
    /// Why the operation fails.
    type Error;

    /// How many live terms survive each question: those outside of the smallest sum that contains
    /// both masked terms, but for these two.
    fn ask(&mut self, questions: &[Question]) -> Result<Vec<usize>, ProbeError<Self::Error>>;
}

/// The terms that are not as all others are.
pub(super) type Vector = Vec<(usize, f32)>;

/// A vector that was put, and the bits that came out.
struct Asked {
    vector: Put,
    bits: u32,
}

/// A vector.
#[derive(Clone)]
enum Put {
    /// A question.
    Masked(Question),
    /// All terms are the number, but for some.
    Sparse(f32, Vector),
}

/// How many of the first and of the last vectors are put once more.
const REPEATED: usize = 3;

/// An operation to which masked vectors are put.
pub(super) struct Masks<'a, O: ?Sized> {
    op: &'a mut O,
    n: usize,
    /// Rows of terms as the last call left them: all 1 or all 0 but for nothing.
    buffer: Vec<f32>,
    filled: f32,
    /// The result for a single 1.
    unit: f32,
    /// How many ones are counted.
    pub capacity: usize,
    /// Vectors that questions took.
    pub vectors: usize,
    /// Vectors that checked the operation itself.
    pub checks: usize,
    first: Vec<Asked>,
    last: Vec<Asked>,
}

impl<'a, O: Sums + ?Sized> Masks<'a, O> {
    /// Finds out how far the operation counts ones.
    pub fn new(op: &'a mut O) -> Result<Self, ProbeError<O::Error>> {
        let n = op.terms();
        if n > MOST_TERMS {
            return Err(ProbeError::TooManyTerms(n));
        }
        let mut masks = Masks {
            n,
            buffer: vec![0.0; n * op.rows().max(1)],
            op,
            filled: 0.0,
            unit: 1.0,
            capacity: 0,
            vectors: 0,
            checks: 0,
            first: Vec::new(),
            last: Vec::new(),
        };
        masks.measure()?;
        Ok(masks)
    }

    /// Whether all terms may be 1 at once.
    pub fn counts_all(&self) -> bool {
        self.capacity >= self.n
    }

    /// Whether terms and result are F32 and the result is the sum itself: of all 24 bits.
    pub fn adds_plainly(&mut self) -> Result<bool, ProbeError<O::Error>> {
        if !self.counts_all() || self.unit != 1.0 {
            return Ok(false);
        }
        let most = (MOST_TERMS - 1) as f32;
        Ok(self.check(0.0, vec![vec![(0, most)]])? == [most])
    }

    /// Whether n ones and n − 1 ones are counted, and if not, up to which power of two. Of a
    /// number and the one before it one is odd, and a binary floating-point format that has an
    /// odd number has every whole number below it; so the result's format counts all that the
    /// questions ask for. A scaled count is rounded once more, and is trusted half as far.
    fn measure(&mut self) -> Result<(), ProbeError<O::Error>> {
        let n = self.n;
        let plain = [n, n.saturating_sub(1)];
        let results = self.count(&plain)?;
        let Some((&count, &result)) = self.miscounted(&plain, &results) else {
            self.capacity = n;
            return Ok(());
        };
        if n == 0 {
            return Err(ProbeError::Uncounted { count, result });
        }
        self.unit = self.count(&[1])?[0];
        if self.miscounted(&plain, &results).is_none() {
            self.capacity = n;
            return Ok(());
        }
        let powers = (1..usize::BITS)
            .map(|k| 1 << k)
            .take_while(|&size| size < n);
        let sizes: Vec<usize> = powers.flat_map(|size: usize| [size, size - 1]).collect();
        let results = self.count(&sizes)?;
        let trusted = if self.unit == 1.0 { 1 } else { 2 };
        let pairs = sizes.chunks(2).zip(results.chunks(2));
        let counted = pairs.filter(|(sizes, results)| self.miscounted(sizes, results).is_none());
        self.capacity = counted
            .map(|(sizes, _)| sizes[0] / trusted)
            .max()
            .unwrap_or(0);
        if self.capacity < 4 {
            return Err(ProbeError::Uncounted { count, result });
        }
        Ok(())
    }

    fn miscounted<'c>(
        &self,
        counts: &'c [usize],
        results: &'c [f32],
    ) -> Option<(&'c usize, &'c f32)> {
        let mut pairs = counts.iter().zip(results);
        pairs.find(|(count, result)| self.decode(**result) != Some(**count))
    }

    /// The results for the first so many ones.
    fn count(&mut self, counts: &[usize]) -> Result<Vec<f32>, ProbeError<O::Error>> {
        let mut results = Vec::new();
        self.fill(0.0);
        let rows = self.op.rows().max(1);
        for counts in counts.chunks(rows) {
            for (&count, row) in counts.iter().zip(self.buffer.chunks_mut(self.n.max(1))) {
                row[..count].fill(1.0);
            }
            let asked = &self.buffer[..counts.len() * self.n];
            results.extend(self.op.sums(asked).map_err(ProbeError::Op)?);
            self.buffer.fill(0.0);
        }
        self.checks += counts.len();
        Ok(results)
    }

    fn fill(&mut self, value: f32) {
        if self.filled != value {
            self.buffer.fill(value);
            self.filled = value;
        }
    }

    /// The count that a result says, if any.
    fn decode(&self, result: f32) -> Option<usize> {
        let count = if self.unit == 1.0 {
            result
        } else {
            result / self.unit
        };
        let whole = count.round();
        let slack = if self.unit == 1.0 { 0.0 } else { 0.3 };
        ((count - whole).abs() <= slack && (0.0..=self.n as f32).contains(&whole))
            .then_some(whole as usize)
    }

    /// The sums of vectors whose other terms are all the same number.
    pub fn put(
        &mut self,
        others: f32,
        vectors: Vec<Vector>,
    ) -> Result<Vec<f32>, ProbeError<O::Error>> {
        let results = self.put_sparse(others, &vectors)?;
        let put = |vector| Put::Sparse(others, vector);
        self.note(vectors.into_iter().map(put), &results);
        Ok(results)
    }

    /// The same, of vectors that tell what kind of operation it is.
    pub fn check(
        &mut self,
        others: f32,
        vectors: Vec<Vector>,
    ) -> Result<Vec<f32>, ProbeError<O::Error>> {
        self.checks += vectors.len();
        self.put_sparse(others, &vectors)
    }

    /// Counts vectors, and keeps some to be repeated.
    fn note(&mut self, vectors: impl ExactSizeIterator<Item = Put>, results: &[f32]) {
        self.vectors += vectors.len();
        let asked = vectors.zip(results).take(REPEATED);
        let asked = asked.map(|(vector, result)| (vector, result.to_bits()));
        self.last = asked.map(|(vector, bits)| Asked { vector, bits }).collect();
        if self.first.is_empty() {
            let copy = |asked: &Asked| Asked {
                vector: asked.vector.clone(),
                bits: asked.bits,
            };
            self.first = self.last.iter().map(copy).collect();
        }
    }

    /// Puts some of the first vectors, or of the last ones, once more.
    pub fn repeat(&mut self, last: bool) -> Result<(), ProbeError<O::Error>> {
        let asked = std::mem::take(if last {
            &mut self.last
        } else {
            &mut self.first
        });
        for Asked { vector, bits } in asked {
            let results = match vector {
                Put::Masked(question) => self.put_masked(&[question])?,
                Put::Sparse(others, vector) => self.put_sparse(others, &[vector])?,
            };
            self.checks += 1;
            if let [second] = results[..]
                && second.to_bits() != bits
            {
                let first = f32::from_bits(bits);
                return Err(ProbeError::NotRepeatable { first, second });
            }
        }
        Ok(())
    }

    fn put_sparse(
        &mut self,
        others: f32,
        vectors: &[Vector],
    ) -> Result<Vec<f32>, ProbeError<O::Error>> {
        let (n, rows) = (self.n, self.op.rows().max(1));
        let mut results = Vec::with_capacity(vectors.len());
        self.fill(others);
        for vectors in vectors.chunks(rows) {
            for (vector, row) in vectors.iter().zip(self.buffer.chunks_mut(n)) {
                vector.iter().for_each(|&(term, value)| row[term] = value);
            }
            let asked = &self.buffer[..vectors.len() * n];
            results.extend(self.op.sums(asked).map_err(ProbeError::Op)?);
            for (vector, row) in vectors.iter().zip(self.buffer.chunks_mut(n)) {
                vector.iter().for_each(|&(term, _)| row[term] = others);
            }
        }
        Ok(results)
    }

    fn put_masked(&mut self, questions: &[Question]) -> Result<Vec<f32>, ProbeError<O::Error>> {
        let (n, rows) = (self.n, self.op.rows().max(1));
        let mut results = Vec::with_capacity(questions.len());
        if let Some(question) = questions.first() {
            let all = matches!(question.live, Live::All);
            self.fill(if all { 1.0 } else { 0.0 });
        }
        for questions in questions.chunks(rows) {
            for (question, row) in questions.iter().zip(self.buffer.chunks_mut(n)) {
                if let Live::Some(live) = &question.live {
                    live.iter().for_each(|&term| row[term] = 1.0);
                }
                (row[question.plus], row[question.minus]) = (MASK, -MASK);
            }
            let asked = &self.buffer[..questions.len() * n];
            results.extend(self.op.sums(asked).map_err(ProbeError::Op)?);
            for (question, row) in questions.iter().zip(self.buffer.chunks_mut(n)) {
                if let Live::Some(live) = &question.live {
                    live.iter().for_each(|&term| row[term] = 0.0);
                }
                (row[question.plus], row[question.minus]) = (self.filled, self.filled);
            }
        }
        Ok(results)
    }
}

impl<O: Sums + ?Sized> Asks for Masks<'_, O> {
    type Error = O::Error;

    fn ask(&mut self, questions: &[Question]) -> Result<Vec<usize>, ProbeError<O::Error>> {
        let results = self.put_masked(questions)?;
        let put = |question: &Question| Put::Masked(question.clone());
        self.note(questions.iter().map(put), &results);
        let read = |(question, &result): (&Question, &f32)| {
            let own = [question.plus, question.minus];
            let own = own
                .iter()
                .filter(|&&term| question.live.contains(term))
                .count();
            let most = question.live.count(self.n) - own;
            let count = self.decode(result).filter(|&count| count <= most);
            count.ok_or(ProbeError::OutOfRange {
                plus: question.plus,
                minus: question.minus,
                result,
                most,
            })
        };
        questions.iter().zip(&results).map(read).collect()
    }
}
