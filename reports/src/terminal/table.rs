//! The table of boundaries.

use super::style::{Style, Tone, tone};
use crate::verdict::Verdict;
use crate::wire::{Boundary, Flag, Measured};
use crate::wording::{count, label, magnitude, shape};

const GAP: &str = "  ";
/// A name is never shortened below this.
const NAME_MIN: usize = 16;
/// Columns that a narrow terminal does without, the least useful first.
const DROPPED: [&str; 5] = ["elements", "shape", "max abs", "grid", "≠interp"];
const NONE: &str = "–";

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Heading and alignment; the columns with ≠ count differing elements.
const COLUMNS: [(&str, Side); 11] = [
    ("boundary", Side::Left),
    ("shape", Side::Left),
    ("grid", Side::Left),
    ("elements", Side::Right),
    ("≠inherited", Side::Right),
    ("≠local", Side::Right),
    ("≠interp", Side::Right),
    ("max ULP", Side::Right),
    ("max abs", Side::Right),
    ("verdict", Side::Left),
    ("cause", Side::Left),
];

struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }

    /// A number that is good when it is 0.
    fn error(text: Option<String>) -> Self {
        match text {
            None => Self::new(Tone::Faint, NONE),
            Some(zero) if zero == "0" => Self::new(Tone::Faint, zero),
            Some(text) => Self::new(Tone::Plain, text),
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// Renders the table, a line for each boundary and one of headings.
pub(super) fn render(boundaries: &[Boundary], style: Style, width: Option<usize>) -> String {
    let mut rows: Vec<[Cell; COLUMNS.len()]> = boundaries.iter().map(row).collect();
    let mut widths = COLUMNS.map(|(heading, _)| heading.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    if let Some(limit) = width {
        narrow(&mut shown, &mut widths, limit);
        for row in &mut rows {
            row[0].text = shorten(&row[0].text, widths[0]);
        }
    }
    let mut out = String::new();
    let headings = COLUMNS.map(|(heading, _)| Cell::new(Tone::Strong, heading));
    for row in std::iter::once(&headings).chain(&rows) {
        line(&mut out, row, &shown, &widths, style);
    }
    out
}

/// Drops columns until the rest fits, then shortens names.
fn narrow(shown: &mut Vec<usize>, widths: &mut [usize], limit: usize) {
    let total = |shown: &[usize], widths: &[usize]| {
        let gaps = GAP.len() * (shown.len() - 1);
        shown.iter().map(|&i| widths[i]).sum::<usize>() + gaps
    };
    for heading in DROPPED {
        if total(shown, widths) <= limit {
            return;
        }
        shown.retain(|&i| COLUMNS[i].0 != heading);
    }
    let over = total(shown, widths).saturating_sub(limit);
    widths[0] = widths[0].saturating_sub(over).max(NAME_MIN.min(widths[0]));
}

fn line(out: &mut String, row: &[Cell], shown: &[usize], widths: &[usize], style: Style) {
    let filled = |&&i: &&usize| !row[i].text.is_empty();
    let last = shown.iter().rfind(filled).copied().unwrap_or(0);
    for &i in shown.iter().take_while(|&&i| i <= last) {
        let cell = &row[i];
        let pad = " ".repeat(widths[i].saturating_sub(cell.width()));
        let text = style.paint(cell.tone, &cell.text);
        if i > 0 {
            out.push_str(GAP);
        }
        match COLUMNS[i].1 {
            Side::Right => out.extend([pad.as_str(), &text]),
            Side::Left if i == last => out.push_str(&text),
            Side::Left => out.extend([text.as_ref(), &pad]),
        }
    }
    out.push('\n');
}

/// The beginning of a name says which block it is of and the end what, so the middle goes.
fn shorten(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept / 2, kept - kept / 2);
    let start = name.chars().take(head);
    let end = name.chars().skip(length - tail);
    start.chain(['…']).chain(end).collect()
}

fn row(b: &Boundary) -> [Cell; COLUMNS.len()] {
    let differing = |measured: &Measured| Cell::error(measured.differing.map(count));
    let name_tone = if b.verdict == Verdict::Diverged {
        Tone::Strong
    } else {
        Tone::Plain
    };
    [
        Cell::new(name_tone, &b.name),
        Cell::new(Tone::Faint, shape(&b.shape)),
        Cell::new(Tone::Faint, b.grid.name()),
        Cell::new(Tone::Faint, count(b.elements)),
        differing(&b.inherited),
        b.local
            .as_ref()
            .map_or_else(|| Cell::error(None), differing),
        Cell::error(b.interp.map(|interp| count(interp.differing))),
        max_ulp(b),
        max_abs(b),
        Cell::new(tone(b.verdict), label(b.verdict)),
        Cell::new(Tone::Plain, b.cause.map_or("", |cause| cause.name())),
    ]
}

/// The local measurement, where there is one, and the inherited one.
const fn measured(b: &Boundary) -> [Option<&Measured>; 2] {
    [b.local.as_ref(), Some(&b.inherited)]
}

/// The larger of the local and the inherited distance on the declared grid.
fn max_ulp(b: &Boundary) -> Cell {
    if b.flags.contains(&Flag::OffGrid) {
        return Cell::new(Tone::Doubtful, "off grid");
    }
    let ulps = measured(b)
        .into_iter()
        .flatten()
        .filter_map(|m| m.ulp.as_ref());
    Cell::error(ulps.map(|ulp| ulp.max).max().map(count))
}

/// The larger of the local and the inherited difference; `NaN` or `inf` where such a value stands
/// against another, which no finite difference can outdo.
fn max_abs(b: &Boundary) -> Cell {
    let both: Vec<&Measured> = measured(b).into_iter().flatten().collect();
    let any = |of: fn(&Measured) -> Option<u64>| both.iter().any(|m| of(m).is_some_and(|n| n > 0));
    if any(|m| m.nan) {
        return Cell::new(Tone::Bad, "NaN");
    }
    if any(|m| m.inf) {
        return Cell::new(Tone::Bad, "inf");
    }
    Cell::error(
        both.iter()
            .filter_map(|m| m.max_abs)
            .reduce(f64::max)
            .map(magnitude),
    )
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn the_middle_of_a_name_goes() {
        let name = "conformer.0.attention.relative_shift";
        assert_eq!(shorten(name, 36), name);
        assert_eq!(shorten(name, 25), "conformer.0.…lative_shift");
        assert_eq!(shorten(name, 1), "…");
    }
}
