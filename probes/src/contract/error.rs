//! Why a contract cannot be looked for.

use stages::{DType, Shape};

/// Why a contract cannot be looked for; completes "failed to …".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ContractError {
    /// Nothing in the step rounds, so that there is no arithmetic to find out.
    #[error("find arithmetic in the step: nothing in it rounds, every value is a copy or exact")]
    NoArithmetic,
    /// An input or weight that the step reads was not captured.
    #[error("find the captured values of {0}")]
    Missing(String),
    /// A captured tensor is not what the step declares.
    #[error("take {name} as captured: it is {found}, the step has {declared}")]
    Unfit {
        /// Its name.
        name: String,
        /// Dtype and shape.
        found: String,
        /// Dtype and shape.
        declared: String,
    },
    /// A dtype without arithmetic here.
    #[error("compute in {0}: values are F32, BF16, I32, U32 or BOOL")]
    DType(DType),
    /// The result holds no floats.
    #[error("look at a result of {0}: only those of F32 and BF16 are rounded")]
    NotFloat(DType),
    /// The same step on the same values gave other results.
    #[error(
        "explain results that do not repeat: the step alone, on the same values, gave other bits"
    )]
    NotRepeatable,
    /// A primitive that no arithmetic is stated for.
    #[error("state the arithmetic of {0}")]
    Unsupported(&'static str),
    /// One primitive reads too much even for the smallest sample.
    #[error(
        "hold what one primitive reads: {rows} rows of {width} elements; the limit is 2^26 elements"
    )]
    TooLarge {
        /// Rows.
        rows: usize,
        /// Elements of a row.
        width: usize,
    },
    /// There is no element.
    #[error("look at a result of shape {0}: it has no elements")]
    Empty(Shape),
    /// An exact primitive could not be computed.
    #[error("compute {op}: {reason}")]
    Compute {
        /// The primitive.
        op: &'static str,
        /// Why.
        reason: String,
    },
}
