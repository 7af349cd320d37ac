//! Why an order was not revealed, or not confirmed.

/// Why an order was not revealed, or not confirmed; completes "failed to …". `E` is why the
/// probed operation itself fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProbeError<E> {
    /// The operation failed.
    #[error("{0}")]
    Op(E),
    /// F32 cannot count so many ones.
    #[error("probe {0} terms: F32 counts at most {most}", most = super::MOST_TERMS)]
    TooManyTerms(usize),
    /// The operation does not add what it is given, or the dtype of its result or of its
    /// accumulator is too narrow to count its terms.
    #[error(
        "count {count} terms of 1: the result is {result}, so it is no plain sum of them or its \
         dtype cannot count that far"
    )]
    Uncounted {
        /// How many ones there were.
        count: usize,
        /// The result.
        result: f32,
    },
    /// With M and −M among the ones the result is no number of terms: M is not swallowed or not
    /// cancelled, or the values are scaled or clipped.
    #[error(
        "count the terms outside of {plus} and {minus}: the result is {result}, no whole number \
         from 0 to {most}"
    )]
    OutOfRange {
        /// Where M was.
        plus: usize,
        /// Where −M was.
        minus: usize,
        /// The result.
        result: f32,
        /// The largest that there can be.
        most: usize,
    },
    /// A large term is neither itself nor one unit larger beside small ones, or not as it should.
    #[error(
        "add {small} units in the last place to a large term: it is not rounded to the nearest of \
         two numbers, or its accumulator has another width"
    )]
    Unabsorbed {
        /// The largest of the small terms.
        small: f32,
    },
    /// The same terms gave two results.
    #[error("repeat a probe: the same terms gave {first:e} and then {second:e}")]
    NotRepeatable {
        /// The first result.
        first: f32,
        /// The second.
        second: f32,
    },
    /// The answers are not those of any tree: the order depends on the values, or this is no sum
    /// of floating-point numbers (exact or compensated ones lose nothing to M).
    #[error(
        "find a tree: a sum of {size} terms would have {members} terms; the order depends on the \
         values, or nothing is lost to large terms"
    )]
    Inconsistent {
        /// Terms in a partial sum, by the result of a probe.
        size: usize,
        /// Terms in it, by the other probes.
        members: usize,
    },
    /// A product and its rounded negative add up to neither 0 nor what rounding takes away.
    #[error("tell whether the product of term {term} is rounded: {result:e} is left of it")]
    Product {
        /// The term.
        term: usize,
        /// What is left.
        result: f32,
    },
    /// A row's result is another when other rows are.
    #[error("put several vectors at once: the sum of row {row} depends on other rows")]
    Rows {
        /// The row.
        row: usize,
    },
    /// The operation gave another result than the tree: its order or its rounding is another, or
    /// depends on the values.
    #[error(
        "reproduce the sum of the terms of seed {seed}: {tree:e} in the tree's order, not {found:e}"
    )]
    Differs {
        /// Which random terms.
        seed: u64,
        /// The tree's result.
        tree: f32,
        /// The operation's.
        found: f32,
    },
}
