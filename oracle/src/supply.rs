//! Where the arguments of an emitted program come from when it is run.

use std::collections::BTreeMap;

use emitter::{
    prepare::{self, PrepareError},
    program::{Arg, Prepare, Source},
};
use stages::{Checkpoint, Tensor};

/// Hands out the tensors that programs take.
pub trait Supply {
    /// The tensor of that source, before preparation.
    fn tensor(&self, source: &Source) -> Option<Tensor>;

    /// Told that the tensor of that source was prepared and is kept where it is used.
    fn kept(&self, _source: &Source) {}
}

/// A checkpoint's weights and a model's inputs, for who runs nothing else on them: the memory of
/// weights in files is given back as soon as they are prepared.
#[derive(Clone, Copy, Debug)]
pub struct Shipped<'a> {
    /// The weights.
    pub checkpoint: &'a Checkpoint,
    /// The inputs, by name.
    pub inputs: &'a BTreeMap<String, Tensor>,
}

impl Supply for Shipped<'_> {
    fn tensor(&self, source: &Source) -> Option<Tensor> {
        match source {
            Source::Input(name) => self.inputs.get(name).cloned(),
            Source::Weight(name) => self.checkpoint.tensor(name).cloned(),
            Source::Boundary(_) => None,
        }
    }

    fn kept(&self, source: &Source) {
        if let Source::Weight(name) = source {
            self.checkpoint.release(name);
        }
    }
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
