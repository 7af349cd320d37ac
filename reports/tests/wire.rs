//! The report format: the committed schema, the example, files.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]

use std::path::Path;

use reports::Grid;
use reports::measure::{Values, compare};
use reports::verdict::{Outcome, Sides, Verdict};
use reports::wire::{
    Bits, Boundary, BoundaryId, Measured, Number, ReadError, Report, read_report, rfc3339, schema,
    write_report,
};
use serde_json::Value;

const EXAMPLE: &str = include_str!("data/report-example.json");

fn example() -> Report {
    serde_json::from_str(EXAMPLE).unwrap()
}

/// Asserts that every key of `a` is in `b`, at every depth; what is no object is not compared.
fn assert_keys(a: &Value, b: &Value, at: &str) {
    match (a, b) {
        // The bins of a histogram are data.
        (Value::Object(_), Value::Object(_)) if at.ends_with(".histogram") => {}
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                let at = format!("{at}.{key}");
                assert_keys(value, b.get(key).unwrap_or_else(|| panic!("no {at}")), &at);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                assert_keys(a, b, &format!("{at}[{i}]"));
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_is_the_committed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/report.schema.json");
    let now = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("QUALIFY_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        now == committed,
        "schema/report.schema.json is stale: run with QUALIFY_BLESS=1"
    );
}

#[test]
fn the_example_parses_and_all_its_keys_are_written_again() {
    let before: Value = serde_json::from_str(EXAMPLE).unwrap();
    let after: Value = serde_json::from_str(&serde_json::to_string(&example()).unwrap()).unwrap();
    assert_keys(&before, &after, "report");
    for key in [
        "verdict",
        "exit_code",
        "first_divergence",
        "policy",
        "timing",
        "fingerprint",
    ] {
        assert_eq!(before[key], after[key]);
    }
    let (before, after) = (&before["boundaries"][0], &after["boundaries"][0]);
    for key in ["differing", "on_grid", "ulp", "ulp_f32", "worst", "max_rel"] {
        assert_eq!(before["local"][key], after["local"][key], "{key}");
    }
}

#[test]
fn conclusions_follow_from_the_boundaries() {
    let mut report = example();
    let before = report.clone();
    report.conclude();
    assert_eq!(report, before);
    report.boundaries.clear();
    report.conclude();
    assert_eq!(
        (report.verdict, report.exit_code),
        (Verdict::Inconclusive, 3)
    );
}

#[test]
fn a_run_whose_forms_disagree_is_inconclusive_at_best() {
    let mut report = example();
    report.boundaries.truncate(1);
    report.boundaries[0].verdict = Verdict::BitExact;
    report.conclude();
    assert_eq!((report.verdict, report.exit_code), (Verdict::BitExact, 0));
    report.non_interference.chained = Some(false);
    report.conclude();
    assert_eq!(
        (report.verdict, report.exit_code),
        (Verdict::Inconclusive, 3)
    );
}

#[test]
fn a_judged_boundary_has_every_key_of_the_example() {
    let (a, b) = ([1.0, 2.0, f32::NAN], [1.0, 2.5, 3.0]);
    let m = compare(Values::F32(&a), Values::F32(&b), &[1, 3], Grid::F32).unwrap();
    let outcome = Outcome::Measured(Box::new(m));
    let id = BoundaryId {
        name: "s.x".into(),
        stage: "s".into(),
        shape: vec![1, 3],
        grid: Grid::F32,
        parents: vec![],
        guarded_by: vec![],
    };
    let parents = Verdict::BitExact;
    let sides = Sides {
        local: Some(&outcome),
        inherited: &outcome,
        interp: Some((0, 2)),
        parents,
    };
    let judged = serde_json::to_value(Boundary::judged(id, sides)).unwrap();
    let before: Value = serde_json::from_str(EXAMPLE).unwrap();
    assert_keys(&before["boundaries"][0], &judged, "boundary");
    assert_eq!(judged["local"]["worst"][0]["reference"], "NaN");
    assert_eq!(judged["local"]["worst"][0]["reference_bits"], "0x7fc00000");
    assert_eq!(
        (judged["origin"].clone(), judged["cause"].clone()),
        ("local".into(), "backend".into())
    );
    assert_eq!(
        judged["flags"],
        serde_json::json!(["non_finite", "unguarded"])
    );
    assert_eq!(
        judged["local"]["ulp"]["histogram"],
        serde_json::json!({"0": 1, "2097152": 1})
    );
}

#[test]
fn an_inconclusive_side_has_nulls_never_zeros() {
    let value = serde_json::to_value(Measured::inconclusive("it stopped".into())).unwrap();
    assert_eq!(value["verdict"], "inconclusive");
    assert!(
        ["differing", "max_abs", "nan", "ulp", "on_grid"]
            .iter()
            .all(|key| value[key].is_null())
    );
}

#[test]
fn numbers_and_bits_survive_the_wire() {
    for value in [
        1.5,
        -0.0,
        1e-45,
        f32::MAX,
        141_234.56,
        f32::INFINITY,
        f32::NEG_INFINITY,
    ] {
        let text = serde_json::to_string(&Number::Float(value)).unwrap();
        assert_eq!(
            serde_json::from_str::<Number>(&text).unwrap(),
            Number::Float(value),
            "{text}"
        );
    }
    assert_eq!(
        serde_json::to_string(&Number::Float(f32::NAN)).unwrap(),
        "\"NaN\""
    );
    assert_eq!(serde_json::to_string(&Number::Int(-3)).unwrap(), "-3");
    assert_eq!(
        serde_json::from_str::<Bits>("\"0x0000000f\"").unwrap(),
        Bits(15)
    );
    assert!(serde_json::from_str::<Bits>("\"0xf\"").is_err());
    assert!(serde_json::from_str::<Number>("\"nought\"").is_err());
}

#[test]
fn a_written_report_reads_back_and_leaves_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    let mut report = example();
    report.created = rfc3339(std::time::SystemTime::now());
    write_report(&path, &report).unwrap();
    write_report(&path, &report).unwrap();
    assert_eq!(read_report(&path).unwrap(), report);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn errors_name_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing/report.json");
    let error = write_report(&path, &example()).unwrap_err();
    assert!(error.to_string().contains("missing/report.json"));
    assert!(matches!(read_report(&path), Err(ReadError::Io { .. })));
    let path = directory.path().join("report.json");
    std::fs::write(&path, "{\"schema_version\": 2}").unwrap();
    assert!(matches!(
        read_report(&path),
        Err(ReadError::Version { found: 2, .. })
    ));
    std::fs::write(&path, EXAMPLE.replace("\"boundaries\"", "\"borders\"")).unwrap();
    assert!(matches!(read_report(&path), Err(ReadError::Json { .. })));
}
