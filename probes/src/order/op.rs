//! What is probed: an operation that adds rows of terms.

/// An operation under test: it adds the terms of several rows, each row by itself.
pub trait Sums {
    /// Why it fails.
    type Error;

    /// How many terms a row has.
    fn terms(&self) -> usize;

    /// How many rows a call takes, at most.
    fn rows(&self) -> usize;

    /// The sums of rows of terms, one row after the other.
    ///
    /// # Errors
    /// When the operation fails.
    fn sums(&mut self, rows: &[f32]) -> Result<Vec<f32>, Self::Error>;
}

/// An operation that adds one row a call.
#[derive(Debug)]
pub struct Each<F> {
    terms: usize,
    sum: F,
}

impl<F> Each<F> {
    /// The sum of that many terms.
    pub fn new(terms: usize, sum: F) -> Each<F> {
        Each { terms, sum }
    }
}

impl<E, F: FnMut(&[f32]) -> Result<f32, E>> Sums for Each<F> {
    type Error = E;

    fn terms(&self) -> usize {
        self.terms
    }

    fn rows(&self) -> usize {
        1
    }

    fn sums(&mut self, rows: &[f32]) -> Result<Vec<f32>, E> {
        Ok(vec![(self.sum)(rows)?])
    }
}
