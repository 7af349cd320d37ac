//! The comparison of two reports, for people.

use std::fmt::Write;

use super::{About, BoundaryDiff, Change, Diff, Quantity, Standing};
use crate::verdict::Verdict;
use crate::wording::{count, magnitude, noun, word};

/// Renders what the reports do not agree in, every boundary that is not the same, and a summary.
#[must_use]
pub fn render(diff: &Diff) -> String {
    let mut out = String::new();
    for found in &diff.differences {
        let (about, field) = (found.about.name(), &found.field);
        let _ = writeln!(out, "{about}.{field}: {} → {}", found.before, found.after);
    }
    let hindrances = About::ALL.into_iter().filter(|about| {
        !diff.across.contains(about) && diff.differences.iter().any(|d| d.about == *about)
    });
    let hindrances: Vec<String> = hindrances
        .map(|about| format!("--across {}", about.name()))
        .collect();
    if !hindrances.is_empty() {
        let flags = hindrances.join(" ");
        let _ = writeln!(
            out,
            "nothing is comparable; where that is the point: {flags}"
        );
    }
    for boundary in &diff.boundaries {
        // What hinders all of them is said once.
        let hindered = boundary.standing == Standing::NotComparable && !hindrances.is_empty();
        if boundary.standing != Standing::Same && !hindered {
            line(&mut out, boundary);
        }
    }
    for (names, which) in [(&diff.only_before, "earlier"), (&diff.only_after, "later")] {
        if let Some(first) = names.first() {
            let n = names.len() as u64;
            let noun = noun(n);
            let _ = writeln!(
                out,
                "in the {which} report alone: {} {noun}, the first {first}",
                count(n)
            );
        }
    }
    match diff.non_interference {
        Standing::Worse => out.push_str("worse: tapping or chaining began to change the bits\n"),
        Standing::Better => out.push_str("better: tapping and chaining leave the bits alone now\n"),
        _ => {}
    }
    summary(&mut out, diff);
    out
}

fn summary(out: &mut String, diff: &Diff) {
    let counts = &diff.counts;
    let total = diff.boundaries.len() as u64;
    let parts: Vec<String> = [
        (counts.worse, Standing::Worse),
        (counts.changed, Standing::Changed),
        (counts.better, Standing::Better),
        (counts.not_comparable, Standing::NotComparable),
        (counts.same, Standing::Same),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, standing)| format!("{} {}", count(n), standing.word()))
    .collect();
    let parts = match parts.is_empty() {
        true => "nothing in common".to_owned(),
        false => parts.join(", "),
    };
    let _ = write!(out, "{} {}: {parts}", count(total), noun(total));
    if let Some(first) = &diff.first_changed {
        let _ = write!(out, "; the first that is not the same: {first}");
    }
    out.push('\n');
}

fn line(out: &mut String, boundary: &BoundaryDiff) {
    let mark = match boundary.standing {
        Standing::Same => "=",
        Standing::Better => "↑",
        Standing::Worse => "↓",
        Standing::Changed => "↕",
        Standing::NotComparable => "?",
    };
    let (name, standing) = (&boundary.name, boundary.standing.word());
    let _ = write!(out, "{mark} {standing}  {name}: ");
    if let Some(reason) = &boundary.reason {
        let _ = writeln!(out, "{reason}");
        return;
    }
    if boundary.before != boundary.after {
        let [before, after] = [boundary.before, boundary.after].map(word);
        let _ = write!(out, "{before} → {after}; ");
    }
    let changes: Vec<String> = boundary.changes.iter().map(change).collect();
    let _ = writeln!(out, "{}", changes.join(", "));
}

fn change(change: &Change) -> String {
    let value = |quantity| match quantity {
        Quantity::Verdict(verdict) => verdict_word(verdict),
        Quantity::Count(n) => count(n),
        Quantity::Real(value) => magnitude(value),
        Quantity::None => "off grid".to_owned(),
    };
    format!(
        "{} {} {} → {}",
        change.of.name(),
        change.measure.name(),
        value(change.before),
        value(change.after)
    )
}

fn verdict_word(verdict: Verdict) -> String {
    word(verdict).to_owned()
}
