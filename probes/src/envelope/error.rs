//! Why there is no answer.

/// Why a sum's results cannot be told; completes "failed to …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// All orders of so many terms are not tried unless asked for.
    #[error("add {given} terms in all orders: the limit is {most}")]
    TooManyTerms {
        /// Terms given.
        given: usize,
        /// Terms allowed.
        most: usize,
    },
    /// A term is NaN: so is every sum with it.
    #[error("add the terms: number {0} is NaN, and so is every sum")]
    Nan(usize),
    /// The partial sums have too many different values.
    #[error("hold all values of the partial sums: there are more than {0}")]
    TooManyValues(usize),
    /// The partial sums have so many values that adding them pair by pair would not end.
    #[error("make all additions: there are more than {0}")]
    TooManyAdditions(u64),
}
