//! Asks an open device whether it keeps denormals.

use crate::{
    buffer::BufferError,
    compiler::CompileOptions,
    device::{Device, DeviceError},
    module::ModuleError,
    target::Target,
    toolchain::Toolchain,
};

/// Enough elements for every worker to have some.
const ELEMENTS: usize = 1 << 16;

/// Why the probe itself did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error(transparent)]
    Device(#[from] Box<DeviceError>),
    #[error(transparent)]
    Module(#[from] ModuleError),
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

/// How many of [`ELEMENTS`] products with a denormal result, or of a denormal, the device gets
/// wrong.
pub(crate) fn flushed(
    device: &Device,
    toolchain: &Toolchain,
) -> Result<(usize, usize), Box<dyn std::error::Error + Send + Sync>> {
    let text = format!(
        "func.func @probe(%x: tensor<{ELEMENTS}xf32>, %y: tensor<{ELEMENTS}xf32>) -> tensor<{ELEMENTS}xf32> {{
           %z = stablehlo.multiply %x, %y : tensor<{ELEMENTS}xf32>
           return %z : tensor<{ELEMENTS}xf32>
         }}"
    );
    let code = toolchain.compile(&text, &CompileOptions::new(Target::NoFma))?;
    Ok((run(device, code)?, ELEMENTS))
}

fn run(device: &Device, code: crate::Vmfb) -> Result<usize, ProbeError> {
    // Even elements: normal times normal is denormal. Odd ones: denormal times normal is normal.
    let x: Vec<f32> = (0..ELEMENTS)
        .map(|i| {
            if i % 2 == 0 {
                1e-30 * (1.0 + i as f32)
            } else {
                f32::from_bits(1 + i as u32)
            }
        })
        .collect();
    let y: Vec<f32> = (0..ELEMENTS)
        .map(|i| if i % 2 == 0 { 1e-14 } else { 1e20 })
        .collect();
    let module = device.load(code).map_err(Box::new)?;
    let x_there = device.upload_slice(&[ELEMENTS], &x).map_err(Box::new)?;
    let y_there = device.upload_slice(&[ELEMENTS], &y).map_err(Box::new)?;
    let results = module.call("probe", &[&x_there, &y_there])?;
    let found = match results.first() {
        Some(result) => result.to_vec::<f32>()?,
        None => Vec::new(),
    };
    let right = found
        .iter()
        .zip(x.iter().zip(&y))
        .filter(|(found, (x, y))| found.to_bits() == (*x * *y).to_bits())
        .count();
    Ok(ELEMENTS - right)
}
