//! Compiles emitted graphs with IREE and runs them in this process.
//!
//! The way through the crate:
//!
//! 1. [`Native`] says where `scripts/setup` put the compiler library;
//! 2. a [`Toolchain`] compiles module text for a [`Target`], each text once ([`Store`] keeps the
//!    results);
//! 3. a [`Device`] is opened, and refused if it flushes denormals to zero;
//! 4. a [`Module`] is loaded on it and called with [`Buffer`]s.
//!
//! ```no_run
//! use runtime::{CompileOptions, Device, DeviceKind, Native, Target, Toolchain};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let store = runtime::Store::open(folder.path())?;
//! let toolchain = Toolchain::new(&Native::locate()?, Some(store));
//! let device = Device::open(DeviceKind::LocalTask, None, &toolchain)?;
//! let code = toolchain.compile(
//!     "func.func @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
//!        %y = stablehlo.add %x, %x : tensor<3xf32>
//!        return %y : tensor<3xf32>
//!      }",
//!     &CompileOptions::new(Target::HostAll),
//! )?;
//! let module = device.load(code)?;
//! let x = device.upload_slice(&[3], &[1.0f32, 2.0, 3.0])?;
//! let results = module.call("twice", &[&x])?;
//! assert_eq!(results[0].to_vec::<f32>()?, [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here knows the model, the emitter or MLX. All IREE calls and all unsafe code are in the
//! private module `ffi`.

#![deny(unsafe_code)]

mod buffer;
pub mod cache;
mod compiler;
mod denormals;
mod device;
mod element;
mod ffi;
mod locate;
mod module;
mod target;
mod toolchain;

pub use buffer::{Buffer, BufferError, Mapping};
pub use cache::{CacheError, Entry, Key, KeyHasher, Object, Shared, SharedError, Store};
pub use compiler::{CompileError, CompileOptions, Compiler};
pub use device::{Bytes, Device, DeviceError, DeviceKind};
pub use element::{Element, ElementType};
pub use ffi::Status;
pub use locate::{IREE_VERSION, Library, LocateError, MLX_VERSION, Native};
pub use module::{Module, ModuleError};
pub use target::{ResolvedTarget, Target};
pub use toolchain::{Toolchain, ToolchainError, Vmfb};
