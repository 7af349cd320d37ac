//! Loaded modules and calls into them.

use super::{
    buffer::RawBuffer,
    device::RawDevice,
    handle::{Handle, host_allocator, view},
    status::{Status, check},
};
use crate::device::Bytes;
use eerie_sys::runtime as sys;
use std::ptr;

/// A module ready to be called. Fields are dropped in order: users before what they use.
pub(crate) struct RawModule {
    context: Handle<sys::iree_vm_context_t>,
    module: Handle<sys::iree_vm_module_t>,
    /// The module refers to it.
    _code: Bytes,
}

// SAFETY: the context is created for concurrent use; the module is immutable.
unsafe impl Send for RawModule {}
// SAFETY: as above.
unsafe impl Sync for RawModule {}

/// An exported function of a module, valid as long as that module.
pub(crate) struct RawFunction(sys::iree_vm_function_t);

impl RawModule {
    pub(crate) fn load(device: &RawDevice, code: Bytes) -> Result<Self, Status> {
        let bytes: &[u8] = (*code).as_ref();
        let contents = sys::iree_const_byte_span_t {
            data: bytes.as_ptr(),
            data_length: bytes.len(),
        };
        // The code is ours to keep: an allocator that frees nothing.
        let keep = sys::iree_allocator_t {
            self_: ptr::null_mut(),
            ctl: None,
        };
        // SAFETY: `code` outlives the module, both being fields of the result; IREE verifies the
        // archive before it uses it. The context keeps references of its own.
        unsafe {
            let module = Handle::make(|out| {
                sys::iree_vm_bytecode_module_create(
                    device.instance,
                    sys::iree_vm_bytecode_module_flags_e_IREE_VM_BYTECODE_MODULE_FLAG_NONE,
                    contents,
                    keep,
                    host_allocator(),
                    out,
                )
            })?;
            let mut modules = [device.hal.get(), module.get()];
            let context = Handle::make(|out| {
                sys::iree_vm_context_create_with_modules(
                    device.instance,
                    sys::iree_vm_context_flag_bits_t_IREE_VM_CONTEXT_FLAG_CONCURRENT as _,
                    modules.len(),
                    modules.as_mut_ptr(),
                    host_allocator(),
                    out,
                )
            })?;
            Ok(Self {
                context,
                module,
                _code: code,
            })
        }
    }

    /// The names of the exported functions; those with `__` in front are the compiler's own.
    pub(crate) fn exports(&self) -> Vec<String> {
        // SAFETY: the module is live; names belong to it and are copied.
        unsafe {
            let count = sys::iree_vm_module_signature(self.module.get()).export_function_count;
            (0..count)
                .filter_map(|ordinal| {
                    let mut function = sys::iree_vm_function_t::default();
                    check(sys::iree_vm_module_lookup_function_by_ordinal(
                        self.module.get(),
                        sys::iree_vm_function_linkage_e_IREE_VM_FUNCTION_LINKAGE_EXPORT,
                        ordinal,
                        &mut function,
                    ))
                    .ok()?;
                    Some(text(sys::iree_vm_function_name(&function)))
                })
                .filter(|name| !name.starts_with("__"))
                .collect()
        }
    }

    pub(crate) fn function(&self, name: &str) -> Result<RawFunction, Status> {
        let mut function = sys::iree_vm_function_t::default();
        // SAFETY: the module is live.
        check(unsafe {
            sys::iree_vm_module_lookup_function_by_name(
                self.module.get(),
                sys::iree_vm_function_linkage_e_IREE_VM_FUNCTION_LINKAGE_EXPORT,
                view(name),
                &mut function,
            )
        })?;
        Ok(RawFunction(function))
    }

    /// Calls a function of this module and waits for its results.
    pub(crate) fn call(
        &self,
        function: &RawFunction,
        arguments: &[&RawBuffer],
    ) -> Result<Vec<RawBuffer>, Status> {
        // SAFETY: the function is one of this context's module. Lists hold references of their own
        // to the views, and the results are retained before the list is released.
        unsafe {
            let inputs = list(arguments.len())?;
            for argument in arguments {
                let mut reference = sys::iree_hal_buffer_view_retain_ref(argument.get());
                let pushed = sys::iree_vm_list_push_ref_move(inputs.get(), &mut reference);
                sys::iree_vm_ref_release(&mut reference);
                check(pushed)?;
            }
            // A capacity to begin with; the list grows.
            let outputs = list(8)?;
            check(sys::iree_vm_invoke(
                self.context.get(),
                function.0,
                sys::iree_vm_invocation_flag_bits_t_IREE_VM_INVOCATION_FLAG_NONE as _,
                ptr::null(),
                inputs.get(),
                outputs.get(),
                host_allocator(),
            ))?;
            (0..sys::iree_vm_list_size(outputs.get()))
                .map(|i| {
                    let mut reference = sys::iree_vm_ref_t::default();
                    check(sys::iree_vm_list_get_ref_assign(
                        outputs.get(),
                        i,
                        &mut reference,
                    ))?;
                    let view = Handle::make(|out| {
                        let status = sys::iree_hal_buffer_view_check_deref(reference, out);
                        if status.is_null() {
                            sys::iree_hal_buffer_view_retain(*out);
                        }
                        status
                    })?;
                    Ok(RawBuffer::from_handle(view))
                })
                .collect()
        }
    }
}

impl RawFunction {
    /// How many buffers it takes, if it takes and returns nothing else.
    pub(crate) fn arity(&self) -> Option<usize> {
        // SAFETY: the module that the function belongs to is live; the text is copied.
        let convention =
            unsafe { text(sys::iree_vm_function_signature(&self.0).calling_convention) };
        arity(&convention)
    }
}

/// Reads a calling convention such as `0rr_r`: version 0, two references in, one out; `v` is none.
fn arity(convention: &str) -> Option<usize> {
    let (inputs, outputs) = convention.strip_prefix('0')?.split_once('_').or_else(|| {
        // Nothing returned.
        convention.strip_prefix('0').map(|inputs| (inputs, ""))
    })?;
    let only_references = |side: &str| side.chars().all(|c| c == 'r' || c == 'v');
    (only_references(inputs) && only_references(outputs))
        .then(|| inputs.chars().filter(|&c| c == 'r').count())
}

fn list(capacity: usize) -> Result<Handle<sys::iree_vm_list_t>, Status> {
    // SAFETY: makes a list of variants, the default element type.
    unsafe {
        Handle::make(|out| {
            sys::iree_vm_list_create(Default::default(), capacity, host_allocator(), out)
        })
    }
}

/// # Safety
/// `view` refers to live text.
unsafe fn text(view: sys::iree_string_view_t) -> String {
    if view.size == 0 {
        return String::new();
    }
    // SAFETY: passed on to the caller.
    let bytes = unsafe { std::slice::from_raw_parts(view.data.cast::<u8>(), view.size) };
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::arity;

    #[test]
    fn calling_conventions_tell_the_number_of_arguments() {
        assert_eq!(arity("0rrr_rr"), Some(3));
        assert_eq!(arity("0v_r"), Some(0));
        assert_eq!(arity("0r"), Some(1));
        assert_eq!(arity("0ri_r"), None);
        assert_eq!(arity("1r_r"), None);
    }
}
