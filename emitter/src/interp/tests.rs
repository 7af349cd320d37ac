mod programs;

use std::collections::HashMap;

use half::bf16;
use proptest::prelude::*;
use stages::{DType, Shape, Tensor};

use super::{kernel::round_bf16, *};
use crate::{
    kernel::{KernelBuilder, RoundTo, Scalar},
    program::{Combine, IndexMap, Order, Source, Value, ValueInfo},
};

fn info(shape: &[usize], elem: Elem) -> ValueInfo {
    ValueInfo {
        shape: shape.into(),
        elem,
        grid: storage(elem),
    }
}

fn f32_info(shape: &[usize]) -> ValueInfo {
    info(shape, Elem::F32)
}

fn input(program: &mut Program, tensor: &Tensor) -> Value {
    let elem = match tensor.dtype() {
        DType::BF16 => Elem::Bf16,
        DType::I32 => Elem::I32,
        DType::Bool => Elem::Bool,
        _ => Elem::F32,
    };
    let name = program.args().len().to_string();
    program.arg(
        Source::Input(name),
        vec![],
        info(tensor.shape().dims(), elem),
    )
}

/// The value of one operation.
fn run(op: Op, args: &[Tensor], result: ValueInfo) -> Tensor {
    let mut program = Program::new();
    let inputs = args
        .iter()
        .map(|tensor| input(&mut program, tensor))
        .collect();
    let value = program.push(op, inputs, result);
    program.output("y", value);
    interpret(&program, args).unwrap().remove(0)
}

fn floats(tensor: &Tensor) -> Vec<u32> {
    let canonical = |x: &f32| {
        if x.is_nan() {
            f32::NAN.to_bits()
        } else {
            x.to_bits()
        }
    };
    tensor.as_f32().unwrap().iter().map(canonical).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    floats(&Tensor::from_f32([values.len()], values).unwrap())
}

/// Values of very different sizes, so that every change of order shows, and the odd zero.
fn noise(count: usize, mut seed: u32) -> Vec<f32> {
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    (0..count)
        .map(|_| match next() % 23 {
            0 => 0.0,
            1 => -0.0,
            _ => (next() as f32 / 8_388_608.0 - 1.0) * 2.0f32.powi((next() % 13) as i32 - 6),
        })
        .collect()
}

fn tensor(shape: &[usize], seed: u32) -> Tensor {
    Tensor::from_f32(shape, &noise(shape.iter().product(), seed)).unwrap()
}

/// All indices of a shape in row-major order.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    let count: usize = dims.iter().product();
    let index = |mut flat: usize| {
        let mut index = vec![0; dims.len()];
        for axis in (0..dims.len()).rev() {
            index[axis] = flat % dims[axis];
            flat /= dims[axis];
        }
        index
    };
    (0..count).map(index).collect()
}

fn at(tensor: &Tensor, index: &[usize]) -> f32 {
    let strides = tensor.shape().strides();
    let flat: usize = index.iter().zip(strides).map(|(i, s)| i * s).sum();
    tensor.as_f32().unwrap()[flat]
}

fn shapes(ranks: std::ops::Range<usize>) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..6, ranks)
}

const SEQUENTIAL: Combine = Combine::Sum {
    order: Order::Sequential,
    round_each: None,
};

fn dot(m: usize, k: usize, n: usize, batch: usize, fused: bool, seed: u32) {
    let (a, b) = (
        tensor(&[batch, m, k], seed),
        tensor(&[batch, n, k], seed + 1),
    );
    let op = Op::Dot {
        order: Order::Sequential,
        fused,
    };
    let given = run(op, &[a.clone(), b.clone()], f32_info(&[batch, m, n]));
    let expected: Vec<f32> = indices(&[batch, m, n])
        .iter()
        .map(|index| {
            (0..k).fold(0.0, |acc, k| {
                let (x, y) = (
                    at(&a, &[index[0], index[1], k]),
                    at(&b, &[index[0], index[2], k]),
                );
                if fused {
                    x.mul_add(y, acc)
                } else {
                    acc + x * y
                }
            })
        })
        .collect();
    assert_eq!(
        floats(&given),
        bits(&expected),
        "{batch}x{m}x{k}x{n} fused {fused}"
    );
}

