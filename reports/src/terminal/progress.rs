//! What stderr shows while the run goes on.

use std::io::Write;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::options::{Options, Verbosity};
use crate::events::Phase;
use crate::verdict::Verdict;
use crate::wire::{Boundary, Measured};
use crate::wording::{count, label};

/// The bars of a [`Terminal`](super::Terminal), for whoever has to write over them at any moment.
#[derive(Debug, Clone, Default)]
pub struct Screen(Option<MultiProgress>);

impl Screen {
    /// Takes the bars away, for good.
    pub fn clear(&self) {
        if let Some(bars) = &self.0 {
            let _ = bars.clear();
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
    }
}

/// Bars on a TTY, lines elsewhere. Failures of stderr are nobody's business.
#[derive(Debug)]
pub(super) struct Progress<E> {
    stderr: E,
    options: Options,
    bars: Option<MultiProgress>,
    open: Vec<(Phase, ProgressBar)>,
}

impl<E: Write> Progress<E> {
    pub fn new(stderr: E, options: Options) -> Self {
        let bars = options.tty && options.verbosity > Verbosity::Quiet;
        let target = || MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        Self {
            stderr,
            options,
            bars: bars.then(target),
            open: Vec::new(),
        }
    }

    /// What can take the bars away without this.
    pub fn screen(&self) -> Screen {
        Screen(self.bars.clone())
    }

    pub fn started(&mut self, phase: Phase, total: Option<u64>) {
        match &self.bars {
            Some(bars) => {
                let bar = bars.add(bar(total));
                bar.set_prefix(phase.name());
                bar.enable_steady_tick(Duration::from_millis(100));
                self.open.push((phase, bar));
            }
            None if self.options.verbosity == Verbosity::Verbose => {
                let units = total.map_or(String::new(), |total| format!(" {}", count(total)));
                self.line(&format!("{:<10}started{units}", phase.name()));
            }
            None => {}
        }
    }

    pub fn advanced(&mut self, phase: Phase, done: u64, at: Option<&str>) {
        if let Some((_, bar)) = self.open.iter().find(|(open, _)| *open == phase) {
            bar.set_position(done);
            bar.set_message(at.unwrap_or_default().to_owned());
        }
    }

    pub fn finished(&mut self, phase: Phase, elapsed: Duration, cached: bool) {
        if self.bars.is_some() {
            self.open.retain(|(open, bar)| {
                if *open == phase {
                    bar.finish_and_clear();
                }
                *open != phase
            });
            return;
        }
        let cached = if cached { " (cached)" } else { "" };
        let seconds = elapsed.as_secs_f64();
        self.line(&format!("{:<10}{seconds:.2} s{cached}", phase.name()));
    }

    pub fn judged(&mut self, b: &Boundary) {
        if self.bars.is_some() {
            return;
        }
        let mut line = format!("{} {}", label(b.verdict), b.name);
        if b.verdict != Verdict::BitExact {
            let side = |m: &Measured| m.differing.map_or("–".to_owned(), count);
            let local = b.local.as_ref().map_or("–".to_owned(), side);
            let inherited = side(&b.inherited);
            line += &format!(
                ": {local} local, {inherited} inherited of {}",
                count(b.elements)
            );
        }
        self.line(&line);
    }

    /// Takes the bars away.
    pub fn clear(&mut self) {
        for (_, bar) in self.open.drain(..) {
            bar.finish_and_clear();
        }
        let _ = self.stderr.flush();
    }

    fn line(&mut self, line: &str) {
        if self.options.verbosity > Verbosity::Quiet {
            let _ = writeln!(self.stderr, "{line}");
        }
    }
}

/// A bar where the work is counted, a spinner where it is not.
fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{prefix:<10}{bar:30} {pos}/{len} {elapsed} {wide_msg}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{prefix:<10}{spinner} {elapsed} {wide_msg}",
        ),
    };
    let style = ProgressStyle::with_template(template);
    bar.with_style(
        style
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("━╸─"),
    )
}
