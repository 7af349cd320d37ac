//! The report of the long runs, in Markdown.

use std::fmt::Write;

use reports::wire::Report;

use crate::run::Outcome;

/// Runs that make one line of the table.
pub struct Group {
    pub what: &'static str,
    pub outcomes: Vec<Outcome>,
}

/// Sums over runs: compared, differing.
#[derive(Clone, Copy, Default)]
struct Sum {
    compared: u64,
    differing: u64,
}

impl Sum {
    fn add(&mut self, elements: u64, differing: Option<u64>) {
        if let Some(differing) = differing {
            self.compared += elements;
            self.differing += differing;
        }
    }

    fn text(self) -> String {
        match self.compared {
            0 => "–".to_owned(),
            compared => format!("{} of {}", grouped(self.differing), grouped(compared)),
        }
    }
}

/// Inherited, local, interpreter against the reference, interpreter against the candidate.
fn sums<'a>(reports: impl Iterator<Item = &'a Report>) -> [Sum; 4] {
    let mut sums = [Sum::default(); 4];
    for boundary in reports.flat_map(|report| &report.boundaries) {
        let local = boundary.local.as_ref();
        let differing = [
            boundary.inherited.differing,
            local.and_then(|local| local.differing),
            boundary.interp.map(|interp| interp.differing),
            boundary.interp.map(|interp| interp.candidate_differing),
        ];
        for (sum, differing) in sums.iter_mut().zip(differing) {
            sum.add(boundary.elements, differing);
        }
    }
    sums
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Each value once, in the order they come, or first to last where those are many.
fn values<T: ToString>(of: impl Iterator<Item = T>) -> String {
    let mut texts: Vec<String> = of.map(|value| value.to_string()).collect();
    texts.dedup();
    match &texts[..] {
        [first, .., last] if texts.len() > 4 => format!("{first} … {last}"),
        few => few.join(", "),
    }
}

/// All groups.
pub fn markdown(groups: &[Group]) -> String {
    let all = || groups.iter().flat_map(|group| &group.outcomes);
    let reports = || all().filter_map(|outcome| outcome.report.as_ref());
    let mut text = String::new();
    let _ = writeln!(
        text,
        "# The whole encoder, boundary by boundary\n\n{}\n",
        INTRODUCTION.trim()
    );
    if let Some(report) = reports().next() {
        let _ = writeln!(text, "{}\n", versions(report));
    }
    text.push_str(HEAD);
    for Group { what, outcomes } in groups {
        let reports = || {
            outcomes
                .iter()
                .filter_map(|outcome| outcome.report.as_ref())
        };
        let of = |f: fn(&Report) -> String| values(reports().map(f));
        let [inherited, local, interp, candidate] = sums(reports()).map(Sum::text);
        let exact = outcomes.iter().all(|outcome| outcome.faults.is_empty());
        let cells = [
            (*what).to_owned(),
            of(|report| report.model.profile.clone()),
            of(|report| report.model.clips.to_string()),
            of(|report| report.model.bucket.to_string()),
            outcomes.len().to_string(),
            of(|report| report.boundaries.len().to_string()),
            inherited,
            local,
            interp,
            candidate,
            if exact { "bit-exact" } else { "**not**" }.to_owned(),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    let compared: u64 = sums(reports()).iter().map(|sum| sum.compared).sum();
    let _ = writeln!(
        text,
        "\n{} runs, {} comparisons of one value with another.",
        all().count(),
        grouped(compared)
    );
    let faults = all().filter(|outcome| !outcome.faults.is_empty());
    for outcome in faults {
        let _ = writeln!(text, "\n`{:?}`:\n", outcome.run);
        for fault in &outcome.faults {
            let _ = writeln!(text, "- {fault}");
        }
    }
    text
}

const INTRODUCTION: &str = "
Every run takes all boundaries from the features to the audio tokens, runs the live MLX and the
compiled modules in all three forms (production, tapped, steps) and compares bits. *Inherited*: IREE
from the model's inputs, against MLX. *Local*: each step of IREE on MLX's values, against MLX.
*Interp*: the strict interpreter, step by step on MLX's values, against MLX, then against IREE's
steps; – where the model is too large for it. Cells say how many values differ of how many. In a
bit-exact line also production = tapped = chained and the exit code is 0, in every run.
";

const HEAD: &str = "\
| what | profile | clips | bucket | runs | boundaries | inherited | local | interp | interp, IREE | result |
|---|---|---|---|---:|---:|---:|---:|---:|---:|---|
";

fn versions(report: &Report) -> String {
    let fingerprint = &report.fingerprint;
    let (mlx, iree) = (fingerprint.mlx.as_ref(), fingerprint.iree.as_ref());
    let day = report.created.split('T').next().unwrap_or_default();
    let host = &fingerprint.host;
    let lines = [
        format!("- Command: `scripts/test --full -p qualify --test encoder`, {day}"),
        format!(
            "- qualify {}, commit {}",
            report.tool.version, report.tool.commit
        ),
        format!("- MLX {}, CPU", mlx.map_or("–", |mlx| &mlx.version)),
        format!(
            "- IREE compiler {}, runtime {}, for {}",
            iree.map_or("–", |iree| &iree.compiler),
            iree.map_or("–", |iree| &iree.runtime),
            iree.and_then(|iree| iree.target.split(',').next())
                .unwrap_or("–"),
        ),
        format!(
            "- {}, glibc {}, {} threads",
            host.cpu,
            host.glibc.as_deref().unwrap_or("–"),
            host.threads
        ),
    ];
    lines.join("\n")
}

#[test]
fn numbers_are_grouped_by_thousands() {
    let texts = [0, 999, 1000, 1_234_567].map(grouped);
    assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
}
