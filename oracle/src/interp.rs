//! The side `interp`: the emitted programs by strict IEEE arithmetic in the order they state.

use emitter::{
    interp::{InterpError, interpret},
    program::Program,
};
use stages::Tensor;

use crate::supply::{Supply, SupplyError, prepared};

/// Why a program has no interpretation; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum InterpSideError {
    /// An argument is not at hand.
    #[error(transparent)]
    Supply(#[from] SupplyError),
    /// The program cannot be interpreted.
    #[error(transparent)]
    Interp(#[from] InterpError),
}

/// The results of a program as it is stated, before the layout pass.
///
/// # Errors
/// When an argument is missing, or the program leaves something to the compiler.
pub fn run(program: &Program, supply: &dyn Supply) -> Result<Vec<Tensor>, InterpSideError> {
    let args = program
        .args()
        .iter()
        .map(|arg| prepared(arg, supply))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(interpret(program, &args)?)
}
