//! What the doctor found of one thing.

use reports::verdict::ExitCode;
use schemars::JsonSchema;
use serde::Serialize;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing fails of it.
    Note,
    /// Not there, or not usable: a run will fail with exit code 4.
    Broken,
}

impl State {
    const fn mark(self) -> &'static str {
        match self {
            State::Ok => "✓",
            State::Note => "–",
            State::Broken => "✗",
        }
    }
}

/// One line of the doctor's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was looked at.
    pub name: String,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do about it; null where nothing is to be done.
    pub remedy: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(name: &str, found: impl Into<String>) -> Finding {
        Finding {
            name: name.to_owned(),
            state: State::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    /// Worth knowing.
    pub fn note(name: &str, found: impl Into<String>) -> Finding {
        Finding {
            state: State::Note,
            ..Finding::ok(name, found)
        }
    }

    /// Not usable.
    pub fn broken(name: &str, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding {
            state: State::Broken,
            remedy: Some(remedy.into()),
            ..Finding::ok(name, found)
        }
    }

    /// The same, and what to do about it.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<String>) -> Finding {
        Finding {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

/// A line each, remedies below.
pub fn table(findings: &[Finding]) -> String {
    let widths = findings.iter().map(|finding| finding.name.chars().count());
    let width = widths.max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let Finding {
            name, state, found, ..
        } = finding;
        text.push_str(&format!("{} {name:width$}  {found}\n", state.mark()));
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("  {:width$}  → {remedy}\n", ""));
        }
    }
    let broken = broken(findings);
    text.push_str(&match broken {
        0 => "\nnothing is missing\n".to_owned(),
        1 => "\none thing keeps this machine from being used\n".to_owned(),
        n => format!("\n{n} things keep this machine from being used\n"),
    });
    text
}

/// How many of them keep the machine from being used.
fn broken(findings: &[Finding]) -> usize {
    let broken = findings.iter().filter(|f| f.state == State::Broken);
    broken.count()
}

/// 0, or 4 where something is broken.
pub fn exit_code(findings: &[Finding]) -> ExitCode {
    match broken(findings) {
        0 => ExitCode::QUALIFIED,
        _ => ExitCode::ENVIRONMENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_broken_changes_the_exit_code() {
        let mut findings = vec![Finding::ok("glibc", "2.36"), Finding::note("GPU", "none")];
        assert_eq!(exit_code(&findings), ExitCode::QUALIFIED);
        findings.push(Finding::broken("MLX", "not there", "run scripts/setup"));
        assert_eq!(exit_code(&findings), ExitCode::ENVIRONMENT);
        assert_eq!(
            table(&findings),
            "✓ glibc  2.36\n– GPU    none\n✗ MLX    not there\n         → run scripts/setup\n\n\
             one thing keeps this machine from being used\n"
        );
    }
}
