//! What a qualification run found, and how it is said.
//!
//! Four layers, each knowing only the ones before it:
//!
//! 1. [`measure`] counts what differs between two tensors of one boundary: bits, ULPs, NaNs,
//!    grids, errors. It decides nothing.
//! 2. [`verdict`] decides: a [`Verdict`](verdict::Verdict) for a boundary, its cause and origin,
//!    the first divergence, the exit code of the run.
//! 3. [`wire`] is the report as JSON, with its committed schema.
//! 4. [`events`] is the one stream a run emits; [`terminal`], [`jsonl`] and [`standing`] consume it.
//!    [`csv`], [`junit`], [`markdown`], [`github`] and [`html`] put a finished report in other forms.
//!    None of these knows another; what they say in the same words is in `wording`.
//!
//! Beside them, each for reports that are there already: [`policy`] judges one anew, [`mod@diff`]
//! compares two, [`shards`] plans many runs and joins them.
//!
//! The crate knows no backend: tensors arrive as slices, boundaries as names.
#![warn(missing_docs)]

pub mod baseline;
pub mod csv;
pub mod diff;
pub mod events;
pub mod github;
pub mod grid;
pub mod html;
pub mod jsonl;
pub mod junit;
pub mod markdown;
pub mod measure;
pub mod policy;
pub mod shards;
pub mod standing;
pub mod terminal;
pub mod verdict;
pub mod wire;
mod wording;

pub use grid::Grid;
