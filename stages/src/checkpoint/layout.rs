//! From the two axis orders of convolution weights to one.
//!
//! transformers stores `[out, in, kT, kF]` and `[channels, 1, K]`, MLX `[out, kT, kF, in]` and
//! `[channels, K, 1]`. The order is seen from the shape. Where a shape is both (a convolution of
//! three input channels with a kernel of 3×3), the file's `format` metadata decides, `mlx` or
//! anything else; without it the prefix `model.` of the name, which MLX's files do not have.
//! mlx-vlm's own guess takes such a tensor for MLX's whatever the file says.

use std::{ops::Range, sync::Arc};

use memmap2::Mmap;
use safetensors::Dtype;

use super::{CheckpointError, ExpectedTensor, Layout};
use crate::{DType, Shape, Tensor, tensor::SharedBytes};

/// Who wrote a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Transformers,
    Mlx,
}

impl Origin {
    /// The origin of a tensor from its file's `format` metadata and its name there.
    pub(super) fn guess(format: Option<&str>, name: &str) -> Origin {
        let mlx = match format {
            Some(format) => format == "mlx",
            None => !name.starts_with("model."),
        };
        if mlx {
            Origin::Mlx
        } else {
            Origin::Transformers
        }
    }
}

/// An audio tensor as a file or the memory holds it, its name canonical.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Shape,
    pub(super) origin: Origin,
    pub(super) owner: SharedBytes,
    pub(super) range: Range<usize>,
    /// The file, if it is one that is mapped.
    pub(super) map: Option<Arc<Mmap>>,
}

impl Found {
    /// The tensor in canonical order, if it is what is expected.
    pub(super) fn into_canonical(
        self,
        expected: &ExpectedTensor,
    ) -> Result<Tensor, CheckpointError> {
        if self.dtype != stored_as(expected.dtype) {
            return Err(CheckpointError::DType {
                name: self.name,
                expected: expected.dtype,
                found: self.dtype.to_string(),
            });
        }
        let transformers = expected.transformers_shape();
        let fits = (self.shape == expected.shape, self.shape == transformers);
        let origin = match fits {
            (true, true) => self.origin,
            (true, false) => Origin::Mlx,
            (false, true) => Origin::Transformers,
            (false, false) => {
                let expected = if transformers == expected.shape {
                    expected.shape.to_string()
                } else {
                    format!("{} or {transformers}", expected.shape)
                };
                return Err(CheckpointError::Shape {
                    name: self.name,
                    expected,
                    found: self.shape,
                });
            }
        };
        let stored = Tensor::shared(expected.dtype, self.shape, self.owner, self.range)?;
        match (origin, expected.layout) {
            (Origin::Mlx, _) | (_, Layout::Fixed) => Ok(stored),
            // Only an axis of one element moves.
            (Origin::Transformers, Layout::DepthwiseConv1d) => {
                Ok(stored.reshaped(expected.shape.clone())?)
            }
            (Origin::Transformers, Layout::Conv2d) => channels_last(&stored, expected),
        }
    }
}

/// A dtype as files name it.
pub(super) const fn stored_as(dtype: DType) -> Dtype {
    match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I32 => Dtype::I32,
        DType::U32 => Dtype::U32,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
    }
}

/// `[out, in, kT, kF]` to `[out, kT, kF, in]`.
fn channels_last(stored: &Tensor, expected: &ExpectedTensor) -> Result<Tensor, CheckpointError> {
    let inputs = expected.shape.dims().last().copied().unwrap_or(1);
    if inputs == 1 {
        return Ok(stored.reshaped(expected.shape.clone())?);
    }
    let size = stored.dtype().size();
    let block = stored.bytes().len() / expected.shape.dims().first().copied().unwrap_or(1).max(1);
    let taps = block / (inputs * size);
    let mut bytes = Vec::with_capacity(stored.bytes().len());
    for output in stored.bytes().chunks_exact(block.max(1)) {
        for tap in 0..taps {
            for input in 0..inputs {
                let at = (input * taps + tap) * size;
                bytes.extend_from_slice(&output[at..at + size]);
            }
        }
    }
    Ok(Tensor::from_bytes(
        stored.dtype(),
        expected.shape.clone(),
        &bytes,
    )?)
}
