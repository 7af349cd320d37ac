//! What the writers of a finished report write, read back by readers that are not ours.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod sample;

use quick_junit::{NonSuccessKind, TestCaseStatus};
use reports::verdict::Verdict;
use reports::wire::Report;
use reports::{csv, github, junit, markdown};
use sample::{HOSTILE, exact, hostile, many, mixed};

fn junit_of(report: &Report) -> quick_junit::Report {
    quick_junit::Report::deserialize_from_str(&junit::render(report).unwrap()).unwrap()
}

fn csv_of(report: &Report) -> (Vec<String>, Vec<Vec<String>>) {
    let text = csv::render(report).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let fields = |record: &::csv::StringRecord| record.iter().map(str::to_owned).collect();
    let headings = fields(reader.headers().unwrap());
    let rows = reader.records().map(|record| fields(&record.unwrap()));
    (headings, rows.collect())
}

#[test]
fn csv_has_a_line_for_each_boundary_with_its_numbers() {
    let report = mixed();
    let (headings, rows) = csv_of(&report);
    assert_eq!(rows.len(), report.boundaries.len());
    let field = |row: usize, name: &str| {
        let at = headings.iter().position(|heading| heading == name).unwrap();
        rows[row][at].as_str()
    };
    for (i, b) in report.boundaries.iter().enumerate() {
        assert_eq!(field(i, "boundary"), b.name);
        assert_eq!(field(i, "verdict"), b.verdict.name());
        let rms: Option<f64> = field(i, "inherited_rms").parse().ok();
        assert_eq!(rms, b.inherited.rms, "{}", b.name);
    }
    assert_eq!(field(2, "local_differing"), "3");
    assert_eq!(
        (field(2, "local_ulp_max"), field(2, "cause")),
        ("1", "backend")
    );
    assert_eq!(field(2, "local_worst_index"), "0;7;0;0");
    assert_eq!(
        (field(2, "truth_candidate_max_abs"), field(2, "condition")),
        ("0.015625", "12.5")
    );
    assert_eq!(
        (field(3, "local_ulp_max"), field(3, "flags")),
        ("", "off_grid;unguarded")
    );
    assert_eq!(
        field(5, "local_failure"),
        "the candidate returned 3 of 4 results"
    );
    assert_eq!(field(5, "local_differing"), "");
    assert_eq!(field(6, "inherited_worst_reference"), "NaN");
}

#[test]
fn csv_keeps_every_name_and_guards_formulas() {
    let (_, rows) = csv_of(&hostile());
    for (row, name) in rows.iter().zip(HOSTILE) {
        let guarded = if name.starts_with('=') {
            format!("'{name}")
        } else {
            name.to_owned()
        };
        assert_eq!(row[0], guarded);
    }
}

#[test]
fn junit_has_a_case_for_each_boundary_whose_class_is_its_stage() {
    let report = mixed();
    let document = junit_of(&report);
    let suite = &document.test_suites[0];
    assert_eq!(suite.test_cases.len(), report.boundaries.len());
    for (case, b) in suite.test_cases.iter().zip(&report.boundaries) {
        assert_eq!(case.name.as_str(), b.name);
        assert_eq!(case.classname.as_ref().unwrap().as_str(), b.stage);
        let expected = match &case.status {
            TestCaseStatus::Success { .. } => b.verdict == Verdict::BitExact,
            TestCaseStatus::Skipped { .. } => b.verdict == Verdict::Vacuous,
            TestCaseStatus::NonSuccess {
                kind: NonSuccessKind::Failure,
                ..
            } => b.verdict == Verdict::Diverged,
            TestCaseStatus::NonSuccess {
                kind: NonSuccessKind::Error,
                ..
            } => b.verdict == Verdict::Inconclusive,
        };
        assert!(expected, "{}: {:?}", b.name, case.status);
    }
    assert_eq!(
        (document.tests, document.failures, document.errors),
        (7, 4, 1)
    );
    let property = |name: &str| {
        let found = suite.properties.iter().find(|p| p.name.as_str() == name);
        found.unwrap().value.as_str()
    };
    assert_eq!(property("mlx.version"), "0.32.2");
    assert_eq!(
        property("first_divergence.local"),
        "sscp_conv_0.norm.cumulative_sum"
    );
    assert_eq!(property("command"), "qualify run --stage sscp_conv_1");
}

