//! Host tensors: row-major values of one dtype, shared without copying.

use std::{ops::Range, sync::Arc};

use half::{bf16, f16};

use crate::{DType, Shape};

/// Why bytes are not a tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The byte count is not the shape's.
    #[error("make a {dtype} tensor of shape {shape}: it takes {expected} bytes, not {actual}")]
    Length {
        /// Declared element type.
        dtype: DType,
        /// Declared shape.
        shape: Shape,
        /// Bytes that dtype and shape need.
        expected: usize,
        /// Bytes given.
        actual: usize,
    },
    /// The number of elements does not fit in memory.
    #[error("make a tensor of shape {0}: the number of bytes overflows")]
    Overflow(Shape),
}

/// One cache line; makes owned storage 64-byte aligned, which IREE needs to use it in place.
#[repr(C, align(64))]
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
struct Line([u8; 64]);

/// Memory that somebody else keeps, such as a mapped file.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

#[derive(Clone)]
enum Storage {
    Owned {
        lines: Arc<Vec<Line>>,
        len: usize,
    },
    Shared {
        owner: SharedBytes,
        range: Range<usize>,
    },
}

/// A row-major tensor in host memory. Cloning shares the values.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    storage: Storage,
}

fn byte_len(dtype: DType, shape: &Shape) -> Result<usize, TensorError> {
    shape
        .checked_elements()
        .and_then(|n| n.checked_mul(dtype.size()))
        .ok_or_else(|| TensorError::Overflow(shape.clone()))
}

impl Tensor {
    /// A tensor over part of shared memory, used in place if it is aligned for its dtype and
    /// copied otherwise.
    ///
    /// # Errors
    /// When the range's length is not what dtype and shape need, or lies outside the memory.
    pub fn shared(
        dtype: DType,
        shape: Shape,
        owner: SharedBytes,
        range: Range<usize>,
    ) -> Result<Tensor, TensorError> {
        let expected = byte_len(dtype, &shape)?;
        let bytes = (*owner).as_ref().get(range.clone()).unwrap_or(&[]);
        if bytes.len() != expected {
            let actual = bytes.len();
            return Err(TensorError::Length {
                dtype,
                shape,
                expected,
                actual,
            });
        }
        if bytes.as_ptr().align_offset(dtype.size()) != 0 {
            let bytes = bytes.to_vec();
            return Tensor::from_bytes(dtype, shape, &bytes);
        }
        Ok(Tensor {
            dtype,
            shape,
            storage: Storage::Shared { owner, range },
        })
    }

    /// A tensor with a copy of `bytes`.
    ///
    /// # Errors
    /// When the length is not what dtype and shape need.
    pub fn from_bytes(dtype: DType, shape: Shape, bytes: &[u8]) -> Result<Tensor, TensorError> {
        Tensor::fill(dtype, shape, bytes.len(), |out| out.copy_from_slice(bytes))
    }

    /// A tensor whose values `write` fills in, as elements or as bytes; they are zeros before.
    ///
    /// # Errors
    /// When `T` is neither as wide as the dtype nor a byte, or the number of bytes overflows.
    pub fn written<T: bytemuck::Pod>(
        dtype: DType,
        shape: Shape,
        write: impl FnOnce(&mut [T]),
    ) -> Result<Tensor, TensorError> {
        let width = if size_of::<T>() == 1 {
            dtype.size()
        } else {
            size_of::<T>()
        };
        let len = shape.checked_elements().and_then(|n| n.checked_mul(width));
        let len = len.ok_or_else(|| TensorError::Overflow(shape.clone()))?;
        Tensor::fill(dtype, shape, len, |out| {
            write(bytemuck::cast_slice_mut(out))
        })
    }

