//! Recordings of an emulation of MLX's CUDA backend (`scripts/record-cuda-emulation`): each
//! contract is found by its name, from inputs and results alone.

use std::path::Path;

use oracle::Captures;
use probes::contract::{Answer, Limits, Operation, find};
use stages::BoundaryId;

/// What is found in a recording.
fn found(name: &str) -> Answer {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recorded");
    let file = folder.join(format!("emulated-cuda-{name}.safetensors"));
    let (captures, notes) = Captures::load(&file).unwrap();
    let operation: Operation = notes["op"].parse().unwrap();
    let tensor = |name: &str| captures.get(&BoundaryId::new(name)).cloned();
    let question = operation.question(&tensor).unwrap();
    find(&question, Limits::default(), 8).unwrap()
}

/// Checks the lines of the contract of a recording. Others may give the same results only if
/// `open` is part of their text.
fn is(name: &str, lines: &[&str], open: &[&str]) {
    let answer = found(name);
    let Some(contract) = answer.contract() else {
        panic!("{name}: {:?}", answer.ranking[0]);
    };
    let texts: Vec<String> = contract.lines.iter().map(ToString::to_string).collect();
    assert_eq!(texts, lines, "{name}");
    for line in &contract.lines {
        for other in &line.others {
            let text = other.to_string();
            let allowed = open.iter().any(|word| text.contains(word));
            assert!(
                allowed || other.differs_only_in_zero(&line.statement),
                "{name}: {line}, or {text}"
            );
        }
    }
}

const BF16: &str = "each partial sum rounded to BF16";
const ONCE: &str = "in F32, the sum rounded to BF16";

#[test]
fn running_sums() {
    let block = "Scan: a block of threads by 4, doubling in warps and over warps";
    is("cumsum-f32", &[&format!("{block}, in F32")], &[]);
    is("cumsum-bf16", &[&format!("{block}, {BF16}")], &[]);
    let warps = "Scan: warps of 32, doubling, one after the other";
    is("cumsum-strided-f32", &[&format!("{warps}, in F32")], &[]);
    is("cumsum-strided-bf16", &[&format!("{warps}, {BF16}")], &[]);
}

#[test]
fn sums_along_rows_and_columns() {
    let row = "Reduce: sum over axis 1";
    let threads = "4 warps of 32 by 4, butterfly, then butterfly";
    is("row-sum-f32", &[&format!("{row}, {threads}, in F32")], &[]);
    let threads = "2 warps of 32 by 8, butterfly, then butterfly";
    is("row-sum-bf16", &[&format!("{row}, {threads}, {BF16}")], &[]);
    // Lanes that take every 32nd term.
    let column = "Reduce: sum over axis 0, 32 lanes, then halving";
    is("column-sum-f32", &[&format!("{column}, in F32")], &[]);
    is("column-sum-bf16", &[&format!("{column}, {BF16}")], &[]);
    let passes =
        "Reduce: sum over axis 0, two passes: 32 runs, each by a warp of 32 by 1, butterfly";
    is(
        "column-sum-two-passes-f32",
        &[&format!("{passes}, in F32")],
        &[],
    );
    is(
        "column-sum-two-passes-bf16",
        &[&format!("{passes}, {BF16}")],
        &[],
    );
}

#[test]
fn means_and_norms() {
    let sum = "Reduce: sum over axis 1, a warp of 32 by 4, butterfly, in F32";
    is("mean-f32", &[sum, "Multiply: a·0.0033333334"], &[]);
    let sum = format!("Reduce: sum over axis 1, a warp of 32 by 8, butterfly, {BF16}");
    is("mean-bf16", &[&sum, "Multiply: bf16(a·0.003326416)"], &[]);
    let sum = "Reduce: sum over axis 1, 4 warps of 32 by 4, butterfly, then butterfly, in F32, \
               products fused";
    let rest = ["Multiply: a / 300", "Add: a + 1e-6", "Sqrt: exact_rsqrt(a)"];
    is("rms-norm-f32", &[&[sum], &rest[..]].concat(), &[]);
}

#[test]
fn products_with_vectors() {
    let lanes = "a warp of 32 by 2, butterfly, fused";
    is("gemv-f32", &[&format!("Matmul: {lanes}, in F32")], &[]);
    let lanes = "a warp of 32 by 2, butterfly, products rounded";
    is("gemv-bf16", &[&format!("Matmul: {lanes}, {ONCE}")], &[]);
}

#[test]
fn quantised_matrices() {
    let accumulators = |n: usize| {
        format!(
            "QuantizedMatmul: a warp of 32 with {n} accumulators a lane, these in F32, butterfly, \
             fused"
        )
    };
    let of = |n: usize, rounding: &str, element: &str| {
        format!("{}, {rounding}, elements {element}", accumulators(n))
    };
    is("qmv-f32", &[&of(8, "in F32", "fma(b, a, c)")], &[]);
    is(
        "qmv-bf16-sm_80",
        &[&of(16, BF16, "bf16(bf16(b·a) + c)")],
        &[],
    );
    // F32 holds q·scale: one rounding or two of its sum with a bias seldom differ.
    let open = ["elements bf16((b·a) + c)"];
    is(
        "qmv-bf16-sm_90",
        &[&of(16, BF16, "fma_bf16(b, a, c)")],
        &open,
    );
    is("dequantize-f32", &["Add: fma(c, d, b)"], &[]);
    is(
        "dequantize-bf16-sm_80",
        &["Multiply: bf16(a·b)", "Add: bf16(a + b)"],
        &[],
    );
    is("dequantize-bf16-sm_90", &["Add: fma_bf16(c, d, b)"], &[]);
}
