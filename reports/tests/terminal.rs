//! What a run looks like where there is no terminal, and with colours.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use reports::Grid;
use reports::events::{Event, Phase, Sink};
use reports::measure::{Values, compare};
use reports::terminal::{Options, Terminal, Verbosity, render};
use reports::verdict::{Outcome, Sides, Verdict};
use reports::wire::{Boundary, BoundaryId, NonInterference, Report, Truth, TruthDistance};

fn outcome(a: &[f32], b: &[f32], shape: &[usize], grid: Grid) -> Outcome {
    Outcome::Measured(Box::new(
        compare(Values::F32(a), Values::F32(b), shape, grid).unwrap(),
    ))
}

fn boundary(name: &str, shape: &[usize], grid: Grid, sides: Sides<'_>) -> Boundary {
    let id = BoundaryId {
        name: name.into(),
        stage: name.split('.').next().unwrap_or(name).into(),
        shape: shape.to_vec(),
        grid,
        parents: vec![],
        guarded_by: vec!["drop the mask".into()],
    };
    Boundary::judged(id, sides)
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 200) as f32).collect()
}

fn report(boundaries: Vec<Boundary>, checked: NonInterference) -> Report {
    let example = include_str!("data/report-example.json");
    let mut report: Report = serde_json::from_str(example).unwrap();
    report.boundaries = boundaries;
    report.non_interference = checked;
    report.conclude();
    report
}

/// A run of which every boundary is exact.
fn exact() -> Report {
    let one = |name: &str, shape: &[usize], grid| {
        let a = ramp(shape.iter().product());
        let same = outcome(&a, &a, shape, grid);
        let parents = Verdict::BitExact;
        let sides = Sides {
            local: Some(&same),
            inherited: &same,
            interp: Some((0, 0)),
            parents,
        };
        boundary(name, shape, grid, sides)
    };
    let boundaries = vec![
        one("sscp_conv_0.convolution", &[1, 549, 64, 128], Grid::Bf16),
        one(
            "sscp_conv_0.norm.cumulative_sum",
            &[1, 549, 1, 1],
            Grid::F32,
        ),
        one("sscp_conv_0.output", &[1, 549, 64, 128], Grid::Bf16),
    ];
    report(
        boundaries,
        NonInterference {
            tapped: Some(true),
            chained: Some(true),
        },
    )
}

/// A run in which everything that can happen does.
fn mixed() -> Report {
    let exact = Verdict::BitExact;
    let shape = [1, 549, 1, 1];
    let a: Vec<f32> = ramp(549).iter().map(|v| v * 0.37 + 141_234.56).collect();
    let mut b = a.clone();
    for i in [7, 373, 548] {
        b[i] = b[i].next_up();
    }
    let (same, scan) = (
        outcome(&a, &a, &shape, Grid::F32),
        outcome(&a, &b, &shape, Grid::F32),
    );
    let wide = [1, 549, 128];
    let x = ramp(549 * 128);
    let y: Vec<f32> = x.iter().map(|v| v + 1.5).collect();
    let (good, drift) = (
        outcome(&x, &x, &wide, Grid::Bf16),
        outcome(&x, &y, &wide, Grid::Bf16),
    );
    let off = outcome(&a, &b, &shape, Grid::Bf16);
    let flat = outcome(&[1.0; 549], &[1.0; 549], &shape, Grid::F32);
    let failed = Outcome::Inconclusive("the candidate returned 3 of 4 results".into());
    let nan = outcome(&[1.0, f32::NAN], &[f32::NEG_INFINITY, 2.0], &[2], Grid::F16);
    let mask = |b: &[u8]| {
        let m = compare(Values::Bool(b), Values::Bool(b), &[4], Grid::Bool).unwrap();
        Outcome::Measured(Box::new(m))
    };
    let mask = mask(&[1, 1, 1, 1]);
    let sides = |local, inherited, interp, parents| Sides {
        local: Some(local),
        inherited,
        interp,
        parents,
    };
    let bad = Verdict::Diverged;
    let boundaries = vec![
        boundary("mask", &[4], Grid::Bool, sides(&mask, &mask, None, exact)),
        boundary(
            "sscp_conv_0.norm.sum_at_time",
            &shape,
            Grid::F32,
            sides(&same, &same, Some((0, 0)), exact),
        ),
        boundary(
            "sscp_conv_0.norm.flat",
            &shape,
            Grid::F32,
            sides(&flat, &flat, Some((0, 0)), exact),
        ),
        boundary(
            "sscp_conv_0.norm.cumulative_sum",
            &shape,
            Grid::F32,
            sides(&scan, &scan, Some((0, 3)), exact),
        ),
        boundary(
            "sscp_conv_0.norm.mean",
            &shape,
            Grid::Bf16,
            sides(&off, &off, Some((3, 0)), bad),
        ),
        boundary(
            "sscp_conv_0.output",
            &wide,
            Grid::Bf16,
            sides(&good, &drift, Some((0, 0)), bad),
        ),
        boundary(
            "sscp_conv_1.convolution",
            &wide,
            Grid::Bf16,
            sides(&failed, &failed, None, bad),
        ),
        boundary(
            "projection",
            &[2],
            Grid::F16,
            sides(&nan, &nan, Some((1, 2)), bad),
        ),
    ];
    report(
        boundaries,
        NonInterference {
            tapped: Some(true),
            chained: Some(false),
        },
    )
}

