//! What a report says of one error of a boundary, and whether a rule holds for it.

use std::collections::BTreeMap;

use super::{Bounds, Demand, OverBound, Part, Rule, UlpBound};
use crate::Grid;
use crate::verdict::{Origin, Verdict};
use crate::wire::{Boundary, EvidenceLevel, Measured, Ruled};

/// Counts, from the tensors, the pairs of a boundary that are more than so many steps of a grid
/// apart; `None` where there are no tensors.
pub type Counter<'a> = &'a dyn Fn(&str, Part, Grid, u64) -> Option<u64>;

/// The [`Counter`] of a report alone.
#[must_use]
pub fn uncounted(_: &str, _: Part, _: Grid, _: u64) -> Option<u64> {
    None
}

/// The verdict of an error without a policy, from what was measured: a verdict that stands in the
/// report is believed only where it is `vacuous`. `None` where it was not measured.
///
/// Evidence of level E3 or E4 explains the local error, and the inherited one where that is the
/// same error, the parents having been right (`origin` is `local`).
#[must_use]
pub fn unruled(boundary: &Boundary, part: Part) -> Option<Verdict> {
    let measured = part.measured(boundary)?;
    if measured.failure.is_some() {
        return Some(Verdict::Inconclusive);
    }
    Some(match measured.differing {
        None => Verdict::Inconclusive,
        Some(0) if measured.verdict == Verdict::BitExact => Verdict::BitExact,
        // Equal bits are vacuous or exact; accepted ones stand as within policy.
        Some(0) => Verdict::Vacuous,
        Some(_) if is_explained(boundary, part) => Verdict::OrderExplained,
        Some(_) => Verdict::Diverged,
    })
}

fn is_explained(boundary: &Boundary, part: Part) -> bool {
    let evidence = &boundary.evidence;
    let same_error = part == Part::Local || boundary.origin == Some(Origin::Local);
    evidence.level >= EvidenceLevel::E3 && evidence.schedule.is_some() && same_error
}

/// Whether a bound holds.
enum Finding {
    Holds,
    Broken(String),
    Undecided(String),
}

/// Why no policy accepts an error, if so.
pub(super) fn unacceptable(measured: &Measured) -> Option<String> {
    let pairs = |n: u64, what| match n {
        1 => format!("1 element is {what}"),
        n => format!("{n} elements are {what}"),
    };
    match (measured.nan, measured.inf) {
        (Some(nan @ 1..), _) => Some(pairs(nan, "NaN on one side alone")),
        (_, Some(inf @ 1..)) => Some(pairs(
            inf,
            "infinite on one side, and another value on the other",
        )),
        _ => None,
    }
}

/// Judges an error by a rule; `entry` is the pattern of the entry it comes from.
pub(super) fn ruled(
    boundary: &Boundary,
    part: Part,
    rule: &Rule,
    entry: Option<&str>,
    counter: Counter<'_>,
) -> Option<(Verdict, Ruled)> {
    let measured = part.measured(boundary)?;
    let unruled = unruled(boundary, part)?;
    let mut ruled = Ruled {
        entry: entry.map(str::to_owned),
        demand: rule.to_string(),
        broken: Vec::new(),
        undecided: Vec::new(),
    };
    let verdict = match unruled {
        Verdict::Vacuous if rule.accept_vacuous => Verdict::WithinPolicy,
        Verdict::OrderExplained | Verdict::Diverged => {
            let explained = unruled == Verdict::OrderExplained;
            differing(
                boundary, part, measured, explained, rule, &mut ruled, counter,
            )
        }
        verdict => verdict,
    };
    Some((verdict, ruled))
}

fn differing(
    boundary: &Boundary,
    part: Part,
    measured: &Measured,
    explained: bool,
    rule: &Rule,
    ruled: &mut Ruled,
    counter: Counter<'_>,
) -> Verdict {
    let findings = match &rule.demand {
        Demand::BitExact => {
            let n = measured.differing.unwrap_or_default();
            let explained = if explained {
                ", as one order explains"
            } else {
                ""
            };
            vec![Finding::Broken(format!(
                "{n} of {} elements differ{explained}",
                boundary.elements
            ))]
        }
        Demand::OrderExplained if explained => Vec::new(),
        Demand::OrderExplained => vec![Finding::Broken(format!(
            "the evidence is {:?}: no one order is known to give all elements",
            boundary.evidence.level
        ))],
        Demand::Within(bounds) => within(boundary, part, measured, bounds, counter),
    };
    for finding in findings {
        match finding {
            Finding::Holds => {}
            Finding::Broken(why) => ruled.broken.push(why),
            Finding::Undecided(why) => ruled.undecided.push(why),
        }
    }
    if !ruled.broken.is_empty() {
        Verdict::Diverged
    } else if !ruled.undecided.is_empty() {
        Verdict::Inconclusive
    } else if explained {
        Verdict::OrderExplained
    } else {
        Verdict::WithinPolicy
    }
}