#[test]
fn junit_says_what_is_wrong_with_a_run_that_no_boundary_shows() {
    let mut report = exact();
    assert_eq!(junit_of(&report).errors, 0);
    report.non_interference.chained = Some(false);
    report.conclude();
    let document = junit_of(&report);
    assert_eq!((document.tests, document.errors), (3, 1));
    report.boundaries.clear();
    report.conclude();
    assert_eq!(junit_of(&report).errors, 1);
}

#[test]
fn junit_survives_every_name() {
    let document = junit_of(&hostile());
    let cases = &document.test_suites[0].test_cases;
    for (case, name) in cases.iter().zip(HOSTILE) {
        // XML has no NUL, no other control characters, and its readers see one kind of line end.
        let kept = |text: &str| -> String {
            text.replace("\u{1b}[31m", "")
                .chars()
                .filter(|c| !c.is_control() && !c.is_whitespace())
                .collect()
        };
        assert_eq!(kept(case.name.as_str()), kept(name));
    }
}

#[test]
fn markdown_begins_with_the_first_divergence() {
    insta::assert_snapshot!(
        "markdown_mixed",
        markdown::render(&mixed(), markdown::COMMENT)
    );
    insta::assert_snapshot!(
        "markdown_exact",
        markdown::render(&exact(), markdown::COMMENT)
    );
}

#[test]
fn markdown_never_exceeds_its_bytes_and_says_what_it_leaves_out() {
    let report = many(2000);
    let text = markdown::render(&report, markdown::COMMENT);
    assert!(text.len() <= markdown::COMMENT, "{}", text.len());
    assert!(
        text.len() > markdown::COMMENT - 1000,
        "it is not used up: {}",
        text.len()
    );
    let rows = text
        .lines()
        .filter(|line| line.contains("boundary_") && line.starts_with("| "));
    let left = 2000 - rows.count();
    let grouped = format!("{},{:03}", left / 1000, left % 1000);
    assert!(text.contains(&format!(
        "… and {grouped} more boundaries that are not bit-exact"
    )));
    let first = text.find("First divergence").unwrap();
    assert!(first < text.find("| boundary |").unwrap());
    let report = many(60);
    let text = markdown::render(&report, markdown::COMMENT);
    assert!(text.contains("… and those of ") && text.len() <= markdown::COMMENT);
    for limit in (0..20_000).step_by(777) {
        assert!(markdown::render(&report, limit).len() <= limit);
    }
}

#[test]
fn markdown_takes_no_name_for_its_own() {
    let text = markdown::render(&hostile(), markdown::COMMENT);
    assert!(!text.contains("<script") && !text.contains("](g)") && !text.contains("@me"));
    assert!(
        !text
            .chars()
            .any(|c| c == '\u{202e}' || c == '\u{200f}' || c == '\u{0}')
    );
    for line in text
        .lines()
        .filter(|line| line.starts_with("| <code>") && line.contains('✗'))
    {
        assert_eq!(line.matches('|').count(), 10, "{line}");
    }
    let tags = text
        .split('<')
        .skip(1)
        .map(|tag| tag.split('>').next().unwrap());
    for tag in tags {
        let known = [
            "code", "/code", "details", "/details", "summary", "/summary",
        ];
        assert!(known.contains(&tag), "{tag}");
    }
}

#[test]
fn annotations_are_ten_of_a_kind_at_most() {
    insta::assert_snapshot!("annotations_mixed", github::annotations(&mixed()));
    let text = github::annotations(&many(2000));
    assert_eq!(text.lines().count(), 10);
    assert!(
        text.lines()
            .last()
            .unwrap()
            .starts_with("::error title=1%2C991 more boundaries::")
    );
    assert_eq!(github::annotations(&exact()), "");
    let mut report = many(11);
    report.non_interference.tapped = Some(false);
    let text = github::annotations(&report);
    assert_eq!(text.lines().count(), 10);
    assert!(
        text.starts_with("::error title=what was judged is not what ships::production ≠ tapped")
    );
    for line in github::annotations(&hostile()).lines() {
        assert!(line.starts_with("::error title="), "{line}");
    }
}

#[test]
fn a_summary_has_room_or_is_left_out() {
    let report = many(2000);
    let text = github::summary(&report, 0).unwrap();
    assert!(text.len() <= 1 << 20 && text.len() > markdown::COMMENT);
    let text = github::summary(&report, (1 << 20) - 5000).unwrap();
    assert!(text.len() <= 5000);
    assert_eq!(github::summary(&report, 1 << 20), None);
    assert_eq!(github::summary(&report, u64::MAX), None);
}
