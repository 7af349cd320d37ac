//! `qualify doctor`: what is here, what is missing, and what to do about it.

mod finding;
mod gpu;
mod places;

use std::path::{Path, PathBuf};

use clap::Args;
use oracle::{MlxSide, architectures::architectures, iree::IreeSide, libm};
use reports::{
    verdict::ExitCode,
    wire::{Fingerprint, is_stdout},
};
use runtime::{DeviceKind, IREE_VERSION, Library, Native, Toolchain};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    failure::{Failure, Kind, OrFail, said},
    fingerprint, run,
};

use finding::{Finding, State, exit_code, table};

/// What `--help` says of exit codes.
pub const CODES: &str = "\
Exit codes:
  0    nothing is missing
  4    something is missing or not usable; what to do about it stands below it
  2    as of run";

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Look at the device code of this MLX library too, such as that of a CUDA build: does it run
    /// on the GPU of this machine? May be given several times
    #[arg(long = "mlx-library", value_name = "FILE.so")]
    pub libraries: Vec<PathBuf>,

    /// Write what was found here, as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// What is written as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// 1.
    pub schema_version: u32,
    /// Of a run on this machine now; it stands in every report.
    pub fingerprint: Fingerprint,
    /// Everything that was looked at.
    pub findings: Vec<Finding>,
    /// 0 or 4.
    pub exit_code: u8,
}

/// Looks at everything a run needs. Gives the table to print and the exit code.
///
/// # Errors
/// When the file cannot be written.
pub fn doctor(args: &DoctorArgs) -> Result<(String, ExitCode), Failure> {
    if let Some(file) = &args.json {
        run::check_output(file, &args.libraries)?;
    }
    let devices = gpu::devices();
    let mut findings = vec![Finding::ok(
        "qualify",
        format!("{} ({})", env!("CARGO_PKG_VERSION"), env!("QUALIFY_COMMIT")),
    )];
    let native = Native::locate();
    let mut mlx = None;
    match &native {
        Ok(native) => {
            findings.push(library("MLX library", &native.mlx));
            findings.push(library("IREE compiler", &native.iree));
            match MlxSide::new() {
                Ok(side) => {
                    findings.push(loaded(&side, &native.mlx));
                    mlx = Some(fingerprint::mlx(&side, native));
                }
                Err(error) => findings.push(Finding::broken("MLX", said(&error), SETUP)),
            }
            findings.push(iree(native));
        }
        Err(error) => findings.push(Finding::broken("native libraries", said(error), SETUP)),
    }
    findings.extend(host());
    findings.push(match &devices {
        Ok(devices) if devices.is_empty() => Finding::note("GPU", "none"),
        Ok(devices) => {
            let each =
                |d: &gpu::Device| format!("{} (sm_{}), driver {}", d.name, d.capability, d.driver);
            let all: Vec<String> = devices.iter().map(each).collect();
            Finding::ok("GPU", all.join("; "))
        }
        Err(why) => Finding::note("GPU", why.clone())
            .with_remedy("install the driver's tools; GPUs are not used without them"),
    });
    let devices = devices.unwrap_or_default();
    let own = native.iter().map(|native| native.mlx.path.clone());
    findings.extend(own.map(|path| device_code(&path, &devices)));
    findings.extend(
        args.libraries
            .iter()
            .map(|path| named_library(path, &devices)),
    );
    findings.extend(settings());
    findings.push(places::cuda_libraries());
    findings.extend(places::folders());

    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let code = exit_code(&findings);
    if let Some(file) = &args.json {
        let diagnosis = Diagnosis {
            schema_version: 1,
            fingerprint: fingerprint::of(mlx, None, fingerprint::host(threads)),
            findings: findings.clone(),
            exit_code: code.code(),
        };
        write(file, &diagnosis)?;
    }
    Ok((table(&findings), code))
}

/// What installs the native libraries.
const SETUP: &str = "run scripts/setup, which installs them";

/// A library as it was installed: its file must have the digest that was noted then.
fn library(name: &str, library: &Library) -> Finding {
    match library.verify() {
        Ok(()) => Finding::ok(
            name,
            format!(
                "{}, sha256 {}…, {}",
                library.revision,
                library.sha256.get(..12).unwrap_or_default(),
                library.path.display()
            ),
        ),
        Err(error) => Finding::broken(name, said(&error), SETUP),
    }
}

