//! A cut of a graph as the two programs that are made of it.

use stages::Graph;

use crate::{
    Contract, Cut,
    layout::lay_out,
    lint::{Finding, lint},
    lower::{LowerError, lower},
    program::Program,
    validate::{Invalid, validate},
};

/// Why a cut cannot be emitted.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// A primitive has no lowering for these operands.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The program contradicts itself: a fault of the emitter.
    #[error("validate the emitted program: {0}")]
    Invalid(#[from] Invalid),
    /// The program states something an exact contract forbids: a fault of a lowering.
    #[error("emit under an exact contract: {}", list(.0))]
    Lint(Vec<Finding>),
}

fn list(findings: &[Finding]) -> String {
    let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// What a cut becomes.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// The arithmetic as the contract states it: what is interpreted.
    pub stated: Program,
    /// The same in the form that is printed and compiled.
    pub laid_out: Program,
}

/// Lowers a cut, checks it, and lays it out.
///
/// # Errors
/// When a primitive has no lowering, or the result fails the validator or the lint.
pub fn emit(graph: &Graph, cut: &Cut, contract: Contract) -> Result<Emitted, EmitError> {
    let stated = lower(graph, cut, contract)?;
    validate(&stated)?;
    let laid_out = lay_out(&stated);
    validate(&laid_out)?;
    let findings = lint(&laid_out, contract);
    if findings.is_empty() {
        Ok(Emitted { stated, laid_out })
    } else {
        Err(EmitError::Lint(findings))
    }
}
