//! Jobs as a table, for people.

use std::fmt::Write;

use super::{JobOutcome, Merged, MergedJob, Totals};
use crate::markdown::code;
use crate::verdict::Verdict;
use crate::wording::{clipped, visible};

/// Characters of a reason in a table; the log has all of it.
const REASON: usize = 160;

const fn label(outcome: JobOutcome) -> &'static str {
    match outcome {
        JobOutcome::Qualified => "✓ qualified",
        JobOutcome::Inconclusive => "? inconclusive",
        JobOutcome::CouldNotRun => "! could not run",
        JobOutcome::Diverged => "✗ diverged",
    }
}

/// What there is to say beside the verdict.
fn remark(job: &MergedJob) -> String {
    let mut said = Vec::new();
    if let Some(reason) = &job.reason {
        said.push(reason.clone());
    }
    if let Some(planted) = &job.planted {
        said.push(format!("planted {planted}"));
    }
    if let Some(first) = &job.first_divergence {
        let named = [("local", &first.local), ("inherited", &first.inherited)];
        let named = named
            .into_iter()
            .filter_map(|(part, name)| Some(format!("first {part}: {}", name.as_ref()?)));
        said.extend(named);
    }
    if !job.relaxed.is_empty() {
        said.push(format!("{} bounds of a policy", job.relaxed.len()));
    }
    clipped(&visible(&said.join("; ")), REASON).into_owned()
}

fn exact(job: &MergedJob) -> String {
    match job.outcome {
        JobOutcome::CouldNotRun => "–".to_owned(),
        _ => format!("{} of {}", job.count(Verdict::BitExact), job.boundaries),
    }
}

fn summary(jobs: &[MergedJob]) -> String {
    let totals = Totals::of(jobs);
    let counted = [
        (totals.qualified, "qualified"),
        (totals.diverged, "diverged"),
        (totals.could_not_run, "could not run"),
        (totals.inconclusive, "inconclusive"),
    ];
    let counted: Vec<String> = counted
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    let jobs = match jobs.len() {
        1 => "1 job".to_owned(),
        n => format!("{n} jobs"),
    };
    format!("{jobs}: {}", counted.join(", "))
}

/// A line each, and how many came out how.
#[must_use]
pub fn table(jobs: &[MergedJob]) -> String {
    let name = jobs.iter().map(|job| job.job.name.len()).max().unwrap_or(0);
    let mut text = format!(
        "{:name$}  shard  {:15}  {:>12}  seconds\n",
        "job", "outcome", "bit-exact"
    );
    for job in jobs {
        let _ = writeln!(
            text,
            "{}",
            format!(
                "{:name$}  {:>5}  {:15}  {:>12}  {:>7.1}  {}",
                job.job.name,
                job.job.shard,
                label(job.outcome),
                exact(job),
                job.seconds,
                remark(job)
            )
            .trim_end()
        );
    }
    let _ = writeln!(text, "\n{}", summary(jobs));
    text
}

/// The same as Markdown, and what all of them ran on.
#[must_use]
pub fn markdown(merged: &Merged) -> String {
    let mut text = format!("**{}**\n\n", summary(&merged.jobs));
    text.push_str(
        "| job | shard | outcome | bit-exact | seconds | |\n|---|---:|---|---:|---:|---|\n",
    );
    for job in &merged.jobs {
        let remark = remark(job);
        let remark = match remark.as_str() {
            "" => String::new(),
            remark => code(remark, REASON),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.1} | {remark} |",
            job.job.name,
            job.job.shard,
            label(job.outcome),
            exact(job),
            job.seconds,
        );
    }
    text.push_str("\n<details><summary>ran on</summary>\n\n| | |\n|---|---|\n");
    for (name, value) in &merged.fingerprint {
        let _ = writeln!(text, "| {} | {} |", code(name, REASON), code(value, REASON));
    }
    text.push_str("\n</details>\n");
    text
}
