//! The sentences under the table.

use super::policy;
use super::style::{Style, Tone, tone};
use crate::verdict::{Origin, Verdict};
use crate::wire::{Boundary, Flag, Measured, NonInterference, Report};
use crate::wording::{count, counts, element, noun, planted, repeated, truth, word};

/// Renders the summary: how many boundaries came out how, then where to look first.
pub(super) fn render(report: &Report, style: Style) -> String {
    let mut out = String::new();
    let counted = counts(report);
    out.push_str(&style.paint(tone(report.verdict), &counted));
    out.push_str("; ");
    out.push_str(&interference(report.non_interference, style));
    out.push('\n');
    if let Some(planted) = planted(report) {
        out.push_str(&style.paint(Tone::Strong, &planted));
        out.push('\n');
    }
    if let Some(repeat) = &report.repeat {
        out.push_str(&repeated(repeat));
        out.push('\n');
    }
    let first = &report.first_divergence;
    let suspect = [&first.local, &first.inherited].map(|name| report.boundary(name.as_deref()?));
    places(&mut out, "first divergence", suspect, style);
    // A boundary that is merely inconclusive must not hide the first that is wrong.
    let wrong = [Place::Local, Place::Inherited].map(|place| {
        report
            .boundaries
            .iter()
            .find(|b| place.of(b).is_some_and(|m| m.verdict == Verdict::Diverged))
    });
    let news = [0, 1].map(|i| wrong[i].filter(|b| suspect[i].is_none_or(|s| s.name != b.name)));
    places(&mut out, "first diverged", news, style);
    reach(&mut out, report, style);
    let vacuous = |b: &&Boundary| b.verdict == Verdict::Vacuous;
    if report.boundaries.iter().any(|b| vacuous(&b)) {
        let held = style.paint(Tone::Strong, "constant or nowhere finite");
        let found = found(report.boundaries.iter().filter(vacuous));
        out.push_str(&format!(
            "the reference is {held} in {found}: equality proves nothing there\n"
        ));
    }
    let odd = |b: &&Boundary| b.flags.contains(&Flag::NonFinite);
    if report.boundaries.iter().any(|b| odd(&b)) {
        let held = style.paint(Tone::Strong, "NaN or infinities");
        let found = found(report.boundaries.iter().filter(odd));
        out.push_str(&format!("the reference holds {held} in {found}\n"));
    }
    policy::render(&mut out, report, style);
    out
}

/// Which boundaries make errors, and which only hand on what they were given.
fn reach(out: &mut String, report: &Report, style: Style) {
    let with = |wanted: &[Origin]| {
        let all = report.boundaries.iter();
        let of = all.filter(|b| b.origin.is_some_and(|origin| wanted.contains(&origin)));
        of.collect::<Vec<_>>()
    };
    let makes = with(&[Origin::Local, Origin::Both]);
    let inherits = with(&[Origin::Inherited]);
    if makes.is_empty() && inherits.is_empty() {
        return;
    }
    let headings = ["local error", "inherited alone"].map(|text| style.paint(Tone::Strong, text));
    out.push_str(&format!(
        "{} in {}; {} in {}\n",
        headings[0],
        found(makes),
        headings[1],
        found(inherits)
    ));
}

/// How many boundaries, and the first: `3 boundaries, the first sscp_conv_0`.
fn found<'b>(boundaries: impl IntoIterator<Item = &'b Boundary>) -> String {
    let mut all = boundaries.into_iter();
    match all.next() {
        None => "no boundary".to_owned(),
        Some(first) => {
            let n = 1 + all.count() as u64;
            format!("{} {}, the first {}", count(n), noun(n), first.name)
        }
    }
}

#[derive(Clone, Copy)]
enum Place {
    Local,
    Inherited,
}

impl Place {
    const fn of(self, b: &Boundary) -> Option<&Measured> {
        match self {
            Self::Local => b.local.as_ref(),
            Self::Inherited => Some(&b.inherited),
        }
    }
}

/// Describes the local and the inherited finding, once if they are the same boundary.
fn places(out: &mut String, what: &str, found: [Option<&Boundary>; 2], style: Style) {
    let [local, inherited] = found;
    let same = local.zip(inherited).is_some_and(|(a, b)| a.name == b.name);
    if let Some(b) = local {
        let which = if same { "local and inherited" } else { "local" };
        divergence(out, &format!("{what}, {which}"), b, Place::Local, style);
    }
    if let Some(b) = inherited.filter(|_| !same) {
        divergence(
            out,
            &format!("{what}, inherited"),
            b,
            Place::Inherited,
            style,
        );
    }
}

/// `production = tapped = chained`, as far as it was checked.
fn interference(checked: NonInterference, style: Style) -> String {
    let parts = [(checked.tapped, "tapped"), (checked.chained, "chained")];
    if parts.iter().all(|(same, _)| same.is_none()) {
        return "non-interference not checked".to_owned();
    }
    let mut text = "production".to_owned();
    for (same, name) in parts
        .into_iter()
        .filter_map(|(same, name)| Some((same?, name)))
    {
        let (relation, tone) = if same {
            ("=", Tone::Plain)
        } else {
            ("≠", Tone::Bad)
        };
        text += " ";
        text += &style.paint(tone, relation);
        text += " ";
        text += name;
    }
    text
}

fn divergence(out: &mut String, heading: &str, b: &Boundary, place: Place, style: Style) {
    let Some(m) = place.of(b) else { return };
    let cause = b
        .cause
        .map_or(String::new(), |cause| format!(", cause: {}", cause.name()));
    let verdict = word(m.verdict);
    out.push_str(&style.paint(Tone::Strong, heading));
    out.push_str(": ");
    out.push_str(&b.name);
    out.push_str(&format!(
        " ({}{cause})\n",
        style.paint(tone(m.verdict), verdict)
    ));
    if let Some(why) = m
        .failure
        .as_ref()
        .or(m.ulp_reason.as_ref().filter(|_| b.grid.is_float()))
    {
        out.push_str(&format!("  {why}\n"));
    }
    if let Some(worst) = m.worst.first() {
        out.push_str(&format!("  worst element {}\n", element(worst, b.grid)));
    }
    if let Some(said) = truth(b).filter(|_| matches!(place, Place::Local)) {
        out.push_str(&format!("  {said}\n"));
    }
}
