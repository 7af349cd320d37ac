//! Which arithmetic gives what an implementation gave.

mod answer;
mod compute;
mod elementwise;
mod error;
mod exact;
mod expr;
mod function;
mod named;
mod order;
mod plan;
mod question;
mod read;
mod reads;
mod scan;
mod search;
mod space;
mod stated;
mod statement;

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
