//! Random chains of primitives that make views, ended by one whose arithmetic depends on views:
//! the interpreter gives MLX's bits, or the lowering says that it does not know the order.
//!
//! Every value of a chain is compared, so the first wrong one is named. `QUALIFY_FULL=1` tries
//! a hundred times as many.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod chain;

use emitter::{Contract, Cut, lower::lower, program::Source};
use oracle::{MlxSide, interp};
use stages::{
    Boundary, BoundaryId, Graph, Tensor,
    graph::{Op, ReduceKind, View},
};

use chain::{Chain, random};

fn bits(tensor: &Tensor) -> Vec<u32> {
    match tensor.to_f32() {
        Some(values) => {
            let canonical = |x: &f32| {
                if x.is_nan() {
                    f32::NAN.to_bits()
                } else {
                    x.to_bits()
                }
            };
            values.iter().map(canonical).collect()
        }
        None => tensor.bytes().iter().map(|&byte| byte.into()).collect(),
    }
}

/// Whether MLX 0.32.2 may give wrong values for this chain: a reshape that needs no copy keeps the
/// mark "column-contiguous" of its operand though the result is not, and a function of two arrays
/// so marked then pairs elements of different indices.
fn pairs_wrong_elements(graph: &Graph) -> bool {
    graph.nodes().any(|(_, node)| {
        let reshapes = matches!(
            node.op,
            Op::Reshape { .. } | Op::Flatten { .. } | Op::Unflatten { .. }
        );
        reshapes
            && matches!(&graph.info(node.inputs[0]).view, View::Permuted(order)
                if order.iter().rev().is_sorted())
            && node.info.view != View::Contiguous
    })
}

/// Compares every boundary of a chain. `Ok(false)` if a step has no lowering.
fn agrees(
    mlx: MlxSide,
    Chain {
        graph,
        inputs,
        text,
    }: &Chain,
) -> Result<bool, String> {
    let wanted: Vec<&Boundary> = graph.boundaries().iter().collect();
    let captures = mlx
        .capture(graph, &|_| None, inputs, &wanted, &mut |_| {})
        .unwrap_or_else(|error| panic!("{text}: failed to {error}"));
    let mut all = true;
    for boundary in wanted {
        let Ok(program) = lower(graph, &Cut::step(graph, boundary), Contract::MlxCpu) else {
            all = false;
            continue;
        };
        let supply = |source: &Source| match source {
            Source::Input(name) | Source::Weight(name) => inputs.get(name).cloned(),
            Source::Boundary(name) => captures.get(&BoundaryId::new(name.clone())).cloned(),
        };
        let results = interp::run(&program, &supply)
            .unwrap_or_else(|error| panic!("{text}: failed to {error}"));
        // Which of several zeros an extremum gives is not stated.
        let extremum = matches!(
            graph.node(boundary.value).op,
            Op::Reduce {
                kind: ReduceKind::Max | ReduceKind::Min,
                ..
            }
        );
        let [expected, found] = [captures.get(&boundary.id).unwrap(), &results[0]].map(|tensor| {
            let bits = bits(tensor).into_iter();
            bits.map(|bits| if extremum && bits == 1 << 31 { 0 } else { bits })
                .collect::<Vec<_>>()
        });
        if expected != found && !pairs_wrong_elements(graph) {
            return Err(format!("{} differs in\n{text}", boundary.id));
        }
    }
    Ok(all)
}

#[test]
fn chains_of_views_give_the_references_bits() {
    let full = std::env::var("QUALIFY_FULL").is_ok_and(|value| value == "1");
    let chains = if full { 400_000 } else { 4_000 };
    let mlx = MlxSide::new().unwrap();
    let mut known = 0;
    let mut wrong = Vec::new();
    for seed in 0..chains {
        match agrees(mlx, &random(seed)) {
            Ok(all) => known += usize::from(all),
            Err(text) => wrong.push(text),
        }
    }
    let first = wrong.iter().take(3).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        wrong.is_empty(),
        "{} of {chains} chains differ: {first}",
        wrong.len()
    );
    // A lowering that refuses everything does not pass.
    assert!(
        known * 10 > chains as usize * 7,
        "only {known} of {chains} chains have a lowering"
    );
}
