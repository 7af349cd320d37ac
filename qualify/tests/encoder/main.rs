//! The whole encoder by the command: MLX, the modules that ship and the interpreter give the same
//! bits at every boundary, in buckets, for one clip and several.
//!
//! Compiled modules are shared between the tests and kept in cargo's folder for tests. A module is
//! compiled by one test only: those that need the same are one.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod clips;
mod faults;
mod full;
mod run;
mod short;
mod table;
