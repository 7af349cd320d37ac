//! The layout pass: other forms of the same arithmetic.
//!
//! It may change where values lie and which op reads them, and never a stated order or rounding:
//! movement is folded away, barriers keep the compiler from turning sums around, and products
//! with a weight take the packed form whose weight is prepared once on the host. The interpreter
//! reads the program before this pass, which is how a fault in it would show.

mod fold;
mod order;
mod pack;
mod rounded;
mod tidy;

#[cfg(test)]
mod tests;

use crate::program::Program;

/// The program in the form that is printed.
pub fn lay_out(program: &Program) -> Program {
    let folded = tidy::tidy(&fold::fold(program));
    let packed = rounded::tile(&pack::pack(&folded));
    tidy::tidy(&order::order(&packed))
}
