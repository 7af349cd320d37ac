//! Constant tables that kernels look values up in.

use super::Scalar;

/// A constant table. Values: [`Table::bits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// `powf`: reciprocals of the centres of 16 intervals (F64).
    PowReciprocal,
    /// `powf`: base-2 logarithms of those centres (F64).
    PowLogarithm,
    /// `powf`: bits of `2^(i/32)` less `i << 47` (I64).
    Exp2,
    /// `logf`: reciprocals of the centres of 16 intervals (F64).
    LogReciprocal,
    /// `logf`: natural logarithms of those centres (F64).
    LogLogarithm,
}

impl Table {
    /// The type of its entries.
    pub const fn scalar(self) -> Scalar {
        match self {
            Table::Exp2 => Scalar::I64,
            _ => Scalar::F64,
        }
    }
}
