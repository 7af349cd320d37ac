//! The laid-out program computes what the stated one does, and has the forms it is meant to have.

use std::collections::HashMap;

use half::bf16;
use proptest::prelude::*;
use stages::{
    DType, Graph, Tensor,
    graph::{Builder, Op as Primitive, Quantized, ValueId},
};

use super::lay_out;
use crate::{
    Contract, Cut,
    interp::interpret,
    lower::lower,
    prepare::apply,
    program::{Prepare, Program, Source},
    validate::validate,
};

fn graph(build: impl FnOnce(&mut Builder) -> ValueId) -> Graph {
    let mut b = Builder::new();
    let result = build(&mut b);
    b.boundary("result", result, "What is tested.").unwrap();
    b.finish()
}

fn lowered(graph: &Graph) -> (Program, Program) {
    let cut = Cut::step(graph, &graph.boundaries()[0]);
    let stated = lower(graph, &cut, Contract::MlxCpu).unwrap();
    let laid_out = lay_out(&stated);
    validate(&laid_out).unwrap();
    (stated, laid_out)
}

/// Numbers of both signs and many magnitudes, the same for the same source.
fn tensor(name: &str, dtype: DType, dims: &[usize]) -> Tensor {
    let mut state = name
        .bytes()
        .fold(7u64, |h, b| h.wrapping_mul(31) ^ u64::from(b));
    let count = dims.iter().product();
    let values: Vec<f32> = (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let scale = [1.0, 1e-3, 300.0][(state >> 60) as usize % 3];
            ((state >> 33) as f32 / 2f32.powi(30) - 1.0) * scale
        })
        .collect();
    if dtype == DType::U32 {
        let words: Vec<u32> = values
            .iter()
            .map(|v| v.to_bits().wrapping_mul(0x9E37_79B1))
            .collect();
        Tensor::from_u32(dims, &words).unwrap()
    } else if dtype == DType::BF16 {
        let narrow: Vec<bf16> = values.iter().map(|&v| bf16::from_f32(v)).collect();
        Tensor::from_bf16(dims, &narrow).unwrap()
    } else {
        Tensor::from_f32(dims, &values).unwrap()
    }
}

fn run(graph: &Graph, program: &Program) -> Vec<Tensor> {
    let sources: HashMap<Source, Tensor> = graph
        .nodes()
        .filter_map(|(_, node)| {
            let (source, name) = match &node.op {
                Primitive::Input { name } => (Source::Input(name.clone()), name),
                Primitive::Weight { name } => (Source::Weight(name.clone()), name),
                _ => return None,
            };
            Some((
                source,
                tensor(name, node.info.dtype, node.info.shape.dims()),
            ))
        })
        .collect();
    let args: Vec<Tensor> = program
        .args()
        .iter()
        .map(|arg| apply(&arg.prepare, &sources[&arg.source]).unwrap())
        .collect();
    interpret(program, &args).unwrap()
}

fn assert_same(graph: &Graph) -> Program {
    let (stated, laid_out) = lowered(graph);
    let (a, b) = (run(graph, &stated), run(graph, &laid_out));
    for (a, b) in a.iter().zip(&b) {
        assert_eq!((a.shape(), a.bytes()), (b.shape(), b.bytes()));
    }
    laid_out
}

fn names(program: &Program) -> Vec<&'static str> {
    program.nodes().iter().map(|node| node.op.name()).collect()
}

fn conv(strides: [usize; 2]) -> Primitive {
    Primitive::Convolution {
        strides: strides.to_vec(),
        low: vec![0, 1],
        high: vec![2, 1],
        kernel_dilation: vec![1, 1],
        input_dilation: vec![1, 1],
        groups: 1,
        flip: false,
    }
}

#[test]
fn a_linear_layer_is_one_packed_product_of_a_prepared_weight() {
    let graph = graph(|b| {
        let x = b.input("x", [2, 5, 24], DType::BF16);
        let w = b.weight("w", [11, 24], DType::BF16);
        b.linear(x, w).unwrap()
    });
    let laid_out = assert_same(&graph);
    assert!(
        names(&laid_out).contains(&"PackedDot"),
        "{:?}",
        names(&laid_out)
    );
    let weight = laid_out
        .args()
        .iter()
        .find(|arg| arg.source == Source::Weight("w".into()));
    let shape = laid_out.info(weight.unwrap().value).shape.clone();
    assert_eq!(shape.dims(), [1, 24, 16, 1]);
}

fn quantised(m: usize, n: usize, groups: usize, dtype: DType) -> Graph {
    graph(|b| {
        let x = b.input("x", [m, 32 * groups], dtype);
        let matrix = Quantized {
            words: b.weight("words", [n, 4 * groups], DType::U32),
            scales: b.weight("scales", [n, groups], DType::BF16),
            biases: b.weight("biases", [n, groups], DType::BF16),
            group_size: 32,
            bits: 4,
        };
        b.quantized_linear(x, matrix).unwrap()
    })
}

