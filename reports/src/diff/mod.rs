//! Two reports of the same boundaries: what got better, what worse, what is not comparable.
//!
//! **When boundaries are comparable.** Fingerprint, model and inputs of the reports agree, or the
//! difference is the point ([`About`], as after an upgrade); shape and grid agree; the same errors
//! (local, inherited) were measured in both, and neither is inconclusive: there are no numbers then.
//!
//! **What is worse.** Compared is what was measured, not what a policy made of it. The worse of the
//! two verdicts of a boundary comes first, in the order of [`Verdict`]: bit_exact, order_explained,
//! vacuous, diverged. Where it is the same, each error is looked at: its verdict, then every
//! [`Measure`], all of which are good when they are small. All the same or smaller is better, all
//! the same or larger is worse, and some smaller and some larger is *changed*, which is no better
//! than worse: something got worse. Both errors count alike.
//!
//! **Exit code**, by [`Diff::conclusion`]: 1 where a boundary is worse or changed, or observing the
//! run began to change its bits; else 3 where a boundary is not comparable or the later report
//! lacks one; else 0.

mod about;
mod standing;
mod text;

pub use about::{About, Difference};
pub use standing::{Change, Measure, Quantity, Standing};
pub use text::render;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::{Part, unruled};
use crate::verdict::{ExitCode, Verdict};
use crate::wire::{Boundary, Report};

/// The version of the format.
pub const DIFF_VERSION: u32 = 1;

/// What two reports say differently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// [`DIFF_VERSION`].
    pub schema_version: u32,
    /// The earlier report.
    pub before: Compared,
    /// The later report.
    pub after: Compared,
    /// What the reports do not agree in apart from their boundaries.
    pub differences: Vec<Difference>,
    /// The differences that are the point.
    pub across: Vec<About>,
    /// Whether tapping and chaining leave the bits alone, compared.
    pub non_interference: Standing,
    /// How many boundaries there are of each standing.
    pub counts: Counts,
    /// The first boundary, in the order of the later report, that is not the same.
    pub first_changed: Option<String>,
    /// The boundaries of both, in the order of the later report.
    pub boundaries: Vec<BoundaryDiff>,
    /// The boundaries that the later report lacks.
    pub only_before: Vec<String>,
    /// The boundaries that the earlier report lacks.
    pub only_after: Vec<String>,
    /// The exit code.
    pub exit_code: u8,
}

/// One of the reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Where it was read.
    pub file: String,
    /// When it was written.
    pub created: String,
    /// The commit of the program that wrote it.
    pub commit: String,
    /// Its verdict, under its own policy.
    pub verdict: Verdict,
}

/// How many boundaries there are of each standing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Better.
    pub better: u64,
    /// Worse.
    pub worse: u64,
    /// Better in something, worse in something else.
    pub changed: u64,
    /// The same.
    pub same: u64,
    /// Not comparable.
    pub not_comparable: u64,
}

/// A boundary of both reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundaryDiff {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// Why it is not comparable; null where it is.
    pub reason: Option<String>,
    /// Its verdict in the earlier report, without a policy.
    pub before: Verdict,
    /// Its verdict in the later report, without a policy.
    pub after: Verdict,
    /// What was measured differently.
    pub changes: Vec<Change>,
}

/// Compares two reports, which `files` names.
#[must_use]
pub fn diff(before: &Report, after: &Report, files: [&str; 2], across: &[About]) -> Diff {
    let compared = |report: &Report, file: &str| Compared {
        file: file.to_owned(),
        created: report.created.clone(),
        commit: report.tool.commit.clone(),
        verdict: report.verdict,
    };
    let differences = about::differences(before, after);
    let hindrance = About::ALL.into_iter().find(|about| {
        !across.contains(about) && differences.iter().any(|found| found.about == *about)
    });
    let hindrance = hindrance.map(About::hindrance);
    let by_name = |report| -> HashMap<&str, &Boundary> { named(report).collect() };
    let (earlier, later) = (by_name(before), by_name(after));
    let both = named(after).filter_map(|(name, b)| Some((*earlier.get(name)?, b)));
    let boundaries: Vec<BoundaryDiff> = both
        .map(|(a, b)| boundary(a, b, hindrance.as_deref()))
        .collect();
    let lacking = |of, other: &HashMap<&str, &Boundary>| -> Vec<String> {
        let names = named(of).map(|(name, _)| name);
        let lacking = names.filter(|name| !other.contains_key(name));
        lacking.map(str::to_owned).collect()
    };
    let mut counts = Counts::default();
    for boundary in &boundaries {
        *counts.of_mut(boundary.standing) += 1;
    }
    let first = boundaries.iter().find(|b| b.standing != Standing::Same);
    let broken = |report: &Report| u64::from(report.non_interference.is_broken());
    let mut diff = Diff {
        schema_version: DIFF_VERSION,
        before: compared(before, files[0]),
        after: compared(after, files[1]),
        across: across.to_vec(),
        non_interference: match hindrance {
            Some(_) => Standing::NotComparable,
            None => Standing::of(&broken(before), &broken(after)),
        },
        counts,
        first_changed: first.map(|b| b.name.clone()),
        only_before: lacking(before, &later),
        only_after: lacking(after, &earlier),
        differences,
        boundaries,
        exit_code: 0,
    };
    diff.exit_code = diff.conclusion().code();
    diff
}

