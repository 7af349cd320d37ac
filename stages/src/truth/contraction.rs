//! Sums of products.

use rayon::prelude::*;

use super::amount::{Amount, of_product};
use crate::{Shape, graph::Op};

/// Rows and columns of a result that are computed together, so that both fit the nearest cache.
const ROWS: usize = 8;
const COLUMNS: usize = 256;

/// `[.., M, K] · [.., K, N]`.
pub(super) fn matmul(a: &Amount, b: &Amount, shape: Shape) -> Amount {
    let rank = b.shape.rank();
    let (k, n) = (b.shape[rank - 2], b.shape[rank - 1]);
    let m = a.shape[rank - 2];
    products(a, b, [m, k, n], shape)
}

/// `[.., K] · [K, N]`.
pub(super) fn by_matrix(a: &Amount, b: &Amount, shape: Shape) -> Amount {
    let (k, n) = (b.shape[0], b.shape[1]);
    let m = a.values.len().checked_div(k).unwrap_or(0);
    products(a, b, [m, k, n], shape)
}

fn products(a: &Amount, b: &Amount, [m, k, n]: [usize; 3], shape: Shape) -> Amount {
    let conditions = a.spread.is_some() && b.spread.is_some();
    let mut values = vec![0.0; shape.elements()];
    let mut spreads = conditions.then(|| values.clone());
    if !values.is_empty() {
        let term = |p: usize, q: usize| a.values[p] * b.values[q];
        accumulate(&mut values, [m, k, n], &term);
        if let Some(spreads) = &mut spreads {
            accumulate(spreads, [m, k, n], &|p, q| of_product(a.at(p), b.at(q)));
        }
    }
    Amount {
        shape,
        values: values.into(),
        spread: spreads.map(Into::into),
    }
}

/// Adds `term(position in a, position in b)` over k, for matrices one after the other.
fn accumulate(
    out: &mut [f64],
    [m, k, n]: [usize; 3],
    term: &(impl Fn(usize, usize) -> f64 + Sync),
) {
    let matrices = out.par_chunks_mut(m * n).enumerate();
    matrices.for_each(|(batch, matrix)| {
        let strips = matrix.par_chunks_mut(ROWS * n).enumerate();
        strips.for_each(|(strip, rows)| {
            let first = (batch * m + strip * ROWS) * k;
            for left in (0..n).step_by(COLUMNS) {
                let right = n.min(left + COLUMNS);
                for i in 0..k {
                    let b = (batch * k + i) * n;
                    for (row, sums) in rows.chunks_exact_mut(n).enumerate() {
                        let a = first + row * k + i;
                        for (j, sum) in sums[left..right].iter_mut().enumerate() {
                            *sum += term(a, b + left + j);
                        }
                    }
                }
            }
        });
    });
}

/// The `[K, N]` matrix that words, scales and biases stand for.
pub(super) fn dequantised(
    words: &Amount,
    scales: &Amount,
    biases: &Amount,
    group_size: usize,
    bits: usize,
    transpose: bool,
) -> Amount {
    let per_word = 32 / bits;
    let (rows, columns) = (words.shape[0], words.shape[1] * per_word);
    let groups = columns / group_size;
    let shape: Shape = if transpose {
        [columns, rows].into()
    } else {
        [rows, columns].into()
    };
    // Row and column among the stored matrix.
    let place = |i: usize| {
        if transpose {
            (i % rows, i / rows)
        } else {
            (i / columns, i % columns)
        }
    };
    let parts = |i: usize| {
        let (row, column) = place(i);
        let word = words.values[row * words.shape[1] + column / per_word] as u32;
        let q = (word >> (bits * (column % per_word))) & ((1u64 << bits) - 1) as u32;
        let group = row * groups + column / group_size;
        (f64::from(q) * scales.values[group], group)
    };
    Amount::computed(
        shape,
        words.spread.is_some(),
        |i| {
            let (product, group) = parts(i);
            product + biases.values[group]
        },
        |i, _| {
            let (product, group) = parts(i);
            let scale = scales.values[group];
            let spread = if scale == 0.0 {
                0.0
            } else {
                (product / scale).abs() * scales.spread_at(group)
            };
            spread + biases.spread_at(group)
        },
    )
}

/// Input `[B, spatial.., C]`, weight `[O, kernel.., C / groups]`, channels last.
pub(super) fn convolution(op: &Op, x: &Amount, w: &Amount, shape: Shape) -> Amount {
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
        return x.clone();
    };
    let axes = strides.len();
    let (xs, ws) = (x.shape.strides(), w.shape.strides());
    let kernel: Shape = w.shape.dims()[1..=axes].into();
    let (outputs, channels) = (w.shape[0], w.shape[axes + 1]);
    let per_group = outputs / (*groups).max(1);
    let out = shape.strides();
    // Calls `term` with the positions of all pairs that make up an element.
    let pairs = |i: usize, term: &mut dyn FnMut(usize, usize)| {
        let o = i % outputs;
        let batch = i / out[0] * xs[0];
        let group = o / per_group.max(1) * channels;
        'kernel: for k in 0..kernel.elements() {
            let (mut at, mut weight, mut rest) = (batch + group, o * ws[0], k);
            for axis in (0..axes).rev() {
                let tap = rest % kernel[axis];
                rest /= kernel[axis];
                let place = i / out[axis + 1] % shape[axis + 1];
                let padded = place * strides[axis] + tap * kernel_dilation[axis];
                let Some(dilated) = padded.checked_sub(low[axis]) else {
                    continue 'kernel;
                };
                let index = dilated / input_dilation[axis];
                if dilated % input_dilation[axis] != 0 || index >= x.shape[axis + 1] {
                    continue 'kernel;
                }
                at += index * xs[axis + 1];
                let tap = if *flip { kernel[axis] - 1 - tap } else { tap };
                weight += tap * ws[axis + 1];
            }
            for c in 0..channels {
                term(at + c, weight + c);
            }
        }
    };
    Amount::computed(
        shape.clone(),
        x.spread.is_some() && w.spread.is_some(),
        |i| {
            let mut sum = 0.0;
            pairs(i, &mut |p, q| sum += x.values[p] * w.values[q]);
            sum
        },
        |i, _| {
            let mut spread = 0.0;
            pairs(i, &mut |p, q| spread += of_product(x.at(p), w.at(q)));
            spread
        },
    )
}
