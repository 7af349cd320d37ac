//! The command from outside: what it says, its exit code, and what it leaves on disk.
//!
//! Every run has a folder of its own and a folder for temporary files, which must be empty when it
//! ends. Compiled modules are shared between the tests and kept in cargo's folder for tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audio;
mod cache;
mod capture;
mod catalogue;
mod checkpoint;
mod contract;
mod features;
mod fixture;
mod forms;
mod harness;
mod interrupt;
mod judge;
mod libraries;
mod ops;
mod outputs;
mod pipes;
mod quantized;
mod recorded;
mod report;
mod sides;
mod silence;
mod tensors;
mod terminal;
mod tree;
mod usage;
mod weights;
