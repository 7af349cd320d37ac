//! Tensors on a device.

use super::{
    device::RawDevice,
    handle::{Handle, host_allocator},
    status::Status,
};
use crate::{device::Bytes, element::ElementType};
use eerie_sys::runtime as sys;
use std::{ffi::c_void, mem, ptr};

const DENSE: sys::iree_hal_encoding_type_t =
    sys::iree_hal_encoding_types_t_IREE_HAL_ENCODING_TYPE_DENSE_ROW_MAJOR as _;
const READ: sys::iree_hal_memory_access_t =
    sys::iree_hal_memory_access_bits_t_IREE_HAL_MEMORY_ACCESS_READ as _;

fn params(
    access: sys::iree_hal_memory_access_t,
    memory: sys::iree_hal_memory_type_t,
) -> sys::iree_hal_buffer_params_t {
    sys::iree_hal_buffer_params_t {
        usage: sys::iree_hal_buffer_usage_bits_t_IREE_HAL_BUFFER_USAGE_DEFAULT as _,
        access,
        type_: memory,
        queue_affinity: 0,
        min_alignment: 0,
    }
}

/// Integers cross as signless, the form in which compiled modules declare them.
fn to_iree(element: ElementType) -> sys::iree_hal_element_type_t {
    (match element {
        ElementType::F32 => sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_FLOAT_32,
        ElementType::Bf16 => sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_BFLOAT_16,
        ElementType::F64 => sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_FLOAT_64,
        ElementType::I64 => sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_INT_64,
        ElementType::I32 => sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_INT_32,
        ElementType::I8 => sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_INT_8,
        ElementType::U32 => sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_UINT_32,
    }) as _
}

/// The element type of IREE's encoding; the encoding itself if it is none that this crate carries.
fn from_iree(encoding: sys::iree_hal_element_type_t) -> Result<ElementType, u32> {
    match encoding as sys::iree_hal_element_types_t {
        sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_FLOAT_32 => Ok(ElementType::F32),
        sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_BFLOAT_16 => Ok(ElementType::Bf16),
        sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_FLOAT_64 => Ok(ElementType::F64),
        sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_INT_64
        | sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_SINT_64 => Ok(ElementType::I64),
        sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_INT_32
        | sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_SINT_32 => Ok(ElementType::I32),
        sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_INT_8
        | sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_SINT_8
        | sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_BOOL_8 => Ok(ElementType::I8),
        sys::iree_hal_element_types_t_IREE_HAL_ELEMENT_TYPE_UINT_32 => Ok(ElementType::U32),
        other => Err(other),
    }
}

/// A dense tensor: a buffer with shape and element type, never changed after its creation.
pub(crate) struct RawBuffer(Handle<sys::iree_hal_buffer_view_t>);

// SAFETY: buffer views are immutable and atomically counted, and this crate only reads the memory
// below them once they exist.
unsafe impl Send for RawBuffer {}
// SAFETY: as above.
unsafe impl Sync for RawBuffer {}

impl RawBuffer {
    pub(super) fn from_handle(view: Handle<sys::iree_hal_buffer_view_t>) -> Self {
        Self(view)
    }

    pub(super) fn get(&self) -> *mut sys::iree_hal_buffer_view_t {
        self.0.get()
    }

    /// Copies `bytes`, which fill the shape exactly, to the device.
    pub(crate) fn upload(
        device: &RawDevice,
        element: ElementType,
        shape: &[usize],
        bytes: &[u8],
    ) -> Result<Self, Status> {
        let dims = dims(shape);
        let memory = sys::iree_hal_memory_type_bits_t_IREE_HAL_MEMORY_TYPE_DEVICE_LOCAL as _;
        let all = sys::iree_hal_memory_access_bits_t_IREE_HAL_MEMORY_ACCESS_ALL as _;
        let data = sys::iree_const_byte_span_t {
            data: bytes.as_ptr(),
            data_length: bytes.len(),
        };
        // SAFETY: every pointer is live during the call, which copies shape and data.
        let view = unsafe {
            Handle::make(|out| {
                sys::iree_hal_buffer_view_allocate_buffer_copy(
                    device.device.get(),
                    device.allocator.get(),
                    dims.len(),
                    dims.as_ptr(),
                    to_iree(element),
                    DENSE,
                    params(all, memory),
                    data,
                    out,
                )
            })?
        };
        Ok(Self(view))
    }

