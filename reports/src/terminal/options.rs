//! How to write, and how to find out.

use std::io::IsTerminal;
use std::os::fd::AsFd;

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
    /// Whether results get colours.
    pub color: bool,
    /// Whether stderr is a terminal and gets bars.
    pub tty: bool,
    /// How much to say.
    pub verbosity: Verbosity,
    /// Columns of the terminal that results go to: a table is narrowed to fit; `None` for no
    /// limit.
    pub width: Option<usize>,
}

impl Options {
    /// What the stream that results go to, the process's own stderr and the environment ask for:
    /// `NO_COLOR` (not empty) turns colours off, `CLICOLOR_FORCE` (neither empty nor 0) on;
    /// `TERM=dumb` means neither colours nor bars; `COLUMNS` gives the width of a terminal that
    /// does not say it itself.
    #[must_use]
    pub fn from_env(verbosity: Verbosity, results: &(impl IsTerminal + AsFd)) -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let dumb = variable("TERM") == "dumb";
        let terminal = results.is_terminal();
        let columns = || {
            let own = terminal_size::terminal_size_of(results);
            let own = own.map(|(width, _)| usize::from(width.0));
            own.or_else(|| variable("COLUMNS").parse().ok())
                .filter(|&width| width > 0)
        };
        Self {
            color: wants_color(
                terminal && !dumb,
                &variable("NO_COLOR"),
                &variable("CLICOLOR_FORCE"),
            ),
            tty: std::io::stderr().is_terminal() && !dumb,
            verbosity,
            width: terminal.then(columns).flatten(),
        }
    }
}

fn wants_color(able: bool, no_color: &str, force: &str) -> bool {
    no_color.is_empty() && (able || !matches!(force, "" | "0"))
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
