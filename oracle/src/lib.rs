//! The sides whose values are compared, and what has to hold on a host before they are.

pub mod architectures;
pub mod captures;
pub mod interp;
pub mod iree;
pub mod libm;
pub mod mlx;
pub mod recorded;
pub mod supply;

pub use captures::{CaptureError, Captures, Notes};
pub use mlx::{MlxError, MlxSide};
pub use recorded::{Recorded, RecordedError};
