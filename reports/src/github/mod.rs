//! A report for GitHub Actions: annotations, and the summary of a step.
//!
//! A step shows ten annotations of each kind and drops the rest, so the tenth says how many there
//! are more. A step's summary may have 1 MiB and is dropped whole where it has more.

use std::fmt::Write;

use crate::markdown;
use crate::verdict::Verdict;
use crate::wire::{Boundary, Report};
use crate::wording::{self, count, element, leading, noun, word};

/// Bytes the summary of a step has at most.
pub const SUMMARY: usize = 1 << 20;
/// Annotations of one kind that a step shows.
const SHOWN: usize = 10;

/// The summary of a step whose summary has `used` bytes already; `None` where there is no room for
/// anything of use.
#[must_use]
pub fn summary(report: &Report, used: u64) -> Option<String> {
    const LEAST: usize = 4096;
    let left = SUMMARY.checked_sub(usize::try_from(used).ok()?)?;
    (left >= LEAST).then(|| markdown::render(report, left))
}

/// Workflow commands that annotate the run, a line each: an error for every boundary that diverged
/// or is inconclusive, a warning for a vacuous one, a notice for one within its policy.
#[must_use]
pub fn annotations(report: &Report) -> String {
    let mut out = String::new();
    for kind in ["error", "warning", "notice"] {
        let mut found: Vec<&Boundary> = report.boundaries.iter().collect();
        found.retain(|b| self::kind(b.verdict) == Some(kind));
        // The first in graph order of the worst ones.
        found.sort_by_key(|b| std::cmp::Reverse(b.verdict));
        let mut all: Vec<(String, String)> = Vec::new();
        if kind == "error" && report.non_interference.is_broken() {
            let title = "what was judged is not what ships".to_owned();
            all.push((title, wording::interference(report.non_interference)));
        }
        let room = SHOWN - all.len();
        let single = if found.len() > room { room - 1 } else { room };
        all.extend(found.iter().take(single).map(|b| (title(b), message(b))));
        if found.len() > single {
            let left = (found.len() - single) as u64;
            let title = format!("{} more {}", count(left), noun(left));
            all.push((title, wording::counts(report)));
        }
        for (title, message) in all {
            command(&mut out, kind, &title, &message);
        }
    }
    out
}

const fn kind(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Diverged | Verdict::Inconclusive => Some("error"),
        Verdict::Vacuous => Some("warning"),
        Verdict::WithinPolicy => Some("notice"),
        Verdict::BitExact | Verdict::OrderExplained => None,
    }
}

fn title(b: &Boundary) -> String {
    format!("{}: {}", b.name, word(b.verdict))
}

fn message(b: &Boundary) -> String {
    let (side, m) = leading(b);
    let mut text = match b.verdict {
        Verdict::Vacuous => {
            "the reference is constant or nowhere finite: equality proves nothing".to_owned()
        }
        _ => format!("{side}: {}", wording::measured(m, b.elements)),
    };
    if let Some(cause) = b.cause {
        let _ = write!(text, "\ncause {}: {}", cause.name(), wording::cause(cause));
    }
    if let Some(e) = m.worst.first() {
        let _ = write!(text, "\nworst element {}", element(e, b.grid));
    }
    text
}

/// Adds `::kind title=…::message`, in which nothing ends the line or the command.
fn command(out: &mut String, kind: &str, title: &str, message: &str) {
    let (title, message) = (property(title), data(message));
    let _ = writeln!(out, "::{kind} title={title}::{message}");
}

/// Escapes a message, as the runner unescapes it.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property, as the runner unescapes it. A semicolon means nothing to it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the runner does (`ActionCommand.cs`): the mappings in this order.
    fn unescaped(text: &str) -> String {
        text.replace("%0D", "\r")
            .replace("%0A", "\n")
            .replace("%3A", ":")
            .replace("%2C", ",")
            .replace("%25", "%")
    }

    proptest! {
        #[test]
        fn a_command_is_one_line_that_the_runner_reads_back(title in "[ -~\r\n]*", text: String) {
            let mut out = String::new();
            command(&mut out, "error", &title, &text);
            prop_assert!(out.ends_with('\n'));
            prop_assert!(!out.trim_end_matches('\n').contains(['\n', '\r']));
            let rest = out.strip_prefix("::error title=").unwrap().strip_suffix('\n').unwrap();
            let (found, message) = rest.split_once("::").unwrap();
            prop_assert!(!found.contains([',', ':']));
            prop_assert_eq!(unescaped(found), title);
            prop_assert_eq!(unescaped(message), text);
        }
    }
}
