//! Quantised matrices: every element there is, extreme scales, group sizes, views.

use stages::{
    DType, Tensor,
    graph::{Builder, Quantized, ValueId},
};

use crate::{
    case::{Case, case_with_weights},
    values::{FLOATS, Random, noise, tensor},
};

/// Words, scales and biases of `[rows, columns]`.
struct Matrix {
    words: Tensor,
    scales: Tensor,
    biases: Tensor,
    group_size: usize,
    bits: usize,
}

impl Matrix {
    fn random(dtype: DType, [rows, columns]: [usize; 2], group_size: usize, seed: u64) -> Matrix {
        let mut random = Random::new(seed);
        let words: Vec<u32> = (0..rows * columns / 8)
            .map(|_| random.bits() as u32)
            .collect();
        let groups = [rows, columns / group_size];
        Matrix {
            words: Tensor::from_u32([rows, columns / 8], &words).unwrap(),
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
        let words = [0x7654_3210, 0xFEDC_BA98, 0x0123_4567, 0x89AB_CDEF].repeat(rows);
        let (mut scales, mut biases) = (Vec::new(), Vec::new());
        for scale in values {
            for bias in values {
                scales.push(scale);
                biases.push(bias);
            }
        }
        Matrix {
            words: Tensor::from_u32([rows, 4], &words).unwrap(),
            scales: tensor(dtype, [rows, 1], &scales),
            biases: tensor(dtype, [rows, 1], &biases),
            group_size: 32,
            bits: 4,
        }
    }

    fn weights(&self) -> [Tensor; 3] {
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

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for dtype in FLOATS {
        cases.extend(dequantised(dtype));
    }
    cases
}

fn dequantised(dtype: DType) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, matrix: &Matrix| {
        cases.push(case_with_weights(name, &[], &matrix.weights(), |b, w| {
            b.dequantize(matrix.of(w))
        }));
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
    cases.push(case_with_weights(name, &[], &matrix.weights(), |b, w| {
        let rows = w
            .iter()
            .map(|&part| row(b, part, 4))
            .collect::<Result<Vec<_>, _>>()?;
        b.dequantize(matrix.of(&rows))
    }));
    cases
}

/// One row of a matrix, as a matrix.
fn row(b: &mut Builder, x: ValueId, at: usize) -> Result<ValueId, stages::graph::GraphError> {
    let columns = b.shape(x)[1];
    let slice = stages::graph::Op::Slice {
        start: vec![at, 0],
        stop: vec![at + 1, columns],
        strides: vec![1, 1],
    };
    b.apply(slice, &[x])
}
