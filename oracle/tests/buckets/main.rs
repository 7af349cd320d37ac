//! The graph for a bucket gives the bits of the graph for the batch's own number of frames: at
//! every boundary, wherever a value belongs to the batch, and in the whole of what leaves the
//! encoder.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod case;
mod compare;
mod extent;
mod modules;
mod walks;
