//! What a run ran on: two reports are comparable where this agrees.

use std::{collections::BTreeMap, fs, path::Path};

use oracle::{MlxSide, architectures::architectures, libm};
use reports::wire::{Fingerprint, Host, Iree, Mlx};
use runtime::{IREE_VERSION, Native};

/// The version of the runtime that the pinned bindings carry.
const IREE_RUNTIME: &str = "3.13.0.dev";

/// MLX and how it is set up.
pub fn mlx(side: &MlxSide, native: &Native) -> Mlx {
    Mlx {
        version: side.version().to_owned(),
        library_sha256: native.mlx.sha256.clone(),
        device: "cpu".to_owned(),
        sm_list: device_code(&native.mlx.path),
        tf32: None,
        env: mlx_environment(),
    }
}

/// The architectures a library has code for; none where that cannot be read.
fn device_code(library: &Path) -> Vec<String> {
    let found = architectures(library).unwrap_or_default();
    found.iter().map(ToString::to_string).collect()
}

/// Turns TF32 off unless somebody said what it is to be: MLX multiplies F32 matrices in it on CUDA
/// by default, which keeps 10 bits of each operand. Must be called before any thread begins.
pub fn without_tf32() {
    if std::env::var_os(TF32).is_none() {
        // SAFETY: no other thread runs yet that could read the environment meanwhile.
        unsafe { std::env::set_var(TF32, "0") };
    }
}

/// The variable that MLX asks whether to use TF32.
pub const TF32: &str = "MLX_ENABLE_TF32";

/// The environment variables that MLX may read.
pub fn mlx_environment() -> BTreeMap<String, String> {
    std::env::vars()
        .filter(|(name, _)| name.starts_with("MLX_"))
        .collect()
}

/// IREE and how its modules are compiled.
pub fn iree(flags: &[String], device: &str) -> Iree {
    let value = |name: &str| {
        let prefix = format!("--iree-llvmcpu-target-{name}=");
        flags
            .iter()
            .find_map(|flag| flag.strip_prefix(&prefix))
            .unwrap_or("")
            .to_owned()
    };
    Iree {
        compiler: IREE_VERSION.to_owned(),
        runtime: IREE_RUNTIME.to_owned(),
        flags: flags.to_vec(),
        target: format!("{},{}", value("cpu"), value("cpu-features")),
        device: device.to_owned(),
    }
}

/// The machine.
pub fn host(threads: usize) -> Host {
    let (cpu, features) = processor();
    Host {
        cpu,
        features,
        os: std::env::consts::OS.to_owned(),
        glibc: Some(libm::glibc_version()),
        libm_sample: libm::digest(),
        threads,
    }
}

/// A fingerprint of these parts.
pub fn of(mlx: Option<Mlx>, iree: Option<Iree>, host: Host) -> Fingerprint {
    Fingerprint {
        mlx,
        iree,
        host,
        gpu: None,
    }
}

/// The processor's name and those of its features that change how code is compiled.
fn processor() -> (String, Vec<String>) {
    const TELLING: [&str; 9] = [
        "avx", "avx2", "avx512bw", "avx512f", "avx512vl", "bmi2", "f16c", "fma", "sse4_2",
    ];
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = |name: &str| {
        info.lines()
            .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))
            .map_or("", str::trim)
    };
    let flags: Vec<&str> = line("flags").split_whitespace().collect();
    let features = TELLING.iter().filter(|name| flags.contains(name));
    (
        line("model name").to_owned(),
        features.map(|&name| name.to_owned()).collect(),
    )
}
