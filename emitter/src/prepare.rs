//! Preparation: what is done once on the host to an argument's tensor before it is handed over.
//!
//! Steps in a row are one reading of the source as long as they only move elements, so that
//! packing a weight is a single parallel copy; steps that move nothing copy nothing.

use half::{bf16, f16};
use stages::{DType, Shape, Tensor, TensorError};

use crate::{
    program::Prepare,
    strided::{self, Reading},
};

/// Why a step cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// It asks for other extents than the tensor has.
    #[error("prepare a tensor of shape {shape}: {step} does not fit")]
    Fit {
        /// The step.
        step: Prepare,
        /// The shape before it.
        shape: Shape,
    },
    /// The tensor's dtype is not U32.
    #[error("prepare a {0} tensor: its bits are no U32's")]
    Reinterpret(DType),
    /// The tensor's dtype cannot be widened to F32.
    #[error("prepare a {0} tensor: it cannot be widened to F32 exactly")]
    Widen(DType),
    /// The result is no tensor.
    #[error("prepare a tensor: {0}")]
    Tensor(#[from] TensorError),
}

impl std::fmt::Display for Prepare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Prepare::Widen => f.write_str("widen"),
            Prepare::Reinterpret => f.write_str("reinterpret"),
            Prepare::Reshape(shape) => write!(f, "reshape{shape}"),
            Prepare::Transpose(axes) => write!(f, "transpose{}", Shape::from(axes.as_slice())),
            Prepare::PadTo { axis, extent } => write!(f, "pad[{axis}:{extent}]"),
        }
    }
}

/// The steps as text, such as `reshape[192,8,1536] transpose[0,2,1]`: equal for equal steps only,
/// so that it can stand in a cache key.
pub fn text(steps: &[Prepare]) -> String {
    let texts: Vec<_> = steps.iter().map(Prepare::to_string).collect();
    texts.join(" ")
}

/// The tensor after the steps, in order. Shares the source's memory if they move nothing.
///
/// ```
/// use emitter::{prepare, program::Prepare};
/// use stages::Tensor;
///
/// let w = Tensor::from_f32([2, 3], &[0., 1., 2., 3., 4., 5.])?;
/// let steps = [Prepare::PadTo { axis: 1, extent: 4 }, Prepare::Transpose(vec![1, 0])];
/// let prepared = prepare::apply(&steps, &w)?;
/// assert_eq!(prepared.as_f32(), Some(&[0., 3., 1., 4., 2., 5., 0., 0.][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a step does not fit the shape before it, or integers are to be widened.
pub fn apply(steps: &[Prepare], tensor: &Tensor) -> Result<Tensor, PrepareError> {
    let mut pending = Pending {
        tensor: tensor.clone(),
        reading: Reading::row_major(tensor.shape().dims()),
        // Widening commutes with movement, so it joins the first copy.
        widen: steps.contains(&Prepare::Widen),
    };
    for step in steps {
        pending.step(step)?;
    }
    pending.settle()?;
    Ok(pending.tensor)
}

/// A tensor and how it is to be read.
struct Pending {
    tensor: Tensor,
    reading: Reading,
    widen: bool,
}

impl Pending {
    fn step(&mut self, step: &Prepare) -> Result<(), PrepareError> {
        let dims = &self.reading.dims;
        let misfit = || PrepareError::Fit {
            step: step.clone(),
            shape: dims.clone().into(),
        };
        match step {
            Prepare::Widen => {}
            Prepare::Reinterpret => {
                let dtype = self.tensor.dtype();
                if dtype != DType::U32 {
                    return Err(PrepareError::Reinterpret(dtype));
                }
                self.tensor = self.tensor.reinterpreted(DType::I32)?;
            }
            Prepare::Reshape(shape) => {
                let elements = Shape::from(dims.as_slice()).elements();
                if shape.checked_elements() != Some(elements) {
                    return Err(misfit());
                }
                if let Some(reading) = with_unit_axes(&self.reading, shape) {
                    self.reading = reading;
                } else {
                    self.settle()?;
                    self.reading = Reading::row_major(shape.dims());
                }
            }
            Prepare::Transpose(axes) => {
                let mut sorted = axes.clone();
                sorted.sort_unstable();
                if !sorted.into_iter().eq(0..dims.len()) {
                    return Err(misfit());
                }
                let of = |values: &[usize]| axes.iter().map(|&axis| values[axis]).collect();
                self.reading = Reading {
                    offset: 0,
                    dims: of(dims),
                    strides: of(&self.reading.strides),
                };
            }
            &Prepare::PadTo { axis, extent } => {
                if dims.get(axis).is_none_or(|&own| own > extent) {
                    return Err(misfit());
                }
                if dims[axis] < extent {
                    self.settle()?;
                    self.tensor = pad(&self.tensor, axis, extent)?;
                    self.reading = Reading::row_major(self.tensor.shape().dims());
                }
            }
        }
        Ok(())
    }

