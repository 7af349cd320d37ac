//! Quantised matrices: every element there is, extreme scales, group sizes, views.

use std::ops::Range;

use stages::{
    DType,
    graph::{Builder, Op, Quantized, ValueId},
};

use super::{
    case::{Stated, case, case_with_weights},
    values::{FLOATS, Operand, Random, noise, noise_values, tensor, words},
};

/// Words, scales and biases of `[rows, columns]`.
struct Matrix {
    words: Operand,
    scales: Operand,
    biases: Operand,
    group_size: usize,
    bits: usize,
}

impl Matrix {
    fn random(dtype: DType, [rows, columns]: [usize; 2], group_size: usize, seed: u64) -> Matrix {
        let mut random = Random::new(seed);
        let codes = (0..rows * columns / 8).map(|_| random.bits() as u32);
        let groups = [rows, columns / group_size];
        Matrix {
            words: words([rows, columns / 8], codes.collect()),
            scales: noise(dtype, groups, seed + 1),
            biases: noise(dtype, groups, seed + 2),
            group_size,
            bits: 4,
        }
    }

    /// Groups of every element there is, with each of the scales and each of the biases.
    fn extreme(dtype: DType) -> Matrix {
        let tiny = f32::from_bits(0x0001_0000);
        let large = f32::from_bits(0x7F7F_0000);
        let values = [
            0.0,
            -0.0,
            tiny,
            -tiny,
            f32::MIN_POSITIVE,
            1e-39,
            -0.007_812_5,
            0.1,
            -1.007_812_5,
            3e37,
            large,
            -large,
            f32::INFINITY,
            f32::NAN,
        ];
        let rows = values.len() * values.len();
        let codes = [0x7654_3210, 0xFEDC_BA98, 0x0123_4567, 0x89AB_CDEF].repeat(rows);
        let (mut scales, mut biases) = (Vec::new(), Vec::new());
        for scale in values {
            for bias in values {
                scales.push(scale);
                biases.push(bias);
            }
        }
        Matrix {
            words: words([rows, 4], codes),
            scales: tensor(dtype, [rows, 1], &scales),
            biases: tensor(dtype, [rows, 1], &biases),
            group_size: 32,
            bits: 4,
        }
    }

    fn weights(&self) -> [Operand; 3] {
        [self.words.clone(), self.scales.clone(), self.biases.clone()]
    }

    fn of(&self, values: &[ValueId]) -> Quantized {
        Quantized {
            words: values[0],
            scales: values[1],
            biases: values[2],
            group_size: self.group_size,
            bits: self.bits,
        }
    }
}

pub(super) fn cases() -> Vec<Stated> {
    let mut cases = Vec::new();
    for dtype in FLOATS {
        cases.extend(dequantised(dtype));
        cases.extend(products(dtype));
    }
    cases
}

/// MLX 0.32.2 has no primitive for it on CPU.
const DEQUANTIZE: &str = "dequantize";

fn dequantised(dtype: DType) -> Vec<Stated> {
    let mut cases = Vec::new();
    let mut add = |name: String, matrix: &Matrix| {
        cases.push(
            case_with_weights(name, &[], &matrix.weights(), |b, w| {
                b.dequantize(matrix.of(w))
            })
            .map(|case| case.of(DEQUANTIZE)),
        );
    };
    for (group_size, shape) in [(32, [3, 96]), (64, [7, 256]), (128, [1, 128])] {
        let matrix = Matrix::random(dtype, shape, group_size, 1);
        add(
            format!("dequantize {shape:?} {group_size} {dtype}"),
            &matrix,
        );
    }
    for bits in [2, 8] {
        // As many words, more or fewer elements.
        let matrix = Matrix {
            bits,
            group_size: 64 * 4 / bits,
            ..Matrix::random(dtype, [5, 128], 64, 2)
        };
        add(format!("dequantize {bits} bits {dtype}"), &matrix);
    }
    add(
        format!("dequantize extreme values {dtype}"),
        &Matrix::extreme(dtype),
    );
    let matrix = Matrix::random(dtype, [6, 64], 64, 3);
    let name = format!("dequantize one row {dtype}");
    cases.push(
        case_with_weights(name, &[], &matrix.weights(), |b, w| {
            let row = |&part: &ValueId| {
                let columns = b.shape(part)[1];
                b.apply(slice(4..5, columns), &[part])
            };
            let rows = w.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            b.dequantize(matrix.of(&rows))
        })
        .map(|case| case.of(DEQUANTIZE)),
    );
    cases
}

