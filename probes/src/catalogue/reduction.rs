//! Sums, extrema, running sums and softmax: axes, views and lengths.

use stages::{
    DType,
    graph::{Op, ReduceKind},
};

use super::{
    case::{Stated, case},
    values::{
        FLOATS, Operand, Random, integers, made, noise, noise_values, specials, tensor, truths,
    },
};

/// Values without zeros, whose sign an extremum does not state when both occur.
fn without_zeros(dtype: DType, shape: &[usize], seed: u64) -> Operand {
    let count = shape.iter().product();
    made(dtype, shape, move || nonzero(count, seed))
}

fn nonzero(count: usize, seed: u64) -> Vec<f32> {
    let values = noise_values(count, seed);
    let mut random = Random::new(seed);
    let specials: Vec<f32> = specials().into_iter().filter(|x| *x != 0.0).collect();
    values
        .into_iter()
        .map(|x| match random.below(16) {
            0 => specials[random.below(specials.len())],
            _ => x,
        })
        // Rounding must not make zeros of denormals.
        .map(|x| {
            if x != 0.0 && x.abs() < 1e-38 {
                1e-37
            } else {
                x
            }
        })
        .collect()
}

fn reduce(kind: ReduceKind, axes: &[usize]) -> Op {
    Op::Reduce {
        kind,
        axes: axes.to_vec(),
    }
}

/// Shapes and axes of reductions on row-major operands.
const PLAIN: [(&[usize], &[usize]); 19] = [
    (&[5, 2048], &[1]),
    (&[3000, 3], &[0]),
    (&[7], &[0]),
    (&[1], &[0]),
    (&[4, 1], &[1]),
    (&[6, 5, 7], &[1]),
    (&[6, 5, 7], &[0]),
    (&[6, 5, 7], &[0, 1]),
    (&[6, 5, 7], &[1, 2]),
    (&[6, 5, 7], &[0, 2]),
    (&[6, 5, 7], &[0, 1, 2]),
    (&[2, 13, 24, 8], &[2, 3]),
    (&[3, 4, 5, 6], &[1, 3]),
    (&[3, 4, 5, 6], &[0, 2]),
    (&[3, 4, 5, 6], &[0, 2, 3]),
    (&[3, 4, 5, 6], &[0, 1, 3]),
    (&[3, 4, 5, 6], &[1, 2]),
    (&[3, 4, 1, 6], &[1, 2, 3]),
    (&[1, 40, 1, 3], &[0, 1]),
];

/// Shapes, the order they are transposed in, and axes of the transposed operand.
const TURNED: [(&[usize], &[usize], &[usize]); 12] = [
    (&[37, 23], &[1, 0], &[1]),
    (&[37, 23], &[1, 0], &[0]),
    (&[37, 23], &[1, 0], &[0, 1]),
    (&[6, 5, 7], &[2, 0, 1], &[0, 1]),
    (&[6, 5, 7], &[2, 0, 1], &[1, 2]),
    (&[6, 5, 7], &[2, 0, 1], &[0, 2]),
    (&[6, 5, 7], &[0, 2, 1], &[1, 2]),
    (&[6, 5, 7], &[1, 0, 2], &[0, 1]),
    (&[6, 5, 7], &[1, 0, 2], &[1, 2]),
    (&[6, 5, 7], &[1, 2, 0], &[0, 1, 2]),
    (&[3, 4, 5, 6], &[0, 2, 1, 3], &[1, 3]),
    (&[3, 4, 5, 6], &[3, 1, 0, 2], &[0, 2, 3]),
];

pub(super) fn cases() -> Vec<Stated> {
    let mut cases = Vec::new();
    for dtype in FLOATS {
        for (i, (shape, axes)) in PLAIN.into_iter().enumerate() {
            let x = noise(dtype, shape, i as u64);
            let name = format!("Sum {shape:?} over {axes:?} {dtype}");
            cases.push(case(name, &[x], |b, x| b.sum(x[0], axes)));
        }
        for (i, (shape, order, axes)) in TURNED.into_iter().enumerate() {
            let x = noise(dtype, shape, 100 + i as u64);
            let name = format!("Sum {shape:?} as {order:?} over {axes:?} {dtype}");
            cases.push(case(name, &[x], |b, x| {
                let turned = b.transpose(x[0], order)?;
                b.sum(turned, axes)
            }));
        }
        cases.extend(strided_sums(dtype));
        cases.extend(extrema(dtype));
        cases.extend(scans(dtype));
        cases.extend(softmaxes(dtype));
    }
    cases.extend(integer_sums());
    cases
}

