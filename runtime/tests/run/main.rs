//! Compiles and runs real modules. Fails, never skips, when the native parts are missing: run
//! scripts/setup.

#![expect(
    clippy::unwrap_used,
    reason = "what fails in a test is to fail the test"
)]

mod calls;
mod compiling;
mod devices;
mod memory;

use runtime::{CompileOptions, Device, DeviceKind, Module, Native, Store, Target, Toolchain};
use std::sync::OnceLock;

const KINDS: [DeviceKind; 2] = [DeviceKind::LocalTask, DeviceKind::LocalSync];

/// The installed compiler with a cache that lasts from one run of the tests to the next.
fn toolchain() -> &'static Toolchain {
    static TOOLCHAIN: OnceLock<Toolchain> = OnceLock::new();
    TOOLCHAIN.get_or_init(|| {
        let store = Store::open(concat!(env!("CARGO_TARGET_TMPDIR"), "/cache")).unwrap();
        Toolchain::new(&Native::locate().unwrap(), Some(store))
    })
}

fn device(kind: DeviceKind) -> Device {
    Device::open(kind, None, toolchain()).unwrap()
}

fn load(device: &Device, text: &str) -> Module {
    let code = toolchain()
        .compile(text, &CompileOptions::new(Target::HostAll))
        .unwrap();
    device.load(code).unwrap()
}

/// Numbers in [-1, 1) that look irregular, the same ones each time.
fn noise(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 7919 + 13) % 2003) as f32 / 1001.5 - 1.0)
        .collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
