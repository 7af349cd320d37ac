//! Reference-counted IREE objects.

use super::status::{Status, check};
use eerie_sys::runtime as sys;
use std::ptr::{self, NonNull};

unsafe extern "C" {
    /// malloc and free as an IREE allocator. `iree_allocator_system` is inline in C, so bindgen
    /// does not see it; this is what it refers to.
    fn iree_allocator_libc_ctl(
        self_: *mut std::ffi::c_void,
        command: sys::iree_allocator_command_t,
        params: *const std::ffi::c_void,
        inout: *mut *mut std::ffi::c_void,
    ) -> sys::iree_status_t;
}

/// The allocator of everything on the host.
pub(super) fn host_allocator() -> sys::iree_allocator_t {
    sys::iree_allocator_t {
        self_: ptr::null_mut(),
        ctl: Some(iree_allocator_libc_ctl),
    }
}

/// A string as IREE takes it; valid as long as `text` is.
pub(super) fn view(text: &str) -> sys::iree_string_view_t {
    sys::iree_string_view_t {
        data: text.as_ptr().cast(),
        size: text.len(),
    }
}

/// A reference-counted IREE type.
pub(super) trait Counted {
    /// Gives up one reference.
    ///
    /// # Safety
    /// `object` is live and the caller owns the reference.
    unsafe fn release(object: *mut Self);
}

macro_rules! counted {
    ($($name:ident: $release:ident),* $(,)?) => {
        $(impl Counted for sys::$name {
            unsafe fn release(object: *mut Self) {
                // SAFETY: passed on to the caller.
                unsafe { sys::$release(object) }
            }
        })*
    };
}

counted! {
    iree_vm_instance_t: iree_vm_instance_release,
    iree_vm_module_t: iree_vm_module_release,
    iree_vm_context_t: iree_vm_context_release,
    iree_vm_list_t: iree_vm_list_release,
    iree_hal_allocator_t: iree_hal_allocator_release,
    iree_hal_executable_loader_t: iree_hal_executable_loader_release,
    iree_hal_device_t: iree_hal_device_release,
    iree_hal_device_group_t: iree_hal_device_group_release,
    iree_hal_buffer_t: iree_hal_buffer_release,
    iree_hal_buffer_view_t: iree_hal_buffer_view_release,
    iree_async_proactor_pool_t: iree_async_proactor_pool_release,
    iree_async_frontier_tracker_t: iree_async_frontier_tracker_release,
}

/// One owned reference to an IREE object.
pub(super) struct Handle<T: Counted>(NonNull<T>);

impl<T: Counted> Handle<T> {
    /// Calls `make` with the place for a new object and owns what it leaves there.
    ///
    /// # Safety
    /// If `make` succeeds it has stored a pointer to a live object, with one reference for us.
    pub(super) unsafe fn make(
        make: impl FnOnce(*mut *mut T) -> sys::iree_status_t,
    ) -> Result<Self, Status> {
        let mut object = ptr::null_mut();
        check(make(&mut object))?;
        // SAFETY: a successful constructor stores a live object.
        Ok(Self(unsafe { NonNull::new_unchecked(object) }))
    }

    pub(super) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Counted> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the handle owns one reference to a live object.
        unsafe { T::release(self.0.as_ptr()) }
    }
}
