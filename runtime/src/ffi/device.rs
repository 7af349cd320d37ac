//! A device with what is needed to load modules on it.

use super::{
    fpu,
    handle::{Handle, host_allocator, view},
    instance::instance,
    status::Status,
    task,
};
use eerie_sys::runtime as sys;
use std::ptr;

/// An open device. Fields are dropped in order: users before what they use.
pub(crate) struct RawDevice {
    pub(super) hal: Handle<sys::iree_vm_module_t>,
    _group: Handle<sys::iree_hal_device_group_t>,
    pub(super) device: Handle<sys::iree_hal_device_t>,
    pub(super) allocator: Handle<sys::iree_hal_allocator_t>,
    /// Lives as long as the process.
    pub(super) instance: *mut sys::iree_vm_instance_t,
    workers: usize,
}

// SAFETY: instances, devices, groups, heap allocators and the HAL module are immutable after their
// creation or synchronize inside, and their reference counts are atomic (IREE documents them as
// thread-safe).
unsafe impl Send for RawDevice {}
// SAFETY: as above.
unsafe impl Sync for RawDevice {}

impl RawDevice {
    /// The most workers a device can have.
    pub(crate) const MAX_WORKERS: usize = task::MAX_WORKERS;

    /// Opens a device with that many worker threads, or none: then it runs on the calling thread.
    pub(crate) fn open(workers: Option<usize>) -> Result<Self, Status> {
        fpu::link();
        let host = host_allocator();
        // SAFETY: constructors with live arguments; what they retain they retain themselves.
        unsafe {
            let instance = instance()?;
            let allocator = Handle::make(|out| {
                sys::iree_hal_allocator_create_heap(view("local"), host, host, out)
            })?;
            let loader = Handle::make(|out| {
                sys::iree_hal_embedded_elf_loader_create(ptr::null_mut(), host, out)
            })?;
            let pool = Handle::make(|out| {
                let options = sys::iree_async_proactor_pool_options_default();
                sys::iree_async_proactor_pool_create(1, ptr::null(), options, host, out)
            })?;
            let params = sys::iree_hal_device_create_params_t {
                proactor_pool: pool.get(),
                ..Default::default()
            };
            let parts = task::Parts {
                loader: &loader,
                allocator: &allocator,
                params: &params,
            };
            let (device, workers) = match workers {
                Some(workers) => task::task_device(&parts, workers)?,
                None => (task::sync_device(&parts)?, 1),
            };
            let tracker = Handle::make(|out| {
                let options = sys::iree_async_frontier_tracker_options_t {
                    axis_table_capacity: 256,
                    session_epoch: 1,
                    machine_index: 0,
                };
                sys::iree_async_frontier_tracker_create(options, host, out)
            })?;
            let group = Handle::make(|out| {
                sys::iree_hal_device_group_create_from_device(
                    device.get(),
                    tracker.get(),
                    host,
                    out,
                )
            })?;
            let hal = Handle::make(|out| {
                sys::iree_hal_module_create(
                    instance,
                    sys::iree_hal_module_device_policy_default(),
                    group.get(),
                    sys::iree_hal_module_flag_bits_t_IREE_HAL_MODULE_FLAG_SYNCHRONOUS as _,
                    sys::iree_hal_module_debug_sink_null(),
                    host,
                    out,
                )
            })?;
            Ok(Self {
                hal,
                _group: group,
                device,
                allocator,
                instance,
                workers,
            })
        }
    }

    /// How many threads run dispatches.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }
}
