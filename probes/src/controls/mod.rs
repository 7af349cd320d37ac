//! Negative controls: mistakes in the graph of the candidate that a comparison must notice.
//!
//! A [`Mutation`] changes the level-one graph of a single [`Step`], and so what is emitted for it.
//! [`mutations`] finds those of any step by rules over the primitives; [`Inputs`] says on which
//! inputs a mutation shows where it does not on a run's own, and [`reason`] why it shows on none.

mod inputs;
mod mutation;
mod pieces;
mod plant;
mod quantized;
mod rules;
mod run;
mod step;

pub use inputs::{Inputs, OTHERS, needs, padded, reason};
pub use mutation::Mutation;
pub use plant::{PlantError, planted};
pub use quantized::Mistake;
pub use rules::{Mutated, mutations};
pub use run::{Candidate, Compare, ControlError, Guarded, Scene, Tried};
pub use step::{Step, counterpart};

#[cfg(test)]
mod tests;
