//! How to write, and how to find out.

use std::io::IsTerminal;

/// How much to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// The summary alone, and nothing on stderr.
    Quiet,
    /// Progress, table, summary.
    #[default]
    Normal,
    /// The start of each phase as well.
    Verbose,
}

/// How to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether stdout gets colours.
    pub color: bool,
    /// Whether stderr is a terminal and gets bars.
    pub tty: bool,
    /// How much to say.
    pub verbosity: Verbosity,
    /// Columns of the terminal: names are shortened to fit; `None` for no limit.
    pub width: Option<usize>,
}

impl Options {
    /// What the process's own streams and environment ask for: `NO_COLOR` (not empty) turns
    /// colours off, `CLICOLOR_FORCE` (neither empty nor 0) on, `COLUMNS` gives the width.
    #[must_use]
    pub fn from_env(verbosity: Verbosity) -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let stdout = std::io::stdout().is_terminal();
        Self {
            color: wants_color(stdout, &variable("NO_COLOR"), &variable("CLICOLOR_FORCE")),
            tty: std::io::stderr().is_terminal(),
            verbosity,
            width: variable("COLUMNS").parse().ok().filter(|_| stdout),
        }
    }
}

fn wants_color(terminal: bool, no_color: &str, force: &str) -> bool {
    no_color.is_empty() && (terminal || !matches!(force, "" | "0"))
}

#[cfg(test)]
mod tests {
    use super::wants_color;

    #[test]
    fn no_color_wins_over_everything() {
        assert!(wants_color(true, "", ""));
        assert!(!wants_color(true, "1", "1"));
        assert!(wants_color(false, "", "1"));
        assert!(!wants_color(false, "", "0"));
        assert!(!wants_color(false, "", ""));
    }
}
