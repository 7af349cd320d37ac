//! A report as Markdown, for the comment of a pull request: what matters first, and never longer
//! than a comment may be.
//!
//! The first divergence comes first, then a table of everything that is not bit-exact (diverged
//! boundaries before others, those that make an error before those that only hand one on), then
//! the worst elements, folded. What does not fit is left out, from the end of that order, and a
//! line says how much.

mod escape;

pub use escape::code;

use crate::verdict::{Origin, Verdict};
use crate::wire::{Boundary, Flag, Report};
use crate::wording::{
    self, clipped, count, element, label, leading, magnitude, noun, shape, visible,
};

/// Bytes a comment has at most; GitHub takes 65,536 characters.
pub const COMMENT: usize = 60_000;

/// Characters of a name or a message; they are not ours, and may be of any length.
const TEXT: usize = 200;
/// Bytes kept for the lines that say what was left out, and for closing tags.
const CLOSING: usize = 400;
/// Worst elements shown of a boundary.
const WORST: usize = 8;
/// Entries of a list in the heading.
const LISTED: usize = 10;

/// Text that never gets longer than it may.
struct Page {
    text: String,
    limit: usize,
}

impl Page {
    /// Adds a piece, whole or not at all; whether it did.
    fn add(&mut self, piece: &str) -> bool {
        let fits = self.text.len() + piece.len() + CLOSING <= self.limit;
        if fits {
            self.text.push_str(piece);
        }
        fits
    }

    /// Adds what the bytes kept for it are enough for.
    fn close(&mut self, piece: &str) {
        if self.text.len() + piece.len() <= self.limit {
            self.text.push_str(piece);
        }
    }
}

/// A report as Markdown of at most `limit` bytes, which should be some thousands.
#[must_use]
pub fn render(report: &Report, limit: usize) -> String {
    let mut page = Page {
        text: String::new(),
        limit,
    };
    page.add(&heading(report));
    for piece in first(report) {
        page.add(&piece);
    }
    page.add(&circumstances(report));
    let listed = ordered(report);
    let shown = table(&mut page, &listed);
    worst(&mut page, &listed[..shown]);
    page.text
}

fn heading(report: &Report) -> String {
    let mark = label(report.verdict).chars().next().unwrap_or('?');
    let tool = code(&report.tool.name, TEXT);
    let mut text = format!("## {mark} {tool}: {}\n\n", wording::counts(report));
    let model = &report.model;
    text += &format!(
        "{}, profile {}, contract {}, {} frames, clips: {}; {}; exit code {}.\n\n",
        code(&model.kind, TEXT),
        code(&model.profile, TEXT),
        code(&model.contract, TEXT),
        model.bucket,
        model.clips,
        wording::interference(report.non_interference),
        report.exit_code,
    );
    if let Some(said) = wording::planted(report) {
        text += &format!("{}.\n\n", escape::text(&visible(&clipped(&said, 2 * TEXT))));
    }
    if let Some(repeat) = &report.repeat {
        let said = wording::repeated(repeat);
        text += &format!("{}.\n\n", escape::text(&visible(&clipped(&said, 2 * TEXT))));
    }
    let relaxed = &report.policy.relaxed;
    if let Some(file) = &report.policy.file {
        let n = relaxed.len();
        text += &format!("Judged by the policy {}", code(file, TEXT));
        text += match n {
            0 => ", which demands equal bits everywhere.\n\n",
            _ => ", which demands less than equal bits of:\n\n",
        };
        text += &list(relaxed);
    }
    text
}

/// The first of a list, and how many more there are.
fn list(items: &[String]) -> String {
    let mut text = String::new();
    for item in items.iter().take(LISTED) {
        text += &format!("- {}\n", code(item, TEXT));
    }
    if items.len() > LISTED {
        text += &format!("- … {} more\n", count((items.len() - LISTED) as u64));
    }
    if !items.is_empty() {
        text.push('\n');
    }
    text
}

/// The first divergence, local and inherited.
fn first(report: &Report) -> Vec<String> {
    let first = &report.first_divergence;
    let found = [&first.local, &first.inherited].map(|name| report.boundary(name.as_deref()?));
    let mut pieces = Vec::new();
    match found {
        [Some(a), Some(b)] if a.name == b.name => {
            pieces.push(divergence("First divergence, local and inherited", a, true));
        }
        [local, inherited] => {
            pieces.extend(local.map(|b| divergence("First divergence, local", b, true)));
            pieces.extend(inherited.map(|b| divergence("First divergence, inherited", b, false)));
        }
    }
    pieces
}