#[test]
fn dots_of_many_sizes_add_products_in_ascending_order() {
    for (i, &(batch, m, k, n)) in [
        (1, 1, 1, 1),
        (1, 6, 300, 16),
        (1, 7, 257, 17),
        (2, 13, 600, 5),
        (1, 1, 700, 100),
        (3, 40, 9, 33),
        (1, 97, 30, 64),
        (1, 5, 0, 3),
        (0, 2, 2, 2),
    ]
    .iter()
    .enumerate()
    {
        dot(m, k, n, batch, false, i as u32);
        dot(m, k, n, batch, true, i as u32);
    }
}

#[test]
fn a_rounded_dot_rounds_every_product_and_every_sum() {
    for (i, &(batch, m, k, n)) in [
        (1, 1, 1, 1),
        (1, 7, 300, 17),
        (2, 13, 600, 5),
        (1, 40, 9, 33),
        (1, 5, 0, 3),
    ]
    .iter()
    .enumerate()
    {
        let seed = i as u32;
        let (a, b) = (
            tensor(&[batch, m, k], seed),
            tensor(&[batch, n, k], seed + 1),
        );
        let op = Op::RoundedDot { grid: DType::BF16 };
        let result = ValueInfo {
            grid: DType::BF16,
            ..f32_info(&[batch, m, n])
        };
        let given = run(op, &[a.clone(), b.clone()], result);
        let expected: Vec<f32> = indices(&[batch, m, n])
            .iter()
            .map(|index| {
                (0..k).fold(0.0, |acc, k| {
                    let (x, y) = (
                        at(&a, &[index[0], index[1], k]),
                        at(&b, &[index[0], index[2], k]),
                    );
                    round_bf16(acc + round_bf16(x * y))
                })
            })
            .collect();
        assert_eq!(floats(&given), bits(&expected), "{batch}x{m}x{k}x{n}");
    }
}

#[test]
fn an_empty_dot_is_plus_zero_and_infinities_and_nan_go_through() {
    let op = Op::Dot {
        order: Order::Sequential,
        fused: false,
    };
    let a = Tensor::from_f32([3, 2], &[f32::INFINITY, 0.0, f32::MAX, f32::MAX, -0.0, 0.0]).unwrap();
    let b = Tensor::from_f32([2, 2], &[0.0, 1.0, 2.0, -2.0]).unwrap();
    let y = run(op, &[a, b], f32_info(&[3, 2]));
    let expected = [f32::NAN, f32::INFINITY, f32::MAX, f32::NAN, 0.0, 0.0];
    assert_eq!(floats(&y), bits(&expected));
}

#[test]
fn a_packed_dot_is_the_dot_of_the_unpacked_operands() {
    let (rows, columns, k, t, u) = (5, 3, 37, 4, 8);
    let (a, b) = (tensor(&[rows, k, t, 1], 1), tensor(&[columns, k, u, 1], 2));
    for fused in [false, true] {
        let order = Order::Sequential;
        let op = Op::PackedDot { order, fused };
        let given = run(
            op,
            &[a.clone(), b.clone()],
            f32_info(&[rows, columns, t, u]),
        );
        let expected: Vec<f32> = indices(&[rows, columns, t, u])
            .iter()
            .map(|index| {
                (0..k).fold(0.0, |acc, k| {
                    let (x, y) = (
                        at(&a, &[index[0], k, index[2], 0]),
                        at(&b, &[index[1], k, index[3], 0]),
                    );
                    if fused {
                        x.mul_add(y, acc)
                    } else {
                        acc + x * y
                    }
                })
            })
            .collect();
        assert_eq!(floats(&given), bits(&expected));
    }
}

/// A reduction by definition.
fn reduced(x: &Tensor, axes: &[usize], step: impl Fn(f32, f32) -> f32, start: f32) -> Vec<f32> {
    let dims = x.shape().dims();
    let kept: Vec<usize> = (0..dims.len())
        .filter(|axis| !axes.contains(axis))
        .collect();
    let extents = |axes: &[usize]| axes.iter().map(|&axis| dims[axis]).collect::<Vec<_>>();
    let terms = indices(&extents(axes));
    indices(&extents(&kept))
        .iter()
        .map(|output| {
            terms.iter().fold(start, |acc, term| {
                let mut index = vec![0; dims.len()];
                kept.iter()
                    .zip(output)
                    .for_each(|(&axis, &i)| index[axis] = i);
                axes.iter()
                    .zip(term)
                    .for_each(|(&axis, &i)| index[axis] = i);
                step(acc, at(x, &index))
            })
        })
        .collect()
}

