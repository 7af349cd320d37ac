//! The table of boundaries.

use super::number::{count, magnitude, shape};
use super::style::{Style, Tone, label, tone};
use crate::verdict::Verdict;
use crate::wire::{Boundary, Flag, Measured};

const GAP: &str = "  ";
/// A name is never shortened below this.
const NAME_MIN: usize = 16;
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
    if let Some(limit) = width {
        let total = widths.iter().sum::<usize>() + GAP.len() * (COLUMNS.len() - 1);
        widths[0] = widths[0]
            .saturating_sub(total.saturating_sub(limit))
            .max(NAME_MIN);
        for row in &mut rows {
            row[0].text = shorten(&row[0].text, widths[0]);
        }
    }
    let mut out = String::new();
    let headings = COLUMNS.map(|(heading, _)| Cell::new(Tone::Strong, heading));
    for row in std::iter::once(&headings).chain(&rows) {
        line(&mut out, row, &widths, style);
    }
    out
}

fn line(out: &mut String, row: &[Cell], widths: &[usize], style: Style) {
    let last = row
        .iter()
        .rposition(|cell| !cell.text.is_empty())
        .unwrap_or(0);
    for (i, cell) in row.iter().enumerate().take(last + 1) {
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

/// The end of a name tells boundaries apart, so the beginning goes.
fn shorten(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let tail = name.chars().skip(length + 1 - width);
    std::iter::once('…').chain(tail).collect()
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
