//! Tensors on a device.

use crate::{
    element::{Element, ElementType},
    ffi::{MappedRange, RawBuffer, RawDevice, Status},
};
use std::{fmt, ops::Deref, sync::Arc};

/// Why a buffer cannot be read; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum BufferError {
    /// The device does not show its memory.
    #[error("map a buffer: {status}")]
    Map {
        /// Why.
        status: Status,
    },
    /// The elements are of another type than the one asked for.
    #[error("read {found} elements as {asked}")]
    Element {
        /// What they are.
        found: ElementType,
        /// What was asked for.
        asked: ElementType,
    },
}

/// A dense tensor on a device, in row-major order; never changes; cheap to clone.
#[derive(Clone)]
pub struct Buffer {
    /// Before the device it lies on, so that it is dropped first.
    raw: Arc<RawBuffer>,
    element: ElementType,
    device: Arc<RawDevice>,
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} {:?})", self.element, self.shape())
    }
}

impl Buffer {
    pub(crate) fn new(raw: RawBuffer, element: ElementType, device: Arc<RawDevice>) -> Self {
        Self {
            raw: Arc::new(raw),
            element,
            device,
        }
    }

    pub(crate) fn raw(&self) -> &RawBuffer {
        &self.raw
    }

    /// The extents, outermost first.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        self.raw.shape()
    }

    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element
    }

    /// The bytes where they lie, without a copy.
    pub fn map(&self) -> Result<Mapping, BufferError> {
        let range = self
            .raw
            .map()
            .map_err(|status| BufferError::Map { status })?;
        Ok(Mapping {
            range,
            _device: self.device.clone(),
        })
    }

    /// A copy of the bytes.
    pub fn read(&self) -> Result<Vec<u8>, BufferError> {
        Ok(self.map()?.to_vec())
    }

    /// A copy of the values.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, BufferError> {
        if T::TYPE != self.element {
            return Err(BufferError::Element {
                found: self.element,
                asked: T::TYPE,
            });
        }
        let mapping = self.map()?;
        let mut values = vec![T::zeroed(); mapping.len() / T::TYPE.size()];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(&mapping);
        Ok(values)
    }
}

/// The bytes of a [`Buffer`] where the device has them; the buffer may be dropped before.
pub struct Mapping {
    /// Before the device it lies on, so that it is dropped first.
    range: MappedRange,
    _device: Arc<RawDevice>,
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.range.bytes()
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} bytes)", self.len())
    }
}
