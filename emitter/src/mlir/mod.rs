//! Prints programs as MLIR: linalg for arithmetic, StableHLO for movement.
//!
//! The text is canonical: values are numbered in evaluation order and no name of the model
//! appears, so equal programs print equally and are compiled once. The printer adds no
//! arithmetic; how an order or a rounding is kept through the compiler is written at each op.

mod body;
mod function;
mod rounded_dot;
mod schedule;
mod types;

use crate::program::Program;

/// A function of a module: its name and what it computes.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// The exported name, an MLIR identifier.
    pub name: &'a str,
    /// What it computes.
    pub program: &'a Program,
}

/// The module of that name with these exported functions, as MLIR text.
pub fn print_module(name: &str, functions: &[Function<'_>]) -> String {
    let mut text = format!("module @{name} {{\n");
    for function in functions {
        function::print(&mut text, function.name, function.program);
    }
    text.push_str("}\n");
    text
}

/// The text of one function under a neutral name: equal for equal programs.
pub fn canonical_text(program: &Program) -> String {
    let mut text = String::new();
    function::print(&mut text, "f", program);
    text
}
