//! The side `iree`: emitted programs, compiled and run in this process.
//!
//! Weights are prepared once and stay on the device. Results are read where the device has them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use emitter::{
    mlir::{self, Function},
    program::{Arg, Elem, Prepare, Program, Source},
    target::TargetClass,
};
use runtime::{
    Buffer, BufferError, CompileError, CompileOptions, Device, DeviceError, DeviceKind,
    ElementType, Module, ModuleError, Target, Toolchain, ToolchainError,
};
use stages::{DType, Tensor, TensorError};

use crate::supply::{Supply, SupplyError, prepared};

/// Why a module was not compiled or run; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum IreeError {
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The compiler or the cache cannot be used.
    #[error(transparent)]
    Toolchain(ToolchainError),
    /// The compiler refused the module.
    #[error("compile module {name}:\n{diagnostics}")]
    Compile {
        /// The module.
        name: String,
        /// Its text.
        text: String,
        /// What the compiler says, with lines and columns of the text.
        diagnostics: String,
    },
    /// An argument is not at hand.
    #[error(transparent)]
    Supply(#[from] SupplyError),
    /// The call failed.
    #[error(transparent)]
    Call(#[from] ModuleError),
    /// A result cannot be read.
    #[error(transparent)]
    Read(#[from] BufferError),
    /// A result is not what the program says.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// An open device with its compiler and the weights resident on it.
#[derive(Debug)]
pub struct IreeSide {
    device: Device,
    toolchain: Toolchain,
    resident: Mutex<HashMap<(Source, Vec<Prepare>), Buffer>>,
}

/// Compiled programs, one entry each; equal programs share a function.
#[derive(Debug)]
pub struct Unit {
    module: Module,
    entries: Vec<(String, Program)>,
    /// How long it took until the module was loaded.
    pub elapsed: Duration,
    /// Whether the compiled module came out of the cache.
    pub cached: bool,
    /// The flags it was compiled with, the target spelt out.
    pub flags: Vec<String>,
}

impl Unit {
    /// The programs, in the order they were given.
    pub fn programs(&self) -> impl ExactSizeIterator<Item = &Program> {
        self.entries.iter().map(|(_, program)| program)
    }
}

/// An argument a caller has on the device already, by its source.
pub type OnDevice<'a> = &'a dyn Fn(&Source) -> Option<Buffer>;

impl IreeSide {
    /// Opens a device; see [`Device::open`].
    ///
    /// # Errors
    /// When it cannot be used, or flushes denormals.
    pub fn open(
        kind: DeviceKind,
        threads: Option<usize>,
        toolchain: Toolchain,
    ) -> Result<IreeSide, IreeError> {
        let device = Device::open(kind, threads, &toolchain)?;
        Ok(IreeSide {
            device,
            toolchain,
            resident: Mutex::default(),
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Compiles programs into one module, for the target and with the freedoms that their
    /// arithmetic allows, and loads it.
    ///
    /// # Errors
    /// When the compiler refuses it; the error has its text.
    pub fn build(&self, name: &str, programs: Vec<Program>) -> Result<Unit, IreeError> {
        let options = CompileOptions {
            // A contract states all orders or none.
            reassociate: !programs.iter().all(Program::is_exact),
            ..options(TargetClass::joint(&programs))
        };
        self.build_as(name, programs, &options)
    }

    /// Compiles programs as the caller says, be it right for them or not: for finding out what a
    /// target or a flag does.
    ///
    /// # Errors
    /// As [`IreeSide::build`].
    pub fn build_as(
        &self,
        name: &str,
        programs: Vec<Program>,
        options: &CompileOptions,
    ) -> Result<Unit, IreeError> {
        let started = Instant::now();
        let mut functions: Vec<(String, String, usize)> = Vec::new();
        let mut names = Vec::new();
        for (i, program) in programs.iter().enumerate() {
            let text = mlir::canonical_text(program);
            match functions.iter().find(|(_, known, _)| *known == text) {
                Some((function, ..)) => names.push(function.clone()),
                None => {
                    let function = format!("f{}", functions.len());
                    names.push(function.clone());
                    functions.push((function, text, i));
                }
            }
        }
        let printed: Vec<Function<'_>> = functions
            .iter()
            .map(|(name, _, i)| Function {
                name,
                program: &programs[*i],
            })
            .collect();
        let text = mlir::print_module(name, &printed);
        let code = match self.toolchain.compile(&text, options) {
            Ok(code) => code,
            Err(ToolchainError::Compile(
                CompileError::Parse { diagnostics } | CompileError::Compile { diagnostics },
            )) => {
                let name = name.to_owned();
                return Err(IreeError::Compile {
                    name,
                    text,
                    diagnostics,
                });
            }
            Err(error) => return Err(IreeError::Toolchain(error)),
        };
        let cached = code.is_cached();
        let module = self.device.load(code)?;
        let entries = names.into_iter().zip(programs).collect();
        Ok(Unit {
            module,
            entries,
            elapsed: started.elapsed(),
            cached,
            flags: options.flags(),
        })
    }

    /// Runs the `index`-th program of a unit. Arguments on the device are used as they are; the
    /// rest is supplied, prepared and handed over.
    ///
    /// # Errors
    /// When an argument is missing or the call fails.
    pub fn call(
        &self,
        unit: &Unit,
        index: usize,
        supply: &dyn Supply,
        on_device: OnDevice<'_>,
    ) -> Result<Vec<Buffer>, IreeError> {
        let (function, program) = &unit.entries[index];
        let args = program
            .args()
            .iter()
            .map(|arg| match on_device(&arg.source) {
                Some(buffer) => Ok(buffer),
                None => self.argument(program, arg, supply),
            })
            .collect::<Result<Vec<_>, IreeError>>()?;
        Ok(unit
            .module
            .call(function, &args.iter().collect::<Vec<_>>())?)
    }

    /// Runs the `index`-th program of a unit on arguments that are prepared already, in order.
    ///
    /// # Errors
    /// When there are more or fewer than the program takes, or the call fails.
    pub fn call_prepared<'t>(
        &self,
        unit: &Unit,
        index: usize,
        arguments: impl Iterator<Item = &'t Tensor>,
    ) -> Result<Vec<Buffer>, IreeError> {
        let (function, program) = &unit.entries[index];
        let buffers = program.args().iter().zip(arguments).map(|(arg, tensor)| {
            let info = program.info(arg.value);
            self.hand_over(element(info.elem), info.shape.dims(), tensor.clone())
        });
        let buffers = buffers.collect::<Result<Vec<_>, IreeError>>()?;
        Ok(unit
            .module
            .call(function, &buffers.iter().collect::<Vec<_>>())?)
    }

    /// Prepares and hands over the weights a unit's programs take, so that the first call costs what
    /// every call costs.
    ///
    /// # Errors
    /// When an argument is missing.
    pub fn make_resident(&self, unit: &Unit, supply: &dyn Supply) -> Result<(), IreeError> {
        for program in unit.programs() {
            for arg in program.args() {
                if matches!(arg.source, Source::Weight(_)) {
                    self.argument(program, arg, supply)?;
                }
            }
        }
        Ok(())
    }

    fn argument(
        &self,
        program: &Program,
        arg: &Arg,
        supply: &dyn Supply,
    ) -> Result<Buffer, IreeError> {
        let resident = matches!(arg.source, Source::Weight(_));
        let key = (arg.source.clone(), arg.prepare.clone());
        let kept = || self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buffer) = resident.then(|| kept().get(&key).cloned()).flatten() {
            return Ok(buffer);
        }
        let info = program.info(arg.value);
        let buffer = self.hand_over(
            element(info.elem),
            info.shape.dims(),
            prepared(arg, supply)?,
        )?;
        if resident {
            kept().insert(key, buffer.clone());
            supply.kept(&arg.source);
        }
        Ok(buffer)
    }

    /// The tensor on the device: in place if its memory is aligned for that, else copied.
    fn hand_over(
        &self,
        element: ElementType,
        shape: &[usize],
        tensor: Tensor,
    ) -> Result<Buffer, IreeError> {
        if tensor.bytes().as_ptr().addr().is_multiple_of(64) && !tensor.bytes().is_empty() {
            return Ok(self.device.import(element, shape, Arc::new(tensor))?);
        }
        Ok(self.device.upload(element, shape, tensor.bytes())?)
    }
}

/// A result as a host tensor over the device's own memory.
///
/// # Errors
/// When the buffer cannot be mapped.
pub fn tensor(buffer: &Buffer) -> Result<Tensor, IreeError> {
    let dtype = match buffer.element_type() {
        ElementType::Bf16 => DType::BF16,
        ElementType::I32 => DType::I32,
        ElementType::U32 => DType::U32,
        ElementType::I8 => DType::Bool,
        _ => DType::F32,
    };
    let mapping = buffer.map()?;
    let len = mapping.len();
    Ok(Tensor::shared(
        dtype,
        buffer.shape().into(),
        Arc::new(mapping),
        0..len,
    )?)
}

/// How a module of that class is compiled.
pub fn options(class: TargetClass) -> CompileOptions {
    CompileOptions::new(match class {
        TargetClass::Full => Target::HostAll,
        TargetClass::NoFma => Target::NoFma,
    })
}

const fn element(elem: Elem) -> ElementType {
    match elem {
        Elem::F32 => ElementType::F32,
        Elem::Bf16 => ElementType::Bf16,
        Elem::I32 => ElementType::I32,
        Elem::Bool => ElementType::I8,
    }
}
