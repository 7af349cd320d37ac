//! The only unsafe code of this crate: safe wrappers over the IREE runtime (linked in statically),
//! the IREE compiler (opened when needed) and mapped files.

#![expect(unsafe_code, reason = "this module is where it belongs")]

mod buffer;
mod compiler;
mod device;
mod file;
mod fpu;
mod handle;
mod instance;
mod status;
mod task;
mod vm;

pub(crate) use buffer::{MappedRange, RawBuffer};
pub(crate) use compiler::{Invocation, Library, Session};
pub(crate) use device::RawDevice;
pub(crate) use file::MappedFile;
pub use status::Status;
pub(crate) use vm::RawModule;
