//! A report as CSV (RFC 4180, UTF-8): a line for each boundary, in graph order.
//!
//! What was not measured is an empty field. Extents are joined by `x`, lists by `;`. Numbers have
//! as many digits as read back as the same binary64. A text that a spreadsheet would take for a
//! formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage return) has a `'` before it.

use std::borrow::Cow;

use serde::Serialize;

use crate::wire::{Boundary, Measured, Report, WorstElement};

/// Why a report was not put in the form of CSV. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("write the report as CSV")]
pub struct CsvError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// What is said of a boundary before its measurements.
const LEADING: [&str; 10] = [
    "boundary", "stage", "shape", "grid", "elements", "verdict", "cause", "origin", "flags",
    "parents",
];
/// What is said of the local and of the inherited measurement, after `local_` and `inherited_`.
const MEASURED: [&str; 18] = [
    "verdict",
    "failure",
    "differing",
    "ulp_grid",
    "ulp_max",
    "ulp_mean",
    "ulp_over_one",
    "ulp_f32_max",
    "max_abs",
    "rms",
    "max_rel",
    "nan",
    "inf",
    "neg_zero",
    "worst_index",
    "worst_reference",
    "worst_candidate",
    "worst_bits",
];
/// What is said of it behind them.
const TRAILING: [&str; 11] = [
    "interp_differing",
    "interp_candidate_differing",
    "share_local",
    "evidence",
    "schedule",
    "guarded_by",
    "truth_reference_max_abs",
    "truth_reference_rms",
    "truth_candidate_max_abs",
    "truth_candidate_rms",
    "condition",
];

/// A report as CSV, the first line being that of headings.
///
/// # Errors
/// None in practice: memory takes every line.
pub fn render(report: &Report) -> Result<String, CsvError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let headings = LEADING.iter().map(|&name| name.to_owned());
    let sides = ["local", "inherited"]
        .into_iter()
        .flat_map(|side| MEASURED.map(|name| format!("{side}_{name}")));
    let trailing = TRAILING.iter().map(|&name| name.to_owned());
    let failed = |error: ::csv::Error| CsvError(Box::new(error));
    let line: Vec<String> = headings.chain(sides).chain(trailing).collect();
    writer.write_record(&line).map_err(failed)?;
    for boundary in &report.boundaries {
        writer.write_record(row(boundary)).map_err(failed)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| CsvError(Box::new(error.into_error())))?;
    String::from_utf8(bytes).map_err(|error| CsvError(Box::new(error)))
}

fn row(b: &Boundary) -> Vec<String> {
    let flags = b.flags.iter().map(name).collect::<Vec<_>>();
    let extents: Vec<String> = b.shape.iter().map(usize::to_string).collect();
    let mut row = vec![
        text(&b.name),
        text(&b.stage),
        extents.join("x"),
        b.grid.name().to_owned(),
        b.elements.to_string(),
        b.verdict.name().to_owned(),
        b.cause
            .map_or_else(String::new, |cause| cause.name().to_owned()),
        b.origin.as_ref().map_or_else(String::new, name),
        flags.join(";"),
        text(&b.parents.join(";")),
    ];
    match &b.local {
        Some(local) => row.extend(measured(local)),
        None => row.extend(MEASURED.map(|_| String::new())),
    }
    row.extend(measured(&b.inherited));
    let reference = b.truth.map(|truth| truth.reference);
    let candidate = b.truth.and_then(|truth| truth.candidate);
    row.extend([
        number(b.interp.map(|interp| interp.differing)),
        number(b.interp.map(|interp| interp.candidate_differing)),
        number(b.share_local),
        name(&b.evidence.level),
        text(b.evidence.schedule.as_deref().unwrap_or_default()),
        text(&b.guarded_by.join(";")),
        number(reference.map(|distance| distance.max_abs)),
        number(reference.map(|distance| distance.rms)),
        number(candidate.map(|distance| distance.max_abs)),
        number(candidate.map(|distance| distance.rms)),
        number(b.truth.and_then(|truth| truth.condition)),
    ]);
    row
}

fn measured(m: &Measured) -> [String; MEASURED.len()] {
    let worst = |of: fn(&WorstElement) -> String| m.worst.first().map_or_else(String::new, of);
    let ulp = m.ulp.as_ref();
    [
        m.verdict.name().to_owned(),
        text(m.failure.as_deref().unwrap_or_default()),
        number(m.differing),
        ulp.map_or_else(String::new, |ulp| ulp.grid.name().to_owned()),
        number(ulp.map(|ulp| ulp.max)),
        number(ulp.map(|ulp| ulp.mean)),
        number(ulp.map(|ulp| ulp.over_one)),
        number(m.ulp_f32.as_ref().map(|ulp| ulp.max)),
        number(m.max_abs),
        number(m.rms),
        number(m.max_rel),
        number(m.nan),
        number(m.inf),
        number(m.neg_zero),
        worst(|e| {
            let index: Vec<String> = e.index.iter().map(usize::to_string).collect();
            index.join(";")
        }),
        worst(|e| e.reference.to_string()),
        worst(|e| e.candidate.to_string()),
        worst(|e| format!("{};{}", e.reference_bits, e.candidate_bits)),
    ]
}

fn number(value: Option<impl std::fmt::Debug>) -> String {
    // Debug is the shortest form that round-trips, with an exponent where it is shorter.
    value.map_or_else(String::new, |value| format!("{value:?}"))
}

/// The name that JSON has for it.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// A text that no spreadsheet calculates.
fn text(text: &str) -> String {
    let guarded = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => Cow::Owned(format!("'{text}")),
        _ => Cow::Borrowed(text),
    };
    guarded.into_owned()
}
