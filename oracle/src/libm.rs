//! Whether this host's libm computes what the emitted graphs restate.
//!
//! MLX on CPU calls the host's `tanhf`, `log1pf`, `logf`, `powf` and, for arguments that its own
//! algorithm does not reach, `sinf` and `cosf`. Emitted graphs hold no value
//! computed by it: they restate the algorithms of the glibc that the contract was made against.
//! On a host whose libm rounds otherwise, MLX itself gives other values, and every difference
//! would be blamed on the graph. So a run starts with a fixed sample of both.

use emitter::{
    interp::kernel::{Column, Results, eval},
    kernel::{self, Kernel, KernelBuilder, Scalar},
};
use sha2::{Digest, Sha256};

/// A function of the host's libm that MLX calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `tanhf(x)`, for `Tanh`.
    Tanh,
    /// `log1pf(x)`, for `LogAddExp`.
    Log1p,
    /// `logf(x)`, for `Log`.
    Log,
    /// `powf(x, 2)`, for `Power`.
    Square,
    /// `sinf(x)`, for `Sin` beyond 2²³.
    Sin,
    /// `cosf(x)`, for `Cos` beyond 2²³.
    Cos,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 6] = [
        Function::Tanh,
        Function::Log1p,
        Function::Log,
        Function::Square,
        Function::Sin,
        Function::Cos,
    ];

    /// The name and arguments in C.
    pub const fn name(self) -> &'static str {
        match self {
            Function::Tanh => "tanhf(x)",
            Function::Log1p => "log1pf(x)",
            Function::Log => "logf(x)",
            Function::Square => "powf(x, 2)",
            Function::Sin => "sinf(x)",
            Function::Cos => "cosf(x)",
        }
    }

    /// The algorithm as emitted graphs restate it.
    fn stated(self) -> Kernel {
        let mut k = KernelBuilder::new();
        let x = k.operand(0, Scalar::F32);
        let result = match self {
            Function::Tanh => kernel::tanh(&mut k, x),
            Function::Log1p => kernel::log1p(&mut k, x),
            Function::Log => kernel::log(&mut k, x),
            Function::Square => kernel::pow_known(&mut k, x, 2.0),
            Function::Sin => kernel::sin(&mut k, x),
            Function::Cos => kernel::cos(&mut k, x),
        };
        k.finish(result)
    }

    /// Whether MLX hands the function this argument.
    fn takes(self, x: f32) -> bool {
        match self {
            Function::Log1p => !x.is_sign_negative(),
            Function::Sin | Function::Cos => x.abs() > 8_388_608.0,
            Function::Tanh | Function::Log | Function::Square => true,
        }
    }

    /// The part of the sample that it takes.
    fn inputs(self) -> Vec<f32> {
        sample().filter(|&x| self.takes(x)).collect()
    }

    /// What the host's libm gives.
    pub fn on_host(self, x: f32) -> f32 {
        // Opaque, or the compiler computes some of this itself (`powf(x, 2)` as `x * x`).
        let x = std::hint::black_box(x);
        // SAFETY: functions of the C library, pure but for `errno`.
        unsafe {
            match self {
                Function::Tanh => host::tanhf(x),
                Function::Log1p => host::log1pf(x),
                Function::Log => host::logf(x),
                Function::Square => host::powf(x, std::hint::black_box(2.0)),
                Function::Sin => host::sinf(x),
                Function::Cos => host::cosf(x),
            }
        }
    }
}

mod host {
    unsafe extern "C" {
        pub fn tanhf(x: f32) -> f32;
        pub fn log1pf(x: f32) -> f32;
        pub fn logf(x: f32) -> f32;
        pub fn powf(x: f32, y: f32) -> f32;
        pub fn sinf(x: f32) -> f32;
        pub fn cosf(x: f32) -> f32;
        pub fn gnu_get_libc_version() -> *const std::ffi::c_char;
    }
}

/// The version of the host's C library, such as `2.36`.
pub fn glibc_version() -> String {
    // SAFETY: the function takes nothing and gives a string that lives as long as the process.
    let version = unsafe { std::ffi::CStr::from_ptr(host::gnu_get_libc_version()) };
    version.to_string_lossy().into_owned()
}

/// How many inputs each function is sampled at.
pub const SAMPLES: u32 = 4096;

