//! Questions that a running operation answers about itself.
//!
//! [`order`] reveals in which order an operation adds its terms, from its results alone; [`ops`]
//! asks that of single operations of a level-one graph, on MLX and on IREE. [`envelope`] says which
//! results a sum can have, and which schedules explain the ones that it has. [`contract`] looks for
//! the arithmetic of a step in what it was handed and what came out. [`controls`] makes
//! mistakes on purpose, to find out whether a comparison notices. [`catalogue`] runs every primitive
//! on all sides. [`audit`] looks for instructions
//! in compiled code that compute otherwise than stated.

pub mod audit;
pub mod catalogue;
pub mod contract;
pub mod controls;
pub mod envelope;
pub mod ops;
pub mod order;
mod random;