/// Sums that wrap, along the same axes and views as others.
fn integer_sums() -> Vec<Stated> {
    let mut cases = Vec::new();
    for (i, (shape, axes)) in PLAIN.into_iter().enumerate() {
        let x = integers(shape, i as u64);
        let name = format!("Sum {shape:?} over {axes:?} I32");
        cases.push(case(name, &[x], |b, x| b.sum(x[0], axes)));
    }
    for (i, (shape, order, axes)) in TURNED.into_iter().enumerate() {
        let x = integers(shape, 100 + i as u64);
        let name = format!("Sum {shape:?} as {order:?} over {axes:?} I32");
        cases.push(case(name, &[x], |b, x| {
            let turned = b.transpose(x[0], order)?;
            b.sum(turned, axes)
        }));
    }
    // The order of such a sum is not known and does not matter.
    let x = integers([6, 1, 10], 31);
    cases.push(case(
        "Sum of a broadcast over two axes I32",
        &[x],
        |b, x| {
            let wide = b.broadcast_to(x[0], &[6, 8, 10].into())?;
            b.sum(wide, &[0, 1])
        },
    ));
    let x = truths([3, 750], 32);
    cases.push(case("Sum of truth values as I32", &[x], |b, x| {
        let x = b.astype(x[0], DType::I32)?;
        b.sum(x, &[1])
    }));
    cases
}

/// Sums whose operand is a slice, a broadcast, a reshaped or an elementwise result, or special.
fn strided_sums(dtype: DType) -> Vec<Stated> {
    let x = || [noise(dtype, [6, 8, 10], 31)];
    let mut cases = vec![
        case(format!("Sum of a slice {dtype}"), &x(), |b, x| {
            let part = Op::Slice {
                start: vec![1, 0, 2],
                stop: vec![6, 8, 9],
                strides: vec![2, 1, 3],
            };
            let part = b.apply(part, x)?;
            b.sum(part, &[1])
        }),
        case(format!("Sum of a broadcast {dtype}"), &x(), |b, x| {
            let wide = b.apply(Op::ExpandDims { axes: vec![1] }, x)?;
            let wide = b.broadcast_to(wide, &[6, 7, 8, 10].into())?;
            b.sum(wide, &[1])
        }),
        case(
            format!("Sum of a reshaped transpose {dtype}"),
            &x(),
            |b, x| {
                let turned = b.transpose(x[0], &[2, 0, 1])?;
                let flat = b.reshape(turned, [10, 48])?;
                b.sum(flat, &[1])
            },
        ),
        case(
            format!("Sum of a product of transposes {dtype}"),
            &x(),
            |b, x| {
                let turned = b.transpose(x[0], &[2, 0, 1])?;
                let square = b.binary(Op::Multiply, turned, turned)?;
                b.sum(square, &[0, 1])
            },
        ),
        case(
            format!("Sum of the square of a transpose {dtype}"),
            &x(),
            |b, x| {
                let turned = b.transpose(x[0], &[2, 0, 1])?;
                let square = b.apply(Op::Square, &[turned])?;
                b.sum(square, &[0, 1])
            },
        ),
    ];
    // Zeros of both signs, infinities of both signs, NaN, denormals, overflow on the way.
    let rows: [[f32; 4]; 8] = [
        [-0.0, -0.0, -0.0, -0.0],
        [0.0, -0.0, 0.0, -0.0],
        [f32::INFINITY, 1.0, f32::NEG_INFINITY, 2.0],
        [f32::INFINITY, 1.0, 2.0, 3.0],
        [1.0, f32::NAN, 2.0, 3.0],
        [
            f32::from_bits(1),
            f32::from_bits(3),
            -f32::MIN_POSITIVE,
            f32::from_bits(7),
        ],
        [3e38, 3e38, -3e38, -3e38],
        [3e38, -3e38, 3e38, -3e38],
    ];
    let special = || [tensor(dtype, [8, 4], &rows.concat())];
    for axes in [&[1][..], &[0], &[0, 1]] {
        let name = format!("Sum of special values over {axes:?} {dtype}");
        cases.push(case(name, &special(), |b, x| b.sum(x[0], axes)));
    }
    // MLX leaves an axis of extent 1 alone: −0 stays.
    let zeros = || [tensor(dtype, [2, 1], &[-0.0, 0.0])];
    let name = format!("Sum of one zero {dtype}");
    cases.push(case(name, &zeros(), |b, x| b.sum(x[0], &[1])));
    cases
}