fn within(
    boundary: &Boundary,
    part: Part,
    measured: &Measured,
    bounds: &Bounds,
    counter: Counter<'_>,
) -> Vec<Finding> {
    if let Some(why) = unacceptable(measured) {
        return vec![Finding::Broken(why)];
    }
    if measured.nan.is_none() || measured.inf.is_none() {
        let why = "the report does not say whether NaNs and infinities agree";
        return vec![Finding::Undecided(why.to_owned())];
    }
    let Bounds {
        differing,
        ulp,
        over,
        abs,
        rms,
    } = *bounds;
    let real = |name: &str, value: Option<f64>, bound: f64| match value {
        None => Finding::Undecided(format!("the report has no {name}")),
        // Written so that a NaN does not hold.
        Some(value) if value <= bound => Finding::Holds,
        Some(value) => Finding::Broken(format!("{name} is {value:e}, {bound:e} is allowed")),
    };
    let count = |bound: u64| match measured.differing {
        Some(n) if n > bound => {
            Finding::Broken(format!("{n} elements differ, {bound} are allowed"))
        }
        _ => Finding::Holds,
    };
    let ulp = ulp.map(
        |UlpBound { grid, max }| match distances(boundary, measured, grid.grid()) {
            Err(why) => Finding::Undecided(why),
            Ok((found, _)) if found <= max => Finding::Holds,
            Ok((found, _)) => Finding::Broken(format!(
                "the largest distance is {found} {} ULP, {max} is allowed",
                grid.grid()
            )),
        },
    );
    let over = over.map(|bound| {
        let counted = |grid, ulp| counter(&boundary.name, part, grid, ulp);
        over_bound(boundary, measured, bound, &counted)
    });
    let findings = [
        differing.map(count),
        ulp,
        over,
        abs.map(|bound| real("max abs", measured.max_abs, bound)),
        rms.map(|bound| real("rms", measured.rms, bound)),
    ];
    findings.into_iter().flatten().collect()
}

/// The largest distance and the histogram on a grid, or why the report has none.
fn distances<'m>(
    boundary: &Boundary,
    measured: &'m Measured,
    grid: Grid,
) -> Result<(u64, &'m BTreeMap<u64, u64>), String> {
    if let Some(ulp) = measured.ulp.as_ref().filter(|ulp| ulp.grid == grid) {
        return Ok((ulp.max, &ulp.histogram));
    }
    if let Some(ulp) = measured.ulp_f32.as_ref().filter(|_| grid == Grid::F32) {
        return Ok((ulp.max, &ulp.histogram));
    }
    let own = measured.ulp_reason.as_ref();
    Err(match own.filter(|_| boundary.grid == grid) {
        Some(reason) => format!("there are no {grid} ULP: {reason}"),
        None => format!(
            "there are no {grid} ULP: the boundary's grid is {}",
            boundary.grid
        ),
    })
}

fn over_bound(
    boundary: &Boundary,
    measured: &Measured,
    OverBound { grid, ulp, count }: OverBound,
    counted: &dyn Fn(Grid, u64) -> Option<u64>,
) -> Finding {
    let grid = grid.grid();
    let (max, histogram) = match distances(boundary, measured, grid) {
        Ok(found) => found,
        Err(why) => return Finding::Undecided(why),
    };
    let broken = |n: &dyn std::fmt::Display| {
        Finding::Broken(format!(
            "{n} pairs are over {ulp} {grid} ULP, {count} are allowed"
        ))
    };
    match between(max, histogram, ulp) {
        (_, most) if most <= count => Finding::Holds,
        (least, most) if least > count && least == most => broken(&least),
        (least, _) if least > count => broken(&format!("at least {least}")),
        (least, most) => match counted(grid, ulp) {
            Some(n) if n <= count => Finding::Holds,
            Some(n) => broken(&n),
            None => Finding::Undecided(format!(
                "{least} to {most} pairs are over {ulp} {grid} ULP, {count} are allowed: the \
                 report counts by powers of two, only captures tell"
            )),
        },
    }
}

/// At least and at most how many pairs are over a distance. The bin of s holds s to 2s − 1.
fn between(max: u64, histogram: &BTreeMap<u64, u64>, over: u64) -> (u64, u64) {
    if over >= max {
        return (0, 0);
    }
    let (mut least, mut most) = (0_u64, 0_u64);
    for (&start, &pairs) in histogram {
        let end = start
            .saturating_mul(2)
            .saturating_sub(1)
            .max(start)
            .min(max);
        if start > over {
            least = least.saturating_add(pairs);
            most = most.saturating_add(pairs);
        } else if end > over {
            // The pair at the largest distance is in the last bin.
            least = least.saturating_add(u64::from(end == max));
            most = most.saturating_add(pairs);
        }
    }
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_histogram_bounds_the_count_and_tells_it_at_the_edges(
            distances in proptest::collection::vec(0_u64..70, 1..60),
            over in 0_u64..80,
        ) {
            let mut histogram = BTreeMap::new();
            for &distance in &distances {
                let start = if distance == 0 { 0 } else { 1 << distance.ilog2() };
                *histogram.entry(start).or_insert(0) += 1;
            }
            let max = distances.iter().copied().max().unwrap_or(0);
            let truth = distances.iter().filter(|&&d| d > over).count() as u64;
            let (least, most) = between(max, &histogram, over);
            prop_assert!(least <= truth && truth <= most, "{} {} {}", least, truth, most);
            if (over + 1).is_power_of_two() {
                prop_assert_eq!((least, most), (truth, truth));
            }
        }
    }
}
