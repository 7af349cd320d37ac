//! Whether the numbers of a report fit each other, so that whoever judges them need not ask.

use std::collections::{BTreeMap, HashSet};

use super::boundary::Boundary;
use super::measured::Measured;
use super::report::Report;

/// The longest name of a boundary, in bytes.
const MAX_NAME: usize = 1024;

/// Finds the first contradiction: `boundary NAME: …`.
pub(super) fn check(report: &Report) -> Result<(), String> {
    let mut names = HashSet::new();
    for boundary in &report.boundaries {
        let shown: String = boundary.name.chars().take(80).collect();
        if boundary.name.is_empty() || boundary.name.len() > MAX_NAME {
            return Err(format!(
                "boundary {shown}: a name has 1 to {MAX_NAME} bytes"
            ));
        }
        // They are shown on terminals.
        if boundary.name.chars().any(char::is_control) {
            let name = shown.escape_debug();
            return Err(format!("boundary {name}: its name has a control character"));
        }
        if !names.insert(boundary.name.as_str()) {
            return Err(format!("boundary {shown} is there twice"));
        }
        of_boundary(boundary).map_err(|what| format!("boundary {shown}: {what}"))?;
    }
    Ok(())
}

fn of_boundary(boundary: &Boundary) -> Result<(), String> {
    let held = boundary.shape.iter().try_fold(1_u64, |held, &extent| {
        held.checked_mul(u64::try_from(extent).ok()?)
    });
    // Policies count in 63 bits.
    let held = held.filter(|&held| held == boundary.elements && held <= i64::MAX as u64);
    if held.is_none() {
        let (shape, elements) = (&boundary.shape, boundary.elements);
        return Err(format!("shape {shape:?} does not hold {elements} elements"));
    }
    for (part, measured) in [
        ("local", boundary.local.as_ref()),
        ("inherited", Some(&boundary.inherited)),
    ] {
        if let Some(measured) = measured {
            of_measured(measured, boundary.elements).map_err(|what| format!("{part}: {what}"))?;
        }
    }
    Ok(())
}

fn of_measured(m: &Measured, elements: u64) -> Result<(), String> {
    let differing = m.differing.unwrap_or(elements);
    if differing > elements {
        return Err(format!("{differing} of {elements} elements differ"));
    }
    let zero = m.differing == Some(0);
    let mut texts = m.failure.iter().chain(&m.ulp_reason);
    if texts.any(|text| {
        text.chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
    }) {
        return Err("its reason has control characters".to_owned());
    }
    let parts = [("nan", m.nan), ("inf", m.inf), ("neg_zero", m.neg_zero)];
    let disagreeing: u128 = parts.iter().map(|(_, n)| u128::from(n.unwrap_or(0))).sum();
    if disagreeing > u128::from(differing) {
        return Err(format!(
            "nan, inf and neg_zero are {disagreeing} pairs, but {differing} differ"
        ));
    }
    let reals = [
        ("max_abs", m.max_abs),
        ("rms", m.rms),
        ("max_rel", m.max_rel),
    ];
    for (name, value) in reals {
        // A difference of two F32 is at most 2^129, so no number is infinite; JSON has no NaN.
        match value {
            Some(value) if !(value.is_finite() && value >= 0.0) => {
                return Err(format!("{name} is {value}"));
            }
            Some(value) if zero && value > 0.0 => {
                return Err(format!("{name} is {value:e}, but no element differs"));
            }
            _ => {}
        }
    }
    let pairs = elements - (m.nan.unwrap_or(0) + m.inf.unwrap_or(0)).min(elements);
    let own = m.ulp.as_ref();
    let wide = m.ulp_f32.as_ref();
    let distances = [
        own.map(|u| ("ulp", u.max, u.mean, u.over_one, &u.histogram)),
        wide.map(|u| ("ulp_f32", u.max, u.mean, u.over_one, &u.histogram)),
    ];
    for (name, max, mean, over_one, histogram) in distances.into_iter().flatten() {
        let exact = m.nan.is_some() && m.inf.is_some();
        of_distances(max, mean, over_one, histogram, exact.then_some(pairs))
            .map_err(|what| format!("{name}: {what}"))?;
        if zero && max > 0 {
            return Err(format!("{name}.max is {max}, but no element differs"));
        }
    }
    if let Some(heat) = &m.heat
        && heat.rows.checked_mul(heat.columns) != Some(heat.cells.len())
    {
        let (rows, columns) = (heat.rows, heat.columns);
        return Err(format!("heat has not {rows} × {columns} cells"));
    }
    Ok(())
}

/// Distances whose histogram has the bins it can have, as many pairs as there are, and a largest
/// distance in the last bin.
fn of_distances(
    max: u64,
    mean: f64,
    over_one: u64,
    histogram: &BTreeMap<u64, u64>,
    pairs: Option<u64>,
) -> Result<(), String> {
    if max > u64::from(u32::MAX) {
        return Err(format!("no two values are {max} apart"));
    }
    if let Some(bin) = histogram.keys().find(|&&k| k > 0 && !k.is_power_of_two()) {
        return Err(format!("the histogram has a bin from {bin}"));
    }
    let sum = |from: u64| -> u128 { histogram.range(from..).map(|(_, &n)| u128::from(n)).sum() };
    if pairs.is_some_and(|pairs| sum(0) != u128::from(pairs)) {
        return Err(format!("the histogram counts {} pairs", sum(0)));
    }
    if sum(2) != u128::from(over_one) {
        return Err(format!(
            "over_one is {over_one}, the histogram has {}",
            sum(2)
        ));
    }
    let last = histogram
        .iter()
        .rfind(|(_, n)| **n > 0)
        .map_or(0, |(k, _)| *k);
    let own = if max == 0 { 0 } else { 1 << max.ilog2() };
    if last != own {
        return Err(format!(
            "max is {max}, but the last bin that is not empty is from {last}"
        ));
    }
    if !(mean.is_finite() && mean >= 0.0 && mean <= max as f64) {
        return Err(format!("the mean is {mean}, the largest {max}"));
    }
    Ok(())
}
