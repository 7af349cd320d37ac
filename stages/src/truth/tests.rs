use proptest::prelude::*;

use super::*;
use crate::{
    DType,
    graph::{Builder, GraphError, Quantized},
};

/// The truth of what `build` makes of these inputs.
fn truth(
    inputs: &[Tensor],
    build: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError>,
) -> Truth {
    let mut b = Builder::new();
    let ids: Vec<ValueId> = inputs
        .iter()
        .enumerate()
        .map(|(i, x)| b.input(&i.to_string(), x.shape().clone(), x.dtype()))
        .collect();
    let y = build(&mut b, &ids).unwrap();
    let graph = b.finish();
    let given = |value| {
        let at = ids.iter().position(|id| *id == value)?;
        Some(inputs[at].clone())
    };
    evaluate(&graph, y, &given, true).unwrap()
}

fn f32s(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_f32(shape, values).unwrap()
}

#[test]
fn a_sum_keeps_what_f32_would_lose_and_says_how_ill_conditioned_it_is() {
    let x = f32s(&[1, 4], &[1e8, 1.0, -1e8, 2.0]);
    let y = truth(&[x], |b, x| b.sum(x[0], &[1]));
    assert_eq!(y.values, [3.0]);
    let condition = y.condition.unwrap()[0];
    assert!((condition / ((2e8 + 3.0) / 3.0) - 1.0).abs() < 1e-6);
}

#[test]
fn products_of_given_terms_have_the_condition_of_their_sum() {
    let a = f32s(&[1, 3], &[3.0, -2.0, 1.0]);
    let b = f32s(&[3, 1], &[1.0, 1.0, 2.0]);
    let y = truth(&[a, b], |b, x| b.apply(Op::Matmul, x));
    assert_eq!(y.values, [3.0]);
    assert_eq!(y.condition.unwrap(), [7.0 / 3.0]);
}

#[test]
fn where_nothing_is_added_up_there_is_no_condition() {
    let x = f32s(&[2], &[2.0, 0.5]);
    let y = truth(&[x], |b, x| b.apply(Op::Tanh, x));
    assert_eq!(y.values, [2.0f64.tanh(), 0.5f64.tanh()]);
    assert_eq!(y.condition, None);
}

#[test]
fn a_difference_from_the_mean_amplifies_what_it_cancels() {
    let x = f32s(&[1, 2], &[1000.0, 1001.0]);
    let y = truth(&[x], |b, x| {
        let sum = b.sum(x[0], &[1])?;
        let mean = b.binary_scalar(Op::Multiply, sum, 0.5)?;
        b.binary(Op::Subtract, x[0], mean)
    });
    assert_eq!(y.values, [-0.5, 0.5]);
    let condition = y.condition.unwrap();
    assert!((condition[0] - 4001.0).abs() < 1e-3, "{condition:?}");
}

#[test]
fn constants_keep_the_rounding_they_are_stated_with() {
    let x = Tensor::from_bf16([1], &[half::bf16::ONE]).unwrap();
    let y = truth(&[x], |b, x| b.binary_scalar(Op::Multiply, x[0], 0.1));
    assert_eq!(y.values, [f64::from(half::bf16::from_f32(0.1))]);
}

#[test]
fn movements_move_values_with_their_conditions() {
    let x = f32s(&[2, 3], &[1.0, -2.0, 4.0, 1.0, 1.0, 1.0]);
    let y = truth(&[x], |b, x| {
        let running = b.cumsum(x[0], 1)?;
        let turned = b.transpose(running, &[1, 0])?;
        let padded = b.pad(turned, &[(0, 1, 0)], 9.0)?;
        b.apply(
            Op::Slice {
                start: vec![0, 0],
                stop: vec![4, 2],
                strides: vec![3, 1],
            },
            &[padded],
        )
    });
    assert_eq!(y.values, [9.0, 9.0, 3.0, 3.0]);
    let condition = y.condition.unwrap();
    // A constant, which nothing given makes larger.
    assert_eq!(condition[0..2], [0.0, 0.0]);
    assert!((condition[2] - 7.0 / 3.0).abs() < 1e-6);
    assert_eq!(condition[3], 1.0);
}

#[test]
fn quantised_products_are_those_of_the_matrix_they_stand_for() {
    let words: Vec<u32> = (0..3 * 8)
        .map(|i: u32| i.wrapping_mul(0x9e37_79b9))
        .collect();
    let inputs = [
        f32s(
            &[2, 64],
            &(0..128).map(|i| i as f32 / 7.0 - 9.0).collect::<Vec<_>>(),
        ),
        Tensor::from_u32([3, 8], &words).unwrap(),
        f32s(&[3, 1], &[0.5, -0.25, 0.125]),
        f32s(&[3, 1], &[-4.0, 2.0, 0.0]),
    ];
    let matrix = |x: &[ValueId]| Quantized {
        words: x[1],
        scales: x[2],
        biases: x[3],
        group_size: 64,
        bits: 4,
    };
    let direct = truth(&inputs, |b, x| b.quantized_linear(x[0], matrix(x)));
    let through = truth(&inputs, |b, x| {
        let dense = b.dequantize(matrix(x))?;
        b.linear(x[0], dense)
    });
    assert_eq!(direct, through);
}