type Step<'a> = &'a dyn Fn(f32, f32) -> f32;

fn check_reduce(x: &Tensor, axes: &[usize]) {
    let dims = x.shape().dims();
    let kept: Vec<usize> = (0..dims.len())
        .filter(|axis| !axes.contains(axis))
        .map(|axis| dims[axis])
        .collect();
    let rounded = Combine::Sum {
        order: Order::Sequential,
        round_each: Some(DType::BF16),
    };
    let larger = |acc: f32, x: f32| if acc.is_nan() || acc >= x { acc } else { x };
    let smaller = |acc: f32, x: f32| if acc.is_nan() || acc <= x { acc } else { x };
    let cases: [(Combine, f32, Step<'_>); 4] = [
        (SEQUENTIAL, 0.0, &|acc, x| acc + x),
        (rounded, 0.0, &|acc, x| round_bf16(acc + x)),
        (Combine::Max, f32::NEG_INFINITY, &larger),
        (Combine::Min, f32::INFINITY, &smaller),
    ];
    for (combine, start, step) in cases {
        let axes = axes.to_vec();
        let expected = reduced(x, &axes, step, start);
        let op = Op::Reduce { axes, combine };
        let given = run(op, std::slice::from_ref(x), f32_info(&kept));
        assert_eq!(floats(&given), bits(&expected), "{combine:?}");
    }
}

#[test]
fn long_reductions_keep_their_order_along_any_axes() {
    let x = tensor(&[3, 37, 5, 41], 7);
    for axes in [
        &[3][..],
        &[1],
        &[0],
        &[1, 3],
        &[0, 2],
        &[2, 3],
        &[0, 1, 2, 3],
        &[],
    ] {
        check_reduce(&x, axes);
    }
    check_reduce(&tensor(&[2, 3000], 8), &[0]);
    check_reduce(&tensor(&[100, 500], 9), &[1]);
    check_reduce(&tensor(&[0, 4], 9), &[0]);
}

#[test]
fn sums_of_integers_wrap_along_any_axes() {
    let dims = [3, 37, 5, 41];
    let count = dims.iter().product::<usize>();
    let values: Vec<i32> = (0..count as i32)
        .map(|i| i.wrapping_mul(0x9E37_79B1u32.cast_signed()))
        .collect();
    let x = Tensor::from_i32(dims, &values).unwrap();
    for axes in [&[3][..], &[0], &[1, 3], &[0, 2], &[0, 1, 2, 3], &[]] {
        let kept: Vec<usize> = (0..4).filter(|axis| !axes.contains(axis)).collect();
        let shape: Vec<usize> = kept.iter().map(|&axis| dims[axis]).collect();
        let mut expected = vec![0i32; shape.iter().product()];
        for (index, value) in indices(&dims).iter().zip(&values) {
            let flat = kept.iter().fold(0, |flat, &a| flat * dims[a] + index[a]);
            expected[flat] = expected[flat].wrapping_add(*value);
        }
        let axes = axes.to_vec();
        let combine = SEQUENTIAL;
        let op = Op::Reduce { axes, combine };
        let given = run(op, std::slice::from_ref(&x), info(&shape, Elem::I32));
        assert_eq!(given.as_i32(), Some(&expected[..]));
    }
}

#[test]
fn nan_wins_a_maximum_and_of_two_zeros_the_first_stays() {
    let nan = f32::NAN;
    let rows = [[0.0, -0.0], [-0.0, 0.0], [nan, 1.0], [1.0, nan]];
    let x = Tensor::from_f32([4, 2], rows.as_flattened()).unwrap();
    for combine in [Combine::Max, Combine::Min] {
        let axes = vec![1];
        let y = run(
            Op::Reduce { axes, combine },
            std::slice::from_ref(&x),
            f32_info(&[4]),
        );
        assert_eq!(floats(&y), bits(&[0.0, -0.0, nan, nan]));
    }
}

#[test]
fn a_sum_of_negative_zeros_is_plus_zero_and_their_running_sum_is_not() {
    let x = Tensor::from_f32([2], &[-0.0, -0.0]).unwrap();
    let sum = Op::Reduce {
        axes: vec![0],
        combine: SEQUENTIAL,
    };
    assert_eq!(
        floats(&run(sum, std::slice::from_ref(&x), f32_info(&[]))),
        bits(&[0.0])
    );
    for (inclusive, expected) in [(true, [-0.0, -0.0]), (false, [0.0, 0.0])] {
        let scan = Op::PrefixScan {
            axis: 0,
            reverse: false,
            inclusive,
            order: Order::Sequential,
            round_each: None,
        };
        let y = run(scan, std::slice::from_ref(&x), f32_info(&[2]));
        assert_eq!(floats(&y), bits(&expected));
    }
}

#[test]
fn denormals_are_kept_everywhere() {
    let tiny = f32::from_bits(3);
    let x = Tensor::from_f32([1, 2], &[tiny, tiny]).unwrap();
    let one = Tensor::from_f32([1, 2], &[1.0, 1.0]).unwrap();
    let sum = Op::Reduce {
        axes: vec![1],
        combine: SEQUENTIAL,
    };
    let twice = [f32::from_bits(6)];
    assert_eq!(
        floats(&run(sum, std::slice::from_ref(&x), f32_info(&[1]))),
        bits(&twice)
    );
    for fused in [false, true] {
        let order = Order::Sequential;
        let y = run(
            Op::Dot { order, fused },
            &[x.clone(), one.clone()],
            f32_info(&[1, 1]),
        );
        assert_eq!(floats(&y), bits(&twice));
    }
}

proptest! {
    #[test]
    fn dots_equal_the_definition(
        m in 1usize..20, k in 1usize..40, n in 1usize..40, batch in 1usize..4,
        fused: bool, seed in 0u32..1000,
    ) {
        dot(m, k, n, batch, fused, seed);
    }

    #[test]
    fn reductions_equal_the_definition(dims in shapes(1..5), mask in 0usize..16, seed in 0u32..1000) {
        let axes: Vec<usize> = (0..dims.len()).filter(|axis| mask >> axis & 1 == 1).collect();
        check_reduce(&tensor(&dims, seed), &axes);
    }

    #[test]
    fn scans_equal_the_definition(
        dims in shapes(1..4), axis: prop::sample::Index, reverse: bool, inclusive: bool,
        rounded: bool, seed in 0u32..1000,
    ) {
        let axis = axis.index(dims.len());
        let x = tensor(&dims, seed);
        let round_each = rounded.then_some(DType::BF16);
        let op = Op::PrefixScan { axis, reverse, inclusive, order: Order::Sequential, round_each };
        let given = run(op, std::slice::from_ref(&x), f32_info(&dims));
        let round = |x: f32| if rounded { round_bf16(x) } else { x };
        let expected: Vec<f32> = indices(&dims).iter().map(|index| {
            let mut acc = if inclusive { -0.0 } else { 0.0 };
            let extent = dims[axis];
            let place = if reverse { extent - 1 - index[axis] } else { index[axis] };
            for j in 0..place + usize::from(inclusive) {
                let mut term = index.clone();
                term[axis] = if reverse { extent - 1 - j } else { j };
                acc = round(acc + at(&x, &term));
            }
            acc
        }).collect();
        prop_assert_eq!(floats(&given), bits(&expected));
    }

    #[test]
    fn transposes_slices_and_pads_equal_the_definition(
        dims in shapes(1..5), order in any::<[u8; 4]>(), start in any::<[u8; 4]>(),
        stride in any::<[u8; 4]>(), seed in 0u32..1000,
    ) {
        let x = tensor(&dims, seed);
        let rank = dims.len();
        let args = std::slice::from_ref(&x);

        let mut axes: Vec<usize> = (0..rank).collect();
        axes.sort_by_key(|&axis| order[axis]);
        let shape: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
        let given = run(Op::Transpose { axes: axes.clone() }, args, f32_info(&shape));
        for index in indices(&shape) {
            let mut from = vec![0; rank];
            axes.iter().zip(&index).for_each(|(&axis, &i)| from[axis] = i);
            prop_assert_eq!(at(&given, &index).to_bits(), at(&x, &from).to_bits());
        }

        let start: Vec<usize> = (0..rank).map(|a| usize::from(start[a]) % dims[a]).collect();
        let strides: Vec<usize> = (0..rank).map(|a| 1 + usize::from(stride[a]) % 3).collect();
        let shape: Vec<usize> =
            (0..rank).map(|a| (dims[a] - start[a]).div_ceil(strides[a])).collect();
        let op = Op::Slice { start: start.clone(), stop: dims.clone(), strides: strides.clone() };
        let given = run(op, args, f32_info(&shape));
        for index in indices(&shape) {
            let from: Vec<usize> = (0..rank).map(|a| start[a] + index[a] * strides[a]).collect();
            prop_assert_eq!(at(&given, &index).to_bits(), at(&x, &from).to_bits());
        }

        let low: Vec<usize> = (0..rank).map(|a| usize::from(order[a]) % 3).collect();
        let high: Vec<usize> = (0..rank).map(|a| usize::from(stride[a] / 7) % 3).collect();
        let shape: Vec<usize> = (0..rank).map(|a| low[a] + dims[a] + high[a]).collect();
        let op = Op::Pad { low: low.clone(), high, bits: 7.5f32.to_bits() };
        let given = run(op, args, f32_info(&shape));
        for index in indices(&shape) {
            let from: Option<Vec<usize>> = (0..rank)
                .map(|a| index[a].checked_sub(low[a]).filter(|&i| i < dims[a]))
                .collect();
            let expected = from.map_or(7.5, |from| at(&x, &from));
            prop_assert_eq!(at(&given, &index).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn maps_and_broadcasts_read_where_their_index_maps_say(
        dims in shapes(1..5), follows in any::<[u8; 3]>(), seed in 0u32..1000,
    ) {
        // Operand axes follow any axes of the result, in any order, also the same one twice.
        let map = IndexMap(follows.iter().map(|&f| {
            let axis = usize::from(f) % (dims.len() + 1);
            (axis < dims.len()).then_some(axis)
        }).collect());
        let own: Vec<usize> = map.0.iter().map(|axis| axis.map_or(1, |a| dims[a])).collect();
        let (x, y) = (tensor(&own, seed), tensor(&dims, seed + 1));
        let read = |index: &[usize]| {
            at(&x, &map.0.iter().map(|axis| axis.map_or(0, |a| index[a])).collect::<Vec<_>>())
        };
        let args = std::slice::from_ref(&x);
        let given = run(Op::Broadcast { map: map.clone() }, args, f32_info(&dims));
        for index in indices(&dims) {
            prop_assert_eq!(at(&given, &index).to_bits(), read(&index).to_bits());
        }
        let mut k = KernelBuilder::new();
        let (a, b, i) = (k.operand(0, Scalar::F32), k.operand(1, Scalar::F32), k.index(0));
        let (p, i) = (k.mul(a, b), k.from_int(i));
        let kernel = { let s = k.add(p, i); k.finish(s) };
        let maps = vec![map.clone(), IndexMap::identity(dims.len())];
        let given = run(Op::Map { kernel, maps }, &[x.clone(), y.clone()], f32_info(&dims));
        for index in indices(&dims) {
            let expected = read(&index) * at(&y, &index) + index[0] as f32;
            prop_assert_eq!(at(&given, &index).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn concatenations_and_gathers_equal_the_definition(
        dims in shapes(1..4), axis: prop::sample::Index, extents in prop::collection::vec(0usize..4, 1..4),
        picks in prop::collection::vec(-3i32..9, 64), seed in 0u32..1000,
    ) {
        let axis = axis.index(dims.len());
        let with = |extent: usize| { let mut d = dims.clone(); d[axis] = extent; d };
        let parts: Vec<Tensor> = extents.iter().map(|&e| tensor(&with(e), seed + e as u32)).collect();
        let shape = with(extents.iter().sum());
        let given = run(Op::Concatenate { axis }, &parts, f32_info(&shape));
        for index in indices(&shape) {
            let mut from = index.clone();
            let part = parts.iter().find(|part| {
                let inside = from[axis] < part.shape()[axis];
                if !inside { from[axis] -= part.shape()[axis]; }
                inside
            }).unwrap();
            prop_assert_eq!(at(&given, &index).to_bits(), at(part, &from).to_bits());
        }

        let x = tensor(&dims, seed);
        let shape = with(3);
        let count = shape.iter().product();
        let picks: Vec<i32> = picks.iter().copied().cycle().take(count).collect();
        let at_indices = Tensor::from_i32(shape.as_slice(), &picks).unwrap();
        let given = run(Op::Gather { axis }, &[x.clone(), at_indices], f32_info(&shape));
        for (index, pick) in indices(&shape).iter().zip(picks) {
            let mut from = index.clone();
            from[axis] = pick.clamp(0, dims[axis] as i32 - 1) as usize;
            prop_assert_eq!(at(&given, index).to_bits(), at(&x, &from).to_bits());
        }
    }
}

#[test]
fn large_transposes_and_copies_equal_the_definition() {
    for (dims, axes) in [
        (&[70, 3, 130][..], &[2, 1, 0][..]),
        (&[40, 8, 200], &[0, 2, 1]),
        (&[2, 100, 5, 90], &[0, 3, 2, 1]),
        (&[300, 257], &[1, 0]),
        (&[2, 3, 200, 64], &[1, 0, 2, 3]),
    ] {
        let x = tensor(dims, 3);
        let shape: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
        let axes = axes.to_vec();
        let given = run(
            Op::Transpose { axes: axes.clone() },
            std::slice::from_ref(&x),
            f32_info(&shape),
        );
        for index in indices(&shape) {
            let mut from = vec![0; dims.len()];
            axes.iter()
                .zip(&index)
                .for_each(|(&axis, &i)| from[axis] = i);
            assert_eq!(at(&given, &index).to_bits(), at(&x, &from).to_bits());
        }
    }
}

#[test]
fn every_storage_moves_and_bf16_is_widened_where_a_map_reads_it() {
    let w: Vec<bf16> = [1.0, -2.0, 0.5, 3.0, 4.0, -0.0]
        .map(bf16::from_f32)
        .to_vec();
    let w = Tensor::from_bf16([2, 3], &w).unwrap();
    let mut program = Program::new();
    let weight = input(&mut program, &w);
    let axes = vec![1, 0];
    let moved = program.push(
        Op::Transpose { axes },
        vec![weight],
        info(&[3, 2], Elem::Bf16),
    );
    let pad = Op::Pad {
        low: vec![0, 0],
        high: vec![0, 1],
        bits: 1.0f32.to_bits(),
    };
    let padded = program.push(pad, vec![moved], info(&[3, 3], Elem::Bf16));
    let mut k = KernelBuilder::new();
    let x = k.operand(0, Scalar::F32);
    let op = Op::Map {
        kernel: k.finish(x),
        maps: vec![IndexMap::identity(2)],
    };
    let wide = program.push(op, vec![padded], f32_info(&[3, 3]));
    program.output("wide", wide);
    let y = interpret(&program, &[w]).unwrap();
    assert_eq!(
        floats(&y[0]),
        bits(&[1.0, 3.0, 1.0, -2.0, 4.0, 1.0, 0.5, -0.0, 1.0])
    );

    let whole = Tensor::from_i32([2, 2], &[1, 2, 3, 4]).unwrap();
    let axes = vec![1, 0];
    let y = run(Op::Transpose { axes }, &[whole], info(&[2, 2], Elem::I32));
    assert_eq!(y.as_i32(), Some(&[1, 3, 2, 4][..]));
    let flags = Tensor::from_bool([3], &[true, false, true]).unwrap();
    let op = Op::Pad {
        low: vec![1],
        high: vec![0],
        bits: 1,
    };
    let y = run(op, &[flags], info(&[4], Elem::Bool));
    assert_eq!(y.as_bool(), Some(&[1, 1, 0, 1][..]));
    let y = run(Op::Fill { bits: 5 }, &[], info(&[2], Elem::I32));
    assert_eq!(y.as_i32(), Some(&[5, 5][..]));
}
