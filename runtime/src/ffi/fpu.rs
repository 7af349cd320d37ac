//! Keeps denormals: stands in for the functions by which IREE would have them flushed to zero.
//!
//! IREE's CPU devices bracket every dispatch with `iree_fpu_state_push(FLUSH_DENORMALS_TO_ZERO)`
//! and `iree_fpu_state_pop` (IREE 3.13.0: hal/local/inline_command_buffer.c, task/worker.c) and
//! offer no way to turn that off. In its archive the two functions make up an object of their own,
//! so definitions that the linker has met before are used instead. [`link`] makes it meet these.

use std::arch::asm;

/// The bits of MXCSR that replace denormal operands and results by zero.
const FLUSH: u32 = 1 << 15 | 1 << 6;

/// `iree_fpu_state_t`.
#[repr(C)]
pub(super) struct FpuState {
    previous: u64,
    current: u64,
}

fn control() -> u32 {
    let mut value = 0u32;
    // SAFETY: stores MXCSR into the four bytes given.
    unsafe { asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
    value
}

fn set_control(value: u32) {
    // SAFETY: only called with a value read from MXCSR, whose flush bits may have been cleared,
    // which is the state that compiled code expects.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, preserves_flags, readonly)) };
}

/// Called before a dispatch: denormals are kept whatever the flags ask for.
#[unsafe(no_mangle)]
extern "C" fn iree_fpu_state_push(_flags: u32) -> FpuState {
    let previous = control();
    let current = previous & !FLUSH;
    if current != previous {
        set_control(current);
    }
    FpuState {
        previous: previous.into(),
        current: current.into(),
    }
}

/// Called after it.
#[unsafe(no_mangle)]
extern "C" fn iree_fpu_state_pop(state: FpuState) {
    if state.current != state.previous {
        set_control(state.previous as u32);
    }
}

/// To be called wherever a device is opened, so that a program that does so holds the definitions
/// above before the linker reads IREE's archive.
pub(super) fn link() {
    std::hint::black_box(iree_fpu_state_push as extern "C" fn(u32) -> FpuState);
    std::hint::black_box(iree_fpu_state_pop as extern "C" fn(FpuState));
}
