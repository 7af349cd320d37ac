//! Loaded modules and calls into them.

use crate::{
    buffer::Buffer,
    ffi::{RawDevice, RawModule, Status},
};
use std::{fmt, sync::Arc};

/// Why a call gave no results; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The module exports no such function.
    #[error("find the function {name:?}: the module exports {}", .exports.join(", "))]
    NoFunction {
        /// The name.
        name: String,
        /// The functions it does export.
        exports: Vec<String>,
    },
    /// The function takes or returns something else than buffers.
    #[error("call {function:?}: not all its arguments and results are tensors")]
    NotTensors {
        /// The function.
        function: String,
    },
    /// Too few or too many arguments.
    #[error("call {function:?} with {given} arguments: it takes {taken}")]
    Arguments {
        /// The function.
        function: String,
        /// How many were given.
        given: usize,
        /// How many it takes.
        taken: usize,
    },
    /// The call failed, for example since an argument has another shape or element type.
    #[error("call {function:?}: {status}")]
    Call {
        /// The function.
        function: String,
        /// Why.
        status: Status,
    },
    /// A result has elements that this crate does not carry.
    #[error("take result {index} of {function:?}: element type {encoding:#x} is not supported")]
    Result {
        /// The function.
        function: String,
        /// Which result.
        index: usize,
        /// IREE's number for the type.
        encoding: u32,
    },
}

/// A compiled module on a device; calls may overlap.
pub struct Module {
    /// Before the device it uses, so that it is dropped first.
    raw: RawModule,
    device: Arc<RawDevice>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.functions().join(", "))
    }
}

impl Module {
    pub(crate) fn new(raw: RawModule, device: Arc<RawDevice>) -> Self {
        Self { raw, device }
    }

    /// The exported functions.
    #[must_use]
    pub fn functions(&self) -> Vec<String> {
        self.raw.exports()
    }

    /// Calls a function by its name within the module and waits for its results.
    pub fn call(&self, function: &str, arguments: &[&Buffer]) -> Result<Vec<Buffer>, ModuleError> {
        let found = self
            .raw
            .function(function)
            .map_err(|_| ModuleError::NoFunction {
                name: function.to_owned(),
                exports: self.functions(),
            })?;
        let taken = found.arity().ok_or_else(|| ModuleError::NotTensors {
            function: function.to_owned(),
        })?;
        if taken != arguments.len() {
            return Err(ModuleError::Arguments {
                function: function.to_owned(),
                given: arguments.len(),
                taken,
            });
        }
        let arguments: Vec<_> = arguments.iter().map(|buffer| buffer.raw()).collect();
        self.raw
            .call(&found, &arguments)
            .map_err(|status| ModuleError::Call {
                function: function.to_owned(),
                status,
            })?
            .into_iter()
            .enumerate()
            .map(|(index, raw)| {
                let element = raw.element().map_err(|encoding| ModuleError::Result {
                    function: function.to_owned(),
                    index,
                    encoding,
                })?;
                Ok(Buffer::new(raw, element, self.device.clone()))
            })
            .collect()
    }
}
