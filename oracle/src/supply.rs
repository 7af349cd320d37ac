//! Where the arguments of an emitted program come from when it is run.

use emitter::{
    prepare::{self, PrepareError},
    program::{Arg, Prepare, Source},
};
use stages::Tensor;

/// Hands out the tensors that programs take.
pub trait Supply {
    /// The tensor of that source, before preparation.
    fn tensor(&self, source: &Source) -> Option<Tensor>;
}

impl<F: Fn(&Source) -> Option<Tensor>> Supply for F {
    fn tensor(&self, source: &Source) -> Option<Tensor> {
        self(source)
    }
}

/// Why an argument could not be handed over; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum SupplyError {
    /// Nothing of that name is at hand.
    #[error("find {}", describe(.0))]
    Missing(Source),
    /// Its preparation does not fit it.
    #[error("prepare {} ({}): {error}", describe(.source_of), prepare::text(.steps))]
    Prepare {
        /// The argument.
        source_of: Source,
        /// What was to be done to it.
        steps: Vec<Prepare>,
        /// Why.
        error: PrepareError,
    },
}

fn describe(source: &Source) -> String {
    match source {
        Source::Input(name) => format!("model input {name}"),
        Source::Weight(name) => format!("weight {name}"),
        Source::Boundary(name) => format!("boundary {name}"),
    }
}

/// The prepared tensor of an argument.
///
/// # Errors
/// When the supply lacks it, or its preparation does not fit it.
pub fn prepared(arg: &Arg, supply: &dyn Supply) -> Result<Tensor, SupplyError> {
    let tensor = supply
        .tensor(&arg.source)
        .ok_or_else(|| SupplyError::Missing(arg.source.clone()))?;
    prepare::apply(&arg.prepare, &tensor).map_err(|error| SupplyError::Prepare {
        source_of: arg.source.clone(),
        steps: arg.prepare.clone(),
        error,
    })
}
