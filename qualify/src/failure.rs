//! Why `qualify` stops before it has compared anything, and with which exit code.

use std::{error::Error, fmt, path::Path};

use reports::verdict::ExitCode;
use runtime::CacheError;

/// What to do about a cache that cannot be written.
pub const WRITABLE: &str = "set QUALIFY_CACHE to a folder that can be written, or use --no-cache";

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
    /// A failure to do what the message says: "write FILE: no space left".
    pub fn new(kind: Kind, message: impl fmt::Display) -> Failure {
        Failure {
            kind,
            message: format!("failed to {message}"),
        }
    }

    /// A command line that makes no sense, in a sentence of its own.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure {
            kind: Kind::Usage,
            message: message.to_string(),
        }
    }

    /// A failure for an error that completes "failed to …".
    pub fn caused(kind: Kind, error: &dyn Error) -> Failure {
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(error) = inner.downcast_ref::<CacheError>() {
                return Failure::of_cache(error);
            }
            cause = inner.source();
        }
        let (text, more) = beginning(&said(error));
        Failure::new(
            kind,
            match more {
                0 => text,
                more => format!("{text}\n… {more} more lines"),
            },
        )
    }

    /// A failure for a cache that cannot be used, and the ways out.
    pub fn of_cache(error: &CacheError) -> Failure {
        let way_out = match error {
            CacheError::NoFolder => "or use --no-cache",
            CacheError::Unwritable { .. } | CacheError::ReadOnly { .. } => WRITABLE,
        };
        Failure::new(Kind::Environment, format!("{}; {way_out}", said(error)))
    }

    /// The same failure, which also says what it is about unless it does already.
    #[must_use]
    pub fn about(mut self, place: &Path) -> Failure {
        let place = place.display().to_string();
        if !self.message.contains(&place) {
            self.message = format!("{} (in {place})", self.message);
        }
        self
    }

    /// The same failure and what to do about it.
    #[must_use]
    pub fn hinting(mut self, hint: &str) -> Failure {
        self.message = format!("{}\n{hint}", self.message);
        self
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
        f.write_str(&self.message)
    }
}

/// An error's message and those of its causes that it does not repeat, in one line.
pub fn said(error: &dyn Error) -> String {
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
    message
}

/// The first lines of a text, none of them long, and how many more there are: a compiler may print
/// whole programs. Empty lines do not count.
pub fn beginning(text: &str) -> (String, usize) {
    const LINES: usize = 12;
    const WIDTH: usize = 200;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let shown: Vec<String> = lines
        .by_ref()
        .take(LINES)
        .map(|line| match line.char_indices().nth(WIDTH) {
            Some((end, _)) => format!("{} …", &line[..end]),
            None => line.to_owned(),
        })
        .collect();
    (shown.join("\n"), lines.count())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_beginning_is_shown() {
        let text = format!("a\n\n{}\n{}", "b".repeat(500), "c\n".repeat(20));
        let (shown, more) = beginning(&text);
        assert_eq!(shown.lines().count(), 12);
        assert!(shown.starts_with(&format!("a\n{} …\nc\n", "b".repeat(200))));
        assert_eq!(more, 10);
        assert_eq!(beginning("short"), ("short".to_owned(), 0));
    }
}
