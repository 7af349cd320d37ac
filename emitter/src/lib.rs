//! From level one to what runs: contracts, lowering, layout, printing and interpretation.
//!
//! A [`cut::Cut`] of a level-one graph is lowered under a [`Contract`] to a
//! [`program::Program`], in which every order, rounding and fusion is stated. The MLIR printer
//! and the interpreter are two readings of the same program; neither adds arithmetic of its own.

pub mod contract;
pub mod cut;
pub mod emit;
pub mod interp;
pub mod kernel;
pub mod layout;
pub mod lint;
pub mod lower;
pub mod mlir;
pub mod prepare;
pub mod program;
mod strided;
pub mod target;
pub mod validate;

pub use contract::Contract;
pub use cut::Cut;
