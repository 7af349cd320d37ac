//! Every primitive that has a lowering under `mlx-cpu`, compared bit for bit on three sides: MLX
//! live, the interpreter and IREE. NaN equals NaN whatever its payload.
//!
//! `QUALIFY_FULL=1` takes sixteen times as many inputs for F32 functions; every one there is:
//! [`exhaustive`].

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod binary;
mod case;
mod cast;
mod compiled;
mod contraction;
mod convolution;
mod coverage;
mod exhaustive;
mod movement;
mod quantized;
mod reduction;
mod sides;
mod unary;
mod values;

use case::Case;

/// Makes the cases of similar primitives.
type Family = fn() -> Vec<Case>;

/// All families, by name.
const FAMILIES: [(&str, Family); 8] = [
    ("unary", unary::cases),
    ("binary", binary::cases),
    ("cast", cast::cases),
    ("reduction", reduction::cases),
    ("contraction", contraction::cases),
    ("quantized", quantized::cases),
    ("convolution", convolution::cases),
    ("movement", movement::cases),
];

fn agree(family: &str) {
    let cases = FAMILIES.iter().find(|(name, _)| *name == family).unwrap().1();
    sides::agree(&cases);
}

#[test]
fn functions_of_one_operand_agree() {
    agree("unary");
}

#[test]
fn functions_of_several_operands_agree() {
    agree("binary");
}

#[test]
fn conversions_and_constants_agree() {
    agree("cast");
}

#[test]
fn reductions_and_scans_agree() {
    agree("reduction");
}

#[test]
fn products_agree() {
    agree("contraction");
}

#[test]
fn quantised_matrices_agree() {
    agree("quantized");
}

#[test]
fn convolutions_agree() {
    agree("convolution");
}

#[test]
fn movements_agree() {
    agree("movement");
}
