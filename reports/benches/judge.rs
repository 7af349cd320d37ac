//! How long it takes to judge a report of 2,000 boundaries of a million elements each, all of which
//! differ: to read it, to judge it by a policy, to write it; and to compare it.
//!
//! `cargo bench -p reports --bench judge`; the table is what `docs/benchmarks/judge.md` keeps.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use reports::Grid;
use reports::diff::diff;
use reports::measure::{Values, compare_and_map};
use reports::policy::{Policy, Selects, apply, read_policy, suggest, uncounted};
use reports::verdict::{Outcome, Sides, Verdict};
use reports::wire::{
    Boundary, BoundaryId, Report, read_report, write_json, write_report, write_text,
};

const BOUNDARIES: usize = 2_000;
const SHAPE: [usize; 3] = [1, 1_000, 1_000];
const ROUNDS: usize = 9;

/// The command's own measure: from the file to the judged file.
const LIMIT: Duration = Duration::from_secs(1);

/// A report without its boundaries.
const EXAMPLE: &str = include_str!("../tests/data/report-example.json");

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    let (input, output) = (file("report.json"), file("judged.json"));
    let report = made()?;
    write_report(&input, &report)?;
    let size = std::fs::metadata(&input)?.len();
    println!(
        "{BOUNDARIES} boundaries, {} MB of JSON, {ROUNDS} rounds\n",
        size / 1_000_000
    );
    let suggestion = suggest(&report, &selects);
    write_text(&file("tight.toml"), &suggestion.to_toml())?;
    let loose = "schema_version = 1\n\
                 [[boundary]]\nmatch = \"block\"\nulp = { grid = \"bf16\", max = 64 }\nabs = 100\n\
                 [[boundary]]\nmatch = \"block.7\"\nof = \"inherited\"\nrms = 10\n";
    write_text(&file("loose.toml"), loose)?;
    println!("| policy | read | judge | write | together | exit code |");
    println!("|---|---:|---:|---:|---:|---:|");
    for name in ["loose.toml", "tight.toml"] {
        let policy = read_policy(&file(name))?;
        row(name, &policy, &input, &output)?;
    }
    let (before, after) = (read_report(&input)?, read_report(&output)?);
    let started = Instant::now();
    let found = diff(&before, &after, ["a", "b"], &[]);
    let compared = started.elapsed();
    write_json(&file("diff.json"), &found)?;
    println!(
        "\n`diff` of it and the judged one, both read: {}",
        shown(compared)
    );
    Ok(())
}

/// Times one policy; every number is a median.
fn row(name: &str, policy: &Policy, input: &Path, output: &Path) -> Result<(), Box<dyn Error>> {
    let mut times = [const { Vec::new() }; 4];
    let mut exit_code = 0;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let mut report = read_report(input)?;
        let read = started.elapsed();
        apply(policy, name, &mut report, &selects, &uncounted)?;
        let judged = started.elapsed();
        write_report(output, &report)?;
        let written = started.elapsed();
        exit_code = report.exit_code;
        let parts = [read, judged - read, written - judged, written];
        times
            .iter_mut()
            .zip(parts)
            .for_each(|(all, one)| all.push(one));
    }
    let [read, judged, written, whole] = times.map(|mut all| {
        all.sort();
        all[ROUNDS / 2]
    });
    let entries = policy.entries.len();
    let (read, judged, written) = (shown(read), shown(judged), shown(written));
    let over = if whole > LIMIT { " (over 1 s)" } else { "" };
    let whole = shown(whole);
    println!(
        "| {name}, {entries} entries | {read} | {judged} | {written} | {whole}{over} | {exit_code} |"
    );
    Ok(())
}

fn shown(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

/// A pattern is a name here, which also selects what lies below it.
fn selects(pattern: &str) -> Selects {
    let pattern = pattern.to_owned();
    Box::new(move |name| {
        let rest = name.strip_prefix(&pattern);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// A report whose measurements were made from values: 1 in 1,000 differs, or every other one.
fn made() -> Result<Report, Box<dyn Error>> {
    let elements: usize = SHAPE.iter().product();
    let coarse =
        |i: usize| f32::from_bits((0x3f80_0000 + ((scramble(i) as u32) << 16)) & 0x4fff_0000);
    let reference: Vec<f32> = (0..elements).map(coarse).collect();
    let disturbed = |every: usize| -> Vec<f32> {
        let values = reference.iter().enumerate();
        let value = |(i, value): (usize, &f32)| match scramble(i ^ every).is_multiple_of(every) {
            true => f32::from_bits(value.to_bits() + ((1 << (i % 6)) << 16)),
            false => *value,
        };
        values.map(value).collect()
    };
    let measured = |values: &[f32]| {
        let (a, b) = (Values::F32(&reference), Values::F32(values));
        compare_and_map(a, b, &SHAPE, Grid::Bf16).map(|m| Outcome::Measured(Box::new(m)))
    };
    let off = [measured(&disturbed(2))?, measured(&disturbed(1_000))?];
    let mut report: Report = serde_json::from_str(EXAMPLE)?;
    report.boundaries = (0..BOUNDARIES)
        .map(|i| {
            let (local, inherited) = (&off[1], &off[i % 2]);
            let id = BoundaryId {
                name: format!("block.{}.attention.boundary_{i}", i / 50),
                stage: format!("block.{}", i / 50),
                shape: SHAPE.to_vec(),
                grid: Grid::Bf16,
                parents: vec![format!(
                    "block.{}.attention.boundary_{}",
                    i / 50,
                    i.max(1) - 1
                )],
                guarded_by: vec!["a/control".to_owned(); 4],
            };
            let sides = Sides {
                local: Some(local),
                inherited,
                interp: Some((0, 0)),
                parents: Verdict::BitExact,
            };
            Boundary::judged(id, sides)
        })
        .collect();
    report.conclude();
    Ok(report)
}

/// The finaliser of splitmix64.
const fn scramble(i: usize) -> usize {
    let x = (i as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ x >> 31) as usize
}