    /// Lets the device read the owner's memory, which fills the shape exactly, without a copy. The
    /// owner is kept until IREE gives the memory up.
    pub(crate) fn import(
        device: &RawDevice,
        element: ElementType,
        shape: &[usize],
        owner: Bytes,
    ) -> Result<Self, Status> {
        unsafe extern "C" fn release(owner: *mut c_void, _: *mut sys::iree_hal_buffer_t) {
            // SAFETY: `owner` is the box leaked below, given up once.
            drop(unsafe { Box::from_raw(owner.cast::<Bytes>()) });
        }

        let dims = dims(shape);
        let owner = Box::new(owner);
        // The borrow is meant to last until `release`: what `owner` holds is shared from here on.
        let bytes: &[u8] = (**owner).as_ref();
        let mut external = sys::iree_hal_external_buffer_t {
            type_:
                sys::iree_hal_external_buffer_type_e_IREE_HAL_EXTERNAL_BUFFER_TYPE_HOST_ALLOCATION
                    as _,
            size: bytes.len() as _,
            // SAFETY: a plain C struct, for which zero bits are a value.
            ..unsafe { mem::zeroed() }
        };
        external.handle.host_allocation.ptr = bytes.as_ptr().cast_mut().cast();
        let memory = sys::iree_hal_memory_type_bits_t_IREE_HAL_MEMORY_TYPE_DEVICE_LOCAL
            | sys::iree_hal_memory_type_bits_t_IREE_HAL_MEMORY_TYPE_HOST_VISIBLE;
        let owner = Box::into_raw(owner);
        let callback = sys::iree_hal_buffer_release_callback_t {
            fn_: Some(release),
            user_data: owner.cast(),
        };
        // SAFETY: the memory stays valid until the callback runs, since the leaked owner holds it;
        // it is only read, as the access says.
        let buffer = unsafe {
            Handle::make(|out| {
                sys::iree_hal_allocator_import_buffer(
                    device.allocator.get(),
                    params(READ, memory as _),
                    &mut external,
                    callback,
                    out,
                )
            })
        };
        let buffer = match buffer {
            Ok(buffer) => buffer,
            Err(status) => {
                // SAFETY: without a buffer the callback never runs, so the owner is still ours.
                drop(unsafe { Box::from_raw(owner) });
                return Err(status);
            }
        };
        // SAFETY: the buffer is live, and the view keeps its own reference to it.
        let view = unsafe {
            Handle::make(|out| {
                sys::iree_hal_buffer_view_create(
                    buffer.get(),
                    dims.len(),
                    dims.as_ptr(),
                    to_iree(element),
                    DENSE,
                    host_allocator(),
                    out,
                )
            })?
        };
        Ok(Self(view))
    }

    pub(crate) fn element(&self) -> Result<ElementType, u32> {
        // SAFETY: the view is live.
        from_iree(unsafe { sys::iree_hal_buffer_view_element_type(self.get()) })
    }

    pub(crate) fn shape(&self) -> Vec<usize> {
        // SAFETY: the view is live and owns as many extents as its rank says.
        unsafe {
            let rank = sys::iree_hal_buffer_view_shape_rank(self.get());
            (0..rank)
                .map(|i| sys::iree_hal_buffer_view_shape_dim(self.get(), i) as usize)
                .collect()
        }
    }

    /// The buffer's bytes where they lie.
    pub(crate) fn map(&self) -> Result<MappedRange, Status> {
        // SAFETY: the view is live; a mapping for reading of its whole length is asked for, and it
        // is taken back when the range is dropped. The view is retained for as long.
        unsafe {
            sys::iree_hal_buffer_view_retain(self.get());
            let view = Handle::make(|out| {
                *out = self.get();
                ptr::null_mut()
            })?;
            let length = sys::iree_hal_buffer_view_byte_length(view.get());
            let mut mapping = mem::zeroed();
            super::status::check(sys::iree_hal_buffer_map_range(
                sys::iree_hal_buffer_view_buffer(view.get()),
                sys::iree_hal_mapping_mode_bits_t_IREE_HAL_MAPPING_MODE_SCOPED as _,
                READ,
                0,
                length,
                &mut mapping,
            ))?;
            Ok(MappedRange {
                mapping,
                _view: view,
            })
        }
    }
}

fn dims(shape: &[usize]) -> Vec<sys::iree_hal_dim_t> {
    shape.iter().map(|&extent| extent as _).collect()
}

/// A buffer's memory, readable until dropped.
pub(crate) struct MappedRange {
    mapping: sys::iree_hal_buffer_mapping_t,
    _view: Handle<sys::iree_hal_buffer_view_t>,
}

// SAFETY: the mapped memory is only read; see `RawBuffer`.
unsafe impl Send for MappedRange {}
// SAFETY: as above.
unsafe impl Sync for MappedRange {}

impl MappedRange {
    pub(crate) fn bytes(&self) -> &[u8] {
        let contents = self.mapping.contents;
        if contents.data_length == 0 {
            return &[];
        }
        // SAFETY: IREE mapped this many bytes there, and nothing writes to them while mapped.
        unsafe { std::slice::from_raw_parts(contents.data, contents.data_length) }
    }
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        // SAFETY: the mapping is live and given up once. Unmapping host memory cannot fail.
        unsafe {
            let status = sys::iree_hal_buffer_unmap_range(&mut self.mapping);
            sys::iree_status_free(status);
        }
    }
}
