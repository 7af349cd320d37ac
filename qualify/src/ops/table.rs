//! What came of the catalogue, as text.

use std::fmt::Write;

use reports::wire::{Baseline, OpCase, OpElement, Ops};

/// How many cases of a kind are told one by one.
const NAMED: usize = 40;

/// The sides in the order of their columns.
const SIDES: [&str; 3] = ["interp", "iree fma", "iree no-fma"];

/// A line a primitive and dtype, then what differs, what changed, and the sums.
pub fn render(ops: &Ops) -> String {
    let mut out = lines(&ops.cases);
    let (mut differing, mut failed) = (Vec::new(), Vec::new());
    for case in ops.cases.iter().filter(|case| !case.is_equal()) {
        if case.differs() {
            differing.push(case);
        } else {
            failed.push(case);
        }
    }
    cases(&mut out, "differing", &differing);
    cases(&mut out, "failed", &failed);
    if let Some(baseline) = &ops.baseline {
        changes(&mut out, baseline);
    }
    let summary = &ops.summary;
    let _ = writeln!(
        out,
        "\n{} of {} cases bit-exact on all sides, {} differ, {} failed; {} elements",
        summary.equal,
        summary.cases,
        summary.differing,
        summary.failed,
        grouped(summary.elements)
    );
    out
}

/// Cases of one primitive and dtype.
struct Row<'c> {
    primitive: &'c str,
    dtype: &'c str,
    cases: Vec<&'c OpCase>,
}

fn lines(cases: &[OpCase]) -> String {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for case in cases {
        let (primitive, dtype) = (&*case.primitive, &*case.dtype);
        match rows
            .iter_mut()
            .find(|row| (row.primitive, row.dtype) == (primitive, dtype))
        {
            Some(row) => row.cases.push(case),
            None => rows.push(Row {
                primitive,
                dtype,
                cases: vec![case],
            }),
        }
    }
    let width = rows.iter().map(|row| row.primitive.chars().count());
    let width = width.chain(["primitive".len()]).max().unwrap_or(0);
    let line = |cells: [&str; 7]| {
        let [primitive, dtype, cases, elements, interp, fma, no_fma] = cells;
        format!(
            "{primitive:<width$}  {dtype:<5}  {cases:>5}  {elements:>12}  {interp:>9}  {fma:>9}  \
             {no_fma:>12}\n"
        )
    };
    let mut out = line([
        "primitive",
        "dtype",
        "cases",
        "elements",
        "≠interp",
        "≠iree",
        "≠iree no-fma",
    ]);
    for row in &rows {
        let elements: u64 = row.cases.iter().map(|case| case.elements).sum();
        let counts = SIDES.map(|side| count(&row.cases, side));
        let [interp, fma, no_fma] = counts.each_ref().map(String::as_str);
        let (cases, elements) = (row.cases.len().to_string(), grouped(elements));
        out += &line([
            row.primitive,
            row.dtype,
            &cases,
            &elements,
            interp,
            fma,
            no_fma,
        ]);
    }
    out
}

/// In how many elements a side differs: `–` where it has none, `failed` where it gave nothing.
fn count(cases: &[&OpCase], side: &str) -> String {
    let mut sides = cases
        .iter()
        .flat_map(|case| case.compared())
        .filter(|(name, _)| name == side)
        .peekable();
    if sides.peek().is_none() {
        return "–".to_owned();
    }
    let mut differing = 0;
    for (_, side) in sides {
        match side.differing {
            Some(n) => differing += n,
            None => return "failed".to_owned(),
        }
    }
    grouped(differing)
}

fn cases(out: &mut String, what: &str, cases: &[&OpCase]) {
    if cases.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{what}:");
    for case in cases.iter().take(NAMED) {
        let mut line = format!("  {}: ", case.name);
        let counts: Vec<String> = case
            .compared()
            .filter_map(|(name, side)| Some(format!("{name} {}", grouped(side.differing?))))
            .collect();
        let cause = match case.cause {
            Some(cause) => format!(" (cause: {})", cause.name()),
            None => String::new(),
        };
        let _ = if counts.is_empty() {
            write!(line, "of {} elements none compared", grouped(case.elements))
        } else {
            let of = grouped(case.elements);
            write!(line, "of {of} elements differ {}{cause}", counts.join(", "))
        };
        out.push_str(&line);
        out.push('\n');
        let mlx = ("mlx".to_owned(), &case.mlx);
        for (name, side) in std::iter::once(mlx).chain(case.compared()) {
            if let Some(error) = &side.error {
                let _ = writeln!(out, "    {name} {}", error.replace('\n', "\n      "));
            }
        }
        for element in &case.first {
            let _ = writeln!(out, "    {}", told(element));
        }
    }
    more(out, cases.len());
}

/// An element: operands, then each side.
fn told(element: &OpElement) -> String {
    let operands: Vec<String> = element.operands.iter().map(ToString::to_string).collect();
    let mut text = format!("[{}]", element.element);
    if !operands.is_empty() {
        let _ = write!(text, " of {}", operands.join(" "));
    }
    let _ = write!(text, ": mlx {}", element.mlx);
    if let Some(interp) = element.interp {
        let _ = write!(text, ", interp {interp}");
    }
    for iree in &element.iree {
        let _ = write!(text, ", iree {} {}", iree.target, iree.bits);
    }
    text
}

fn changes(out: &mut String, baseline: &Baseline) {
    let _ = writeln!(out, "\nagainst the run of {}:", baseline.created);
    if baseline.fingerprint.is_empty() {
        out.push_str("  the same versions, libraries and processor\n");
    }
    for difference in &baseline.fingerprint {
        let (what, before, now) = (&difference.what, &difference.before, &difference.now);
        let _ = writeln!(out, "  {what}: {before} → {now}");
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for changed in baseline.changes.iter().flat_map(|change| &change.changed) {
        match counts.iter_mut().find(|(name, _)| name == changed) {
            Some((_, count)) => *count += 1,
            None => counts.push((changed, 1)),
        }
    }
    if counts.is_empty() {
        out.push_str("  no case changed\n");
    }
    for (what, count) in counts {
        let cases = if count == 1 { "case" } else { "cases" };
        let _ = writeln!(out, "  {what} changed in {count} {cases}");
    }
    let changed: Vec<String> = baseline
        .changes
        .iter()
        .map(|change| {
            let word = |equal| if equal { "equal" } else { "not equal" };
            let (was, is) = (word(change.was_equal), word(change.is_equal));
            format!(
                "{} ({}): was {was}, is {is}",
                change.name,
                change.changed.join(", ")
            )
        })
        .collect();
    list(out, "changed", &changed);
    list(out, "new", &baseline.new);
    list(out, "removed", &baseline.removed);
    list(out, "better", &baseline.better);
    list(out, "worse", &baseline.worse);
}

fn list(out: &mut String, what: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {what}:");
    for name in names.iter().take(NAMED) {
        let _ = writeln!(out, "    {name}");
    }
    more(out, names.len());
}

fn more(out: &mut String, all: usize) {
    if let Some(more) = all.checked_sub(NAMED).filter(|&n| n > 0) {
        let _ = writeln!(out, "    … {more} more");
    }
}

/// A number with commas between groups of three digits.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
