//! Which processor a module is compiled for, resolved to a name and features.
//!
//! IREE accepts the word `host`, but that is no identity: a module cached under it would be taken
//! for one of another machine. So the processor is looked at here and spelled out.

use std::fmt;

/// What a module may use of this machine's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// All of it. A multiplication may then be fused with an addition into one rounding.
    HostAll,
    /// No fused multiply-add, nor the wider extensions that imply it.
    NoFma,
}

/// A processor as the compiler is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResolvedTarget {
    cpu: &'static str,
    features: String,
}

/// Features by LLVM's name, each with whether this machine has it.
fn host_features() -> Vec<(&'static str, bool)> {
    macro_rules! detect {
        ($($llvm:literal = $rust:tt),* $(,)?) => {
            vec![$(($llvm, std::arch::is_x86_feature_detected!($rust))),*]
        };
    }
    detect![
        "sse3" = "sse3",
        "ssse3" = "ssse3",
        "sse4.1" = "sse4.1",
        "sse4.2" = "sse4.2",
        "popcnt" = "popcnt",
        "movbe" = "movbe",
        "bmi" = "bmi1",
        "bmi2" = "bmi2",
        "lzcnt" = "lzcnt",
        "f16c" = "f16c",
        "avx" = "avx",
        "avx2" = "avx2",
        "fma" = "fma",
        "avx512f" = "avx512f",
        "avx512cd" = "avx512cd",
        "avx512bw" = "avx512bw",
        "avx512dq" = "avx512dq",
        "avx512vl" = "avx512vl",
        "avx512ifma" = "avx512ifma",
        "avx512vbmi" = "avx512vbmi",
        "avx512vbmi2" = "avx512vbmi2",
        "avx512vnni" = "avx512vnni",
        "avx512bitalg" = "avx512bitalg",
        "avx512vpopcntdq" = "avx512vpopcntdq",
    ]
}

/// What [`Target::NoFma`] may use: 256-bit vectors and what comes with them, but not `fma`.
const NO_FMA: [&str; 6] = ["avx2", "f16c", "sse4.2", "bmi2", "popcnt", "lzcnt"];

impl Target {
    /// The name and the features of this machine's processor, as far as the target allows them.
    ///
    /// `avx512bf16` is never among them: its dot product flushes denormals and rounds in its own
    /// way, so no contract can state it.
    #[must_use]
    pub fn resolve(self) -> ResolvedTarget {
        ResolvedTarget::of(self, &host_features())
    }
}

impl ResolvedTarget {
    fn of(target: Target, host: &[(&'static str, bool)]) -> Self {
        let wanted = |name: &str| match target {
            Target::HostAll => true,
            Target::NoFma => NO_FMA.contains(&name),
        };
        let has = |name: &str| {
            host.iter()
                .any(|&(feature, there)| feature == name && there)
        };
        let cpu = match target {
            Target::NoFma => "generic",
            Target::HostAll if has("avx512f") && has("avx512vl") => "x86-64-v4",
            Target::HostAll if has("avx2") && has("fma") => "x86-64-v3",
            Target::HostAll => "x86-64",
        };
        let features = host
            .iter()
            .filter(|(name, _)| wanted(name))
            .filter_map(|&(name, there)| match (target, there) {
                (_, true) => Some(format!("+{name}")),
                // Said for what the name would imply and a virtual machine may hide.
                (Target::HostAll, false) => Some(format!("-{name}")),
                (Target::NoFma, false) => None,
            })
            .collect::<Vec<_>>()
            .join(",");
        Self { cpu, features }
    }

    /// The processor's name, for `--iree-llvmcpu-target-cpu`.
    #[must_use]
    pub fn cpu(&self) -> &str {
        self.cpu
    }

    /// Its features, for `--iree-llvmcpu-target-cpu-features`.
    #[must_use]
    pub fn features(&self) -> &str {
        &self.features
    }
}

impl fmt::Display for ResolvedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}{}",
            self.cpu,
            if self.features.is_empty() { "" } else { "," },
            self.features
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(names: &[&str]) -> Vec<(&'static str, bool)> {
        host_features()
            .into_iter()
            .map(|(name, _)| (name, names.contains(&name)))
            .collect()
    }

    #[test]
    fn a_processor_without_fma_is_not_named_after_one_with_it() {
        let target = ResolvedTarget::of(Target::HostAll, &host(&["avx", "avx2"]));
        assert_eq!(target.cpu(), "x86-64");
        assert!(target.features().contains("+avx2") && target.features().contains("-fma"));
    }

    #[test]
    fn the_target_without_fma_has_none_on_any_host() {
        let everything: Vec<_> = host_features()
            .into_iter()
            .map(|(name, _)| (name, true))
            .collect();
        let target = ResolvedTarget::of(Target::NoFma, &everything);
        assert_eq!(
            target.to_string(),
            "generic,+sse4.2,+popcnt,+bmi2,+lzcnt,+f16c,+avx2"
        );
        assert_eq!(
            ResolvedTarget::of(Target::NoFma, &host(&[])).to_string(),
            "generic"
        );
    }

    #[test]
    fn the_word_host_is_never_used() {
        for target in [Target::HostAll, Target::NoFma] {
            assert!(!target.resolve().to_string().contains("host"));
            assert_eq!(target.resolve(), target.resolve());
        }
    }
}