fn play(report: Report, options: Options) -> (String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut terminal = Terminal::new(&mut out, &mut err, options);
    let phases = [
        Phase::Compile,
        Phase::Reference,
        Phase::Candidate,
        Phase::Interp,
    ];
    for (i, phase) in (0_u32..).zip(phases) {
        terminal.event(&Event::PhaseStarted {
            phase,
            total: (i > 0).then_some(8),
        });
        terminal.event(&Event::PhaseProgress {
            phase,
            done: 4,
            at: Some("sscp_conv_0.output".into()),
        });
        let elapsed = Duration::from_millis(1234) * i;
        terminal.event(&Event::PhaseFinished {
            phase,
            elapsed,
            cached: phase == Phase::Compile,
        });
    }
    for boundary in &report.boundaries {
        terminal.event(&Event::BoundaryJudged(Arc::new(boundary.clone())));
    }
    terminal.event(&Event::RunFinished(Arc::new(report)));
    terminal.finish().unwrap();
    (
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

#[test]
fn an_exact_run_ends_in_one_sentence() {
    let (out, err) = play(exact(), Options::default());
    insta::assert_snapshot!("exact_stdout", out);
    insta::assert_snapshot!("exact_stderr", err);
}

#[test]
fn a_planted_mistake_is_named_and_never_passes() {
    let mut report = exact();
    report.planted = Some("sscp_conv_0.convolution/one-ulp".into());
    report.conclude();
    assert_eq!(report.exit_code, 3);
    let (out, _) = play(report, Options::default());
    let said = "planted in the candidate's graph: sscp_conv_0.convolution/one-ulp";
    assert!(out.contains(said), "{out}");
}

#[test]
fn which_side_is_nearer_to_the_truth_stands_below_the_first_divergence() {
    let mut report = mixed();
    let name = report.first_divergence.local.clone().unwrap();
    let boundary = report.boundaries.iter_mut().find(|b| b.name == name);
    let distance = |rms| TruthDistance { max_abs: rms, rms };
    boundary.unwrap().truth = Some(Truth {
        reference: distance(2e-3),
        candidate: Some(distance(1e-3)),
        condition: Some(12.5),
    });
    let (out, _) = play(report, Options::default());
    let said = "from the F64 truth the reference is 2.000e-3 rms, the candidate 1.000e-3: the \
                candidate is nearer; the worst elements amplify an error 1.250e1 times";
    assert!(out.contains(said), "{out}");
}

#[test]
fn a_diverging_run_says_where_whose_fault_and_by_how_much() {
    let (out, err) = play(mixed(), Options::default());
    insta::assert_snapshot!("mixed_stdout", out);
    insta::assert_snapshot!("mixed_stderr", err);
}

#[test]
fn what_is_only_handed_on_is_told_from_what_is_made() {
    let (out, _) = play(mixed(), Options::default());
    let line = out.lines().find(|line| line.starts_with("local error"));
    assert_eq!(
        line,
        Some(
            "local error in 3 boundaries, the first sscp_conv_0.norm.cumulative_sum; \
             inherited alone in 1 boundary, the first sscp_conv_0.output"
        )
    );
    assert!(!play(exact(), Options::default()).0.contains("local error"));
}

#[test]
fn verbose_names_the_start_of_phases() {
    let options = Options {
        verbosity: Verbosity::Verbose,
        ..Options::default()
    };
    insta::assert_snapshot!("verbose_stderr", play(exact(), options).1);
}

#[test]
fn quiet_prints_the_summary_alone() {
    let options = Options {
        verbosity: Verbosity::Quiet,
        ..Options::default()
    };
    let (out, err) = play(exact(), options);
    assert_eq!(
        out,
        "3 of 3 boundaries bit-exact; production = tapped = chained\n"
    );
    assert_eq!(err, "");
}

#[test]
fn colours_add_escapes_and_change_no_character() {
    let plain = render(&mixed(), Options::default());
    let colored = render(
        &mixed(),
        Options {
            color: true,
            ..Options::default()
        },
    );
    assert!(!plain.contains('\x1b') && colored.contains("\x1b[1;31m✗ diverged\x1b[0m"));
    let mut stripped = String::new();
    for part in colored.split('\x1b') {
        let text = part
            .strip_prefix('[')
            .and_then(|p| p.split_once('m'))
            .map_or(part, |(_, t)| t);
        stripped.push_str(text);
    }
    assert_eq!(stripped, plain);
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_shorter_names() {
    for width in [133, 120, 100, 80, 60] {
        let options = Options {
            width: Some(width),
            ..Options::default()
        };
        let text = render(&mixed(), options);
        let table = text.lines().take(9);
        assert!(
            table
                .clone()
                .all(|line| line.chars().count() <= width.max(75)),
            "{width}\n{text}"
        );
        for heading in [
            "boundary",
            "≠inherited",
            "≠local",
            "max ULP",
            "verdict",
            "cause",
        ] {
            assert!(table.clone().any(|line| line.contains(heading)), "{text}");
        }
        insta::assert_snapshot!(
            format!("mixed_{width}"),
            table.collect::<Vec<_>>().join("\n")
        );
    }
}

/// A stream that fails with one kind of error.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

#[test]
fn a_broken_pipe_is_success_and_a_full_disk_is_not() {
    let run = |kind| {
        let mut terminal = Terminal::new(Broken(kind), Broken(kind), Options::default());
        terminal.event(&Event::RunFinished(Arc::new(exact())));
        terminal.finish()
    };
    assert!(run(io::ErrorKind::BrokenPipe).is_ok());
    assert!(run(io::ErrorKind::StorageFull).is_err());
}

#[test]
fn bars_of_a_tty_leave_stdout_as_it_is() {
    let tty = Options {
        tty: true,
        ..Options::default()
    };
    assert_eq!(play(mixed(), tty).0, play(mixed(), Options::default()).0);
}
