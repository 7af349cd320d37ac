//! Why a step does not tell its terms.

use emitter::interp::InterpError;
use stages::{DType, TensorError};

/// Why a step does not tell its terms; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// Nothing is added up.
    #[error("find a sum in the step: no operation of it adds floats up for this element")]
    NoSum,
    /// Several sums lead to the element.
    #[error("find the one sum of the step: there are several; steps of single primitives have one")]
    SeveralSums,
    /// An operation that elements are not followed through.
    #[error("follow an element back through {0}")]
    Unsupported(&'static str),
    /// A kernel that knows where it is.
    #[error("follow an element back through a kernel that depends on its place")]
    Placed,
    /// Partial sums of a dtype that is not modelled.
    #[error("model partial sums in {0}")]
    Grid(DType),
    /// There is no such element.
    #[error("find element {element}: the boundary has {elements}")]
    Element {
        /// The element.
        element: usize,
        /// How many there are.
        elements: usize,
    },
    /// The arguments are not as many as the program's.
    #[error("run the step: it takes {expected} arguments, not {given}")]
    Arguments {
        /// The program's.
        expected: usize,
        /// Those at hand.
        given: usize,
    },
    /// What leads to the sum, or follows it, has no interpretation.
    #[error(transparent)]
    Interp(#[from] InterpError),
    /// Sums are no tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}