fn divergence(heading: &str, b: &Boundary, local: bool) -> String {
    let m = b.local.as_ref().filter(|_| local).unwrap_or(&b.inherited);
    let mut text = format!("**{heading}: {}**\n\n", code(&b.name, TEXT));
    let what = format!(
        "{}, {} {}: {}",
        wording::word(m.verdict),
        shape(&b.shape),
        b.grid,
        wording::measured(m, b.elements)
    );
    text += &format!("- {}\n", escape::text(&visible(&clipped(&what, 2 * TEXT))));
    if let Some(cause) = b.cause {
        text += &format!("- cause `{}`: {}\n", cause.name(), wording::cause(cause));
    }
    let why = m.ulp_reason.iter().filter(|_| b.grid.is_float()).cloned();
    let ruled = b.policy.iter().flat_map(wording::ruling);
    for line in why.chain(ruled) {
        text += &format!("- {}\n", escape::text(&visible(&clipped(&line, 2 * TEXT))));
    }
    if let Some(e) = m.worst.first() {
        text += &format!("- worst element {}\n", escape::text(&element(e, b.grid)));
    }
    text.push('\n');
    text
}

/// What was run, on what.
fn circumstances(report: &Report) -> String {
    let command = wording::command(&report.command);
    let mut text = format!(
        "<details><summary>Command and fingerprint</summary>\n\n{}\n\n| | |\n|---|---|\n",
        code(&command, 2000)
    );
    for (name, value) in report.fingerprint.entries() {
        text += &format!("| {} | {} |\n", code(&name, 60), code(&value, TEXT));
    }
    text += "\n</details>\n\n";
    text
}

/// Boundaries that are not bit-exact, what matters most first; graph order among equals.
fn ordered(report: &Report) -> Vec<&Boundary> {
    let mut listed: Vec<&Boundary> = report.boundaries.iter().collect();
    listed.retain(|b| b.verdict != Verdict::BitExact);
    listed.sort_by_key(|b| {
        (
            std::cmp::Reverse(b.verdict),
            b.origin == Some(Origin::Inherited),
        )
    });
    listed
}

/// Adds the table; how many boundaries it shows.
fn table(page: &mut Page, listed: &[&Boundary]) -> usize {
    const HEAD: &str = "| boundary | grid | ≠local | ≠inherited | of | max ULP | max abs | verdict | cause |\n\
                        |---|---|---:|---:|---:|---:|---:|---|---|\n";
    if listed.is_empty() || !page.add(HEAD) {
        return 0;
    }
    let shown = listed.iter().take_while(|b| page.add(&row(b))).count();
    page.close("\n");
    if shown < listed.len() {
        let left = (listed.len() - shown) as u64;
        page.close(&format!(
            "… and {} more {} that are not bit-exact, left out here.\n\n",
            count(left),
            noun(left)
        ));
    }
    shown
}

fn row(b: &Boundary) -> String {
    let none = "–".to_owned();
    let (_, m) = leading(b);
    let differing = |n: Option<u64>| n.map_or_else(|| none.clone(), count);
    let ulp = match &m.ulp {
        Some(ulp) => count(ulp.max),
        None if b.flags.contains(&Flag::OffGrid) => "off grid".to_owned(),
        None => none.clone(),
    };
    format!(
        "| {} | {} | {} | {} | {} | {ulp} | {} | {} | {} |\n",
        code(&b.name, TEXT),
        b.grid,
        differing(b.local.as_ref().and_then(|local| local.differing)),
        differing(b.inherited.differing),
        count(b.elements),
        m.max_abs.map_or_else(|| none.clone(), magnitude),
        label(b.verdict),
        b.cause.map_or("", |cause| cause.name()),
    )
}

/// Adds the worst elements of boundaries, folded.
fn worst(page: &mut Page, listed: &[&Boundary]) {
    let with: Vec<&&Boundary> = listed
        .iter()
        .filter(|b| !leading(b).1.worst.is_empty())
        .collect();
    if with.is_empty() || !page.add("<details><summary>Worst elements</summary>\n\n") {
        return;
    }
    let mut shown = 0;
    for b in &with {
        let (side, m) = leading(b);
        let mut piece = format!("{}, {side}:\n\n```text\n", code(&b.name, TEXT));
        for e in m.worst.iter().take(WORST) {
            // Of numbers alone, so that nothing ends the fence.
            piece += &format!("{}\n", visible(&element(e, b.grid)));
        }
        if m.worst.len() > WORST {
            piece += "…\n";
        }
        piece += "```\n\n";
        if !page.add(&piece) {
            break;
        }
        shown += 1;
    }
    if shown < with.len() {
        let left = (with.len() - shown) as u64;
        page.close(&format!(
            "… and those of {} more {}, left out here.\n\n",
            count(left),
            noun(left)
        ));
    }
    page.close("</details>\n");
}
