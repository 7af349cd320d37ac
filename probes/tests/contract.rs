//! Contracts found in captures alone: those of MLX's CPU backend from the live library, and those
//! of its CUDA backend from recordings of an emulation.
//!
//! The search is handed inputs and results. What the emitter states is looked up afterwards.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

#[path = "contract/case.rs"]
mod case;
#[path = "contract/cuda.rs"]
mod cuda;
#[path = "contract/search.rs"]
mod search;
#[path = "contract/table.rs"]
mod table;

use std::collections::BTreeMap;

use oracle::MlxSide;
use probes::{
    contract::{Statement, Sum},
    envelope::Evidence,
};
use stages::{DType, Tensor};

use case::{Case, emitted};

/// What the live MLX makes of a case.
fn mlx(case: &Case) -> Tensor {
    let side = MlxSide::new().unwrap();
    let boundary = &case.graph.boundaries()[0];
    let inputs: BTreeMap<String, Tensor> = case.inputs.clone();
    let captures = side
        .capture(&case.graph, &|_| None, &inputs, &[boundary], &mut |_| {})
        .unwrap();
    captures.get(&boundary.id).unwrap().clone()
}

/// Finds the contract of each case in MLX's results, and compares it with what the emitter states.
/// `apart`: nothing else gives all elements; else the names of what does are allowed.
fn recovers(cases: Vec<Case>, allowed: &[&str]) {
    let mut wrong = Vec::new();
    for case in cases {
        let result = mlx(&case);
        let (question, answer) = case.find(&result);
        let Some(contract) = answer.contract() else {
            let best = &answer.ranking[0];
            wrong.push(format!(
                "{}: {} of {}",
                case.name, best.explained, best.elements
            ));
            continue;
        };
        assert_eq!(answer.evidence(), Evidence::Schedule, "{}", case.name);
        assert!(answer.all_elements, "{}", case.name);
        for (line, stated) in contract.lines.iter().zip(emitted(&question, &answer)) {
            // By value and as it is printed.
            if line.statement != stated || line.statement.to_string() != stated.to_string() {
                wrong.push(format!("{}: found {line}, stated {stated}", case.name));
            }
            for other in &line.others {
                let text = other.to_string();
                let known = other.differs_only_in_zero(&line.statement)
                    || allowed.iter().any(|word| text.contains(word));
                if !known {
                    wrong.push(format!("{}: {line}, or {other}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_of_mlx_are_found_on_every_bf16() {
    // Of these, the correctly rounded function has the same result for every BF16, of tanh also
    // MLIR's; and `exp(bf16(d))` and `exp(d)` of a BF16 d are the same.
    let cases = table::functions();
    recovers(
        cases,
        &[
            "exact_tanh",
            "rational_tanh",
            "exact_log",
            "exact_cos",
            "exp(min(a, 0) − max(a, 0))",
        ],
    );
}

#[test]
fn sums_of_mlx_are_found() {
    recovers(
        table::sums(),
        &["exact_exp", "exp2_of_log2e_times", "exact_log"],
    );
}

#[test]
fn norms_of_mlx_are_found_as_one_step() {
    // A product with 1/n is far larger than epsilon.
    recovers(table::norms(DType::F32), &["fma(c, "]);
    recovers(vec![table::precise_softmax(DType::F32)], &[]);
}

#[test]
fn what_happens_in_f32_behind_a_bf16_result_is_found_but_not_alone() {
    // A last bit of F32 seldom shows in a BF16; what is rounded to BF16 is told.
    let inside = ["in F32", "a / 96", "fma(c, ", "exact_rsqrt"];
    recovers(table::norms(DType::BF16), &inside);
    recovers(vec![table::precise_softmax(DType::BF16)], &["sum: "]);
}

#[test]
fn products_of_mlx_are_found() {
    recovers(table::products(), &["exact_cos", "exact_sin"]);
}

#[test]
fn a_sum_is_not_told_from_one_that_begins_with_its_first_term() {
    let case = table::sums().remove(0);
    let (_, answer) = case.find(&mlx(&case));
    let others = &answer.contract().unwrap().lines[0].others;
    let begun: Vec<&Statement> = others
        .iter()
        .filter(|other| matches!(other, Statement::Sum(Sum { .. })))
        .collect();
    assert_eq!(begun.len(), 1);
    assert!(begun[0].to_string().contains("from the first term"));
}
