//! One arm: a run in a process of its own.

use std::{
    env, fmt, fs,
    path::Path,
    process::{Command, Stdio},
};

use oracle::Captures;
use reports::{
    verdict::ExitCode,
    wire::{Report, read_report},
};

use super::ArmSummary;
use crate::failure::{Failure, Kind, OrFail};

/// What is not the same in both arms.
#[derive(Debug, PartialEq, Eq)]
pub struct Factor {
    kind: FactorKind,
    name: String,
    values: [String; 2],
}

#[derive(Debug, PartialEq, Eq)]
enum FactorKind {
    Environment,
    Flag,
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FactorKind::Environment => write!(f, "{}", self.name),
            FactorKind::Flag => write!(f, "--{}", self.name),
        }
    }
}

impl Factor {
    /// Of `NAME=A,B`, an environment variable.
    ///
    /// # Errors
    /// When the text is something else.
    pub fn environment(text: &str) -> Result<Factor, Failure> {
        Factor::parse(FactorKind::Environment, text)
    }

    /// Of `NAME=A,B`, a flag of `run`, with or without its dashes.
    ///
    /// # Errors
    /// When the text is something else.
    pub fn flag(text: &str) -> Result<Factor, Failure> {
        Factor::parse(FactorKind::Flag, text.trim_start_matches('-'))
    }

    fn parse(kind: FactorKind, text: &str) -> Result<Factor, Failure> {
        let parts = text.split_once('=').and_then(|(name, values)| {
            let (a, b) = values.split_once(',')?;
            let plain = !name.is_empty() && !name.contains('\0') && !b.contains(',') && a != b;
            plain.then(|| (name.to_owned(), [a.to_owned(), b.to_owned()]))
        });
        let (name, values) = parts.ok_or_else(|| {
            Failure::usage(format!(
                "{text} does not name two different values: NAME=A,B"
            ))
        })?;
        Ok(Factor { kind, name, values })
    }

    /// Whether it is this flag of `run`.
    pub fn is_flag(&self, name: &str) -> bool {
        self.kind == FactorKind::Flag && self.name == name
    }

    /// The values of the first and of the second arm.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str)
    }
}

/// A run that came to an end.
pub struct Arm {
    value: String,
    /// Its report.
    pub report: Report,
    /// The reference's values.
    pub reference: Captures,
    /// The candidate's, from the model's inputs.
    pub candidate: Captures,
}

impl Arm {
    /// Runs an arm, its files in a folder. Gives its exit code where it compared nothing; what it
    /// had to say went to stderr.
    ///
    /// # Errors
    /// When the process cannot be started, or its files cannot be read.
    pub fn run(
        factor: &Factor,
        value: &str,
        repeat: u32,
        flags: &[String],
        folder: &Path,
    ) -> Result<Result<Arm, ExitCode>, Failure> {
        let failed =
            |error: std::io::Error| Failure::new(Kind::Environment, format!("run an arm: {error}"));
        fs::create_dir_all(folder).map_err(failed)?;
        let report = folder.join("report.json");
        let captures = folder.join("captures");
        let mut command = Command::new(env::current_exe().map_err(failed)?);
        command.arg("run").args(flags);
        match factor.kind {
            FactorKind::Environment => command.env(&factor.name, value),
            FactorKind::Flag => command.arg(format!("--{}={value}", factor.name)),
        };
        command
            .arg(format!("--repeat={repeat}"))
            .arg("--report")
            .arg(&report)
            .arg("--captures")
            .arg(&captures)
            .stdout(Stdio::null());
        let status = command.status().map_err(failed)?;
        // Diverged, inconclusive or qualified: there is something to compare.
        match status.code() {
            Some(0 | 1 | 3) => {}
            Some(2) => return Ok(Err(ExitCode::USAGE)),
            Some(5) => return Ok(Err(ExitCode::INPUT)),
            _ => return Ok(Err(ExitCode::ENVIRONMENT)),
        }
        let load = |side: &str| {
            let file = captures.join(format!("{side}.safetensors"));
            let loaded = Captures::load(&file).or_fail(Kind::Environment)?;
            Ok::<_, Failure>(loaded.0)
        };
        Ok(Ok(Arm {
            value: value.to_owned(),
            report: read_report(&report).or_fail(Kind::Environment)?,
            reference: load("reference")?,
            candidate: load("inherited")?,
        }))
    }

    /// How its run came out.
    pub fn summary(&self) -> ArmSummary {
        let repeat = self.report.repeat.iter();
        let unstable = repeat.flat_map(|repeat| {
            let sides = [&repeat.reference, &repeat.candidate];
            sides.into_iter().flatten().flatten().cloned()
        });
        let mut unstable: Vec<String> = unstable.collect();
        unstable.sort_unstable();
        unstable.dedup();
        ArmSummary {
            value: self.value.clone(),
            verdict: self.report.verdict,
            boundaries: self.report.boundaries.len(),
            unstable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_names_two_different_values() {
        let factor = Factor::flag("--device=local-task,local-sync").unwrap();
        assert_eq!(factor.to_string(), "--device");
        assert_eq!(
            factor.values().collect::<Vec<_>>(),
            ["local-task", "local-sync"]
        );
        for wrong in ["TF32", "TF32=", "TF32=1", "TF32=1,1", "=0,1", "TF32=0,1,2"] {
            assert!(Factor::environment(wrong).is_err(), "{wrong}");
        }
        // Unset and set are two values too.
        assert!(Factor::environment("TF32=,1").is_ok());
    }
}
