//! What lowerings of whole primitives look like, and that their order is the stated one.

use stages::{
    DType, Tensor,
    graph::{Builder, Op as Primitive, Quantized, ReduceKind, ValueId},
};

use super::*;
use crate::{
    interp::interpret,
    program::{Combine, Elem, Op, Prepare, Source},
    validate::validate,
};

fn lowered(
    contract: Contract,
    build: impl FnOnce(&mut Builder) -> ValueId,
) -> Result<Program, LowerError> {
    let mut b = Builder::new();
    let y = build(&mut b);
    b.boundary("y", y, "the result").unwrap();
    let graph = b.finish();
    let cut = Cut::step(&graph, &graph.boundaries()[0]);
    let program = lower(&graph, &cut, contract)?;
    validate(&program).unwrap();
    Ok(program)
}

fn exact(build: impl FnOnce(&mut Builder) -> ValueId) -> Program {
    lowered(Contract::MlxCpu, build).unwrap()
}

fn ops(program: &Program) -> Vec<&'static str> {
    program.nodes().iter().map(|node| node.op.name()).collect()
}

#[test]
fn arguments_are_boundaries_then_inputs_then_weights_in_evaluation_order() {
    let mut b = Builder::new();
    let w = b.weight("w", [3], DType::BF16);
    let x = b.input("x", [2, 3], DType::BF16);
    let mask = b.input("mask", [2, 3], DType::Bool);
    let s = b.apply(Primitive::Square, &[x]).unwrap();
    b.boundary("s", s, "square").unwrap();
    let y = b.binary(Primitive::Multiply, s, w).unwrap();
    let y = b.binary(Primitive::Add, y, x).unwrap();
    let zero = b.full([2, 3], 0.0, DType::BF16).unwrap();
    let y = b.apply(Primitive::Select, &[mask, y, zero]).unwrap();
    b.boundary("y", y, "result").unwrap();
    let graph = b.finish();
    let cut = Cut::step(&graph, &graph.boundaries()[1]);
    let program = lower(&graph, &cut, Contract::MlxCpu).unwrap();
    let args: Vec<_> = program
        .args()
        .iter()
        .map(|arg| {
            (
                arg.source.clone(),
                arg.prepare.clone(),
                program.info(arg.value).elem,
            )
        })
        .collect();
    let widen = vec![Prepare::Widen];
    assert_eq!(
        args,
        [
            (Source::Boundary("s".into()), widen.clone(), Elem::F32),
            (Source::Input("x".into()), widen, Elem::F32),
            (Source::Input("mask".into()), vec![], Elem::Bool),
            (Source::Weight("w".into()), vec![], Elem::Bf16),
        ]
    );
    // Widening, broadcast, product, sum, selection; the constant is in the last kernel.
    assert_eq!(ops(&program), ["Map", "Broadcast", "Map", "Map", "Map"]);
    let output = &program.outputs()[0];
    assert_eq!(output.name, "y");
    assert_eq!(program.info(output.value).grid, DType::BF16);
}

#[test]
fn a_constant_is_written_only_where_a_tensor_is_needed() {
    let program = exact(|b| b.full([2, 2], 0.1, DType::BF16).unwrap());
    assert_eq!(ops(&program), ["Fill"]);
    let program = exact(|b| {
        let two = b.scalar(2.0, DType::F32);
        b.apply(Primitive::Log, &[two]).unwrap()
    });
    assert_eq!(ops(&program), ["Map"]);
    let logarithm = interpret(&program, &[]).unwrap();
    assert_eq!(logarithm[0].as_f32(), Some(&[std::f32::consts::LN_2][..]));
}

#[test]
fn bf16_sums_round_after_every_addition() {
    let program = exact(|b| {
        let x = b.input("x", [4], DType::BF16);
        b.sum(x, &[0]).unwrap()
    });
    let x = Tensor::from_f32([4], &[256.0, 1.0, 1.0, 1.0]).unwrap();
    let sum = interpret(&program, &[x]).unwrap();
    assert_eq!(sum[0].as_f32(), Some(&[256.0][..]));
}

