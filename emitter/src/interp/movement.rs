//! Data movement: no value changes.

use rayon::prelude::*;
use stages::Shape;

use super::array::{Array, Buffer, Data, Stored, bf16_of};
use crate::strided::{self, Reading};

/// Runs a generic expression on the elements of whatever type an array stores.
macro_rules! by_type {
    ($data:expr, $values:ident => $result:expr) => {
        match $data {
            Data::F32($values) => Data::F32(Buffer::from($result)),
            Data::Bf16($values) => Data::Bf16(Buffer::from($result)),
            Data::I32($values) => Data::I32(Buffer::from($result)),
            Data::Bool($values) => Data::Bool(Buffer::from($result)),
        }
    };
}

/// The same elements under another shape: nothing is copied.
pub(super) fn reshape(x: &Array, shape: &Shape) -> Array {
    Array {
        shape: shape.clone(),
        data: x.data.clone(),
    }
}

/// What `reading` reads of `x`. Nothing is copied if that is all of it in order.
pub(super) fn read(x: &Array, reading: &Reading, shape: &Shape) -> Array {
    if shape.elements() == x.shape.elements() && reading.is_row_major() {
        return reshape(x, shape);
    }
    fn copy<T: Stored + Default>(values: &[T], reading: &Reading, count: usize) -> Vec<T> {
        let mut out = vec![T::default(); count];
        strided::copy(reading, values, &mut out, |x| x);
        out
    }
    let count = shape.elements();
    Array {
        shape: shape.clone(),
        data: by_type!(&x.data, values => copy(values, reading, count)),
    }
}

/// Result axis `i` is operand axis `axes[i]`.
pub(super) fn transpose(x: &Array, axes: &[usize], shape: &Shape) -> Array {
    let strides = x.shape.strides();
    let reading = Reading {
        offset: 0,
        dims: shape.dims().to_vec(),
        strides: axes.iter().map(|&axis| strides[axis]).collect(),
    };
    read(x, &reading, shape)
}

/// Elements `start, start + stride, …` of every axis.
pub(super) fn slice(x: &Array, start: &[usize], strides: &[usize], shape: &Shape) -> Array {
    let own = x.shape.strides();
    let reading = Reading {
        offset: start
            .iter()
            .zip(&own)
            .map(|(first, stride)| first * stride)
            .sum(),
        dims: shape.dims().to_vec(),
        strides: strides
            .iter()
            .zip(&own)
            .map(|(step, stride)| step * stride)
            .collect(),
    };
    read(x, &reading, shape)
}

/// What a kernel sees at each place.
pub(super) fn patches(x: &Array, kernel: &[usize], strides: &[usize], dilation: &[usize]) -> Array {
    let (own, spatial) = (x.shape.strides(), kernel.len());
    let mut dims = vec![x.shape[0]];
    let mut steps = vec![own[0]];
    for axis in 0..spatial {
        let reach = (kernel[axis] - 1) * dilation[axis] + 1;
        dims.push((x.shape[axis + 1] - reach) / strides[axis] + 1);
        steps.push(own[axis + 1] * strides[axis]);
    }
    dims.extend(kernel);
    steps.extend((0..spatial).map(|axis| own[axis + 1] * dilation[axis]));
    dims.push(x.shape[spatial + 1]);
    steps.push(own[spatial + 1]);
    let shape = Shape::from(dims.clone());
    let reading = Reading {
        offset: 0,
        dims,
        strides: steps,
    };
    read(x, &reading, &shape)
}

/// The element with these bits around `x`.
pub(super) fn pad(x: &Array, low: &[usize], bits: u32, shape: &Shape) -> Array {
    // Axes inside the last padded one move as one run.
    let padded = (0..shape.rank())
        .rev()
        .find(|&axis| shape[axis] != x.shape[axis]);
    let Some(last) = padded else {
        return reshape(x, shape);
    };
    let inner: usize = shape.dims()[last + 1..].iter().product();
    let frame = Frame {
        operand: &x.shape.dims()[..last],
        result: &shape.dims()[..last],
        low: &low[..last],
        before: low[last] * inner,
        run: x.shape[last] * inner,
        row: shape[last] * inner,
    };
    let count = shape.elements();
    let data = match &x.data {
        Data::F32(x) => Data::F32(frame.fill(x, f32::from_bits(bits), count).into()),
        Data::Bf16(x) => Data::Bf16(frame.fill(x, bf16_of(bits), count).into()),
        Data::I32(x) => Data::I32(frame.fill(x, bits.cast_signed(), count).into()),
        Data::Bool(x) => Data::Bool(frame.fill(x, u8::from(bits != 0), count).into()),
    };
    Array {
        shape: shape.clone(),
        data,
    }
}

