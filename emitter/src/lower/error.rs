//! Why a primitive has no lowering.

use stages::DType;

use crate::Contract;

/// Why a cut cannot be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The contract states no arithmetic for this form of the primitive.
    #[error("lower {op} under {contract}: {reason}")]
    Unsupported {
        /// The primitive.
        op: &'static str,
        /// The contract.
        contract: Contract,
        /// What is not stated.
        reason: String,
    },
    /// Values of this dtype have no carrier on level two.
    #[error("lower {op}: {dtype} values are not supported")]
    DType {
        /// The primitive that gives or takes them.
        op: &'static str,
        /// Their dtype.
        dtype: DType,
    },
    /// The cut uses a value that it neither computes nor is given.
    #[error("lower {op}: value {value} is not part of the cut")]
    Outside {
        /// The primitive that uses it.
        op: &'static str,
        /// Its position in the graph.
        value: usize,
    },
    /// The graph's node does not have the form its primitive needs.
    #[error("lower {op}: {reason}")]
    Malformed {
        /// The primitive.
        op: &'static str,
        /// What is wrong.
        reason: String,
    },
}
