//! What the policy of a report let through, and what it did not.

use super::style::{Style, Tone};
use crate::policy::Part;
use crate::wire::{Boundary, Report, Ruled};
use crate::wording::{count, noun};

/// How many relaxed entries are listed; the report has all of them.
const LISTED: usize = 40;

/// Renders nothing for a report without a policy.
pub(super) fn render(out: &mut String, report: &Report, style: Style) {
    let Some(file) = &report.policy.file else {
        return;
    };
    let relaxed = &report.policy.relaxed;
    let policy = style.paint(Tone::Strong, "policy");
    match relaxed.len() {
        0 => out.push_str(&format!("{policy} {file}: nothing is relaxed\n")),
        n => {
            let entries = if n == 1 { "entry" } else { "entries" };
            let n = count(n as u64);
            out.push_str(&format!("{policy} {file}: {n} relaxed {entries}\n"));
        }
    }
    for entry in relaxed.iter().take(LISTED) {
        out.push_str(&format!("  {entry}\n"));
    }
    if relaxed.len() > LISTED {
        let more = count((relaxed.len() - LISTED) as u64);
        out.push_str(&format!("  … and {more} more\n"));
    }
    reasons(out, report, style, "not as demanded", |ruled| &ruled.broken);
    reasons(out, report, style, "not decided", |ruled| &ruled.undecided);
}

/// How many boundaries there are reasons for, and those of the first.
fn reasons(
    out: &mut String,
    report: &Report,
    style: Style,
    heading: &str,
    of: fn(&Ruled) -> &Vec<String>,
) {
    let all = |b: &Boundary| -> Vec<String> {
        let each = Part::EACH.into_iter();
        let each = each.filter_map(|part| Some((part, part.ruled(b.policy.as_ref()?)?)));
        each.flat_map(|(part, ruled)| {
            let reasons = of(ruled).iter();
            reasons.map(move |reason| format!("{}: {reason}", part.name()))
        })
        .collect()
    };
    let mut found = report
        .boundaries
        .iter()
        .filter(|b| b.policy.is_some())
        .map(|b| (b, all(b)))
        .filter(|(_, reasons)| !reasons.is_empty());
    let Some((first, reasons)) = found.next() else {
        return;
    };
    let n = 1 + found.count() as u64;
    out.push_str(&format!(
        "{}: {} {}, the first {}\n",
        style.paint(Tone::Strong, heading),
        count(n),
        noun(n),
        first.name
    ));
    for reason in reasons {
        out.push_str(&format!("  {reason}\n"));
    }
}
