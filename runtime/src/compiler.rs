//! Compiles module text to code for a device.

use crate::{
    ffi::{Invocation, Library, Session},
    locate::Native,
    target::Target,
};
use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// Whether a compilation has succeeded. The first ones run one at a time: they enter LLVM's
/// targets in a global list, which two at once may close to a ring (LLVM, `RegisterTarget`).
static REGISTERED: Mutex<bool> = Mutex::new(false);

/// How a module is compiled. What is not here is fixed: no flag may change what is computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// What the code may use of the processor.
    pub target: Target,
    /// Packs the operands of large products into tiles. Faster for F32 operands where products may
    /// be fused, and very slow for BF16 ones: widen those first. The order of the sums
    /// stays the same.
    pub data_tiling: bool,
    /// Lets the compiler add the terms of a floating-point sum in any order it likes. Only for
    /// programs that state no order.
    pub reassociate: bool,
}

impl CompileOptions {
    /// The usual options for a target.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            data_tiling: true,
            reassociate: false,
        }
    }

    /// The flags, as `iree-compile` takes them.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let target = self.target.resolve();
        vec![
            "--iree-hal-target-device=local".to_owned(),
            "--iree-hal-local-target-device-backends=llvm-cpu".to_owned(),
            format!("--iree-llvmcpu-target-cpu={}", target.cpu()),
            format!("--iree-llvmcpu-target-cpu-features={}", target.features()),
            // Always said: the default depends on the optimisation level.
            format!(
                "--iree-llvmcpu-reassociate-fp-reductions={}",
                self.reassociate
            ),
            // The default turns every F64 kernel into an F32 one.
            "--iree-input-demote-f64-to-f32=false".to_owned(),
            // Hand-written kernels choose their own arithmetic (bf16 dot products).
            "--iree-llvmcpu-enable-ukernels=none".to_owned(),
            format!("--iree-opt-data-tiling={}", self.data_tiling),
        ]
    }
}

/// Why a module was not compiled; completes "failed to …".
#[derive(Debug, Clone, thiserror::Error)]
pub enum CompileError {
    /// The compiler library cannot be used.
    #[error("load the IREE compiler from {}: {reason}", .path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The compiler refuses the flags.
    #[error("set the compiler's flags: {reason}")]
    Flags {
        /// Why.
        reason: String,
    },
    /// The text is no well-formed module.
    #[error("parse the module:\n{diagnostics}")]
    Parse {
        /// What the compiler says, with lines and columns of the text.
        diagnostics: String,
    },
    /// The module is well formed but cannot be compiled.
    #[error("compile the module:\n{diagnostics}")]
    Compile {
        /// What the compiler says, with lines and columns of the text.
        diagnostics: String,
    },
}

/// The IREE compiler. Its library is large and opened by the first compilation only.
#[derive(Debug, Clone)]
pub struct Compiler {
    library: PathBuf,
    revision: String,
}

impl Compiler {
    /// The compiler that is installed.
    #[must_use]
    pub fn new(native: &Native) -> Self {
        let iree = &native.iree;
        Self {
            library: iree.path.clone(),
            revision: format!("{} {}", iree.revision, iree.sha256),
        }
    }

    /// What identifies this build of the compiler: its revision and its digest.
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Compiles module text. Any number of threads may do so at once.
    pub fn compile(&self, text: &str, options: &CompileOptions) -> Result<Vec<u8>, CompileError> {
        self.compile_with(text, &options.flags())
    }

    /// Compiles module text under these flags and no others: for looking at what comes of it. No
    /// device here need be able to run the result.
    pub fn compile_with(&self, text: &str, flags: &[String]) -> Result<Vec<u8>, CompileError> {
        let library = Library::load(&self.library).map_err(|reason| CompileError::Load {
            path: self.library.clone(),
            reason,
        })?;
        let mut registered = Some(REGISTERED.lock().unwrap_or_else(PoisonError::into_inner));
        registered.take_if(|registered| **registered);
        let session =
            Session::new(library, flags).map_err(|reason| CompileError::Flags { reason })?;
        let mut invocation = Invocation::new(&session);
        let said = |invocation: &Invocation<'_>, otherwise: String| {
            let diagnostics = invocation.diagnostics();
            if diagnostics.is_empty() {
                otherwise
            } else {
                diagnostics
            }
        };
        match invocation.parse(c"module.mlir", text) {
            Ok(true) => {}
            Ok(false) => {
                let diagnostics = said(&invocation, "no reason given".to_owned());
                return Err(CompileError::Parse { diagnostics });
            }
            Err(reason) => {
                return Err(CompileError::Parse {
                    diagnostics: reason,
                });
            }
        }
        if !invocation.compile() {
            let diagnostics = said(&invocation, "no reason given".to_owned());
            return Err(CompileError::Compile { diagnostics });
        }
        if let Some(mut registered) = registered {
            *registered = true;
        }
        invocation.output().map_err(|reason| CompileError::Compile {
            diagnostics: said(&invocation, reason),
        })
    }
}
