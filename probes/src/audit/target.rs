//! What is compiled for.

use std::{fmt, str::FromStr};

use emitter::{mlir::Hints, target::TargetClass};
use runtime::CompileOptions;

use super::code::Dialect;

/// GPUs of which the compiler knows enough.
const GPUS: [&str; 3] = ["sm_80", "sm_89", "sm_121"];

/// A processor to compile for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// This machine's.
    #[default]
    Cpu,
    /// An architecture of NVIDIA's. None of its kind need be here.
    Cuda(&'static str),
}

/// A name that is no target's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("choose target {0}: cpu, cuda:sm_80, cuda:sm_89 or cuda:sm_121")]
pub struct UnknownTarget(String);

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Target, UnknownTarget> {
        let unknown = || UnknownTarget(text.to_owned());
        match text.split_once(':') {
            None if text == "cpu" => Ok(Target::Cpu),
            Some(("cuda", name)) => {
                let known = GPUS.into_iter().find(|gpu| *gpu == name);
                known.map(Target::Cuda).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cpu => f.write_str("cpu"),
            Target::Cuda(name) => write!(f, "cuda:{name}"),
        }
    }
}

impl Target {
    /// The compiler's flags for a module of that class; `any_order` where no order is stated.
    pub fn flags(self, class: TargetClass, any_order: bool) -> Vec<String> {
        match self {
            Target::Cpu => CompileOptions {
                reassociate: any_order,
                ..oracle::iree::options(class)
            }
            .flags(),
            Target::Cuda(name) => vec![
                "--iree-hal-target-device=cuda".to_owned(),
                format!("--iree-cuda-target={name}"),
                "--iree-input-demote-f64-to-f32=false".to_owned(),
            ],
        }
    }

    /// Whose hints the text may hold.
    pub const fn hints(self) -> Hints {
        match self {
            Target::Cpu => Hints::Cpu,
            Target::Cuda(_) => Hints::None,
        }
    }

    /// What its code is written in.
    pub const fn dialect(self) -> Dialect {
        match self {
            Target::Cpu => Dialect::X86,
            Target::Cuda(_) => Dialect::Ptx,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for text in ["cpu", "cuda:sm_80", "cuda:sm_89", "cuda:sm_121"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["cuda", "cuda:sm_90", "gpu", ""] {
            assert!(text.parse::<Target>().is_err());
        }
    }
}