/// `[M, K]·[N, K]` by their extents and the group size.
const SIZES: [([usize; 3], usize); 8] = [
    ([1, 64, 8], 64),
    ([5, 128, 17], 64),
    ([17, 256, 40], 64),
    ([3, 1536, 33], 64),
    ([7, 96, 5], 32),
    ([2, 640, 3], 128),
    ([33, 64, 1], 64),
    ([1, 2048, 100], 32),
];

fn products(dtype: DType) -> Vec<Stated> {
    let mut cases = Vec::new();
    for (i, ([m, k, n], group_size)) in SIZES.into_iter().enumerate() {
        let matrix = Matrix::random(dtype, [n, k], group_size, i as u64);
        let x = [noise(dtype, [m, k], 40 + i as u64)];
        let name = format!("QuantizedMatmul {m}x{k}x{n} {group_size} {dtype}");
        cases.push(product(name, &x, &matrix, true));
    }
    for bits in [2, 8] {
        let matrix = Matrix {
            words: Matrix::random(dtype, [6, 16 * bits], 32, 60).words,
            bits,
            ..Matrix::random(dtype, [6, 64], 64, 61)
        };
        let x = [noise(dtype, [3, 64], 64)];
        let name = format!("QuantizedMatmul {bits} bits {dtype}");
        cases.push(product(name, &x, &matrix, true));
    }
    for (m, k, n) in [(5, 3, 64), (1, 200, 192), (4, 1, 128)] {
        let matrix = Matrix::random(dtype, [k, n], 64, 70);
        let x = [noise(dtype, [m, k], 71)];
        let name = format!("QuantizedMatmul plain {m}x{k}x{n} {dtype}");
        cases.push(product(name, &x, &matrix, false));
    }
    for shape in [&[192][..], &[2, 3, 192], &[2, 1, 3, 192]] {
        let matrix = Matrix::random(dtype, [9, 192], 64, 80);
        let x = [noise(dtype, shape, 81)];
        let name = format!("QuantizedMatmul of {shape:?} {dtype}");
        cases.push(product(name, &x, &matrix, true));
    }
    cases.extend(extreme_products(dtype));
    let matrix = Matrix::random(dtype, [10, 128], 64, 90);
    let mut parts = vec![noise(dtype, [128, 6], 91)];
    parts.extend(matrix.weights());
    let name = format!("QuantizedMatmul of views {dtype}");
    cases.push(case(name, &parts, |b, x| {
        let turned = b.transpose(x[0], &[1, 0])?;
        let part = |b: &mut Builder, x: ValueId| {
            let columns = b.shape(x)[1];
            b.apply(slice(1..8, columns), &[x])
        };
        let rows = [part(b, x[1])?, part(b, x[2])?, part(b, x[3])?];
        b.quantized_linear(turned, matrix.of(&rows))
    }));
    cases
}

/// The largest and the smallest values there are, on both sides.
fn extreme_products(dtype: DType) -> Vec<Stated> {
    let matrix = Matrix::extreme(dtype);
    let mut cases = Vec::new();
    let tiny = f32::from_bits(0x0001_0000);
    for (i, size) in [tiny, 1e-39, 1e-30, 1.0, 1e30, f32::from_bits(0x7F7F_0000)]
        .into_iter()
        .enumerate()
    {
        let values = noise_values(3 * 32, 100 + i as u64);
        let values: Vec<f32> = values.iter().map(|x| x / 32.0 * size).collect();
        let x = [tensor(dtype, [3, 32], &values)];
        let name = format!("QuantizedMatmul of extreme values by {size:e} {dtype}");
        cases.push(product(name, &x, &matrix, true));
    }
    let mut zeros = vec![-0.0; 32];
    zeros.extend([0.0, -0.0].repeat(16));
    zeros.extend(
        [
            [1.0, -1.0].repeat(15),
            vec![f32::INFINITY, f32::NEG_INFINITY],
        ]
        .concat(),
    );
    let x = [tensor(dtype, [3, 32], &zeros)];
    let name = format!("QuantizedMatmul of zeros and infinities {dtype}");
    cases.push(product(name, &x, &matrix, true));
    cases
}

fn product(name: String, x: &[Operand], matrix: &Matrix, transpose: bool) -> Stated {
    case_with_weights(name, x, &matrix.weights(), |b, x| {
        let op = Op::QuantizedMatmul {
            group_size: matrix.group_size,
            bits: matrix.bits,
            transpose,
        };
        b.apply(op, x)
    })
}

fn slice(rows: Range<usize>, columns: usize) -> Op {
    Op::Slice {
        start: vec![rows.start, 0],
        stop: vec![rows.end, columns],
        strides: vec![1, 1],
    }
}
