//! What the run ran on. Two reports are comparable where these agree.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything outside the model that may change a bit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint {
    /// The live reference; null where it was recorded.
    pub mlx: Option<Mlx>,
    /// The candidate's compiler and runtime; null where neither ran.
    pub iree: Option<Iree>,
    /// The machine.
    pub host: Host,
    /// The GPU; null where none was used.
    pub gpu: Option<Gpu>,
}

/// The MLX library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mlx {
    /// Version.
    pub version: String,
    /// Digest of the shared library.
    pub library_sha256: String,
    /// `cpu` or `cuda`.
    pub device: String,
    /// The architectures the library has kernels for.
    pub sm_list: Vec<String>,
    /// Whether TF32 is on; null where it does not apply.
    pub tf32: Option<bool>,
    /// The `MLX_*` environment.
    pub env: BTreeMap<String, String>,
}

/// The IREE compiler and runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iree {
    /// Version of the compiler.
    pub compiler: String,
    /// Version of the runtime.
    pub runtime: String,
    /// Compiler flags.
    pub flags: Vec<String>,
    /// Resolved processor and features.
    pub target: String,
    /// HAL device.
    pub device: String,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Model name of the processor.
    pub cpu: String,
    /// Features the arithmetic may depend on.
    pub features: Vec<String>,
    /// Operating system.
    pub os: String,
    /// Version of glibc; null elsewhere.
    pub glibc: Option<String>,
    /// Digest of the host libm's results on the fixed sample.
    pub libm_sample: String,
    /// Threads used.
    pub threads: usize,
}

/// The GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// Product name.
    pub name: String,
    /// Architecture, such as `sm_90a`.
    pub architecture: String,
    /// Version of the driver.
    pub driver: String,
}

impl Fingerprint {
    /// All of it by name, such as `mlx.version`; what is null or empty is left out.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        if let Ok(value) = serde_json::to_value(self) {
            flatten("", &value, &mut all);
        }
        all
    }
}

fn flatten(name: &str, value: &Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{dot}{key}"), value, into);
            }
        }
        Value::Null => {}
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            if !items.is_empty() {
                into.push((name.to_owned(), items.join(" ")));
            }
        }
        value => into.push((name.to_owned(), plain(value))),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
