//! GPUs, and what runs on them: asked of the driver's own tool, so that nothing has to be loaded.

use std::{fs, path::Path, process::Command};

use oracle::architectures::Architecture;

use super::finding::Finding;

/// A GPU as the driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Product name.
    pub name: String,
    /// Compute capability, times ten.
    pub capability: u32,
    /// Version of the driver.
    pub driver: String,
}

/// The GPUs of this machine, or why they cannot be asked.
///
/// # Errors
/// What the driver's tool said.
pub fn devices() -> Result<Vec<Device>, String> {
    let query = [
        "--query-gpu=name,compute_cap,driver_version",
        "--format=csv,noheader",
    ];
    match Command::new("nvidia-smi").args(query).output() {
        Ok(output) if output.status.success() => parse(&String::from_utf8_lossy(&output.stdout)),
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            Err(format!("nvidia-smi failed: {}", said.trim()))
        }
        Err(_) if Path::new("/proc/driver/nvidia/version").exists() => {
            let version = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
            let first = version.lines().next().unwrap_or_default();
            Err(format!("the driver is there ({first}), nvidia-smi is not"))
        }
        Err(_) => Ok(Vec::new()),
    }
}

fn parse(text: &str) -> Result<Vec<Device>, String> {
    let line = |line: &str| {
        let mut fields = line.rsplitn(3, ',').map(str::trim);
        let (driver, capability, name) = (fields.next()?, fields.next()?, fields.next()?);
        let (major, minor) = capability.split_once('.')?;
        Some(Device {
            name: name.to_owned(),
            capability: major.parse::<u32>().ok()?.checked_mul(10)? + minor.parse::<u32>().ok()?,
            driver: driver.to_owned(),
        })
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let devices: Option<Vec<Device>> = lines.map(line).collect();
    devices.ok_or_else(|| format!("nvidia-smi said something else: {}", text.trim()))
}

/// Whether the code of a library runs on the GPUs there are.
pub fn fits(what: &str, code: &[Architecture], devices: &[Device]) -> Finding {
    let listed: Vec<String> = code.iter().map(ToString::to_string).collect();
    let listed = listed.join(", ");
    if code.is_empty() {
        return Finding::ok(what, "for CPUs: no device code");
    }
    if devices.is_empty() {
        return Finding::note(what, format!("{listed}; there is no GPU to run it on"));
    }
    for device in devices {
        let (name, capability) = (&device.name, device.capability);
        let running: Vec<&Architecture> = code.iter().filter(|c| c.runs_on(capability)).collect();
        if running.is_empty() {
            return Finding::broken(
                what,
                format!(
                    "{listed}: none of it runs on {name} (sm_{capability}). CUDA would say \"no \
                     kernel image is available\" or \"invalid resource handle\" at the first \
                     operation"
                ),
                format!(
                    "install a wheel with code for sm_{capability}, or build MLX where that GPU is \
                     visible or with MLX_CUDA_ARCHITECTURES set to it: built where none is, MLX \
                     silently takes sm_90a"
                ),
            );
        }
        if running.iter().all(|c| c.ptx) {
            return Finding::note(
                what,
                format!(
                    "{listed}: {name} (sm_{capability}) runs it only as the driver compiles it"
                ),
            );
        }
    }
    Finding::ok(what, listed)
}

#[cfg(test)]
mod tests {
    use super::{super::finding::State, *};

    fn code(number: u32, specific: bool, ptx: bool) -> Architecture {
        Architecture {
            number,
            specific,
            ptx,
        }
    }

    #[test]
    fn the_drivers_tool_is_understood() {
        let text = "NVIDIA H200, 9.0, 580.82.07\nNVIDIA GB10, 12.1, 580.82.07\n";
        let devices = parse(text).unwrap();
        let capabilities: Vec<u32> = devices.iter().map(|d| d.capability).collect();
        assert_eq!(capabilities, [90, 121]);
        assert_eq!(devices[0].name, "NVIDIA H200");
        assert!(parse("No devices were found").is_err());
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn a_library_built_for_another_gpu_is_found_before_it_fails() {
        let device = |capability| Device {
            name: "GB10".into(),
            capability,
            driver: "580".into(),
        };
        let silently_90 = [code(90, true, false)];
        let finding = fits("MLX's device code", &silently_90, &[device(121)]);
        assert_eq!(finding.state, State::Broken);
        assert!(finding.found.contains("sm_121"), "{}", finding.found);
        assert_eq!(fits("", &silently_90, &[device(90)]).state, State::Ok);
        let compiled = [code(90, true, false), code(120, false, true)];
        assert_eq!(fits("", &compiled, &[device(121)]).state, State::Note);
        assert_eq!(fits("", &compiled, &[]).state, State::Note);
        assert_eq!(fits("", &[], &[device(121)]).state, State::Ok);
    }
}