    /// Makes the tensor what is read of it.
    fn settle(&mut self) -> Result<(), PrepareError> {
        let shape = Shape::from(self.reading.dims.as_slice());
        let moved = !self.reading.is_row_major();
        let narrow = self.widen && self.tensor.dtype() != DType::F32;
        self.tensor = if moved || narrow {
            copy(&self.tensor, &self.reading, shape, narrow)?
        } else {
            self.tensor.reshaped(shape)?
        };
        self.reading = Reading::row_major(self.tensor.shape().dims());
        Ok(())
    }
}

/// The same reading under a shape that differs in axes of extent 1 only, or any shape if it is
/// row-major. `None` if elements would have to move.
fn with_unit_axes(reading: &Reading, shape: &Shape) -> Option<Reading> {
    if reading.is_row_major() {
        return Some(Reading::row_major(shape.dims()));
    }
    let axes = reading.dims.iter().zip(&reading.strides);
    let mut proper = axes.filter(|(dim, _)| **dim != 1);
    let mut strides = Vec::with_capacity(shape.rank());
    for &dim in shape.dims() {
        if dim == 1 {
            strides.push(0);
        } else {
            let (&own, &stride) = proper.next()?;
            if own != dim {
                return None;
            }
            strides.push(stride);
        }
    }
    proper.next().is_none().then(|| Reading {
        offset: reading.offset,
        dims: shape.dims().to_vec(),
        strides,
    })
}

/// What is read of a tensor as one of its own, widened to F32 if asked to.
fn copy(
    tensor: &Tensor,
    reading: &Reading,
    shape: Shape,
    widen: bool,
) -> Result<Tensor, PrepareError> {
    let (dtype, bytes) = (tensor.dtype(), tensor.bytes());
    if widen {
        let widened = match dtype {
            DType::BF16 => written(DType::F32, shape, reading, bytes, bf16::to_f32),
            DType::F16 => written(DType::F32, shape, reading, bytes, f16::to_f32),
            _ => return Err(PrepareError::Widen(dtype)),
        };
        return Ok(widened?);
    }
    Ok(match dtype.size() {
        1 => written(dtype, shape, reading, bytes, |x: u8| x),
        2 => written(dtype, shape, reading, bytes, |x: u16| x),
        _ => written(dtype, shape, reading, bytes, |x: u32| x),
    }?)
}

fn written<S, T>(
    dtype: DType,
    shape: Shape,
    reading: &Reading,
    bytes: &[u8],
    convert: impl Fn(S) -> T + Sync,
) -> Result<Tensor, TensorError>
where
    S: bytemuck::Pod + Sync,
    T: bytemuck::Pod + Send,
{
    let source: &[S] = bytemuck::cast_slice(bytes);
    Tensor::written(dtype, shape, |out| {
        strided::copy(reading, source, out, convert)
    })
}

/// Zeros after the last element of an axis, up to `extent`.
fn pad(tensor: &Tensor, axis: usize, extent: usize) -> Result<Tensor, TensorError> {
    let mut dims = tensor.shape().dims().to_vec();
    let inner: usize = dims[axis + 1..].iter().product::<usize>() * tensor.dtype().size();
    let (from, to) = (dims[axis] * inner, extent * inner);
    dims[axis] = extent;
    let fill = |out: &mut [u8]| {
        if from > 0 {
            let rows = out.chunks_mut(to).zip(tensor.bytes().chunks(from));
            rows.for_each(|(out, row)| out[..from].copy_from_slice(row));
        }
    };
    let (dtype, shape) = (tensor.dtype(), dims.into());
    match dtype.size() {
        1 => Tensor::written(dtype, shape, fill),
        2 => Tensor::written(dtype, shape, |out: &mut [u16]| {
            fill(bytemuck::cast_slice_mut(out))
        }),
        _ => Tensor::written(dtype, shape, |out: &mut [u32]| {
            fill(bytemuck::cast_slice_mut(out))
        }),
    }
}

#[cfg(test)]
mod tests;