fn extrema(dtype: DType) -> Vec<Stated> {
    let mut cases = Vec::new();
    for kind in [ReduceKind::Max, ReduceKind::Min] {
        let shapes: [(&[usize], &[usize]); 5] = [
            (&[5, 300], &[1]),
            (&[300, 5], &[0]),
            (&[6, 5, 7], &[0, 2]),
            (&[3, 1], &[1]),
            (&[6, 5, 7], &[0, 1, 2]),
        ];
        for (i, (shape, axes)) in shapes.into_iter().enumerate() {
            let x = without_zeros(dtype, shape, 50 + i as u64);
            let name = format!("{kind:?} {shape:?} over {axes:?} {dtype}");
            cases.push(case(name, &[x], |b, x| b.apply(reduce(kind, axes), x)));
        }
        let x = without_zeros(dtype, &[9, 11], 60);
        cases.push(case(
            format!("{kind:?} of a transpose {dtype}"),
            &[x],
            |b, x| {
                let turned = b.transpose(x[0], &[1, 0])?;
                b.apply(reduce(kind, &[1]), &[turned])
            },
        ));
        let infinite = vec![
            if kind == ReduceKind::Max {
                f32::NEG_INFINITY
            } else {
                f32::INFINITY
            };
            3
        ];
        let x = tensor(dtype, [1, 3], &infinite);
        let name = format!("{kind:?} of infinities {dtype}");
        cases.push(case(name, &[x], |b, x| b.apply(reduce(kind, &[1]), x)));
    }
    cases
}

fn scans(dtype: DType) -> Vec<Stated> {
    let mut cases = Vec::new();
    let shapes: [(&[usize], usize); 6] = [
        (&[2, 1500], 1),
        (&[1500, 3], 0),
        (&[2, 549, 1, 1], 1),
        (&[4, 6, 5], 1),
        (&[3, 1], 1),
        (&[5], 0),
    ];
    for (i, (shape, axis)) in shapes.into_iter().enumerate() {
        for (reverse, inclusive) in [(false, true), (true, true), (false, false), (true, false)] {
            let op = Op::Scan {
                axis,
                reverse,
                inclusive,
            };
            let x = noise(dtype, shape, 70 + i as u64);
            let name = format!("{op:?} of {shape:?} {dtype}");
            cases.push(case(name, &[x], |b, x| b.apply(op, x)));
        }
    }
    let x = noise(dtype, [13, 17], 80);
    for axis in [0, 1] {
        let x = [x.clone()];
        cases.push(case(
            format!("Scan of a transpose along {axis} {dtype}"),
            &x,
            |b, x| {
                let turned = b.transpose(x[0], &[1, 0])?;
                b.cumsum(turned, axis)
            },
        ));
    }
    let zeros = tensor(
        dtype,
        [2, 3],
        &[-0.0, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, 1.0],
    );
    cases.push(case(
        format!("Scan of special values {dtype}"),
        &[zeros],
        |b, x| b.cumsum(x[0], 1),
    ));
    cases
}

fn softmaxes(dtype: DType) -> Vec<Stated> {
    let mut cases = Vec::new();
    let inf = f32::INFINITY;
    let rows: [[f32; 4]; 9] = [
        [0.0, -0.0, 0.0, -0.0],
        [-0.0, -0.0, -0.0, -0.0],
        [1.0, -inf, 2.0, -inf],
        [-inf, -inf, -inf, -inf],
        [1.0, inf, 2.0, 3.0],
        [1.0, f32::NAN, 2.0, 3.0],
        [1e30, -1e30, 1e30, 3.0],
        [-1e9, -1e9, -1e9, -1e9],
        [80.0, -20.0, -87.0, -88.5],
    ];
    for precise in [true, false] {
        let op = Op::Softmax { precise };
        let shapes: [&[usize]; 5] = [&[7, 24], &[3, 2048], &[2, 3, 4, 12], &[5, 1], &[24]];
        for (i, shape) in shapes.into_iter().enumerate() {
            let x = noise(dtype, shape, 90 + i as u64);
            let name = format!("{op:?} of {shape:?} {dtype}");
            cases.push(case(name, &[x], |b, x| b.apply(op.clone(), x)));
        }
        let x = tensor(dtype, [9, 4], &rows.concat());
        cases.push(case(
            format!("{op:?} of special values {dtype}"),
            &[x],
            |b, x| b.apply(op.clone(), x),
        ));
        let x = noise(dtype, [24, 7], 99);
        cases.push(case(
            format!("{op:?} of a transpose {dtype}"),
            &[x],
            |b, x| {
                let turned = b.transpose(x[0], &[1, 0])?;
                b.apply(op, &[turned])
            },
        ));
    }
    cases
}
