//! What came of negative controls, as text.

use reports::wire::{Control, ControlOutcome, Controls};

/// How many controls of a kind are named in the summary.
const NAMED: usize = 20;

/// A line a boundary, then what is open, then the sums.
pub fn render(report: &Controls) -> String {
    const HEADINGS: [&str; 6] = [
        "boundary",
        "caught",
        "elsewhere",
        "explained",
        "vacuous",
        "missed",
    ];
    let width = report.boundaries.iter().map(|g| g.boundary.chars().count());
    let width = width.chain([HEADINGS[0].len()]).max().unwrap_or(0);
    let mut out = line(width, HEADINGS);
    let mut sums = [0; 5];
    for guard in &report.boundaries {
        let counts = [
            guard.caught,
            guard.elsewhere,
            guard.explained,
            guard.vacuous,
            guard.missed,
        ];
        let texts = counts.map(|n| n.to_string());
        let [a, b, c, d, e] = texts.each_ref().map(String::as_str);
        out.push_str(&line(width, [&guard.boundary, a, b, c, d, e]));
        if guard.differing > 0 {
            let differing = guard.differing;
            out.push_str(&format!(
                "  {differing} elements differ without a mutation\n"
            ));
        }
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    let of = |outcome, explained| {
        let all = report.controls.iter();
        let known = |c: &&Control| c.fixture.is_some() || c.reason.is_some();
        all.filter(move |c| c.outcome == outcome && known(c) == explained)
    };
    list(&mut out, "missed", of(ControlOutcome::Missed, false));
    list(&mut out, "vacuous", of(ControlOutcome::Vacuous, false));
    let [caught, elsewhere, explained, vacuous, missed] = sums;
    out.push_str(&format!(
        "\n{caught} controls caught, {elsewhere} on inputs they name, {explained} explained, \
         {vacuous} vacuous, {missed} missed; {} boundaries\n",
        report.boundaries.len()
    ));
    out
}

fn line(width: usize, cells: [&str; 6]) -> String {
    let [name, numbers @ ..] = cells;
    let mut line = format!("{name:<width$}");
    for number in numbers {
        line.push_str(&format!("  {number:>9}"));
    }
    line.push('\n');
    line
}

fn list<'c>(out: &mut String, what: &str, controls: impl Iterator<Item = &'c Control>) {
    let controls: Vec<&Control> = controls.collect();
    if controls.is_empty() {
        return;
    }
    out.push_str(&format!("\n{what}:\n"));
    for control in controls.iter().take(NAMED) {
        out.push_str(&format!("  {}  {}\n", control.name, control.about));
    }
    if let Some(more) = controls.len().checked_sub(NAMED).filter(|&n| n > 0) {
        out.push_str(&format!("  … {more} more\n"));
    }
}