    fn fill(
        dtype: DType,
        shape: Shape,
        actual: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Tensor, TensorError> {
        let expected = byte_len(dtype, &shape)?;
        if actual != expected {
            return Err(TensorError::Length {
                dtype,
                shape,
                expected,
                actual,
            });
        }
        let mut lines = vec![Line([0; 64]); expected.div_ceil(64)];
        write(&mut bytemuck::cast_slice_mut(&mut lines)[..expected]);
        let storage = Storage::Owned {
            lines: Arc::new(lines),
            len: expected,
        };
        Ok(Tensor {
            dtype,
            shape,
            storage,
        })
    }

    /// An F32 tensor.
    ///
    /// # Errors
    /// When the number of values is not the shape's.
    pub fn from_f32(shape: impl Into<Shape>, values: &[f32]) -> Result<Tensor, TensorError> {
        Tensor::from_bytes(DType::F32, shape.into(), bytemuck::cast_slice(values))
    }

    /// A BF16 tensor.
    ///
    /// # Errors
    /// When the number of values is not the shape's.
    pub fn from_bf16(shape: impl Into<Shape>, values: &[bf16]) -> Result<Tensor, TensorError> {
        Tensor::from_bytes(DType::BF16, shape.into(), bytemuck::cast_slice(values))
    }

    /// An I32 tensor.
    ///
    /// # Errors
    /// When the number of values is not the shape's.
    pub fn from_i32(shape: impl Into<Shape>, values: &[i32]) -> Result<Tensor, TensorError> {
        Tensor::from_bytes(DType::I32, shape.into(), bytemuck::cast_slice(values))
    }

    /// A U32 tensor.
    ///
    /// # Errors
    /// When the number of values is not the shape's.
    pub fn from_u32(shape: impl Into<Shape>, values: &[u32]) -> Result<Tensor, TensorError> {
        Tensor::from_bytes(DType::U32, shape.into(), bytemuck::cast_slice(values))
    }

    /// A BOOL tensor.
    ///
    /// # Errors
    /// When the number of values is not the shape's.
    pub fn from_bool(shape: impl Into<Shape>, values: &[bool]) -> Result<Tensor, TensorError> {
        let bytes: Vec<u8> = values.iter().map(|&v| v.into()).collect();
        Tensor::from_bytes(DType::Bool, shape.into(), &bytes)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The same values under another shape with as many elements.
    ///
    /// # Errors
    /// When the element counts differ.
    pub fn reshaped(&self, shape: impl Into<Shape>) -> Result<Tensor, TensorError> {
        let shape = shape.into();
        let expected = byte_len(self.dtype, &shape)?;
        let actual = self.bytes().len();
        if expected != actual {
            return Err(TensorError::Length {
                dtype: self.dtype,
                shape,
                expected,
                actual,
            });
        }
        Ok(Tensor {
            dtype: self.dtype,
            shape,
            storage: self.storage.clone(),
        })
    }

    /// The same bytes as elements of another dtype of the same width.
    ///
    /// # Errors
    /// When the widths differ.
    pub fn reinterpreted(&self, dtype: DType) -> Result<Tensor, TensorError> {
        let expected = byte_len(dtype, &self.shape)?;
        let actual = self.bytes().len();
        if expected != actual {
            return Err(TensorError::Length {
                dtype,
                shape: self.shape.clone(),
                expected,
                actual,
            });
        }
        Ok(Tensor {
            dtype,
            ..self.clone()
        })
    }

    /// The values' bytes, little-endian, row-major.
    pub fn bytes(&self) -> &[u8] {
        match &self.storage {
            Storage::Owned { lines, len } => &bytemuck::cast_slice(lines.as_slice())[..*len],
            // Cannot fail: `shared` checked the range, and owners hand out the same memory.
            Storage::Shared { owner, range } => {
                (**owner).as_ref().get(range.clone()).unwrap_or(&[])
            }
        }
    }

    /// The values, if the dtype is F32.
    pub fn as_f32(&self) -> Option<&[f32]> {
        (self.dtype == DType::F32).then(|| bytemuck::cast_slice(self.bytes()))
    }

    /// The values, if the dtype is BF16.
    pub fn as_bf16(&self) -> Option<&[bf16]> {
        (self.dtype == DType::BF16).then(|| bytemuck::cast_slice(self.bytes()))
    }

    /// The values, if the dtype is F16.
    pub fn as_f16(&self) -> Option<&[f16]> {
        (self.dtype == DType::F16).then(|| bytemuck::cast_slice(self.bytes()))
    }

    /// The values, if the dtype is I32.
    pub fn as_i32(&self) -> Option<&[i32]> {
        (self.dtype == DType::I32).then(|| bytemuck::cast_slice(self.bytes()))
    }

    /// The values, if the dtype is U32.
    pub fn as_u32(&self) -> Option<&[u32]> {
        (self.dtype == DType::U32).then(|| bytemuck::cast_slice(self.bytes()))
    }

    /// The values (0 or 1), if the dtype is BOOL.
    pub fn as_bool(&self) -> Option<&[u8]> {
        (self.dtype == DType::Bool).then(|| self.bytes())
    }

    /// The values as F32: exact for every float dtype, `None` for the others. Borrowed if they
    /// are F32 already.
    pub fn to_f32(&self) -> Option<std::borrow::Cow<'_, [f32]>> {
        use std::borrow::Cow;
        match self.dtype {
            DType::F32 => self.as_f32().map(Cow::Borrowed),
            DType::BF16 => self
                .as_bf16()
                .map(|v| Cow::Owned(v.iter().map(|x| x.to_f32()).collect())),
            DType::F16 => self
                .as_f16()
                .map(|v| Cow::Owned(v.iter().map(|x| x.to_f32()).collect())),
            _ => None,
        }
    }
}

impl AsRef<[u8]> for Tensor {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({} {})", self.dtype, self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_storage_is_aligned_to_a_cache_line() {
        let tensor = Tensor::from_f32([3], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(tensor.bytes().as_ptr().align_offset(64), 0);
        assert_eq!(tensor.as_f32().unwrap(), [1.0, 2.0, 3.0]);
        assert!(tensor.as_bf16().is_none());
    }

    #[test]
    fn a_misaligned_range_of_shared_memory_is_copied() {
        let owner: SharedBytes = Arc::new(vec![0u8; 65]);
        let start = 1 + (*owner).as_ref().as_ptr().align_offset(4);
        let tensor = Tensor::shared(DType::F32, [4].into(), owner, start..start + 16).unwrap();
        assert_eq!(tensor.as_f32().unwrap(), [0.0; 4]);
    }

    #[test]
    fn words_are_the_integers_of_the_same_bits_and_share_their_memory() {
        let words = Tensor::from_u32([2], &[7, u32::MAX]).unwrap();
        let integers = words.reinterpreted(DType::I32).unwrap();
        assert_eq!(integers.as_i32(), Some(&[7, -1][..]));
        assert_eq!(integers.bytes().as_ptr(), words.bytes().as_ptr());
        assert!(words.reinterpreted(DType::BF16).is_err());
    }

    #[test]
    fn a_length_that_does_not_fit_is_an_error() {
        let owner: SharedBytes = Arc::new(vec![0u8; 8]);
        assert!(Tensor::shared(DType::F32, [4].into(), owner.clone(), 0..16).is_err());
        assert!(Tensor::shared(DType::F32, [usize::MAX, 2].into(), owner, 0..8).is_err());
    }
}
