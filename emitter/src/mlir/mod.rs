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

/// Whose hints stand beside operations, on how to divide their loops. No value depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hints {
    /// For the CPU compiler.
    #[default]
    Cpu,
    /// None, for any other.
    None,
}

/// The module of that name with these exported functions, as MLIR text with hints for CPUs.
pub fn print_module(name: &str, functions: &[Function<'_>]) -> String {
    print_module_with(name, functions, Hints::Cpu)
}

/// The same with these hints.
pub fn print_module_with(name: &str, functions: &[Function<'_>], hints: Hints) -> String {
    let mut text = format!("module @{name} {{\n");
    for function in functions {
        function::print(&mut text, function.name, function.program, hints);
    }
    text.push_str("}\n");
    text
}

/// The text of one function under a neutral name: equal for equal programs.
pub fn canonical_text(program: &Program) -> String {
    let mut text = String::new();
    function::print(&mut text, "f", program, Hints::Cpu);
    text
}
