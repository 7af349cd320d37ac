//! In which order an operation adds its terms, revealed from its results alone.
//!
//! The idea is FPRev's: P. Xie, Y. Gao, Y. Wang, J. Xue, *Revealing Floating-Point Accumulation
//! Orders in Software/Hardware Implementations*, USENIX ATC 2025 (arXiv 2411.00442). All terms
//! are 1, but for M at place `i` and −M at place `j`, where M is so large that M plus any count
//! of ones is M again. Every 1 that meets M or −M before these two meet is lost; all others are
//! counted. So the result is the number of terms *outside* the smallest partial sum that contains
//! both, and a few such numbers give the whole [`Tree`].
//!
//! ```
//! use probes::order::{Arithmetic, Each, Form, confirm, reveal};
//!
//! // Two running sums, over the even and over the odd places.
//! let mut op = Each::new(100, |terms: &[f32]| {
//!     let half = |first| terms.iter().skip(first).step_by(2).fold(0.0, |sum, x| sum + x);
//!     Ok::<f32, std::convert::Infallible>(half(0) + half(1))
//! });
//! let revealed = reveal(&mut op)?;
//! assert_eq!(revealed.tree.to_string(), "2 lanes, then sequential");
//! assert!(matches!(revealed.tree.form(), Some(Form::Lanes { count: 2, .. })));
//! let confirmed = confirm(&revealed.tree, &Arithmetic::default(), 0..8, &mut op)?;
//! assert_eq!(confirmed.outputs, 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it can and cannot tell
//! - Addition is commutative: of `a + b` and `b + a` it is the same tree.
//! - A running sum that starts from +0 has the tree of one that starts from its first term.
//!   (They differ where that is −0 and all else is too.)
//! - A node that adds more than two parts at once, as matrix units do, is seen as such. How it
//!   aligns and rounds them is not: [`confirm`] takes it for one rounding of the exact sum.
//! - The order must not depend on the values or change between calls. [`reveal`] repeats some of
//!   its questions and refuses answers that contradict each other; an order that depends on the
//!   values in a way that the masks do not show is left to [`confirm`], which compares results on
//!   random terms bit for bit. Only the two together are evidence.
//! - A result or an accumulator that cannot count all terms (256 in BF16, 2²⁴ in F32) is asked
//!   about part of them at a time.
//! - Sums of terms that cannot be negative have no −M: see [`reveal_positive`].
//! - Whether products are rounded before they are added is asked apart: [`Fused`].

mod absorb;
mod chain;
mod confirm;
mod device;
mod draw;
mod error;
mod form;
mod fused;
mod masks;
mod op;
mod reveal;
mod rows;
mod set;
mod text;
mod tree;

pub use absorb::{Positive, reveal_positive};
pub use confirm::{Arithmetic, Confirmation, confirm};
pub use device::Device;
pub use error::ProbeError;
pub use form::{Form, Join};
pub use fused::{Fused, Plan};
pub use op::{Each, Sums};
pub use reveal::{MASK, MOST_TERMS, Revealed, reveal};
pub use rows::check_rows;
pub use tree::{MergeError, Rounding, Tree};
