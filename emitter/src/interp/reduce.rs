//! Reductions: each output combines its terms one after the other, many outputs at once.

use rayon::prelude::*;
use stages::{DType, Shape};

use super::{
    array::{Array, Data, Stored},
    kernel::round_bf16,
    wide::{self, Eight, Loop},
};
use crate::{program::Combine, strided::Reading};

/// How many rows are reduced side by side when each output's terms are contiguous: enough
/// independent chains to hide the latency of an addition.
const ROWS: usize = 16;

/// Elements of work worth a thread.
const GRAIN: usize = 1 << 14;

/// One step of a reduction of elements of type `T`.
trait Step<T>: Copy + Sync {
    const START: T;
    fn step(acc: T, x: T) -> T;
}

#[derive(Clone, Copy)]
struct Sum;
#[derive(Clone, Copy)]
struct SumBf16;
#[derive(Clone, Copy)]
struct Max;
#[derive(Clone, Copy)]
struct Min;

impl Step<f32> for Sum {
    const START: f32 = 0.0;
    #[inline(always)]
    fn step(acc: f32, x: f32) -> f32 {
        acc + x
    }
}

impl Step<i32> for Sum {
    const START: i32 = 0;
    #[inline(always)]
    fn step(acc: i32, x: i32) -> i32 {
        acc.wrapping_add(x)
    }
}

impl Step<f32> for SumBf16 {
    const START: f32 = 0.0;
    #[inline(always)]
    fn step(acc: f32, x: f32) -> f32 {
        round_bf16(acc + x)
    }
}

impl Step<f32> for Max {
    const START: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn step(acc: f32, x: f32) -> f32 {
        if acc >= x || acc.is_nan() { acc } else { x }
    }
}

impl Step<f32> for Min {
    const START: f32 = f32::INFINITY;
    #[inline(always)]
    fn step(acc: f32, x: f32) -> f32 {
        if acc <= x || acc.is_nan() { acc } else { x }
    }
}

/// `x` combined along `axes`, in lexicographic order.
pub(super) fn reduce(x: &Array, axes: &[usize], combine: Combine, shape: &Shape) -> Array {
    let dims = x.shape.dims();
    let data = if let (Combine::Sum { .. }, Data::I32(values)) = (combine, &x.data) {
        Data::I32(along::<i32, Sum>(values, dims, axes).into())
    } else {
        let values = x.f32();
        let combined = match combine {
            Combine::Sum {
                round_each: Some(DType::BF16),
                ..
            } => along::<f32, SumBf16>(values, dims, axes),
            Combine::Sum { .. } => along::<f32, Sum>(values, dims, axes),
            Combine::Max => along::<f32, Max>(values, dims, axes),
            Combine::Min => along::<f32, Min>(values, dims, axes),
        };
        Data::F32(combined.into())
    };
    Array {
        shape: shape.clone(),
        data,
    }
}

/// The axes of `dims` that are among `axes` (or are not), as a reading of the operand.
fn part(dims: &[usize], axes: &[usize], among: bool) -> Reading {
    let all = Reading::row_major(dims);
    let chosen = (0..dims.len()).filter(|axis| axes.contains(axis) == among);
    let (dims, strides) = chosen
        .map(|axis| (all.dims[axis], all.strides[axis]))
        .unzip();
    Reading {
        offset: 0,
        dims,
        strides,
    }
    .merged()
}

