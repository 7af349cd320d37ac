//! The catalogue of operations: every primitive that has a lowering, for every dtype, on shapes,
//! views and values that make roundings, orders and special cases visible.
//!
//! A [`Case`] is one primitive with its operands, which are made when they are needed. A [`Bench`]
//! runs cases on three sides, MLX live, the interpreter and IREE, and gives an [`Outcome`] for
//! each: how many elements differ, which first, and a digest of each side's bits. So two runs, of
//! other versions of MLX, of IREE or of the emitter, can be told apart case by case.

mod bench;
mod binary;
mod case;
mod cast;
mod contraction;
mod convolution;
mod movement;
mod outcome;
mod quantized;
mod reduction;
mod unary;
mod values;

pub use bench::{Bench, Emit, TARGETS, under_contract};
pub use case::{Case, CaseError, computes_in, form};
pub use outcome::{Compared, Differing, Digest, NAMED, Outcome, SideError, carried};
pub use unary::FUNCTIONS;
pub use values::Operand;

use std::fmt;

/// How many values functions are tried on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// 2²⁰ F32 and somewhat more.
    #[default]
    Short,
    /// Sixteen times as many.
    Full,
}

impl Size {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Size::Short => "short",
            Size::Full => "full",
        }
    }
}

/// Cases of similar primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Functions of one operand.
    Unary,
    /// Functions of two and three operands.
    Binary,
    /// Conversions, constants and ranges.
    Cast,
    /// Sums, extrema, running sums and softmax.
    Reduction,
    /// Products of matrices.
    Contraction,
    /// Products of quantised matrices, and their elements.
    Quantized,
    /// Convolutions.
    Convolution,
    /// What changes no value.
    Movement,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 8] = [
        Family::Unary,
        Family::Binary,
        Family::Cast,
        Family::Reduction,
        Family::Contraction,
        Family::Quantized,
        Family::Convolution,
        Family::Movement,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Unary => "unary",
            Family::Binary => "binary",
            Family::Cast => "cast",
            Family::Reduction => "reduction",
            Family::Contraction => "contraction",
            Family::Quantized => "quantized",
            Family::Convolution => "convolution",
            Family::Movement => "movement",
        }
    }

    /// Its cases. No two cases of the catalogue have the same name.
    ///
    /// # Errors
    /// When a case cannot be stated: a fault of the catalogue.
    pub fn cases(self, size: Size) -> Result<Vec<Case>, CaseError> {
        let stated = match self {
            Family::Unary => unary::cases(size),
            Family::Binary => binary::cases(size),
            Family::Cast => cast::cases(size),
            Family::Reduction => reduction::cases(),
            Family::Contraction => contraction::cases(),
            Family::Quantized => quantized::cases(),
            Family::Convolution => convolution::cases(),
            Family::Movement => movement::cases(),
        };
        stated.into_iter().collect()
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
