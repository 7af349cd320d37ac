//! Contractions: every output adds its products in ascending k; many outputs at once.
//!
//! The right operand is laid out in panels of [`WIDE`] columns, `[k][WIDE]`, the left one in
//! strips of [`TALL`] rows, `[k][TALL]`. A tile of accumulators takes one product each per k, so
//! the vector runs over outputs and never along k. Between blocks of k the accumulators wait in
//! the result, as F32 like everywhere.

mod tile;

use rayon::prelude::*;
use stages::Shape;

use super::{
    array::{Array, Buffer, Data},
    kernel::widen,
    wide,
};
pub(super) use tile::Step;
use tile::{DEEP, Sweep, TALL, WIDE};

/// A matrix `[rows, k]`: row-major, or in tiles of `tile` rows, `[rows / tile, k, tile]`.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    values: Values<'a>,
    rows: usize,
    k: usize,
    tile: usize,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    F32(&'a [f32]),
    Bf16(&'a [half::bf16]),
}

fn values(array: &Array) -> Values<'_> {
    match &array.data {
        Data::F32(x) => Values::F32(x),
        Data::Bf16(x) => Values::Bf16(x),
        Data::I32(_) | Data::Bool(_) => Values::F32(&[]),
    }
}

impl Values<'_> {
    /// The `index`-th of equal parts of `len` elements.
    fn part(&self, index: usize, len: usize) -> Self {
        let range = index * len..(index + 1) * len;
        match self {
            Values::F32(x) => Values::F32(&x[range]),
            Values::Bf16(x) => Values::Bf16(&x[range]),
        }
    }
}

impl Matrix<'_> {
    /// Rows `first..first + N` as `[k][N]`, rows past the end zero.
    fn pack<const N: usize>(&self, first: usize, out: &mut [[f32; N]]) {
        match self.values {
            Values::F32(x) => self.pack_from(x, |x| x, first, out),
            Values::Bf16(x) => self.pack_from(x, widen, first, out),
        }
    }

    fn pack_from<T: Copy, const N: usize>(
        &self,
        values: &[T],
        widen: impl Fn(T) -> f32,
        first: usize,
        out: &mut [[f32; N]],
    ) {
        for lane in 0..N {
            let row = first + lane;
            if row >= self.rows {
                out.iter_mut().for_each(|o| o[lane] = 0.0);
                continue;
            }
            let start = row / self.tile * self.k * self.tile + row % self.tile;
            let row = values[start..].iter().step_by(self.tile);
            out.iter_mut()
                .zip(row)
                .for_each(|(o, &x)| o[lane] = widen(x));
        }
    }

    /// All rows in panels.
    fn panels(&self) -> Vec<[f32; WIDE]> {
        let mut panels = vec![[0.0; WIDE]; self.rows.div_ceil(WIDE) * self.k];
        if self.k > 0 {
            panels
                .par_chunks_mut(self.k)
                .enumerate()
                .for_each(|(i, panel)| self.pack(i * WIDE, panel));
        }
        panels
    }
}

/// `[batch.., M, K] · [batch.., N, K] → [batch.., M, N]`.
pub(super) fn dot(lhs: &Array, rhs: &Array, step: Step, shape: &Shape) -> Array {
    let dims = shape.dims();
    let rank = dims.len();
    let (m, n, k) = (dims[rank - 2], dims[rank - 1], lhs.shape[rank - 1]);
    let batch: usize = dims[..rank - 2].iter().product();
    let mut out = vec![0.0; shape.elements()];
    let (left, right) = (values(lhs), values(rhs));
    let one = |i: usize, out: &mut [f32]| {
        let left = Matrix {
            values: left.part(i, m * k),
            rows: m,
            k,
            tile: 1,
        };
        let right = Matrix {
            values: right.part(i, n * k),
            rows: n,
            k,
            tile: 1,
        };
        multiply(&left, &right, step, out);
    };
    if !out.is_empty() && k > 0 {
        // Threads go to whole products first; what is left of them joins inside a product.
        let grain = (1usize << 16).div_ceil(m * n * k).min(batch);
        out.par_chunks_mut(m * n)
            .enumerate()
            .with_min_len(grain)
            .for_each(|(i, out)| one(i, out));
    }
    Array {
        shape: shape.clone(),
        data: Data::F32(out.into()),
    }
}

