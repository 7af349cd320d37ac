//! Why `qualify` stops before it has compared anything, and with which exit code.

use std::{error::Error, fmt};

use reports::verdict::ExitCode;

/// Whose business the failure is; each has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line asks for something there is not.
    Usage,
    /// A checkpoint, recording, capture or report is missing or malformed.
    Input,
    /// A library, device, libm, cache or output location is not usable.
    Environment,
}

/// A failure with the chain of its causes in one line.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    message: String,
}

impl Failure {
    /// A failure of that kind.
    pub fn new(kind: Kind, message: impl fmt::Display) -> Failure {
        Failure {
            kind,
            message: message.to_string(),
        }
    }

    /// A failure for an error: its message and those of its causes that it does not repeat.
    pub fn caused(kind: Kind, error: &dyn Error) -> Failure {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        Failure { kind, message }
    }

    /// The documented exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::Usage => ExitCode::USAGE,
            Kind::Input => ExitCode::INPUT,
            Kind::Environment => ExitCode::ENVIRONMENT,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Usage => write!(f, "{}", self.message),
            Kind::Input | Kind::Environment => write!(f, "failed to {}", self.message),
        }
    }
}

/// Says of what kind an error is where it is handed on.
pub trait OrFail<T> {
    /// As a failure of that kind.
    ///
    /// # Errors
    /// The same error.
    fn or_fail(self, kind: Kind) -> Result<T, Failure>;
}

impl<T, E: Error> OrFail<T> for Result<T, E> {
    fn or_fail(self, kind: Kind) -> Result<T, Failure> {
        self.map_err(|error| Failure::caused(kind, &error))
    }
}