/// The library that runs is the one that was installed.
fn loaded(side: &MlxSide, installed: &Library) -> Finding {
    let same = |path: &PathBuf| path.canonicalize().ok() == installed.path.canonicalize().ok();
    match side.library() {
        Some(path) if !same(&path) => Finding::broken(
            "MLX",
            format!("{} is loaded from {}", side.version(), path.display()),
            "unset LD_LIBRARY_PATH and LD_PRELOAD, or build again with scripts/qualify",
        ),
        _ => Finding::ok("MLX", format!("{} starts, on CPU", side.version())),
    }
}

/// Opening a device includes the check that it keeps denormals.
fn iree(native: &Native) -> Finding {
    let toolchain = Toolchain::new(native, None);
    match IreeSide::open(DeviceKind::LocalTask, None, toolchain) {
        Ok(side) => Finding::ok(
            "IREE",
            format!(
                "{IREE_VERSION} opens local-task with {} threads and keeps denormals",
                side.device().threads()
            ),
        ),
        Err(error) => Finding::broken("IREE", said(&error), SETUP),
    }
}

fn host() -> Vec<Finding> {
    let host = fingerprint::host(0);
    let missing: Vec<&str> = ["avx2", "fma"]
        .into_iter()
        .filter(|feature| !host.features.iter().any(|f| f == feature))
        .collect();
    let processor = format!("{}: {}", host.cpu, host.features.join(" "));
    let processor = if missing.is_empty() {
        Finding::ok("processor", processor)
    } else {
        let without = missing.join(" and ");
        Finding::note("processor", format!("{processor}; without {without}"))
            .with_remedy("the bits are the same; expect a several times slower candidate")
    };
    let glibc = host.glibc.unwrap_or_default();
    let libm = match libm::check() {
        Ok(()) => Finding::ok(
            "glibc",
            format!("{glibc}: tanhf, log1pf, logf, powf compute what the graphs restate"),
        ),
        Err(error) => Finding::broken(
            "glibc",
            format!("{glibc}: {}", said(&error)),
            "use a host with glibc 2.28 to 2.40, such as Debian 12 or Ubuntu 24.04",
        ),
    };
    vec![processor, libm]
}

/// What a library's device code is for, and whether that is here.
fn device_code(library: &Path, devices: &[gpu::Device]) -> Finding {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    let what = format!("device code of {name}");
    match architectures(library) {
        Ok(code) => gpu::fits(&what, &code, devices),
        Err(error) => Finding::broken(&what, said(&error), "name a shared library of MLX"),
    }
}

/// The same of a library that was named, which need not be MLX.
fn named_library(library: &Path, devices: &[gpu::Device]) -> Finding {
    let mut finding = device_code(library, devices);
    if architectures(library).is_ok_and(|code| code.is_empty()) {
        finding.state = State::Note;
        finding.found = format!(
            "{} has no device code: it is for CPUs, or no library of MLX",
            library.display()
        );
    }
    finding
}

/// Variables that change what MLX computes.
fn settings() -> Vec<Finding> {
    let environment = fingerprint::mlx_environment();
    let tf32 = match environment.get(fingerprint::TF32).map(String::as_str) {
        None | Some("0") => Finding::ok("TF32", "off, unless MLX_ENABLE_TF32 says otherwise"),
        Some(value) => Finding::note(
            "TF32",
            format!("MLX_ENABLE_TF32={value}: F32 products on CUDA keep 10 bits of each operand"),
        )
        .with_remedy("unset it, or compare both with `qualify ab --env MLX_ENABLE_TF32=0,1`"),
    };
    let others: Vec<String> = environment
        .iter()
        .filter(|(name, _)| name.as_str() != fingerprint::TF32)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let others = if others.is_empty() {
        Finding::ok("MLX_*", "nothing else is set")
    } else {
        Finding::note("MLX_*", others.join(" ")).with_remedy("reports carry them")
    };
    vec![tf32, others]
}

fn write(file: &Path, diagnosis: &Diagnosis) -> Result<(), Failure> {
    if is_stdout(file) {
        let text = serde_json::to_string_pretty(diagnosis).or_fail(Kind::Environment)?;
        return crate::print(format!("{text}\n").as_bytes());
    }
    reports::wire::write_json(file, diagnosis).or_fail(Kind::Environment)
}

/// Whether something is broken.
#[cfg(test)]
fn is_broken(finding: &Finding) -> bool {
    finding.state == State::Broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_fit_to_run_the_tests() {
        let native = Native::locate().unwrap();
        let found = [library("", &native.mlx), iree(&native)];
        assert!(!found.iter().chain(&host()).any(is_broken), "{found:?}");
    }

    #[test]
    fn a_file_that_is_no_library_is_said_to_be_none() {
        let finding = device_code(Path::new("Cargo.toml"), &[]);
        assert!(is_broken(&finding), "{finding:?}");
    }
}
