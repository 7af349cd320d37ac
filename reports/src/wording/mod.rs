//! What a report says, in the words that all writers for people share.

mod number;

pub(crate) use number::{count, magnitude, shape};

use std::borrow::Cow;
use std::fmt::Write;

use crate::Grid;
use crate::measure::ulp::distance;
use crate::verdict::{Cause, Origin, Verdict};
use crate::wire::{
    Boundary, EvidenceLevel, Flag, Measured, NonInterference, Repeat, Report, Ruled, Ruling,
    WorstElement,
};

/// A verdict with a mark that says the same without colours.
pub(crate) const fn label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::BitExact => "✓ bit-exact",
        Verdict::OrderExplained => "✓ order-explained",
        Verdict::WithinPolicy => "~ within policy",
        Verdict::Vacuous => "∅ vacuous",
        Verdict::Inconclusive => "? inconclusive",
        Verdict::Diverged => "✗ diverged",
    }
}

/// The verdict as a word of a sentence.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    label(verdict).split_once(' ').map_or("", |(_, word)| word)
}

pub(crate) const fn noun(boundaries: u64) -> &'static str {
    match boundaries {
        1 => "boundary",
        _ => "boundaries",
    }
}

/// What a cause means.
pub(crate) const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Backend => "the compiler or runtime did not honour the graph",
        Cause::Contract => "the graph states other arithmetic than the reference uses",
        Cause::Both => {
            "the graph states other arithmetic than the reference uses, \
             and the compiler or runtime did not honour it"
        }
    }
}

/// What an origin means.
pub(crate) const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Local => "made here, from right inputs",
        Origin::Inherited => "only handed on",
        Origin::Both => "made here, and handed on as well",
    }
}

/// What an evidence level means; nothing of none.
pub(crate) const fn evidence(level: EvidenceLevel) -> Option<&'static str> {
    match level {
        EvidenceLevel::E0 => None,
        EvidenceLevel::E1 => Some("inside an error interval, which explains nothing"),
        EvidenceLevel::E2 => Some("each element is a sum some order gives, which explains nothing"),
        EvidenceLevel::E3 => Some("one schedule reproduces all outputs"),
        EvidenceLevel::E4 => {
            Some("the tree revealed on the production kernel reproduces all outputs")
        }
    }
}

/// What a flag means.
pub(crate) const fn flag(flag: Flag) -> &'static str {
    match flag {
        Flag::OffGrid => "values are off the declared grid",
        Flag::NonFinite => "the reference holds a NaN or an infinity",
        Flag::Unguarded => "no negative control was caught here",
    }
}

/// How the boundaries came out: `2 of 3 boundaries bit-exact, 1 diverged`.
pub(crate) fn counts(report: &Report) -> String {
    let total = report.boundaries.len() as u64;
    let of = |verdict| {
        let all = report.boundaries.iter();
        all.filter(|b| b.verdict == verdict).count() as u64
    };
    let exact = count(of(Verdict::BitExact));
    let noun = noun(total);
    let mut text = format!("{exact} of {} {noun} bit-exact", count(total));
    for verdict in Verdict::ALL.into_iter().skip(1) {
        let n = of(verdict);
        if n > 0 {
            let _ = write!(text, ", {} {}", count(n), word(verdict));
        }
    }
    text
}

/// `production = tapped = chained`, as far as it was checked.
pub(crate) fn interference(checked: NonInterference) -> String {
    let parts = [(checked.tapped, "tapped"), (checked.chained, "chained")];
    if parts.iter().all(|(same, _)| same.is_none()) {
        return "non-interference not checked".to_owned();
    }
    let mut text = "production".to_owned();
    for (same, name) in parts {
        if let Some(same) = same {
            let _ = write!(text, " {} {name}", if same { "=" } else { "≠" });
        }
    }
    text
}

/// That a mistake was made on purpose, if so: such a run never passes.
pub(crate) fn planted(report: &Report) -> Option<String> {
    let mistake = report.planted.as_ref()?;
    Some(format!("planted in the candidate's graph: {mistake}"))
}

/// How far both sides are from what the step gives without roundings, where that was computed and
/// they are not the same.
pub(crate) fn truth(boundary: &Boundary) -> Option<String> {
    let truth = boundary.truth.as_ref()?;
    let (reference, candidate) = (truth.reference.rms, truth.candidate?.rms);
    let nearer = match reference.partial_cmp(&candidate)? {
        std::cmp::Ordering::Less => "the reference is nearer",
        std::cmp::Ordering::Equal => "both are as near",
        std::cmp::Ordering::Greater => "the candidate is nearer",
    };
    let condition = truth.condition.map_or(String::new(), |condition| {
        format!("; the worst elements amplify an error {condition:.3e} times")
    });
    Some(format!(
        "from the F64 truth the reference is {reference:.3e} rms, the candidate {candidate:.3e}: \
         {nearer}{condition}"
    ))
}