/// Where rows of an operand lie in a padded result.
struct Frame<'a> {
    operand: &'a [usize],
    result: &'a [usize],
    low: &'a [usize],
    before: usize,
    run: usize,
    row: usize,
}

impl Frame<'_> {
    fn fill<T: Stored>(&self, values: &[T], element: T, count: usize) -> Vec<T> {
        let mut out = vec![element; count];
        if count > 0 && self.run > 0 {
            let rows = (1usize << 15).div_ceil(self.row);
            out.par_chunks_mut(self.row)
                .enumerate()
                .with_min_len(rows)
                .for_each(|(i, out)| {
                    if let Some(source) = self.source(i) {
                        let source = &values[source * self.run..(source + 1) * self.run];
                        out[self.before..self.before + self.run].copy_from_slice(source);
                    }
                });
        }
        out
    }

    /// The operand's row that lies in that row of the result.
    fn source(&self, mut row: usize) -> Option<usize> {
        let (mut at, mut stride) = (0, 1);
        for axis in (0..self.result.len()).rev() {
            let index = (row % self.result[axis]).checked_sub(self.low[axis])?;
            row /= self.result[axis];
            if index >= self.operand[axis] {
                return None;
            }
            at += index * stride;
            stride *= self.operand[axis];
        }
        Some(at)
    }
}

/// `operands` one after the other along `axis`. `None` if they are not stored alike.
pub(super) fn concatenate(operands: &[&Array], axis: usize, shape: &Shape) -> Option<Array> {
    let inner: usize = shape.dims()[axis + 1..].iter().product();
    let row = shape[axis] * inner;
    let runs: Vec<usize> = operands.iter().map(|x| x.shape[axis] * inner).collect();
    fn join<T: Stored + Default>(
        parts: Option<Vec<&[T]>>,
        runs: &[usize],
        row: usize,
        count: usize,
    ) -> Option<Vec<T>> {
        let parts = parts?;
        let mut out = vec![T::default(); count];
        if count > 0 {
            let rows = (1usize << 15).div_ceil(row);
            out.par_chunks_mut(row)
                .enumerate()
                .with_min_len(rows)
                .for_each(|(i, mut out)| {
                    for (part, &run) in parts.iter().zip(runs) {
                        let (piece, rest) = out.split_at_mut(run);
                        piece.copy_from_slice(&part[i * run..(i + 1) * run]);
                        out = rest;
                    }
                });
        }
        Some(out)
    }
    macro_rules! parts {
        ($kind:ident) => {{
            let parts = operands.iter().map(|x| match &x.data {
                Data::$kind(values) => Some(&**values),
                _ => None,
            });
            Data::$kind(join(parts.collect(), &runs, row, shape.elements())?.into())
        }};
    }
    let data = match operands.first()?.data {
        Data::F32(_) => parts!(F32),
        Data::Bf16(_) => parts!(Bf16),
        Data::I32(_) => parts!(I32),
        Data::Bool(_) => parts!(Bool),
    };
    Some(Array {
        shape: shape.clone(),
        data,
    })
}

/// `x[.., indices[i.., j], ..]` along `axis`, indices outside it at its nearest element.
pub(super) fn gather(x: &Array, indices: &Array, axis: usize, shape: &Shape) -> Array {
    let inner: usize = shape.dims()[axis + 1..].iter().product();
    let (extent, row) = (x.shape[axis], shape[axis] * inner);
    fn pick<T: Stored + Default>(
        values: &[T],
        indices: &[i32],
        extent: usize,
        inner: usize,
        row: usize,
    ) -> Vec<T> {
        let mut out = vec![T::default(); indices.len()];
        if !out.is_empty() {
            let last = extent - 1;
            let rows = (1usize << 14).div_ceil(row);
            out.par_chunks_mut(row)
                .zip(indices.par_chunks(row))
                .enumerate()
                .with_min_len(rows)
                .for_each(|(i, (out, indices))| {
                    let block = &values[i * extent * inner..(i + 1) * extent * inner];
                    for (out, indices) in out.chunks_mut(inner).zip(indices.chunks(inner)) {
                        for (within, (o, &index)) in out.iter_mut().zip(indices).enumerate() {
                            let index = usize::try_from(index).unwrap_or(0).min(last);
                            *o = block[index * inner + within];
                        }
                    }
                });
        }
        out
    }
    let indices = indices.i32();
    Array {
        shape: shape.clone(),
        data: by_type!(&x.data, values => pick(values, indices, extent, inner, row)),
    }
}