#[test]
fn a_sum_over_two_runs_adds_the_inner_sums() {
    let program = exact(|b| {
        let x = b.input("x", [2, 1, 2], DType::F32);
        b.sum(x, &[0, 2]).unwrap()
    });
    assert_eq!(ops(&program), ["Reduce", "Reduce", "Reshape"]);
    // In one pass the ones would be lost one by one.
    let x = Tensor::from_f32([2, 1, 2], &[16_777_216.0, 0.0, 1.0, 1.0]).unwrap();
    let sum = interpret(&program, &[x]).unwrap();
    assert_eq!(sum[0].as_f32(), Some(&[16_777_218.0][..]));
}

#[test]
fn a_sum_whose_order_the_view_does_not_fix_is_refused() {
    let refused = lowered(Contract::MlxCpu, |b| {
        let x = b.input("x", [2, 1, 3], DType::F32);
        let x = b.broadcast_to(x, &[2, 4, 3].into()).unwrap();
        b.sum(x, &[0, 1]).unwrap()
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "lower Reduce under mlx-cpu: the order of a sum over axes [0, 1] of a strided view is not \
         known"
    );
}

#[test]
fn a_sum_of_integers_needs_no_order() {
    let program = exact(|b| {
        let x = b.input("x", [2, 1, 3], DType::I32);
        let x = b.broadcast_to(x, &[2, 4, 3].into()).unwrap();
        b.sum(x, &[0, 1]).unwrap()
    });
    assert_eq!(ops(&program), ["Broadcast", "Reduce", "Reshape"]);
    let x = Tensor::from_i32([2, 1, 3], &[i32::MAX, 2, 3, 1, -5, 0]).unwrap();
    let sum = interpret(&program, &[x]).unwrap();
    assert_eq!(sum[0].as_i32(), Some(&[0, -12, 12][..]));
    let native = lowered(Contract::Native, |b| {
        let x = b.input("x", [3], DType::I32);
        b.sum(x, &[0]).unwrap()
    });
    assert!(native.unwrap().is_exact());
}

#[test]
fn a_reduction_over_axes_of_extent_one_is_a_movement() {
    let program = exact(|b| {
        let x = b.input("x", [2, 1], DType::F32);
        let y = b.apply(Primitive::Negative, &[x]).unwrap();
        b.sum(y, &[1]).unwrap()
    });
    assert_eq!(ops(&program), ["Map"]);
}

#[test]
fn a_running_sum_without_its_own_element_starts_from_plus_zero() {
    let program = exact(|b| {
        let x = b.input("x", [3], DType::F32);
        let scan = Primitive::Scan {
            axis: 0,
            reverse: false,
            inclusive: false,
        };
        b.apply(scan, &[x]).unwrap()
    });
    let x = Tensor::from_f32([3], &[-0.0, 1.0, 2.0]).unwrap();
    let sums = interpret(&program, &[x]).unwrap();
    let bits: Vec<u32> = sums[0]
        .as_f32()
        .unwrap()
        .iter()
        .map(|v| v.to_bits())
        .collect();
    assert_eq!(bits, [0.0f32, 0.0, 1.0].map(f32::to_bits));
}

fn product(transposed: bool) -> Program {
    exact(|b| {
        let c = b.input("c", [2, 3], DType::F32);
        let a = b.input("a", [2, 4], DType::F32);
        let w = if transposed {
            let w = b.input("w", [3, 4], DType::F32);
            b.transpose(w, &[1, 0]).unwrap()
        } else {
            b.input("w", [4, 3], DType::F32)
        };
        let op = Primitive::AddMM {
            alpha: 1.0,
            beta: 1.0,
        };
        b.apply(op, &[c, a, w]).unwrap()
    })
}

#[test]
fn addmm_begins_with_c_unless_b_is_transposed() {
    assert_eq!(ops(&product(false)), ["Pad", "Pad", "Map", "Reduce"]);
    assert_eq!(
        ops(&product(true)),
        ["Transpose", "Transpose", "Dot", "Map"]
    );
}

fn convolution(
    x: [usize; 4],
    w: [usize; 4],
    groups: usize,
    flip: bool,
) -> Result<Program, LowerError> {
    lowered(Contract::MlxCpu, |b| {
        let x = b.input("x", x, DType::BF16);
        let w = b.weight("w", w, DType::BF16);
        let op = Primitive::Convolution {
            strides: vec![2, 2],
            low: vec![1, 1],
            high: vec![1, 1],
            kernel_dilation: vec![1, 1],
            input_dilation: vec![1, 1],
            groups,
            flip,
        };
        b.apply(op, &[x, w]).unwrap()
    })
}

#[test]
fn a_convolution_is_one_product_of_gathered_patches() {
    let program = convolution([1, 8, 8, 2], [4, 3, 3, 2], 1, false).unwrap();
    let expected = [
        "Map", "Pad", "Patches", "Reshape", "Reshape", "Dot", "Reshape", "Map",
    ];
    assert_eq!(ops(&program), expected);
    let refused = convolution([1, 8, 8, 2], [4, 3, 3, 2], 1, true).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "lower Convolution under mlx-cpu: the kernel is flipped"
    );
}

