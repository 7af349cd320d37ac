//! The sums that are asked about.

use probes::envelope::{Schedule, StepError, Sum, Term};

use super::{
    numbers::{List, Observed},
    revealed::Told,
};

/// Sums with what came out of them.
pub trait Case {
    /// What they are, in a few words.
    fn name(&self) -> String;

    /// How many there are.
    fn len(&self) -> usize;

    /// Whether they are all outputs of one operation.
    fn is_complete(&self) -> bool;

    /// The number of one of them where it comes from.
    fn label(&self, index: usize) -> usize;

    /// One of them.
    ///
    /// # Errors
    /// When a step does not tell its terms.
    fn sum(&self, index: usize) -> Result<Asked, StepError>;

    /// The implementations that there are results of.
    fn sides(&self) -> Vec<String>;

    /// How a contract states the sums, if one does.
    fn stated(&self) -> Option<&Schedule>;

    /// What the operations that made all of them told of their order. The results of an
    /// implementation are made by those that its name has in it.
    fn told(&self) -> &[Told];
}

/// One sum.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What is added.
    pub terms: Vec<Term>,
    /// What follows the sum, if it is more than the rounding that is asked about.
    pub follows: Option<Sum>,
    /// A result of each implementation.
    pub observed: Vec<f32>,
}

/// Sums as they are typed.
#[derive(Debug)]
pub struct Lists {
    sums: Vec<Vec<Term>>,
    observed: Vec<Observed>,
}

impl Lists {
    /// The terms of each sum: values and products of the same place together.
    pub fn new(terms: &[List], products: &[List], observed: &[Observed]) -> Lists {
        let of = |lists: &[List], i: usize| lists.get(i).map_or(vec![], |list| list.0.clone());
        let count = terms.len().max(products.len());
        Lists {
            sums: (0..count)
                .map(|i| [of(terms, i), of(products, i)].concat())
                .collect(),
            observed: observed.to_vec(),
        }
    }
}

impl Case for Lists {
    fn name(&self) -> String {
        let terms = self.sums.first().map_or(0, Vec::len);
        match self.sums.len() {
            1 => format!("a sum of {terms} terms"),
            count => format!("{count} sums"),
        }
    }

    fn len(&self) -> usize {
        self.sums.len()
    }

    fn is_complete(&self) -> bool {
        self.sums.len() > 1
    }

    fn label(&self, index: usize) -> usize {
        index
    }

    fn sum(&self, index: usize) -> Result<Asked, StepError> {
        let elements = self.sums.len();
        let terms = self.sums.get(index).ok_or(StepError::Element {
            element: index,
            elements,
        })?;
        Ok(Asked {
            terms: terms.clone(),
            follows: None,
            observed: self.observed.iter().map(|o| o.values[index]).collect(),
        })
    }

    fn sides(&self) -> Vec<String> {
        self.observed.iter().map(|o| o.name.clone()).collect()
    }

    fn stated(&self) -> Option<&Schedule> {
        None
    }

    fn told(&self) -> &[Told] {
        &[]
    }
}