/// `[M, K] · [N/t, K, t] → [M, N/t, t]`.
pub(super) fn tiled_dot(lhs: &Array, rhs: &Array, step: Step, shape: &Shape) -> Array {
    let mut out = vec![0.0; shape.elements()];
    let (m, k) = (lhs.shape[0], lhs.shape[1]);
    let (tiles, tile) = (rhs.shape[0], rhs.shape[2]);
    if !out.is_empty() && k > 0 {
        let matrix = |array, rows, tile| Matrix {
            values: values(array),
            rows,
            k,
            tile,
        };
        let right = matrix(rhs, tiles * tile, tile);
        multiply(&matrix(lhs, m, 1), &right, step, &mut out);
    }
    Array {
        shape: shape.clone(),
        data: Data::F32(out.into()),
    }
}

/// `[M/t, K, t, 1] · [N/u, K, u, 1] → [M/t, N/u, t, u]`.
pub(super) fn packed_dot(lhs: &Array, rhs: &Array, step: Step, shape: &Shape) -> Array {
    let matrix = |array: &'_ Array| {
        let dims = array.shape.dims();
        (dims[0] * dims[2], dims[1], dims[2])
    };
    let ((m, k, t), (n, _, u)) = (matrix(lhs), matrix(rhs));
    let mut flat = vec![0.0; m * n];
    if !flat.is_empty() && k > 0 {
        let left = Matrix {
            values: values(lhs),
            rows: m,
            k,
            tile: t,
        };
        let right = Matrix {
            values: values(rhs),
            rows: n,
            k,
            tile: u,
        };
        multiply(&left, &right, step, &mut flat);
    }
    // [M/t, t, N/u, u] to [M/t, N/u, t, u].
    let mut out = vec![0.0; flat.len()];
    if !out.is_empty() {
        out.par_chunks_mut(t * n)
            .zip(flat.par_chunks(t * n))
            .for_each(|(out, flat)| {
                for (tile, out) in out.chunks_mut(t * u).enumerate() {
                    for (row, out) in out.chunks_mut(u).enumerate() {
                        let at = row * n + tile * u;
                        out.copy_from_slice(&flat[at..at + u]);
                    }
                }
            });
    }
    let data: Buffer<f32> = out.into();
    Array {
        shape: shape.clone(),
        data: Data::F32(data),
    }
}

/// `out[m, n] = Σₖ left[m, k]·right[n, k]` from the +0 that `out` holds.
fn multiply(left: &Matrix<'_>, right: &Matrix<'_>, step: Step, out: &mut [f32]) {
    let (m, n) = (left.rows, right.rows);
    let panels = right.panels();
    let threads = rayon::current_num_threads();
    let strips = m.div_ceil(TALL);
    // As many strips to a thread as keep a block of a panel in use, but work for all threads.
    let strips_each = strips.div_ceil(2 * threads).clamp(1, 16);
    if strips >= threads || n <= WIDE {
        let rows = strips_each * TALL;
        out.par_chunks_mut(rows * n)
            .enumerate()
            .for_each(|(i, out)| {
                sweep(left, i * rows, &panels, n, step, out);
            });
        return;
    }
    // Few rows: threads share the columns, and the parts are put side by side afterwards.
    let panels_each = n.div_ceil(WIDE).div_ceil(2 * threads);
    let columns = panels_each * WIDE;
    let parts: Vec<Vec<f32>> = panels
        .par_chunks(panels_each * right.k)
        .enumerate()
        .map(|(i, panels)| {
            let n = columns.min(n - i * columns);
            let mut part = vec![0.0; m * n];
            sweep(left, 0, panels, n, step, &mut part);
            part
        })
        .collect();
    for (i, part) in parts.iter().enumerate() {
        let width = columns.min(n - i * columns);
        for (out, part) in out.chunks_mut(n).zip(part.chunks(width)) {
            out[i * columns..i * columns + width].copy_from_slice(part);
        }
    }
}

/// The rows of `out`, which are `left`'s from `first` on, against all panels.
fn sweep(
    left: &Matrix<'_>,
    first: usize,
    panels: &[[f32; WIDE]],
    n: usize,
    step: Step,
    out: &mut [f32],
) {
    let k = left.k;
    let strips = (out.len() / n).div_ceil(TALL);
    let mut packed = vec![[0.0; TALL]; strips * k];
    for (i, strip) in packed.chunks_mut(k).enumerate() {
        left.pack(first + i * TALL, strip);
    }
    for depth in (0..k).step_by(DEEP) {
        let depth = depth..k.min(depth + DEEP);
        for (column, panel) in panels.chunks(k).enumerate() {
            for (strip, left) in packed.chunks(k).enumerate() {
                wide::widest(Sweep {
                    left: &left[depth.clone()],
                    right: &panel[depth.clone()],
                    step,
                    out: &mut out[strip * TALL * n..],
                    stride: n,
                    column: column * WIDE,
                });
            }
        }
    }
}
