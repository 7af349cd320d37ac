//! Questions to running operations: `qualify probe …`.

mod contract;
mod envelope;
mod order;

use clap::{Args, Subcommand};
use reports::verdict::ExitCode;

use crate::failure::Failure;

pub use contract::ContractArgs;
pub use envelope::EnvelopeArgs;
pub use order::OrderArgs;

/// Arguments of `probe`.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// What is asked.
    #[command(subcommand)]
    pub question: Question,
}

/// A question.
#[derive(Debug, Subcommand)]
pub enum Question {
    /// In which order does an operation add its terms?
    #[command(after_help = order::CODES)]
    Order(Box<OrderArgs>),
    /// Which results can a sum have, and which schedules explain the ones that it has?
    #[command(after_help = envelope::CODES)]
    Envelope(Box<EnvelopeArgs>),
    /// Which arithmetic gives what a side gave? Found from its inputs and results alone
    #[command(after_help = contract::CODES)]
    Contract(Box<ContractArgs>),
}

/// Asks. Gives what to print, and the exit code.
///
/// # Errors
/// When a side cannot be used, or the command line asks for something there is not.
pub fn probe(args: &ProbeArgs) -> Result<(String, ExitCode), Failure> {
    match &args.question {
        Question::Order(args) => order::order(args),
        Question::Envelope(args) => envelope::envelope(args),
        Question::Contract(args) => contract::contract(args),
    }
}

impl ProbeArgs {
    /// Why these arguments cannot be followed, if so.
    pub fn contradiction(&self) -> Option<&'static str> {
        match &self.question {
            Question::Order(args) => args.contradiction(),
            Question::Envelope(args) => args.contradiction(),
            Question::Contract(args) => args.contradiction(),
        }
    }

    /// Whether standard output is taken by something else than the table.
    pub fn takes_stdout(&self) -> bool {
        match &self.question {
            Question::Order(args) => args.takes_stdout(),
            Question::Envelope(args) => args.takes_stdout(),
            Question::Contract(args) => args.takes_stdout(),
        }
    }
}