#[test]
fn what_is_missing_or_of_another_shape_is_said() {
    let mut b = Builder::new();
    let x = b.input("mel", [2], DType::F32);
    let graph = b.finish();
    let error = evaluate(&graph, x, &|_| None, false).unwrap_err();
    assert_eq!(error, TruthError::Missing("mel".into()));
    let other = |_| Some(f32s(&[3], &[0.0; 3]));
    let error = evaluate(&graph, x, &other, false).unwrap_err();
    assert!(error.to_string().contains("[2]"), "{error}");
}

/// What a convolution is, from its definition: the padded, dilated input under the kernel.
fn convolved(x: &[f32], w: &[f32], op: &Op, dims: [usize; 6]) -> Vec<f64> {
    let [len, channels, outputs, kernel, per_group, out] = dims;
    let Op::Convolution {
        strides,
        low,
        kernel_dilation,
        input_dilation,
        groups,
        flip,
        ..
    } = op
    else {
        panic!("not a convolution")
    };
    let mut result = vec![0.0; out * outputs];
    for place in 0..out {
        for o in 0..outputs {
            for tap in 0..kernel {
                for c in 0..per_group {
                    let at =
                        (place * strides[0] + tap * kernel_dilation[0]) as isize - low[0] as isize;
                    let dilation = input_dilation[0] as isize;
                    if at < 0 || at % dilation != 0 || at / dilation >= len as isize {
                        continue;
                    }
                    let channel = o / (outputs / groups) * per_group + c;
                    let value = x[(at / dilation) as usize * channels + channel];
                    let tap = if *flip { kernel - 1 - tap } else { tap };
                    let weight = w[(o * kernel + tap) * per_group + c];
                    result[place * outputs + o] += f64::from(value) * f64::from(weight);
                }
            }
        }
    }
    result
}

proptest! {
    #[test]
    fn convolutions_follow_their_definition(
        len in 3usize..9, per_group in 1usize..3, groups in 1usize..3, each in 1usize..3,
        kernel in 1usize..4, stride in 1usize..3, low in 0usize..3, high in 0usize..3,
        dilation in 1usize..3, spread in 1usize..3, flip: bool,
    ) {
        let (channels, outputs) = (per_group * groups, each * groups);
        let x: Vec<f32> = (0..len * channels).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let w: Vec<f32> = (0..outputs * kernel * per_group).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
        let op = Op::Convolution {
            strides: vec![stride], low: vec![low], high: vec![high],
            kernel_dilation: vec![dilation], input_dilation: vec![spread], groups, flip,
        };
        let padded = low + (len - 1) * spread + 1 + high;
        let reach = (kernel - 1) * dilation + 1;
        prop_assume!(padded >= reach);
        let out = (padded - reach) / stride + 1;
        let inputs = [f32s(&[1, len, channels], &x), f32s(&[outputs, kernel, per_group], &w)];
        let y = truth(&inputs, |b, x| b.apply(op.clone(), x));
        let expected = convolved(&x, &w, &op, [len, channels, outputs, kernel, per_group, out]);
        prop_assert_eq!(y.values, expected);
    }

    /// Moving each given term by one part in 2²⁰ moves the result by no more than its condition
    /// says, and for the worst signs by nearly as much.
    #[test]
    fn the_condition_bounds_what_a_change_of_the_terms_does(
        terms in proptest::collection::vec(-8.0f32..8.0, 2..9), signs: u16,
    ) {
        let unit = 2f64.powi(-20);
        let moved: Vec<f64> = terms.iter().enumerate().map(|(i, &t)| {
            let sign = if signs >> i & 1 == 1 { 1.0 } else { -1.0 };
            f64::from(t) * (1.0 + sign * unit)
        }).collect();
        let n = terms.len();
        let y = truth(&[f32s(&[n], &terms)], |b, x| {
            let sum = b.sum(x[0], &[0])?;
            b.apply(Op::Exp, &[sum])
        });
        let other = moved.iter().sum::<f64>().exp();
        let relative = (other / y.values[0] - 1.0).abs();
        let bound = y.condition.unwrap()[0] * unit;
        prop_assert!(relative <= bound * 1.01 + 1e-12, "{relative} {bound}");
    }
}
