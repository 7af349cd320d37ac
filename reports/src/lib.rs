//! What a qualification run found, and how it is said.
//!
//! Four layers, each knowing only the ones before it:
//!
//! 1. [`measure`] counts what differs between two tensors of one boundary: bits, ULPs, NaNs,
//!    grids, errors. It decides nothing.
//! 2. [`verdict`] decides: a [`Verdict`](verdict::Verdict) for a boundary, its cause and origin,
//!    the first divergence, the exit code of the run.
//! 3. [`wire`] is the report as JSON, with its committed schema.
//! 4. [`events`] is the one stream a run emits; [`terminal`] and [`standing`] consume it.
//!
//! The crate knows no backend: tensors arrive as slices, boundaries as names.
#![warn(missing_docs)]

pub mod events;
pub mod grid;
pub mod measure;
pub mod policy;
pub mod standing;
pub mod terminal;
pub mod verdict;
pub mod wire;

pub use grid::Grid;
