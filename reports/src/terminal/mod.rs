//! The run on a terminal: results on stdout, progress on stderr.
//!
//! On a TTY the phases are bars that vanish; elsewhere each phase and each boundary is one line
//! of stderr as it is done. The table and the summary come last, on stdout, so that a pipe gets
//! results and nothing else. A reader that closes the pipe early ends the output, not the run.

mod options;
mod policy;
mod progress;
mod style;
mod summary;
mod table;

pub use options::{Options, Verbosity};
pub use progress::Screen;

use std::io::{self, Write};

use crate::events::{Event, Sink};
use crate::wire::Report;
use progress::Progress;
use style::Style;

/// Why results did not reach stdout. Completes "failed to …"; exit code 4.
#[derive(Debug, thiserror::Error)]
#[error("write the results to stdout")]
pub struct TerminalError(#[from] io::Error);

/// The sink that writes for people.
#[derive(Debug)]
pub struct Terminal<O, E> {
    stdout: O,
    options: Options,
    progress: Progress<E>,
    /// The first failure on stdout; nothing is written there after it.
    failure: Option<io::Error>,
}

impl<O: Write, E: Write> Terminal<O, E> {
    /// A terminal on these streams.
    ///
    /// With [`Options::tty`] the bars are drawn by `indicatif` on the process's own stderr, which
    /// `stderr` then has to be.
    pub fn new(stdout: O, stderr: E, options: Options) -> Self {
        let progress = Progress::new(stderr, options);
        Self {
            stdout,
            options,
            progress,
            failure: None,
        }
    }

    /// The bars.
    pub fn screen(&self) -> Screen {
        self.progress.screen()
    }

    /// Ends the output.
    ///
    /// # Errors
    /// When results could not be written, unless the reader had closed the pipe.
    pub fn finish(mut self) -> Result<(), TerminalError> {
        self.progress.clear();
        let flushed = self.stdout.flush();
        match self.failure.map_or(flushed, Err) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn print(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = self.stdout.write_all(text.as_bytes()).err();
        }
    }

    fn results(&mut self, report: &Report) {
        let style = Style::new(self.options.color);
        if self.options.verbosity > Verbosity::Quiet && !report.boundaries.is_empty() {
            self.print(&table::render(
                &report.boundaries,
                style,
                self.options.width,
            ));
            self.print("\n");
        }
        self.print(&summary::render(report, style));
    }
}

impl<O: Write, E: Write> Sink for Terminal<O, E> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { phase, total } => self.progress.started(*phase, *total),
            Event::PhaseProgress { phase, done, at } => {
                self.progress.advanced(*phase, *done, at.as_deref());
            }
            Event::PhaseFinished {
                phase,
                elapsed,
                cached,
            } => {
                self.progress.finished(*phase, *elapsed, *cached);
            }
            Event::BoundaryJudged(boundary) => self.progress.judged(boundary),
            Event::RunFinished(report) => {
                self.progress.clear();
                self.results(report);
            }
        }
    }
}

/// The table and the summary of a report, as they would be printed.
#[must_use]
pub fn render(report: &Report, options: Options) -> String {
    let mut out = Vec::new();
    let mut terminal = Terminal::new(
        &mut out,
        io::sink(),
        Options {
            tty: false,
            ..options
        },
    );
    terminal.results(report);
    drop(terminal);
    String::from_utf8_lossy(&out).into_owned()
}