#[test]
fn a_product_that_rounds_its_sums_takes_tiles_of_columns() {
    let laid_out = assert_same(&quantised(3, 40, 2, DType::BF16));
    let found = names(&laid_out);
    assert!(found.contains(&"PackedRoundedDot"), "{found:?}");
    // The words are only reshaped, on the host.
    let words = laid_out
        .args()
        .iter()
        .find(|arg| arg.source == Source::Weight("words".into()))
        .unwrap();
    assert_eq!(words.prepare[0], Prepare::Reinterpret);
    assert_eq!(laid_out.info(words.value).shape.dims(), [40, 2, 4]);
}

#[test]
fn a_wide_convolution_reads_its_input_in_place() {
    let graph = graph(|b| {
        let x = b.input("x", [2, 9, 8, 5], DType::BF16);
        let w = b.weight("w", [4, 3, 3, 5], DType::BF16);
        b.apply(conv([2, 2]), &[x, w]).unwrap()
    });
    let found = names(&assert_same(&graph)).join(" ");
    assert!(
        found.contains("DirectConvolution") && !found.contains("Patches"),
        "{found}"
    );
}

#[test]
fn a_narrow_convolution_is_one_map_and_its_weight_is_turned_on_the_host() {
    let graph = graph(|b| {
        let x = b.input("x", [1, 9, 8, 1], DType::BF16);
        let w = b.weight("w", [6, 3, 3, 1], DType::BF16);
        let y = b.apply(conv([2, 2]), &[x, w]).unwrap();
        let y = b.astype(y, DType::F32).unwrap();
        b.sum(y, &[2, 3]).unwrap()
    });
    let found = names(&assert_same(&graph)).join(" ");
    assert!(
        !found.contains("Transpose") && !found.contains("Barrier"),
        "{found}"
    );
}

#[test]
fn an_argument_nothing_reads_any_more_is_dropped() {
    let graph = graph(|b| {
        let x = b.input("x", [3, 4], DType::F32);
        let w = b.weight("w", [2, 4], DType::BF16);
        let w = b.astype(w, DType::F32).unwrap();
        b.linear(x, w).unwrap()
    });
    assert_eq!(assert_same(&graph).args().len(), 2);
}

proptest! {
    #[test]
    fn any_product_with_a_weight_keeps_its_bits(m in 1usize..20, n in 1usize..20, k in 1usize..40, wide: bool) {
        let dtype = if wide { DType::F32 } else { DType::BF16 };
        let graph = graph(|b| {
            let x = b.input("x", [m, k], dtype);
            let w = b.weight("w", [n, k], DType::BF16);
            let w = b.astype(w, dtype).unwrap();
            b.linear(x, w).unwrap()
        });
        assert_same(&graph);
    }

    #[test]
    fn any_quantised_product_keeps_its_bits(
        m in 1usize..20, n in 1usize..40, groups in 1usize..5, wide: bool,
    ) {
        let dtype = if wide { DType::F32 } else { DType::BF16 };
        assert_same(&quantised(m, n, groups, dtype));
    }

    #[test]
    fn any_convolution_keeps_its_bits(
        (height, width) in (3usize..12, 3usize..12),
        channels in 1usize..7,
        outputs in 1usize..10,
        strides in prop::array::uniform2(1usize..4),
        wide: bool,
    ) {
        let dtype = if wide { DType::F32 } else { DType::BF16 };
        let graph = graph(|b| {
            let x = b.input("x", [2, height, width, channels], dtype);
            let w = b.weight("w", [outputs, 3, 3, channels], DType::BF16);
            let w = b.astype(w, dtype).unwrap();
            b.apply(conv(strides), &[x, w]).unwrap()
        });
        assert_same(&graph);
    }

    #[test]
    fn movement_before_arithmetic_keeps_its_bits(
        axes in Just(vec![0usize, 1, 2]).prop_shuffle(),
        again in Just(vec![0usize, 1, 2]).prop_shuffle(),
    ) {
        let graph = graph(|b| {
            let x = b.input("x", [2, 3, 4], DType::F32);
            let y = b.transpose(x, &axes).unwrap();
            let y = b.transpose(y, &again).unwrap();
            let dims = b.shape(y).dims().to_vec();
            let z = b.reshape(y, [dims[0], 1, dims[1] * dims[2]]).unwrap();
            let z = b.reshape(z, dims).unwrap();
            b.binary(Primitive::Subtract, y, z).unwrap()
        });
        assert_same(&graph);
    }
}