fn named(report: &Report) -> impl Iterator<Item = (&str, &Boundary)> {
    report.boundaries.iter().map(|b| (b.name.as_str(), b))
}

/// The worse of the verdicts of both errors, without a policy.
fn verdict(boundary: &Boundary) -> Verdict {
    let verdicts = Part::EACH.into_iter();
    let verdicts = verdicts.filter_map(|part| unruled(boundary, part));
    verdicts.max().unwrap_or(Verdict::Inconclusive)
}

fn boundary(before: &Boundary, after: &Boundary, hindrance: Option<&str>) -> BoundaryDiff {
    let verdicts = [verdict(before), verdict(after)];
    let reason = hindrance.map_or_else(|| incomparable(before, after), |why| Some(why.to_owned()));
    let changes = match reason {
        Some(_) => Vec::new(),
        None => {
            let each = Part::EACH.into_iter();
            each.flat_map(|part| standing::changes(before, after, part))
                .collect()
        }
    };
    let standing = match &reason {
        Some(_) => Standing::NotComparable,
        None => match Standing::of(&verdicts[0], &verdicts[1]) {
            Standing::Same => standing::of_both(&changes),
            decided => decided,
        },
    };
    BoundaryDiff {
        name: after.name.clone(),
        standing,
        reason,
        before: verdicts[0],
        after: verdicts[1],
        changes,
    }
}

/// Why two boundaries of one name cannot be compared, if so.
fn incomparable(before: &Boundary, after: &Boundary) -> Option<String> {
    if before.shape != after.shape {
        return Some(format!("shape {:?} → {:?}", before.shape, after.shape));
    }
    if before.grid != after.grid {
        return Some(format!("grid {} → {}", before.grid, after.grid));
    }
    Part::EACH.into_iter().find_map(|part| {
        let name = part.name();
        let verdicts = [unruled(before, part), unruled(after, part)];
        let when = ["before", "after"];
        if verdicts[0].is_some() != verdicts[1].is_some() {
            return Some(format!("the {name} error was measured in one report alone"));
        }
        let failed = verdicts
            .iter()
            .position(|v| *v == Some(Verdict::Inconclusive))?;
        Some(format!("the {name} error is inconclusive {}", when[failed]))
    })
}

impl Counts {
    const fn of_mut(&mut self, standing: Standing) -> &mut u64 {
        match standing {
            Standing::Same => &mut self.same,
            Standing::Better => &mut self.better,
            Standing::Worse => &mut self.worse,
            Standing::Changed => &mut self.changed,
            Standing::NotComparable => &mut self.not_comparable,
        }
    }
}

impl Diff {
    /// The exit code that follows.
    #[must_use]
    pub fn conclusion(&self) -> ExitCode {
        let Counts {
            worse,
            changed,
            not_comparable,
            ..
        } = self.counts;
        if worse + changed > 0 || self.non_interference == Standing::Worse {
            ExitCode::DIVERGED
        } else if not_comparable > 0 || !self.only_before.is_empty() || self.boundaries.is_empty() {
            ExitCode::INCONCLUSIVE
        } else {
            ExitCode::QUALIFIED
        }
    }
}

/// The JSON schema of a [`Diff`], as committed.
#[must_use]
pub fn diff_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(Diff);
    schema.insert(
        "$id".to_owned(),
        format!("urn:qualify:diff:{DIFF_VERSION}").into(),
    );
    schema
}
