//! A report as JUnit XML: a test case for each boundary, its class being its stage.
//!
//! | verdict | test case |
//! |---|---|
//! | `diverged` | failure |
//! | `inconclusive` | error |
//! | `vacuous` | skipped: nothing was proved |
//! | `within_policy`, `order_explained` | passed, with what was found in its output |
//! | `bit_exact` | passed |
//!
//! One suite holds them all; what was run on what stands in its properties. Where nothing was
//! compared, or the forms of the graph disagree and no boundary shows it, there is one more test
//! case, an error.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use crate::verdict::Verdict;
use crate::wire::{Boundary, Report};
use crate::wording::{self, element, label, leading};

/// Why a report was not put in the form of JUnit XML. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("write the report as JUnit XML")]
pub struct JunitError(#[from] quick_junit::SerializeError);

/// Elements shown of a boundary that differs.
const SHOWN: usize = 8;

/// A report as JUnit XML. Characters that XML cannot hold are left out.
///
/// # Errors
/// None in practice: memory takes every line.
pub fn render(report: &Report) -> Result<String, JunitError> {
    let name = format!(
        "{} {} {}",
        report.model.kind, report.model.profile, report.model.contract
    );
    let mut suite = TestSuite::new(name);
    for (key, value) in properties(report) {
        suite.add_property((key, value));
    }
    suite
        .extra
        .insert("package".into(), report.tool.name.as_str().into());
    for boundary in &report.boundaries {
        suite.add_test_case(case(boundary));
    }
    if let Some(why) = disagreement(report) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status
            .set_type(Verdict::Inconclusive.name())
            .set_message(why);
        let mut case = TestCase::new("the run", status);
        case.set_classname(report.tool.name.as_str());
        suite.add_test_case(case);
    }
    let seconds = total_seconds(report);
    suite.set_time(seconds);
    let mut document = Document::new(report.tool.name.as_str());
    document.set_time(seconds);
    document.add_test_suite(suite);
    Ok(document.to_string()?)
}

/// Why a run is inconclusive, if that shows in none of its boundaries.
fn disagreement(report: &Report) -> Option<String> {
    let shows = |b: &Boundary| b.verdict == Verdict::Inconclusive;
    if report.boundaries.is_empty() {
        return Some("no boundary was judged".to_owned());
    }
    let passes = |b: &Boundary| b.verdict == Verdict::BitExact;
    if report.planted.is_some() && report.boundaries.iter().all(passes) {
        return wording::planted(report);
    }
    let broken = report.non_interference.is_broken();
    (broken && !report.boundaries.iter().any(shows))
        .then(|| wording::interference(report.non_interference))
}

fn total_seconds(report: &Report) -> Duration {
    let t = &report.timing;
    let phases = [
        t.compile_s,
        t.reference_s,
        t.candidate_s,
        t.interp_s,
        t.compare_s,
    ];
    let seconds: f64 = phases.into_iter().flatten().sum();
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn case(b: &Boundary) -> TestCase {
    let mut case = TestCase::new(b.name.as_str(), status(b));
    case.set_classname(b.stage.as_str());
    if matches!(b.verdict, Verdict::WithinPolicy | Verdict::OrderExplained) {
        case.set_system_out(format!("{}\n{}", label(b.verdict), description(b)));
    }
    case
}

fn status(b: &Boundary) -> TestCaseStatus {
    let mut status = match b.verdict {
        Verdict::BitExact | Verdict::OrderExplained | Verdict::WithinPolicy => {
            return TestCaseStatus::success();
        }
        Verdict::Vacuous => TestCaseStatus::skipped(),
        Verdict::Inconclusive => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::Diverged => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    let (side, m) = leading(b);
    let message = match b.verdict {
        Verdict::Vacuous => {
            "the reference is constant or nowhere finite: equality proves nothing".to_owned()
        }
        _ => format!("{side}: {}", wording::measured(m, b.elements)),
    };
    status.set_type(b.verdict.name()).set_message(message);
    if b.verdict != Verdict::Vacuous {
        status.set_description(description(b));
    }
    status
}

/// What was found, in lines.
fn description(b: &Boundary) -> String {
    let mut lines = Vec::new();
    if let Some(cause) = b.cause {
        lines.push(format!(
            "cause: {} ({})",
            cause.name(),
            wording::cause(cause)
        ));
    }
    if let Some(origin) = b.origin {
        lines.push(format!("error {}", wording::origin(origin)));
    }
    let sides = [
        ("local", b.local.as_ref()),
        ("inherited", Some(&b.inherited)),
    ];
    for (side, m) in sides.into_iter().filter_map(|(side, m)| Some((side, m?))) {
        lines.push(format!("{side}: {}", wording::measured(m, b.elements)));
        if let Some(why) = m.ulp_reason.as_ref().filter(|_| b.grid.is_float()) {
            lines.push(format!("  {why}"));
        }
    }
    lines.extend(b.policy.iter().flat_map(wording::ruling));
    let (side, m) = leading(b);
    if !m.worst.is_empty() {
        lines.push(format!("worst elements, {side}:"));
    }
    let worst = m.worst.iter().take(SHOWN);
    lines.extend(worst.map(|e| format!("  {}", element(e, b.grid))));
    lines.join("\n")
}

/// What was run on what, by name.
fn properties(report: &Report) -> Vec<(String, String)> {
    let mut all = vec![
        ("command".to_owned(), wording::command(&report.command)),
        ("created".to_owned(), report.created.clone()),
        ("verdict".to_owned(), report.verdict.name().to_owned()),
        ("exit_code".to_owned(), report.exit_code.to_string()),
        (
            "non_interference".to_owned(),
            wording::interference(report.non_interference),
        ),
        (
            format!("{}.version", report.tool.name),
            format!("{} ({})", report.tool.version, report.tool.commit),
        ),
        (
            "model.checkpoint_sha256".to_owned(),
            report.model.checkpoint_sha256.clone(),
        ),
    ];
    let first = &report.first_divergence;
    for (side, name) in [("local", &first.local), ("inherited", &first.inherited)] {
        if let Some(name) = name {
            all.push((format!("first_divergence.{side}"), name.clone()));
        }
    }
    if let Some(planted) = &report.planted {
        all.push(("planted".to_owned(), planted.clone()));
    }
    if let Some(repeat) = &report.repeat {
        all.push(("repeat".to_owned(), wording::repeated(repeat)));
    }
    if let Some(file) = &report.policy.file {
        all.push(("policy.file".to_owned(), file.clone()));
    }
    all.extend(
        report
            .policy
            .relaxed
            .iter()
            .map(|entry| ("policy.relaxed".to_owned(), entry.clone())),
    );
    all.extend(report.fingerprint.entries());
    all
}
