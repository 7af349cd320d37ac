//! Functions of one operand on every F32 there is, MLX against the interpreter.
//!
//! `cargo test --release -p probes --test catalogue -- --ignored --nocapture`

use std::sync::atomic::{AtomicUsize, Ordering};

use emitter::{Contract, Cut, lower::lower, program::Source};
use oracle::{MlxSide, interp};
use probes::catalogue::{FUNCTIONS, carried};
use stages::{Boundary, DType, Tensor, graph::Op};

use crate::{INPUT, function};

/// Values in one piece.
const PIECE: usize = 1 << 22;

fn every_value(name: &str, op: &Op, scalar: Option<f64>) {
    let graph = function([PIECE], |b, x| match scalar {
        Some(scalar) => b.binary_scalar(op.clone(), x, scalar),
        None => b.apply(op.clone(), &[x]),
    });
    let boundary: &Boundary = &graph.boundaries()[0];
    let program = lower(&graph, &Cut::step(&graph, boundary), Contract::MlxCpu).unwrap();
    let mlx = MlxSide::new().unwrap();
    let next = AtomicUsize::new(0);
    let wrong = AtomicUsize::new(0);
    let work = || {
        loop {
            let start = next.fetch_add(PIECE, Ordering::Relaxed);
            if start > u32::MAX as usize {
                return;
            }
            let values: Vec<f32> = (0..PIECE)
                .map(|i| f32::from_bits((start + i) as u32))
                .collect();
            let x = Tensor::from_f32([PIECE], &values).unwrap();
            let inputs = [(INPUT.to_owned(), x.clone())].into();
            let captures = mlx
                .capture(&graph, &|_| None, &inputs, &[boundary], &mut |_| {})
                .unwrap();
            let supply = |_: &Source| Some(x.clone());
            let found = interp::run(&program, &supply).unwrap();
            let expected = carried(captures.get(&boundary.id).unwrap()).unwrap();
            for (i, (a, b)) in expected.iter().zip(carried(&found[0]).unwrap()).enumerate() {
                if *a != b && wrong.fetch_add(1, Ordering::Relaxed) < 10 {
                    eprintln!("{name} {:08x}: mlx {a:08x} interp {b:08x}", start + i);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    assert_eq!(wrong.into_inner(), 0, "{name}");
    eprintln!("{name}: every F32 agrees");
}

#[test]
#[ignore = "takes half an hour"]
fn every_f32_agrees_in_functions_of_one_operand() {
    for op in FUNCTIONS {
        every_value(&format!("{op:?}"), &op, None);
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_f32_agrees_beside_a_constant() {
    every_value("Power 2", &Op::Power, Some(2.0));
    every_value("LogAddExp 0", &Op::LogAddExp, Some(0.0));
}

#[test]
#[ignore = "takes minutes"]
fn every_f32_agrees_in_conversions() {
    for dtype in [DType::BF16, DType::I32, DType::Bool] {
        every_value(&format!("AsType {dtype}"), &Op::AsType { dtype }, None);
    }
}
