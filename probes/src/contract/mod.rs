//! Which arithmetic gives what an implementation gave.
//!
//! A [`Question`] is a step on level one with captured values of its inputs and its result: a black
//! box. Each of its primitives has a list of [`Statement`]s that it may be computed as:
//! - elementwise ones: which inner values and results are rounded, algorithms of functions, a
//!   product fused with a sum, division or a factor;
//! - sums: orders (those of [`crate::envelope`] and CUDA's in several passes or accumulators), the
//!   order of the axes, the accumulator, squares fused;
//! - products, convolutions, quantised products: the same, when an addend is added, how an element
//!   of the matrix is made;
//! - running sums and softmax.
//!
//! [`find`] looks for a choice, one statement for each primitive, that gives every captured element.
//! Where there are few choices all are tried; else one goes from a plain one to better and better
//! ones. They are judged on a few elements first, then on more, at last on all. Only what leads to
//! these elements is computed.
//!
//! Of several that give everything the plainest is named: every primitive rounded to its dtype, sums
//! from left to right. That is a preference and no finding, so each [`Line`] tells the others.
//! More data tells more of them apart.
//!
//! [`stated`] reads what the emitter states, from its programs. The search does not use it.
//!
//! ```
//! use probes::contract::{Limits, Question, find};
//! use stages::{DType, Tensor, graph::Builder};
//!
//! let mut b = Builder::new();
//! let x = b.input("x", [2, 3], DType::F32);
//! let sum = b.sum(x, &[1])?;
//! let graph = b.finish();
//! let x = Tensor::from_f32([2, 3], &[1e8, -1e8, 1.0, 1.0, 1e8, -1e8])?;
//! let mut question = Question::new(&graph, sum)?;
//! // Whoever added these began at the right.
//! question.observe(&|_| Some(x.clone()), &Tensor::from_f32([2, 1], &[0.0, 1.0])?)?;
//! let answer = find(&question, Limits::default(), 3)?;
//! let line = &answer.contract().unwrap().lines[0];
//! assert_eq!(line.to_string(), "Reduce: sum over axis 1, right to left, in F32");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod compute;
mod elementwise;
mod error;
mod exact;
mod expr;
mod function;
mod inputs;
mod named;
mod order;
mod plan;
mod question;
mod read;
mod reads;
mod scan;
mod score;
mod search;
mod space;
mod stated;
mod statement;
mod statements;

pub use answer::{Answer, Candidate, Line, Refuted, find};
pub use error::ContractError;
pub use expr::{Binary, Expr};
pub use function::{Algorithm, Function, Kind};
pub use named::{NamedError, OPERATIONS, Operation};
pub use order::Order;
pub use question::Question;
pub use scan::ScanOrder;
pub use search::Limits;
pub use stated::{Unstated, stated};
pub use statement::{Addend, Product, Scan, Softmax, Statement, Sum};