/// Whether the sides gave the same bits each time: `each side run 3 times: the same bits`.
pub(crate) fn repeated(repeat: &Repeat) -> String {
    let mut text = format!("each side run {} times: ", repeat.runs);
    let sides = [
        ("reference", &repeat.reference),
        ("candidate", &repeat.candidate),
    ];
    let unsteady: Vec<String> = sides
        .into_iter()
        .filter_map(|(side, at)| Some((side, at.as_ref().filter(|at| !at.is_empty())?)))
        .map(|(side, at)| {
            let n = at.len() as u64;
            let first = at.first().map_or("", String::as_str);
            let (count, noun) = (count(n), noun(n));
            format!("the {side} differs from itself in {count} {noun}, the first {first}")
        })
        .collect();
    if unsteady.is_empty() {
        text.push_str("the same bits");
    } else {
        text.push_str(&unsteady.join("; "));
    }
    text
}

/// What a policy says of a boundary, a line for each error.
pub(crate) fn ruling(ruling: &Ruling) -> Vec<String> {
    let sides = [
        ("local", ruling.local.as_ref()),
        ("inherited", Some(&ruling.inherited)),
    ];
    let said = |side: &str, ruled: &Ruled| {
        let mut text = format!("policy, {side}: demands {}", ruled.demand);
        if let Some(entry) = &ruled.entry {
            let _ = write!(text, " by its entry {entry}");
        }
        for (what, of) in [("broken", &ruled.broken), ("undecided", &ruled.undecided)] {
            if !of.is_empty() {
                let _ = write!(text, "; {what}: {}", of.join(", "));
            }
        }
        text
    };
    let ruled = sides.into_iter().filter_map(|(side, r)| Some((side, r?)));
    ruled.map(|(side, ruled)| said(side, ruled)).collect()
}

/// An element of both sides, and how far apart they are.
pub(crate) fn element(e: &WorstElement, grid: Grid) -> String {
    let WorstElement {
        index,
        reference,
        candidate,
        reference_bits,
        candidate_bits,
        ..
    } = e;
    let apart = match steps(e, grid) {
        Some((steps, grid)) => format!(", {} {grid} ULP apart", count(steps.into())),
        None => String::new(),
    };
    format!(
        "{index:?}: reference {reference} ({reference_bits}), \
         candidate {candidate} ({candidate_bits}){apart}"
    )
}

/// The distance of the sides of an element on the declared grid, or in F32 steps off it.
pub(crate) fn steps(e: &WorstElement, grid: Grid) -> Option<(u32, Grid)> {
    let on = |grid| {
        Some((
            distance(e.reference_bits.0, e.candidate_bits.0, grid)?,
            grid,
        ))
    };
    on(grid).or_else(|| on(Grid::F32).filter(|_| grid.is_float()))
}

/// The comparison to look at first: the local one where it is wrong, else the inherited one.
pub(crate) fn leading(b: &Boundary) -> (&'static str, &Measured) {
    match &b.local {
        Some(local) if local.verdict >= b.inherited.verdict => ("local", local),
        _ => ("inherited", &b.inherited),
    }
}

/// A measurement in one line: `3 of 549 elements differ, at most 1 F32 ULP and 1.562e-2`.
pub(crate) fn measured(m: &Measured, elements: u64) -> String {
    if let Some(why) = &m.failure {
        return why.clone();
    }
    let Some(differing) = m.differing else {
        return "not measured".to_owned();
    };
    let mut text = format!(
        "{} of {} elements differ",
        count(differing),
        count(elements)
    );
    if differing == 0 {
        return text;
    }
    if let Some(ulp) = &m.ulp {
        let _ = write!(text, ", at most {} {} ULP", count(ulp.max), ulp.grid);
    } else if let Some(ulp) = m.ulp_f32.as_ref().filter(|ulp| ulp.max > 0) {
        let _ = write!(text, ", at most {} F32 ULP", count(ulp.max));
    }
    if let Some(max_abs) = m.max_abs {
        let _ = write!(text, ", max abs {}", magnitude(max_abs));
    }
    for (n, what) in [
        (m.nan, "NaN"),
        (m.inf, "infinities"),
        (m.neg_zero, "signs of zero"),
    ] {
        if let Some(n) = n.filter(|&n| n > 0) {
            let _ = write!(text, ", {} differ in {what}", count(n));
        }
    }
    text
}

/// Text with everything in it that is not seen, or that changes the order of what is, written out:
/// control characters, line and paragraph separators, marks and overrides of direction.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c,
                '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            )
    };
    if !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// At most so many characters of a text, with an ellipsis where more are left out.
pub(crate) fn clipped(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let kept: String = text.chars().take(characters.saturating_sub(1)).collect();
            Cow::Owned(kept + "…")
        }
    }
}

/// A command line that a POSIX shell reads as these words again.
pub(crate) fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            return word.clone();
        }
        format!("'{}'", word.replace('\'', r"'\''"))
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_written_out() {
        assert_eq!(visible("sscp_conv_0.norm"), "sscp_conv_0.norm");
        assert_eq!(visible("a\nb\u{202e}c\u{200b}é"), r"a\nb\u{202e}c\u{200b}é");
    }

    #[test]
    fn long_texts_are_clipped_at_characters() {
        assert_eq!(clipped("äöü", 3), "äöü");
        assert_eq!(clipped("äöüß", 3), "äö…");
    }

    #[test]
    fn a_shell_reads_the_command_again() {
        let words = ["qualify", "--stage", "conformer.*.norm", "", "it's"].map(str::to_owned);
        assert_eq!(
            command(&words),
            r"qualify --stage 'conformer.*.norm' '' 'it'\''s'"
        );
    }
}
