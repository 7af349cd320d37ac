//! The one VM instance of the process.
//!
//! IREE keeps the identities of the HAL's types in variables of the process, and every instance
//! that registers those types writes them anew. A call that runs meanwhile can fail with "ref type
//! mismatch" (seen once, under load). So all devices share one instance, made under a lock, which
//! lives as long as the process.

use super::{
    handle::{Handle, host_allocator},
    status::{Status, check},
};
use eerie_sys::runtime as sys;
use std::sync::{Mutex, PoisonError};

struct Instance(Handle<sys::iree_vm_instance_t>);

// SAFETY: an instance is thread-safe, as IREE documents it.
unsafe impl Send for Instance {}

static INSTANCE: Mutex<Option<Instance>> = Mutex::new(None);

/// The instance, with the HAL's types registered; never released.
pub(super) fn instance() -> Result<*mut sys::iree_vm_instance_t, Status> {
    let mut slot = INSTANCE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Instance(handle)) = &*slot {
        return Ok(handle.get());
    }
    // SAFETY: constructors with live arguments; the lock keeps a second one out.
    let handle = unsafe {
        let handle = Handle::make(|out| {
            let capacity = sys::IREE_VM_TYPE_CAPACITY_DEFAULT as usize;
            sys::iree_vm_instance_create(capacity, host_allocator(), out)
        })?;
        check(sys::iree_hal_module_register_all_types(handle.get()))?;
        handle
    };
    Ok(slot.insert(Instance(handle)).0.get())
}
