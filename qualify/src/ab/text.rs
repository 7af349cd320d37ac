//! What people are told of an experiment.

use std::fmt::Write;

use reports::diff::Standing;

use super::{ArmSummary, Experiment, SideChange};

/// How many boundaries of a side are listed.
const LISTED: usize = 12;

/// The text: the arms, each side, the distance from the reference, and the answer.
pub fn render(experiment: &Experiment) -> String {
    let Experiment {
        factor,
        arms,
        sides,
        diff,
        ..
    } = experiment;
    let mut text = String::new();
    for (letter, arm) in ["a", "b"].into_iter().zip(arms) {
        let ArmSummary {
            value,
            verdict,
            boundaries,
            unstable,
        } = arm;
        let repeats = match unstable.len() {
            0 => "every side repeats itself".to_owned(),
            n => format!(
                "NOT REPEATABLE at {n} boundaries, the first {}",
                unstable[0]
            ),
        };
        let name = verdict.name();
        let _ = writeln!(
            text,
            "{letter}: {factor}={value}  {name}, {boundaries} boundaries; {repeats}"
        );
    }
    text.push('\n');
    for side in sides {
        of_side(&mut text, side);
    }
    let counts = diff.counts;
    let moved = counts.better + counts.worse + counts.changed;
    if moved > 0 {
        let _ = writeln!(
            text,
            "distance from the reference: b is better at {}, worse at {}, neither at {} boundaries",
            counts.better, counts.worse, counts.changed
        );
        let worse = diff
            .boundaries
            .iter()
            .find(|b| b.standing == Standing::Worse);
        if let Some(first) = worse {
            let _ = writeln!(text, "  first worse: {}", first.name);
        }
    } else {
        text.push_str("distance from the reference: the same in both arms\n");
    }
    let values: u64 = sides.iter().map(|side| side.elements).sum();
    let changed = sides.iter().any(|side| !side.changed.is_empty());
    text.push('\n');
    if sides.iter().any(|side| !side.in_one_arm.is_empty()) {
        text.push_str("nothing can be said: the arms do not have the same boundaries\n");
    } else if arms.iter().any(|arm| !arm.unstable.is_empty()) {
        text.push_str("nothing can be said: an arm differs from itself\n");
    } else if changed {
        let _ = writeln!(text, "{factor} changes bits");
    } else {
        let _ = writeln!(
            text,
            "{factor} changes nothing here: {values} values of both sides have the same bits"
        );
    }
    text
}

fn of_side(text: &mut String, change: &SideChange) {
    let SideChange {
        side,
        boundaries,
        changed,
        in_one_arm,
        ..
    } = change;
    if let Some(first) = in_one_arm.first() {
        let n = in_one_arm.len();
        let _ = writeln!(
            text,
            "{side}: {n} boundaries are in one arm only, the first {first}"
        );
    }
    if changed.is_empty() {
        let _ = writeln!(
            text,
            "{side}: the same bits at all {boundaries} boundaries of both"
        );
        return;
    }
    let _ = writeln!(
        text,
        "{side}: other bits at {} of {boundaries} boundaries",
        changed.len()
    );
    for one in changed.iter().take(LISTED) {
        let _ = writeln!(
            text,
            "  {}: {} of {} elements",
            one.boundary, one.differing, one.elements
        );
    }
    if changed.len() > LISTED {
        let _ = writeln!(text, "  … and {} more", changed.len() - LISTED);
    }
}
