//! The tightest policy that a report would have passed under.

use std::fmt::Write;

use super::measured::{unacceptable, unruled};
use super::{
    Bounds, Compile, Demand, Entry, FloatGrid, Of, OverBound, POLICY_VERSION, Part, Policy, Rule,
    UlpBound,
};
use crate::verdict::Verdict;
use crate::wire::{Boundary, Measured, Report};

/// A policy taken from a report, for people to read and to loosen nothing more than they mean to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Suggestion {
    /// An entry for each boundary that needs one, by name, so that what lies below a boundary
    /// comes after it.
    pub policy: Policy,
    /// What no policy accepts, and why: the boundary or `the run`, the reason.
    pub impossible: Vec<(String, String)>,
}

/// The tightest policy that the report passes under, but for what no policy accepts.
///
/// Each bound is the number measured. An error within bounds gets all of them, on the declared grid
/// where that has ULPs, else on F32's.
#[must_use]
pub fn suggest(report: &Report, compile: Compile<'_>) -> Suggestion {
    let mut suggestion = Suggestion::default();
    if report.non_interference.is_broken() {
        let why = "tapping or chaining changed the bits, so it is inconclusive at best".to_owned();
        suggestion.impossible.push(("the run".to_owned(), why));
    }
    let mut boundaries: Vec<&Boundary> = report.boundaries.iter().collect();
    boundaries.sort_by(|a, b| a.name.cmp(&b.name));
    // What the relaxed entries so far select. Names come after what they lie below.
    let mut relaxed: Vec<(Of, super::Selects)> = Vec::new();
    for boundary in boundaries {
        let rules = Part::EACH.map(|part| match needed(boundary, part) {
            Ok(rule) => rule,
            Err(why) => {
                let why = format!("{}: {why}", part.name());
                suggestion.impossible.push((boundary.name.clone(), why));
                None
            }
        });
        let covered = |part| {
            let mut over = relaxed.iter().filter(|(of, _)| of.covers(part));
            over.any(|(_, selects)| selects(&boundary.name))
        };
        // What is not relaxed may lie below what is.
        let rules: [Option<Rule>; 2] = [0, 1].map(|i| {
            let part = Part::EACH[i];
            let strict =
                || (part.measured(boundary).is_some() && covered(part)).then(Rule::default);
            rules[i].clone().or_else(strict)
        });
        if rules.iter().flatten().any(Rule::is_relaxed) && boundary.name.contains('*') {
            let why = "its name is a glob of others".to_owned();
            suggestion.impossible.push((boundary.name.clone(), why));
            continue;
        }
        for entry in entries(&boundary.name, rules) {
            if entry.rule.is_relaxed() {
                relaxed.push((entry.of, compile(&entry.pattern)));
            }
            suggestion.policy.entries.push(entry);
        }
    }
    suggestion
}

/// One entry of both errors where they need the same, else one of each.
fn entries(name: &str, rules: [Option<Rule>; 2]) -> Vec<Entry> {
    let entry = |of, rule| Entry {
        pattern: name.to_owned(),
        of,
        rule,
        optional: false,
    };
    match rules {
        [Some(local), Some(inherited)] if local == inherited => vec![entry(Of::Both, local)],
        [local, inherited] => {
            let local = local.map(|rule| entry(Of::Local, rule));
            let inherited = inherited.map(|rule| entry(Of::Inherited, rule));
            local.into_iter().chain(inherited).collect()
        }
    }
}

/// The tightest rule that an error meets, if it needs one; or why none accepts it.
fn needed(boundary: &Boundary, part: Part) -> Result<Option<Rule>, String> {
    let Some((measured, verdict)) = part.measured(boundary).zip(unruled(boundary, part)) else {
        return Ok(None);
    };
    let rule = match verdict {
        Verdict::BitExact | Verdict::WithinPolicy => return Ok(None),
        Verdict::Vacuous => Rule {
            accept_vacuous: true,
            ..Rule::default()
        },
        Verdict::OrderExplained => Rule {
            demand: Demand::OrderExplained,
            ..Rule::default()
        },
        Verdict::Inconclusive => {
            let why = measured.failure.as_deref();
            return Err(why.unwrap_or("nothing was measured").to_owned());
        }
        Verdict::Diverged => Rule {
            demand: Demand::Within(tightest(measured)?),
            ..Rule::default()
        },
    };
    Ok(Some(rule))
}

fn tightest(measured: &Measured) -> Result<Bounds, String> {
    if let Some(why) = unacceptable(measured) {
        return Err(why);
    }
    if measured.nan.is_none() || measured.inf.is_none() {
        return Err("the report does not say whether NaNs and infinities agree".to_owned());
    }
    let own = measured.ulp.as_ref();
    let own = own.and_then(|ulp| Some((FloatGrid::of(ulp.grid)?, ulp.max, ulp.over_one)));
    let wide = measured.ulp_f32.as_ref();
    let wide = wide.map(|ulp| (FloatGrid::F32, ulp.max, ulp.over_one));
    let ulp = own.or(wide);
    Ok(Bounds {
        differing: measured.differing,
        ulp: ulp.map(|(grid, max, _)| UlpBound { grid, max }),
        over: ulp
            .filter(|&(_, _, over_one)| over_one > 0)
            .map(|(grid, _, count)| OverBound {
                grid,
                ulp: 1,
                count,
            }),
        abs: measured.max_abs,
        rms: measured.rms,
    })
}

impl Suggestion {
    /// The policy as TOML, with what no policy accepts as comments.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = format!("schema_version = {POLICY_VERSION}\n");
        if !self.impossible.is_empty() {
            out.push_str("\n# No policy accepts:\n");
        }
        for (name, why) in &self.impossible {
            let line = format!("{name}: {why}").replace(|c: char| c.is_control(), " ");
            let _ = writeln!(out, "#   {line}");
        }
        for entry in &self.policy.entries {
            out.push_str(&entry_toml(entry));
        }
        out
    }
}

/// Numbers are written so that they read back as the same ones.
fn entry_toml(entry: &Entry) -> String {
    let mut out = format!("\n[[boundary]]\nmatch = {}\n", quoted(&entry.pattern));
    let mut key = |name: &str, value: String| {
        let _ = writeln!(out, "{name} = {value}");
    };
    if entry.of != Of::Both {
        key("of", quoted(entry.of.name()));
    }
    match &entry.rule.demand {
        Demand::BitExact => key("demand", quoted("bit_exact")),
        Demand::OrderExplained => key("demand", quoted("order_explained")),
        Demand::Within(bounds) => {
            if let Some(n) = bounds.differing {
                key("differing", n.to_string());
            }
            if let Some(UlpBound { grid, max }) = bounds.ulp {
                let grid = quoted(grid.name());
                key("ulp", format!("{{ grid = {grid}, max = {max} }}"));
            }
            if let Some(OverBound { grid, ulp, count }) = bounds.over {
                let grid = quoted(grid.name());
                key(
                    "over",
                    format!("{{ grid = {grid}, ulp = {ulp}, count = {count} }}"),
                );
            }
            if let Some(abs) = bounds.abs {
                key("abs", format!("{abs:e}"));
            }
            if let Some(rms) = bounds.rms {
                key("rms", format!("{rms:e}"));
            }
        }
    }
    if entry.rule.accept_vacuous {
        key("accept_vacuous", "true".to_owned());
    }
    if entry.optional {
        key("optional", "true".to_owned());
    }
    out
}

/// A basic string. JSON's escapes are TOML's, but for the delete character, which JSON leaves.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007F")
}
