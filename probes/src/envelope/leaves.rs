//! Which partial sums trees of additions have, and how each comes about.

/// In which order the leaves of a tree stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Leaves {
    /// In any: all `(2n − 3)!!` binary trees over `n` terms, of which lanes, butterflies and
    /// every other schedule of binary additions are some. A partial sum is any subset.
    #[default]
    Any,
    /// As the terms are given: the ways to put brackets, Catalan's number of `n − 1`. A partial
    /// sum is a run of neighbours.
    Fixed,
}

/// The partial sums of a family of trees, by a number below [`Family::size`].
pub(super) trait Family: Copy {
    /// Sums, and numbers that are none.
    fn size(self) -> usize;

    /// All sums, each after its parts.
    fn sums(self) -> impl Iterator<Item = usize>;

    /// The term, if the sum has but one.
    fn leaf(self, sum: usize) -> Option<usize>;

    /// Every pair of sums that it may be added up from, each once. Numbers are below `size`.
    fn splits(self, sum: usize) -> impl Iterator<Item = (usize, usize)>;

    /// Every pair of a term and the sum of the others that it may be added up from.
    fn ends(self, sum: usize) -> impl Iterator<Item = (usize, usize)>;

    /// The sum of all terms.
    fn whole(self) -> usize;
}

/// [`Leaves::Any`] over so many terms: a sum is the set of its terms, as bits.
#[derive(Clone, Copy)]
pub(super) struct Subsets(pub usize);

impl Family for Subsets {
    fn size(self) -> usize {
        1 << self.0
    }

    fn sums(self) -> impl Iterator<Item = usize> {
        1..1 << self.0
    }

    fn leaf(self, sum: usize) -> Option<usize> {
        sum.is_power_of_two()
            .then_some(sum.trailing_zeros() as usize)
    }

    #[inline(always)]
    fn splits(self, sum: usize) -> impl Iterator<Item = (usize, usize)> {
        // One part has the lowest term and any others, but not all: so no pair comes twice.
        let low = sum & sum.wrapping_neg();
        let others = sum ^ low;
        let mut with_low = others;
        std::iter::from_fn(move || {
            (with_low != 0).then(|| {
                with_low = (with_low - 1) & others;
                (with_low | low, others ^ with_low)
            })
        })
    }

    fn ends(self, sum: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.0)
            .filter(move |term| sum >> term & 1 == 1)
            .map(move |term| (term, sum ^ 1 << term))
    }

    fn whole(self) -> usize {
        (1 << self.0) - 1
    }
}

/// [`Leaves::Fixed`] over so many terms: the sum of the terms `first..end` is number
/// `first·(n + 1) + end`.
#[derive(Clone, Copy)]
pub(super) struct Runs(pub usize);

impl Runs {
    fn run(self, first: usize, end: usize) -> usize {
        first * (self.0 + 1) + end
    }

    fn bounds(self, sum: usize) -> (usize, usize) {
        (sum / (self.0 + 1), sum % (self.0 + 1))
    }
}

impl Family for Runs {
    fn size(self) -> usize {
        (self.0 + 1) * (self.0 + 1)
    }

    fn sums(self) -> impl Iterator<Item = usize> {
        (1..=self.0)
            .flat_map(move |len| (0..=self.0 - len).map(move |first| self.run(first, first + len)))
    }

    fn leaf(self, sum: usize) -> Option<usize> {
        let (first, end) = self.bounds(sum);
        (end - first == 1).then_some(first)
    }

    fn splits(self, sum: usize) -> impl Iterator<Item = (usize, usize)> {
        let (first, end) = self.bounds(sum);
        (first + 1..end).map(move |middle| (self.run(first, middle), self.run(middle, end)))
    }

    fn ends(self, sum: usize) -> impl Iterator<Item = (usize, usize)> {
        let (first, end) = self.bounds(sum);
        let ends = [
            (first, self.run(first + 1, end)),
            (end - 1, self.run(first, end - 1)),
        ];
        ends.into_iter().take(if end - first > 1 { 2 } else { 0 })
    }

    fn whole(self) -> usize {
        self.run(0, self.0)
    }
}