/// The fixed inputs: both signs, every exponent, denormals, infinities and NaN, with mantissas
/// that differ from each other in all places.
pub fn sample() -> impl Iterator<Item = f32> {
    let width = u32::MAX / SAMPLES + 1;
    (0..SAMPLES).map(move |i| {
        // The high bits count up; the low ones are a multiplicative sequence, 0 at powers of two.
        let low = if i % 8 == 0 {
            0
        } else {
            i.wrapping_mul(2_654_435_761) >> 12
        };
        f32::from_bits(i * width + low % width)
    })
}

/// The bits of a result; all NaNs are one.
fn canonical(value: f32) -> u32 {
    if value.is_nan() {
        f32::NAN.to_bits()
    } else {
        value.to_bits()
    }
}

/// SHA-256 in hexadecimal of the host's results on the sample: the same on hosts whose libm
/// computes the same there.
pub fn digest() -> String {
    let mut hash = Sha256::new();
    for function in Function::ALL {
        for x in sample() {
            hash.update(canonical(function.on_host(x)).to_le_bytes());
        }
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A function of the host's libm that computes otherwise than the graph restates it.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "use this host's libm: its {} gives {:#010x} at {:#010x}, the contract states {:#010x} \
     ({differing} of {SAMPLES} sampled values differ)",
    function.name(), host.to_bits(), x.to_bits(), stated.to_bits()
)]
pub struct LibmError {
    /// The function.
    pub function: Function,
    /// The first input where they differ.
    pub x: f32,
    /// What the host gives there.
    pub host: f32,
    /// What the contract states.
    pub stated: f32,
    /// How many of the sampled inputs differ.
    pub differing: usize,
}

/// Checks that every libm function the reference calls computes here what the `mlx-cpu` contract
/// states: otherwise the reference itself computes otherwise on this host.
///
/// # Errors
/// When one differs in a bit on the sample; the error names it and the first input.
pub fn check() -> Result<(), LibmError> {
    for function in Function::ALL {
        let inputs = function.inputs();
        let stated = match eval(&function.stated(), &[Column::F32(&inputs)]) {
            Ok(Results::F32(values)) => values,
            // The kernels are fixed and F32; a fault in one shows as a difference.
            _ => vec![f32::NAN; inputs.len()],
        };
        compare(function, &inputs, &stated)?;
    }
    Ok(())
}

fn compare(function: Function, inputs: &[f32], stated: &[f32]) -> Result<(), LibmError> {
    let mut error: Option<LibmError> = None;
    for (&x, &stated) in inputs.iter().zip(stated) {
        let host = function.on_host(x);
        if canonical(host) != canonical(stated) {
            let first = LibmError {
                function,
                x,
                host,
                stated,
                differing: 0,
            };
            error.get_or_insert(first).differing += 1;
        }
    }
    error.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_holds_every_exponent_and_the_special_values() {
        let values: Vec<f32> = sample().collect();
        for exponent in 0..=0xffu32 {
            for sign in [0, 1u32] {
                let head = sign << 8 | exponent;
                assert!(values.iter().any(|v| v.to_bits() >> 23 == head), "{head:x}");
            }
        }
        assert!(values.iter().any(|v| v.to_bits() == 0));
        assert!(values.contains(&f32::NEG_INFINITY));
        assert!(values.iter().any(|v| v.is_nan()));
    }

    #[test]
    fn the_digest_is_the_same_every_time() {
        assert_eq!(digest(), digest());
        assert_eq!(digest().len(), 64);
    }

    #[test]
    fn this_host_computes_what_the_contract_states() {
        check().unwrap();
    }

    #[test]
    fn a_function_one_ulp_off_is_named_with_input_and_both_values() {
        let inputs = Function::Log.inputs();
        let off = |&x: &f32| {
            let y = Function::Log.on_host(x);
            if x == 2.0 {
                f32::from_bits(y.to_bits() + 1)
            } else {
                y
            }
        };
        let stated: Vec<f32> = inputs.iter().map(off).collect();
        let error = compare(Function::Log, &inputs, &stated).unwrap_err();
        assert_eq!((error.x, error.differing), (2.0, 1));
        assert!(
            error
                .to_string()
                .contains("logf(x) gives 0x3f317218 at 0x40000000"),
            "{error}"
        );
    }
}
