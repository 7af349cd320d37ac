//! What the compiler made of a program: instructions in its code that compute otherwise than the
//! program states.
//!
//! A program is compiled for a [`Target`] with all intermediates written out. The assembly of the
//! CPU, or the PTX of a GPU, is searched for [`Sign`]s: products contracted into additions,
//! functions of a mathematical library, roundings and dot products of the processor's own,
//! flushed denormals, approximations, tensor cores, terms exchanged between threads. Which of them
//! are a finding depends on what the program [`States`].

mod code;
mod compile;
mod states;
mod target;

pub use code::{Dialect, Found, Sign, search};
pub use compile::{AuditError, Audited, audit};
pub use states::{Finding, States};
pub use target::{Target, UnknownTarget};
