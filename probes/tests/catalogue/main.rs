//! Every primitive that has a lowering under `mlx-cpu`, compared bit for bit on three sides: MLX
//! live, the interpreter and IREE. NaN equals NaN whatever its payload.
//!
//! `QUALIFY_FULL=1` takes sixteen times as many inputs for F32 functions; every one there is:
//! [`exhaustive`].

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod compiled;
mod coverage;
mod exhaustive;
mod faults;

use std::{collections::BTreeSet, fmt::Write, path::Path};

use oracle::{MlxSide, iree::IreeSide};
use probes::catalogue::{Bench, Case, Family, Outcome, Size};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::{
    DType, Graph, Shape,
    graph::{Builder, GraphError, ValueId},
};

/// A device, and a compiler with a cache below the target folder.
fn open() -> IreeSide {
    let store = Store::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("catalogue")).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap()
}

/// The name of a function's operand.
const INPUT: &str = "x";

/// A graph of one function of an F32 operand.
fn function(
    shape: impl Into<Shape>,
    build: impl FnOnce(&mut Builder, ValueId) -> Result<ValueId, GraphError>,
) -> Graph {
    let mut b = Builder::new();
    let x = b.input(INPUT, shape, DType::F32);
    let value = build(&mut b, x).unwrap();
    b.boundary("result", value, "").unwrap();
    b.finish()
}

fn size() -> Size {
    match std::env::var("QUALIFY_FULL") {
        Ok(value) if value == "1" => Size::Full,
        _ => Size::Short,
    }
}

/// What is wrong with an outcome.
fn told(case: &Case, outcome: &Outcome) -> String {
    let mut text = format!("{}: {} elements", case.name(), outcome.elements);
    if let Err(error) = &outcome.mlx {
        let _ = write!(text, ", mlx failed to {error}");
    }
    let iree = outcome.iree.iter();
    let sides = iree.map(|(class, side)| (format!("iree {class:?}"), side));
    let interp = outcome.interp.iter();
    for (name, side) in interp.map(|side| ("interp".to_owned(), side)).chain(sides) {
        let _ = match side {
            Ok(side) => write!(text, ", {name} differs in {:?}", side.differing),
            Err(error) => write!(text, ", {name} failed to {error}"),
        };
    }
    for differing in &outcome.first {
        let _ = write!(text, "\n  {differing:x?}");
    }
    text
}

/// Runs a family's cases on all sides and fails with every difference there is.
fn agree(family: Family) {
    let cases = family.cases(size()).unwrap();
    let (mlx, iree) = (MlxSide::new().unwrap(), open());
    let mut failures = Vec::new();
    let mut count = 0;
    Bench::new(&mlx, &iree).run(&cases.iter().collect::<Vec<_>>(), &mut |case, outcome| {
        count += 1;
        if !outcome.is_equal() {
            failures.push(told(case, &outcome));
        }
    });
    assert_eq!(count, cases.len());
    let failed = failures.len();
    assert!(failed == 0, "{failed} cases fail:\n{}", failures.join("\n"));
}

#[test]
fn functions_of_one_operand_agree() {
    agree(Family::Unary);
}

#[test]
fn functions_of_several_operands_agree() {
    agree(Family::Binary);
}

#[test]
fn conversions_and_constants_agree() {
    agree(Family::Cast);
}

#[test]
fn reductions_and_scans_agree() {
    agree(Family::Reduction);
}

#[test]
fn products_agree() {
    agree(Family::Contraction);
}

#[test]
fn quantised_matrices_agree() {
    agree(Family::Quantized);
}

#[test]
fn convolutions_agree() {
    agree(Family::Convolution);
}

#[test]
fn movements_agree() {
    agree(Family::Movement);
}

#[test]
fn no_two_cases_share_a_name() {
    let cases = Family::ALL.map(|family| family.cases(Size::Short).unwrap());
    let cases: Vec<&Case> = cases.iter().flatten().collect();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name()).collect();
    // They would share arguments.
    assert_eq!(names.len(), cases.len());
}

#[test]
fn operands_are_the_same_each_time_and_as_large_as_they_say() {
    for family in Family::ALL {
        for case in family.cases(Size::Short).unwrap() {
            for operand in case.inputs().values().chain(case.weights().values()) {
                let (a, b) = (operand.tensor().unwrap(), operand.tensor().unwrap());
                assert_eq!(a.bytes(), b.bytes(), "{}", case.name());
                assert_eq!((a.shape(), a.dtype()), (operand.shape(), operand.dtype()));
            }
        }
    }
}
