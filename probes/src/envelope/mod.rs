//! Which results a sum can have, and which order of additions explains the ones it has.
//!
//! Two implementations of one sum differ in their last bits. Is that the order of the additions?
//! - [`Rules::reachable`]: every result that **some** order gives, exactly, for a dozen terms.
//! - [`Interval`]: where those results lie, for any number of terms.
//! - [`Schedule`]: a named order with its accumulator; [`Joint`]: which of them give the results
//!   of **all** elements of a boundary. [`common_order`]: whether any order at all does, named or
//!   not.
//! - [`Evidence`]: what that amounts to.
//!
//! # Which trees
//! An order of additions is a binary tree whose leaves are the terms; `a + b` and `b + a` are the
//! same (as in [`crate::order`]). There are `(2n − 3)!!` of them: leaves stand in any order
//! ([`Leaves::Any`], the default), since lanes, butterflies and tiles add terms that are not
//! neighbours. With [`Leaves::Fixed`] only brackets are put, which excludes all of these; it is
//! for sums that are known to keep places. More than two operands at once, as matrix units add
//! them, are no such tree: see [`Block`].
//!
//! # How an addition rounds
//! To nearest, ties to even, subnormal numbers kept: to F32; or to F32 and from there to BF16
//! ([`Rounding::Bf16`](crate::order::Rounding)). A term that is a number is taken as it is. A
//! product is rounded once, to the accumulator's dtype; unless the addition is fused with it:
//! then the exact product is added and the sum is rounded, once. Only a leaf that is a product can
//! be fused, and only with the addition that takes that leaf. [`Fusion`] says in which trees which
//! additions are. An accumulator that begins with +0 is one more leaf: see [`Start`].
//!
//! # One explanation for all outputs
//! A value inside its own set is only not excluded. Four outputs of a convolution, each of which
//! can be 0 or 1, and the two values that two implementations gave:
//!
//! ```
//! use probes::{
//!     envelope::{Element, Joint, Rules, Schedule, Start, Term, common_order},
//!     order::Rounding,
//! };
//!
//! // Input [16384, 1, −16384], BF16 taps: the products from left to right.
//! let m = 16_777_216.0;
//! let channels = [[m, 1.0, -m], [m, -m, 1.0], [1.0, m, -m], [-m, 1.0, m]];
//! let channels = channels.map(|channel| channel.map(Term::Value));
//! for terms in &channels {
//!     for rounding in [Rounding::F32, Rounding::Bf16] {
//!         let rules = Rules { rounding, ..Rules::default() };
//!         assert_eq!(rules.reachable(terms, 12)?.values(), [0.0, 1.0]);
//!     }
//! }
//! // Which schedules give all four, and whether any order of such additions does.
//! let explained = |observed: [f32; 4], rounding| {
//!     let element = |(terms, observed)| Element { terms, observed, finish: None };
//!     let elements: Vec<_> = channels.iter().map(|c| &c[..]).zip(observed).map(element).collect();
//!     let mut joint = Joint::new(Schedule::all(3, false, rounding, Start::Zero));
//!     elements.iter().for_each(|element| joint.observe(element));
//!     let names: Vec<String> = joint.survivors().map(ToString::to_string).collect();
//!     let rules = Rules { rounding, ..Rules::default() };
//!     common_order(&elements, &rules, 12).map(|order| (names, order.is_some()))
//! };
//! let (mlx, other) = ([0., 1., 0., 1.], [0., 1., 0., 0.]);
//! // MLX adds in F32 from left to right.
//! assert_eq!(explained(mlx, Rounding::F32)?.0, ["sequential, F32 accumulator"]);
//! // No order of F32 additions gives the other four; a BF16 accumulator does.
//! assert_eq!(explained(other, Rounding::F32)?, (vec![], false));
//! assert_eq!(explained(other, Rounding::Bf16)?.0, ["sequential, BF16 accumulator"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arithmetic;
mod error;
mod evidence;
mod exact;
mod interval;
mod joint;
mod leaves;
mod marks;
mod matrix;
mod orders;
mod pattern;
mod schedule;
mod step;
mod table;

pub use arithmetic::{Fusion, Start, Term, accumulator};
pub(crate) use arithmetic::{fused, last, partial};
pub use error::EnvelopeError;
pub use evidence::{Evidence, Findings};
pub use exact::{
    MOST_ADDITIONS, MOST_TERMS, MOST_TERMS_IN_PLACE, MOST_VALUES, Reachable, Rules, USUAL_TERMS,
};
pub use interval::Interval;
pub use joint::{Element, Finish, Joint, Rejection, same};
pub use leaves::Leaves;
pub use matrix::Block;
pub use orders::{CommonOrder, common_order};
pub use pattern::{Pattern, Stage};
pub use schedule::Schedule;
pub use step::{Step, StepError, Sum};
