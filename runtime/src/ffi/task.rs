//! What eerie-sys does not bind: the local devices and the workers of the threaded one.
//!
//! Declared after the headers of IREE 3.13.0 that eerie-sys 0.5.0 carries: task/executor.h,
//! task/topology.h, hal/drivers/local_task/task_device.h, hal/drivers/local_sync/sync_device.h.

use super::{
    handle::{Counted, Handle, host_allocator},
    status::Status,
};
use eerie_sys::runtime as sys;

/// IREE_TASK_TOPOLOGY_MAX_GROUP_COUNT.
pub(super) const MAX_WORKERS: usize = 256;

/// `iree_task_executor_t`.
#[repr(C)]
pub(super) struct Executor {
    _opaque: [u8; 0],
}

/// `iree_task_executor_options_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ExecutorOptions {
    scheduling_mode: u32,
    worker_base_index: usize,
    worker_spin_ns: i64,
    worker_stack_size: usize,
    worker_local_memory_size: usize,
}

/// Room for a C struct that is only ever filled and read by IREE. `iree_task_topology_t` is the
/// largest: 256 groups of less than 256 bytes.
#[repr(C, align(64))]
struct Opaque<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Opaque<BYTES> {
    fn new() -> Box<Self> {
        Box::new(Self([0; BYTES]))
    }
}

type Topology = Opaque<{ 128 * 1024 }>;
type DeviceParams = Opaque<1024>;

unsafe extern "C" {
    fn iree_task_executor_options_initialize(out: *mut ExecutorOptions);
    fn iree_task_topology_initialize_from_group_count(count: usize, out: *mut Topology);
    fn iree_task_topology_deinitialize(topology: *mut Topology);
    fn iree_task_executor_create(
        options: ExecutorOptions,
        topology: *const Topology,
        allocator: sys::iree_allocator_t,
        out: *mut *mut Executor,
    ) -> sys::iree_status_t;
    fn iree_task_executor_release(executor: *mut Executor);
    fn iree_task_executor_worker_count(executor: *mut Executor) -> usize;

    fn iree_hal_task_device_params_initialize(out: *mut DeviceParams);
    fn iree_hal_task_device_create(
        identifier: sys::iree_string_view_t,
        params: *const DeviceParams,
        queue_count: usize,
        queue_executors: *const *mut Executor,
        loader_count: usize,
        loaders: *mut *mut sys::iree_hal_executable_loader_t,
        device_allocator: *mut sys::iree_hal_allocator_t,
        create_params: *const sys::iree_hal_device_create_params_t,
        host_allocator: sys::iree_allocator_t,
        out: *mut *mut sys::iree_hal_device_t,
    ) -> sys::iree_status_t;

    fn iree_hal_sync_device_params_initialize(out: *mut DeviceParams);
    fn iree_hal_sync_device_create(
        identifier: sys::iree_string_view_t,
        params: *const DeviceParams,
        create_params: *const sys::iree_hal_device_create_params_t,
        loader_count: usize,
        loaders: *mut *mut sys::iree_hal_executable_loader_t,
        device_allocator: *mut sys::iree_hal_allocator_t,
        host_allocator: sys::iree_allocator_t,
        out: *mut *mut sys::iree_hal_device_t,
    ) -> sys::iree_status_t;
}

impl Counted for Executor {
    unsafe fn release(object: *mut Self) {
        // SAFETY: passed on to the caller.
        unsafe { iree_task_executor_release(object) }
    }
}

/// What both kinds of device are made of.
pub(super) struct Parts<'a> {
    pub(super) loader: &'a Handle<sys::iree_hal_executable_loader_t>,
    pub(super) allocator: &'a Handle<sys::iree_hal_allocator_t>,
    pub(super) params: &'a sys::iree_hal_device_create_params_t,
}

/// A device that runs dispatches on `workers` threads of its own, and how many it has.
pub(super) fn task_device(
    parts: &Parts<'_>,
    workers: usize,
) -> Result<(Handle<sys::iree_hal_device_t>, usize), Status> {
    let mut options = std::mem::MaybeUninit::uninit();
    let mut topology: Box<Topology> = Opaque::new();
    // SAFETY: the initializers fill what they are given, which is large enough; the topology is
    // only used while the executor is created.
    let executor = unsafe {
        iree_task_executor_options_initialize(options.as_mut_ptr());
        iree_task_topology_initialize_from_group_count(workers, &mut *topology);
        let executor = Handle::make(|out| {
            iree_task_executor_create(options.assume_init(), &*topology, host_allocator(), out)
        });
        iree_task_topology_deinitialize(&mut *topology);
        executor?
    };
    let mut params: Box<DeviceParams> = Opaque::new();
    let executors = [executor.get()];
    let mut loaders = [parts.loader.get()];
    // SAFETY: every pointer is live during the call; the device keeps its own references.
    let device = unsafe {
        iree_hal_task_device_params_initialize(&mut *params);
        Handle::make(|out| {
            iree_hal_task_device_create(
                super::handle::view("local-task"),
                &*params,
                executors.len(),
                executors.as_ptr(),
                loaders.len(),
                loaders.as_mut_ptr(),
                parts.allocator.get(),
                parts.params,
                host_allocator(),
                out,
            )
        })?
    };
    // SAFETY: the executor is live.
    let workers = unsafe { iree_task_executor_worker_count(executor.get()) };
    Ok((device, workers))
}

/// A device that runs dispatches on the calling thread.
pub(super) fn sync_device(parts: &Parts<'_>) -> Result<Handle<sys::iree_hal_device_t>, Status> {
    let mut params: Box<DeviceParams> = Opaque::new();
    let mut loaders = [parts.loader.get()];
    // SAFETY: as above.
    unsafe {
        iree_hal_sync_device_params_initialize(&mut *params);
        Handle::make(|out| {
            iree_hal_sync_device_create(
                super::handle::view("local-sync"),
                &*params,
                parts.params,
                loaders.len(),
                loaders.as_mut_ptr(),
                parts.allocator.get(),
                host_allocator(),
                out,
            )
        })
    }
}
