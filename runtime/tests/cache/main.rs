//! The cache under hostile conditions: writers that are killed, a full disk, a folder that can only
//! be read.
//!
//! Other processes are this test binary, started again for one of its tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod killed;
mod process;
