//! A report under a policy.

use super::measured::{Counter, ruled, unruled};
use super::{Entry, Of, Part, Policy, Rule};
use crate::verdict::Verdict;
use crate::wire::{Boundary, Policy as Applied, Report, Ruling};

/// Whether a pattern selects the boundary of a name.
pub type Selects = Box<dyn Fn(&str) -> bool>;

/// Reads a pattern.
pub type Compile<'a> = &'a dyn Fn(&str) -> Selects;

/// Why a policy does not apply to a report. Completes "failed to …"; exit code 5.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "apply entry {entry} of the policy ({pattern}): {why}; an entry that may decide nothing says \
     optional = true"
)]
pub struct ApplyError {
    /// The number of the entry, from 1.
    pub entry: usize,
    /// Its pattern.
    pub pattern: String,
    /// Why it decides nothing.
    pub why: String,
}

/// A policy, and which of its entries decides where.
#[derive(Debug, Clone)]
pub struct Resolved<'p> {
    policy: &'p Policy,
    /// Of the local and the inherited error of each boundary.
    deciding: Vec<[Option<usize>; 2]>,
}

impl<'p> Resolved<'p> {
    /// Finds out which entries decide on boundaries, which are given by name and by whether their
    /// local error is measured, in the order of the report.
    ///
    /// # Errors
    /// When an entry that is not optional decides nothing.
    pub fn new(
        policy: &'p Policy,
        boundaries: &[(&str, bool)],
        compile: Compile<'_>,
    ) -> Result<Self, ApplyError> {
        let deciding = deciding(policy, boundaries, compile)?;
        Ok(Self { policy, deciding })
    }

    /// Judges the boundary at this place of the order. What it was judged before does not count.
    pub fn rule(&self, at: usize, boundary: &mut Boundary, counter: Counter<'_>) {
        let strict = Rule::default();
        let by = |part: Part| {
            let entry = self
                .deciding
                .get(at)
                .and_then(|entries| entries[part as usize]);
            let entry = entry.map(|entry| &self.policy.entries[entry]);
            let rule = entry.map_or(&strict, |entry| &entry.rule);
            let pattern = entry.map(|entry| entry.pattern.as_str());
            ruled(boundary, part, rule, pattern, counter)
        };
        let (local, inherited) = (by(Part::Local), by(Part::Inherited));
        for (part, ruled) in [(Part::Local, &local), (Part::Inherited, &inherited)] {
            if let Some((measured, (verdict, _))) = part.measured_mut(boundary).zip(ruled.as_ref())
            {
                measured.verdict = *verdict;
            }
        }
        boundary.policy = inherited.map(|(_, inherited)| Ruling {
            local: local.map(|(_, local)| local),
            inherited,
        });
        combine(boundary);
    }

    /// What a report says of the policy, which it calls `file`.
    #[must_use]
    pub fn applied(&self, file: &str) -> Applied {
        let decides = |at: usize| {
            self.deciding
                .iter()
                .flatten()
                .any(|entry| *entry == Some(at))
        };
        let entries = self.policy.entries.iter().enumerate();
        let relaxed = entries.filter(|(at, entry)| entry.rule.is_relaxed() && decides(*at));
        Applied {
            file: Some(file.to_owned()),
            relaxed: relaxed.map(|(_, entry)| entry.to_string()).collect(),
        }
    }
}

/// Judges a report by a policy: every verdict, what the policy says of each boundary, what it
/// relaxes, first divergence and exit code. What was judged before does not count; what was
/// measured is left alone.
///
/// `file` is what the report calls the policy.
///
/// # Errors
/// When an entry that is not optional decides nothing. The report is then unchanged.
pub fn apply(
    policy: &Policy,
    file: &str,
    report: &mut Report,
    compile: Compile<'_>,
    counter: Counter<'_>,
) -> Result<(), ApplyError> {
    let boundaries = report.boundaries.iter();
    let boundaries: Vec<(&str, bool)> = boundaries
        .map(|boundary| (boundary.name.as_str(), boundary.local.is_some()))
        .collect();
    let resolved = Resolved::new(policy, &boundaries, compile)?;
    for (at, boundary) in report.boundaries.iter_mut().enumerate() {
        resolved.rule(at, boundary, counter);
    }
    report.policy = resolved.applied(file);
    report.conclude();
    Ok(())
}

/// Judges a report without a policy, whatever it was judged by before.
pub fn lift(report: &mut Report) {
    for boundary in &mut report.boundaries {
        for part in Part::EACH {
            let verdict = unruled(boundary, part);
            if let Some((measured, verdict)) = part.measured_mut(boundary).zip(verdict) {
                measured.verdict = verdict;
            }
        }
        boundary.policy = None;
        combine(boundary);
    }
    report.policy = Applied::default();
    report.conclude();
}

/// The worse of the local and the inherited verdict.
fn combine(boundary: &mut Boundary) {
    let each = Part::EACH.into_iter();
    let verdicts = each.filter_map(|part| Some(part.measured(boundary)?.verdict));
    boundary.verdict = verdicts.max().unwrap_or(Verdict::Inconclusive);
}

/// Which entry decides on the local and the inherited error of each boundary.
fn deciding(
    policy: &Policy,
    boundaries: &[(&str, bool)],
    compile: Compile<'_>,
) -> Result<Vec<[Option<usize>; 2]>, ApplyError> {
    let mut deciding = vec![[None; 2]; boundaries.len()];
    // The last entry first: whoever comes to a boundary that is taken comes too late.
    for (at, entry) in policy.entries.iter().enumerate().rev() {
        let selects = compile(&entry.pattern);
        let (mut selected, mut measured, mut decided) = (false, false, false);
        for (&(name, has_local), taken) in boundaries.iter().zip(&mut deciding) {
            if !selects(name) {
                continue;
            }
            selected = true;
            for part in Part::EACH {
                if !entry.of.covers(part) || part == Part::Local && !has_local {
                    continue;
                }
                measured = true;
                let slot = &mut taken[part as usize];
                decided |= slot.is_none();
                slot.get_or_insert(at);
            }
        }
        if !decided && !entry.optional {
            return Err(undecided(at, entry, selected, measured));
        }
    }
    Ok(deciding)
}

fn undecided(at: usize, entry: &Entry, selected: bool, measured: bool) -> ApplyError {
    let why = match (selected, measured) {
        (false, _) => "the report has no boundary it selects".to_owned(),
        (true, false) => format!("no {} error was measured where it selects", entry.of.name()),
        (true, true) => {
            let which = match entry.of {
                Of::Both => String::new(),
                of => format!(", of the {} error,", of.name()),
            };
            format!("later entries decide wherever it selects{which}: the last one wins")
        }
    };
    ApplyError {
        entry: at + 1,
        pattern: entry.pattern.clone(),
        why,
    }
}
