//! Values while a program is interpreted: shared, row-major, in storage type.

use std::sync::Arc;

use half::bf16;
use stages::{DType, Shape, Tensor, TensorError};

use crate::program::Elem;

/// Elements of one type, computed here or lent by an argument.
#[derive(Clone)]
pub(super) enum Buffer<T> {
    Owned(Arc<Vec<T>>),
    Lent(Tensor),
}

/// A type that elements are stored in.
pub(super) trait Stored: Copy + Send + Sync + 'static {
    /// The tensor's elements; none if it is of another dtype.
    fn of(tensor: &Tensor) -> &[Self];
}

impl Stored for f32 {
    fn of(tensor: &Tensor) -> &[Self] {
        tensor.as_f32().unwrap_or(&[])
    }
}

impl Stored for bf16 {
    fn of(tensor: &Tensor) -> &[Self] {
        tensor.as_bf16().unwrap_or(&[])
    }
}

impl Stored for i32 {
    fn of(tensor: &Tensor) -> &[Self] {
        tensor.as_i32().unwrap_or(&[])
    }
}

impl Stored for u8 {
    fn of(tensor: &Tensor) -> &[Self] {
        tensor.as_bool().unwrap_or(&[])
    }
}

impl<T: Stored> std::ops::Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Buffer::Owned(values) => values,
            Buffer::Lent(tensor) => T::of(tensor),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Buffer::Owned(Arc::new(values))
    }
}

/// Elements by storage type.
#[derive(Clone)]
pub(super) enum Data {
    F32(Buffer<f32>),
    Bf16(Buffer<bf16>),
    I32(Buffer<i32>),
    Bool(Buffer<u8>),
}

/// A value. Cloning shares the elements.
#[derive(Clone)]
pub(super) struct Array {
    pub(super) shape: Shape,
    pub(super) data: Data,
}

impl Array {
    /// An argument's tensor, used in place. `None` if no [`Elem`] stores its dtype.
    pub(super) fn lent(tensor: &Tensor) -> Option<Array> {
        let data = match tensor.dtype() {
            DType::F32 => Data::F32(Buffer::Lent(tensor.clone())),
            DType::BF16 => Data::Bf16(Buffer::Lent(tensor.clone())),
            DType::I32 => Data::I32(Buffer::Lent(tensor.clone())),
            DType::Bool => Data::Bool(Buffer::Lent(tensor.clone())),
            DType::U32 | DType::F16 => return None,
        };
        Some(Array {
            shape: tensor.shape().clone(),
            data,
        })
    }

    /// The value as a tensor of its storage type.
    pub(super) fn into_tensor(self) -> Result<Tensor, TensorError> {
        fn tensor<T: Stored>(
            shape: Shape,
            buffer: Buffer<T>,
            make: impl FnOnce(Shape, &[T]) -> Result<Tensor, TensorError>,
        ) -> Result<Tensor, TensorError> {
            match buffer {
                Buffer::Owned(values) => make(shape, &values),
                Buffer::Lent(tensor) => tensor.reshaped(shape),
            }
        }
        match self.data {
            Data::F32(buffer) => tensor(self.shape, buffer, Tensor::from_f32),
            Data::Bf16(buffer) => tensor(self.shape, buffer, Tensor::from_bf16),
            Data::I32(buffer) => tensor(self.shape, buffer, Tensor::from_i32),
            Data::Bool(buffer) => tensor(self.shape, buffer, |s, v| {
                Tensor::from_bytes(DType::Bool, s, v)
            }),
        }
    }

    /// The F32 elements; none if it is stored otherwise.
    pub(super) fn f32(&self) -> &[f32] {
        match &self.data {
            Data::F32(buffer) => buffer,
            _ => &[],
        }
    }

    /// The I32 elements; none if it is stored otherwise.
    pub(super) fn i32(&self) -> &[i32] {
        match &self.data {
            Data::I32(buffer) => buffer,
            _ => &[],
        }
    }

    /// All elements equal: the F32's bits, the integer, or 0 and 1.
    pub(super) fn filled(shape: Shape, elem: Elem, bits: u32) -> Array {
        let count = shape.elements();
        let data = match elem {
            Elem::F32 => Data::F32(vec![f32::from_bits(bits); count].into()),
            Elem::Bf16 => Data::Bf16(vec![bf16_of(bits); count].into()),
            Elem::I32 => Data::I32(vec![bits.cast_signed(); count].into()),
            Elem::Bool => Data::Bool(vec![u8::from(bits != 0); count].into()),
        };
        Array { shape, data }
    }
}

/// The BF16 with the bits of an F32 on its grid.
pub(super) fn bf16_of(bits: u32) -> bf16 {
    bf16::from_bits((bits >> 16) as u16)
}