#[test]
fn a_convolution_of_few_terms_is_one_kernel() {
    let program = convolution([1, 8, 8, 1], [4, 3, 3, 1], 1, false).unwrap();
    assert!(!ops(&program).contains(&"Dot"));
    assert_eq!(ops(&program).last(), Some(&"Map"));
}

#[test]
fn a_depthwise_convolution_is_one_kernel() {
    let program = convolution([1, 8, 8, 2], [2, 3, 3, 1], 2, false).unwrap();
    assert!(!ops(&program).contains(&"Dot"));
    assert_eq!(ops(&program).last(), Some(&"Map"));
}

#[test]
fn arange_is_a_running_sum_where_that_rounds_differently() {
    let of = |step, len| exact(|b| b.arange(0.0, step, len, DType::BF16));
    assert_eq!(ops(&of(1.0, 200)), ["Map"]);
    let stuck = of(1.0, 300);
    assert_eq!(ops(&stuck), ["Map", "PrefixScan"]);
    let values = interpret(&stuck, &[]).unwrap();
    assert_eq!(values[0].as_f32().unwrap()[299], 256.0);
}

#[test]
fn dtypes_without_a_carrier_are_refused() {
    let refused = lowered(Contract::MlxCpu, |b| {
        let x = b.input("x", [2], DType::F16);
        b.apply(Primitive::Exp, &[x]).unwrap()
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "lower Input: F16 values are not supported"
    );
}

fn matrix(b: &mut Builder, dtype: DType, group_size: usize) -> Quantized {
    Quantized {
        words: b.weight("m.weight", [1, 2], DType::U32),
        scales: b.weight("m.scales", [1, 16 / group_size], dtype),
        biases: b.weight("m.biases", [1, 16 / group_size], dtype),
        group_size,
        bits: 4,
    }
}

#[test]
fn an_element_of_a_quantised_matrix_is_rounded_twice() {
    let program = exact(|b| {
        let m = matrix(b, DType::BF16, 8);
        b.dequantize(m).unwrap()
    });
    let bf16s = |values: [f32; 2]| {
        let values = values.map(half::bf16::from_f32);
        Tensor::from_bf16([1, 2], &values).unwrap()
    };
    let args = [
        Tensor::from_i32([1, 2], &[0x7654_3210, 0xFEDC_BA98u32.cast_signed()]).unwrap(),
        bf16s([1.0078125, -3.0]),
        bf16s([0.00390625, 1000.0]),
    ];
    let values = interpret(&program, &args).unwrap();
    let expected: Vec<f32> = (0..16)
        .map(|q| {
            let (scale, bias) = [(1.0078125, 0.00390625), (-3.0, 1000.0)][q / 8];
            let round = |x: f32| half::bf16::from_f32(x).to_f32();
            round(round(q as f32 * scale) + bias)
        })
        .collect();
    assert_eq!(values[0].shape(), &[1, 16].into());
    assert_eq!(values[0].as_f32(), Some(&expected[..]));
}

fn quantised_product(contract: Contract, dtype: DType) -> Program {
    lowered(contract, |b| {
        let x = b.input("x", [2, 3, 64], dtype);
        let m = Quantized {
            words: b.weight("m.weight", [5, 8], DType::U32),
            scales: b.weight("m.scales", [5, 1], DType::BF16),
            biases: b.weight("m.biases", [5, 1], DType::BF16),
            group_size: 64,
            bits: 4,
        };
        b.quantized_linear(x, m).unwrap()
    })
    .unwrap()
}

#[test]
fn a_quantised_product_in_bf16_rounds_every_partial_sum() {
    let program = quantised_product(Contract::MlxCpu, DType::BF16);
    assert!(ops(&program).contains(&"RoundedDot"), "{:?}", ops(&program));
    // Every weight is one, as q·0 + 1: the sum stands still where its grid is coarser.
    let ones = vec![half::bf16::ONE; 5];
    let args = [
        Tensor::from_f32([2, 3, 64], &[4.0; 384]).unwrap(),
        Tensor::from_i32([5, 8], &[0x1234_5678; 40]).unwrap(),
        Tensor::from_bf16([5, 1], &[half::bf16::ZERO; 5]).unwrap(),
        Tensor::from_bf16([5, 1], &ones).unwrap(),
    ];
    let product = interpret(&program, &args).unwrap();
    assert_eq!(product[0].shape(), &[2, 3, 5].into());
    assert_eq!(product[0].as_f32(), Some(&[256.0; 30][..]));

    let args = [
        Tensor::from_f32([2, 3, 64], &[5.0; 384]).unwrap(),
        args[1].clone(),
        args[2].clone(),
        args[3].clone(),
    ];
    let product = interpret(&program, &args).unwrap();
    let rounded = (0..64).fold(0.0f32, |sum, _| half::bf16::from_f32(sum + 5.0).to_f32());
    assert_ne!(rounded, 320.0);
    assert_eq!(product[0].as_f32(), Some(&[rounded; 30][..]));
}

#[test]
fn a_quantised_product_in_f32_or_of_no_stated_order_is_a_dot() {
    let program = quantised_product(Contract::MlxCpu, DType::F32);
    assert!(ops(&program).contains(&"Dot") && program.is_exact());
    for dtype in [DType::F32, DType::BF16] {
        let program = quantised_product(Contract::Native, dtype);
        assert!(ops(&program).contains(&"Dot") && !program.is_exact());
    }
}

#[test]
fn native_leaves_orders_roundings_and_functions_to_the_compiler() {
    let program = lowered(Contract::Native, |b| {
        let x = b.input("x", [4, 8], DType::BF16);
        let y = b
            .apply(Primitive::Softmax { precise: false }, &[x])
            .unwrap();
        let reduce = Primitive::Reduce {
            kind: ReduceKind::Sum,
            axes: vec![1],
        };
        b.apply(reduce, &[y]).unwrap()
    })
    .unwrap();
    assert!(!program.is_exact());
    let stated = program.nodes().iter().any(|node| {
        matches!(
            &node.op,
            Op::Reduce {
                combine: Combine::Sum {
                    round_each: Some(_),
                    ..
                },
                ..
            }
        )
    });
    assert!(!stated);
}