fn along<T: Stored, S: Step<T>>(values: &[T], dims: &[usize], axes: &[usize]) -> Vec<T> {
    let (kept, reduced) = (part(dims, axes, false), part(dims, axes, true));
    let outputs: usize = kept.dims.iter().product();
    let terms: usize = reduced.dims.iter().product();
    let mut out = vec![S::START; outputs];
    if terms == 0 || outputs == 0 {
        return out;
    }
    if kept.strides.last() == Some(&1) {
        // Neighbouring outputs read neighbouring elements: whole rows are combined at once.
        let offsets: Vec<usize> = (0..terms).map(|term| reduced.at(term, 0)).collect();
        let row = kept.dims.last().copied().unwrap_or(1);
        // Short pieces keep the accumulators in the first cache and share out a single row.
        let piece = row.min(1024);
        let mut pieces: Vec<(usize, &mut [T])> = Vec::new();
        for (i, out) in out.chunks_mut(row).enumerate() {
            let at = kept.at(i, 1);
            pieces.extend(
                out.chunks_mut(piece)
                    .enumerate()
                    .map(|(j, out)| (at + j * piece, out)),
            );
        }
        let grain = (GRAIN / (piece * terms)).max(1);
        pieces
            .par_iter_mut()
            .with_min_len(grain)
            .for_each(|(at, out)| {
                wide::widest(Columns::<T, S> {
                    values: &values[*at..],
                    offsets: &offsets,
                    out,
                    step: std::marker::PhantomData,
                });
            });
    } else {
        let (run, stride) = match (reduced.dims.last(), reduced.strides.last()) {
            (Some(&run), Some(&stride)) => (run, stride),
            _ => (1, 1),
        };
        let inner = reduced.dims.len().min(1);
        let grain = (GRAIN / terms.max(1)).next_multiple_of(ROWS).max(ROWS);
        out.par_chunks_mut(grain).enumerate().for_each(|(i, out)| {
            for (j, out) in out.chunks_mut(ROWS).enumerate() {
                let first = i * grain + j * ROWS;
                let mut starts = [0; ROWS];
                for (lane, start) in starts.iter_mut().enumerate().take(out.len()) {
                    *start = kept.at(first + lane, 0);
                }
                wide::widest(Lanes::<T, S> {
                    values,
                    starts,
                    reduced: &reduced,
                    inner,
                    run,
                    stride,
                    out,
                    step: std::marker::PhantomData,
                });
            }
        });
    }
    out
}

/// Contiguous outputs: every term is a row of elements, added to the row of accumulators.
struct Columns<'a, T, S> {
    values: &'a [T],
    offsets: &'a [usize],
    out: &'a mut [T],
    step: std::marker::PhantomData<S>,
}

impl<T: Stored, S: Step<T>> Loop for Columns<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn run<V: Eight>(self) {
        for &offset in self.offsets {
            let row = &self.values[offset..offset + self.out.len()];
            for (acc, &x) in self.out.iter_mut().zip(row) {
                *acc = S::step(*acc, x);
            }
        }
    }
}

/// Up to [`ROWS`] outputs whose terms lie in runs of their own.
struct Lanes<'a, T, S> {
    values: &'a [T],
    starts: [usize; ROWS],
    reduced: &'a Reading,
    inner: usize,
    run: usize,
    stride: usize,
    out: &'a mut [T],
    step: std::marker::PhantomData<S>,
}

impl<T: Stored, S: Step<T>> Loop for Lanes<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn run<V: Eight>(self) {
        let runs: usize = self.reduced.dims.iter().product::<usize>() / self.run;
        let mut acc = [S::START; ROWS];
        let span = (self.run - 1) * self.stride + 1;
        for run in 0..runs {
            let offset = self.reduced.at(run, self.inner);
            if self.out.len() == ROWS {
                let rows: [&[T]; ROWS] = std::array::from_fn(|lane| {
                    let start = self.starts[lane] + offset;
                    &self.values[start..start + span]
                });
                for k in (0..span).step_by(self.stride) {
                    for lane in 0..ROWS {
                        acc[lane] = S::step(acc[lane], rows[lane][k]);
                    }
                }
            } else {
                for (acc, start) in acc.iter_mut().zip(self.starts).take(self.out.len()) {
                    let row = &self.values[start + offset..start + offset + span];
                    for &x in row.iter().step_by(self.stride) {
                        *acc = S::step(*acc, x);
                    }
                }
            }
        }
        self.out.copy_from_slice(&acc[..self.out.len()]);
    }
}
