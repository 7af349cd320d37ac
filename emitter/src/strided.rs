//! Copies between row-major arrays and strided readings of them.

use rayon::prelude::*;

/// Below this many elements a copy is not worth a second thread.
const SERIAL: usize = 1 << 15;

/// A reading of an array: extents, and for each axis how far apart its elements lie (0 repeats
/// one element).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) offset: usize,
    pub(crate) dims: Vec<usize>,
    pub(crate) strides: Vec<usize>,
}

impl Reading {
    /// The row-major reading.
    pub(crate) fn row_major(dims: &[usize]) -> Reading {
        Reading {
            offset: 0,
            dims: dims.to_vec(),
            strides: stages::Shape::from(dims).strides(),
        }
    }

    /// The same elements in the same order with as few axes as possible, none of extent 1.
    pub(crate) fn merged(&self) -> Reading {
        let mut merged = Reading {
            offset: self.offset,
            dims: Vec::new(),
            strides: Vec::new(),
        };
        for (&dim, &stride) in self.dims.iter().zip(&self.strides) {
            if dim == 1 {
                continue;
            }
            match (merged.dims.last_mut(), merged.strides.last_mut()) {
                (Some(outer), Some(step)) if *step == stride * dim => {
                    *outer *= dim;
                    *step = stride;
                }
                _ => {
                    merged.dims.push(dim);
                    merged.strides.push(stride);
                }
            }
        }
        merged
    }

    /// Whether it reads a row-major array from its first element.
    pub(crate) fn is_row_major(&self) -> bool {
        let merged = self.merged();
        self.offset == 0
            && match merged.strides.as_slice() {
                [] => true,
                [stride] => *stride == 1,
                _ => false,
            }
    }

    /// Where the element at a flat, row-major index over all axes but the last `inner` lies.
    pub(crate) fn at(&self, mut flat: usize, inner: usize) -> usize {
        let mut at = self.offset;
        let outer = self.dims.len() - inner;
        for (&dim, &stride) in self.dims[..outer].iter().zip(&self.strides[..outer]).rev() {
            at += flat % dim * stride;
            flat /= dim;
        }
        at
    }
}

/// Writes what `reading` reads of `source`, each element converted, in row-major order.
pub(crate) fn copy<S, T>(
    reading: &Reading,
    source: &[S],
    out: &mut [T],
    convert: impl Fn(S) -> T + Sync,
) where
    S: Copy + Sync,
    T: Copy + Send,
{
    if out.is_empty() {
        return;
    }
    let merged = reading.merged();
    let step = merged.strides.last().copied().unwrap_or(1);
    match merged.strides.iter().position(|&stride| stride == 1) {
        Some(unit) if step > 1 => transpose(&merged, unit, source, out, &convert),
        _ if merged.dims.len() <= 1 => {
            let pieces = out.par_chunks_mut(SERIAL).enumerate();
            pieces.for_each(|(i, out)| {
                run(
                    &source[merged.offset + i * SERIAL * step..],
                    step,
                    out,
                    &convert,
                );
            });
        }
        _ => {
            let row = merged.dims.last().copied().unwrap_or(1);
            let rows = (SERIAL / row).max(1);
            out.par_chunks_mut(row * rows)
                .enumerate()
                .for_each(|(i, out)| {
                    for (j, out) in out.chunks_mut(row).enumerate() {
                        run(&source[merged.at(i * rows + j, 1)..], step, out, &convert);
                    }
                });
        }
    }
}

/// Every `step`-th element from the first on; that one again and again if `step` is 0.
pub(crate) fn run<S: Copy, T: Copy>(
    source: &[S],
    step: usize,
    out: &mut [T],
    convert: impl Fn(S) -> T,
) {
    match step {
        0 => out.fill(convert(source[0])),
        1 => {
            let source = &source[..out.len()];
            out.iter_mut()
                .zip(source)
                .for_each(|(o, &x)| *o = convert(x));
        }
        _ => {
            let source = source.iter().step_by(step);
            out.iter_mut()
                .zip(source)
                .for_each(|(o, &x)| *o = convert(x));
        }
    }
}

/// Elements along the `unit` axis lie side by side in the source, those along the last axis in
/// the result: square blocks of both keep a cache line in use until all of it is copied.
fn transpose<S, T>(
    merged: &Reading,
    unit: usize,
    source: &[S],
    out: &mut [T],
    convert: &(impl Fn(S) -> T + Sync),
) where
    S: Copy + Sync,
    T: Copy + Send,
{
    const BLOCK: usize = 32;
    let last = merged.dims.len() - 1;
    let (units, row, step) = (merged.dims[unit], merged.dims[last], merged.strides[last]);
    let between = Reading {
        offset: 0,
        dims: merged.dims[unit + 1..last].to_vec(),
        strides: merged.strides[unit + 1..last].to_vec(),
    };
    let outer = Reading {
        offset: merged.offset,
        dims: merged.dims[..unit].to_vec(),
        strides: merged.strides[..unit].to_vec(),
    };
    let rows: usize = between.dims.iter().product();
    let slab = rows * row;
    let block = |first: usize, out: &mut [T]| {
        // Through a buffer: lines a large power of two apart would throw each other out.
        let mut buffer = [[convert(source[first]); BLOCK]; BLOCK];
        let units = out.len() / slab;
        for r in 0..rows {
            let at = first + between.at(r, 0);
            for start in (0..row).step_by(BLOCK) {
                let count = BLOCK.min(row - start);
                for k in 0..count {
                    let line = &source[at + (start + k) * step..][..units];
                    buffer
                        .iter_mut()
                        .zip(line)
                        .for_each(|(o, &x)| o[k] = convert(x));
                }
                for (buffered, out) in buffer.iter().zip(out.chunks_mut(slab)) {
                    out[r * row + start..][..count].copy_from_slice(&buffered[..count]);
                }
            }
        }
    };
    let together = (SERIAL / (slab * BLOCK)).max(1) * BLOCK;
    out.par_chunks_mut(units * slab)
        .enumerate()
        .for_each(|(o, out)| {
            out.par_chunks_mut(together * slab)
                .enumerate()
                .for_each(|(i, out)| {
                    for (j, out) in out.chunks_mut(BLOCK * slab).enumerate() {
                        block(outer.at(o, 0) + i * together + j * BLOCK, out);
                    }
                });
        });
}
