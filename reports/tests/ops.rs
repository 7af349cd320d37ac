//! The catalogue of operations on the wire: its schema, its exit code, and what changed.

use std::path::Path;

use reports::{
    baseline::{NotComparable, against, comparable},
    verdict::Cause,
    wire::{
        Bits, Fingerprint, Host, Iree, Mlx, OpCase, OpElement, OpSide, OpTarget, Ops, OpsSummary,
        OpsTarget, ReadError, Selection, Tool, ops_schema, read_ops, write_ops,
    },
};

#[test]
fn the_schema_is_the_committed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/ops.schema.json");
    let now = serde_json::to_string_pretty(&ops_schema()).unwrap() + "\n";
    if std::env::var_os("QUALIFY_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        now == committed,
        "schema/ops.schema.json is stale: run with QUALIFY_BLESS=1"
    );
}

fn side(bits: &str, differing: u64) -> OpSide {
    OpSide {
        sha256: Some(bits.to_owned()),
        differing: Some(differing),
        error: None,
    }
}

fn failed() -> OpSide {
    OpSide {
        sha256: None,
        differing: None,
        error: Some("failed to compile".to_owned()),
    }
}

/// A case whose sides have these bits, by letters: MLX, interpreter, IREE with and without FMA.
fn case(name: &str, sides: &str) -> OpCase {
    let bits: Vec<&str> = sides.split("").filter(|text| !text.is_empty()).collect();
    let of = |i: usize| match bits[i] {
        "!" => failed(),
        text => side(text, u64::from(text != bits[0]) * 7),
    };
    let target = |name: &str, i| OpTarget {
        target: name.to_owned(),
        side: of(i),
    };
    let mut case = OpCase {
        name: name.to_owned(),
        family: "unary".to_owned(),
        primitive: name.to_owned(),
        dtype: "F32".to_owned(),
        shape: vec![8],
        elements: 8,
        case_sha256: "c".to_owned(),
        text_sha256: Some("t".to_owned()),
        mlx: of(0),
        interp: Some(of(1)),
        iree: vec![target("fma", 2), target("no-fma", 3)],
        cause: None,
        first: vec![],
    };
    case.cause = case.blamed();
    case
}

fn run(cases: Vec<OpCase>) -> Ops {
    let mut summary = OpsSummary::default();
    cases.iter().for_each(|case| summary.count(case));
    let target = |name: &str| OpsTarget {
        name: name.to_owned(),
        flags: vec![format!("--{name}")],
    };
    Ops {
        schema_version: 1,
        tool: Tool {
            name: "qualify".to_owned(),
            version: "0.1.0".to_owned(),
            commit: "abc".to_owned(),
        },
        created: "2026-11-30T12:00:00Z".to_owned(),
        command: vec![],
        fingerprint: Fingerprint {
            mlx: Some(Mlx {
                version: "0.32.2".to_owned(),
                library_sha256: "m".to_owned(),
                device: "cpu".to_owned(),
                sm_list: vec![],
                tf32: None,
                env: [].into(),
            }),
            iree: Some(Iree {
                compiler: "3.13.0".to_owned(),
                runtime: "3.13.0".to_owned(),
                flags: vec![],
                target: String::new(),
                device: "local-task".to_owned(),
            }),
            host: Host {
                cpu: "a processor".to_owned(),
                features: vec![],
                os: "linux".to_owned(),
                glibc: None,
                libm_sample: "l".to_owned(),
                threads: 2,
            },
            gpu: None,
        },
        targets: vec![target("fma"), target("no-fma")],
        size: "short".to_owned(),
        selection: Selection::default(),
        cases,
        summary,
        baseline: None,
        exit_code: 0,
    }
}

#[test]
fn the_exit_code_is_1_where_a_side_differs_or_fails() {
    let code = |sides: &[&str]| {
        let cases = sides.iter().map(|sides| case("x", sides)).collect();
        run(cases).conclusion().code()
    };
    assert_eq!(code(&["aaaa", "bbbb"]), 0);
    assert_eq!(code(&["aaaa", "abaa"]), 1);
    assert_eq!(code(&["aaab"]), 1);
    assert_eq!(code(&["!!!!"]), 1);
    assert_eq!(code(&["a!aa"]), 1);
}

#[test]
fn cases_are_equal_differ_or_failed() {
    let cases = ["aaaa", "abbb", "aa!b", "a!aa"].map(|sides| case(sides, sides));
    let summary = run(cases.to_vec()).summary;
    let counts = [
        summary.cases,
        summary.equal,
        summary.differing,
        summary.failed,
    ];
    assert_eq!(counts, [4, 1, 2, 1]);
    assert_eq!(summary.elements, 32);
}

#[test]
fn what_differs_is_the_contracts_or_the_compilers() {
    let cause = |sides: &str| case("x", sides).cause;
    assert_eq!(cause("aaaa"), None);
    assert_eq!(cause("abbb"), Some(Cause::Contract));
    assert_eq!(cause("aaab"), Some(Cause::Backend));
    assert_eq!(cause("abaa"), Some(Cause::Both));
    assert_eq!(cause("ab!a"), None);
}

/// The names of what changed and got worse or better, from these sides to those.
fn compared(before: &[(&str, &str)], now: &[(&str, &str)]) -> reports::wire::Baseline {
    let of = |cases: &[(&str, &str)]| run(cases.iter().map(|(n, s)| case(n, s)).collect());
    against(&of(before), &of(now), &|case| case.name != "unselected")
}

#[test]
fn it_is_told_which_side_changed() {
    let before = [
        ("same", "aaaa"),
        ("m", "aaaa"),
        ("i", "aaaa"),
        ("c", "aaaa"),
    ];
    let now = [
        ("same", "aaaa"),
        ("m", "baaa"),
        ("i", "aaba"),
        ("c", "bbbb"),
    ];
    let found = compared(&before, &now);
    let changes: Vec<(&str, String)> = found
        .changes
        .iter()
        .map(|change| (&*change.name, change.changed.join("+")))
        .collect();
    let expected = [
        ("m", "mlx"),
        ("i", "iree fma"),
        ("c", "mlx+interp+iree fma+iree no-fma"),
    ];
    assert_eq!(
        changes,
        expected.map(|(name, what)| (name, what.to_owned()))
    );
    // All changed alike: nothing is worse.
    assert_eq!(found.worse, ["m", "i"]);
    assert!(found.fingerprint.is_empty());
}

#[test]
fn worse_is_only_what_was_equal_or_is_new() {
    let before = [
        ("bad", "abaa"),
        ("other", "abaa"),
        ("good", "aaaa"),
        ("gone", "aaaa"),
    ];
    let before = [&before[..], &[("unselected", "aaaa"), ("fails", "aaaa")]].concat();
    let now = [
        ("bad", "abaa"),
        ("other", "acaa"),
        ("good", "aaaa"),
        ("fails", "aa!a"),
    ];
    let found = compared(&before, &now);
    assert_eq!(
        (found.worse, found.better),
        (vec!["fails".to_owned()], vec![])
    );
    assert_eq!(found.removed, ["gone"]);
    let found = compared(
        &before,
        &[("bad", "aaaa"), ("fresh", "aaaa"), ("wrong", "aaab")],
    );
    assert_eq!(found.better, ["bad"]);
    assert_eq!(found.new, ["fresh", "wrong"]);
    assert_eq!(found.worse, ["wrong"]);
}

#[test]
fn with_a_baseline_only_what_is_worse_counts() {
    let mut now = run(vec![case("x", "abbb")]);
    assert_eq!(now.conclusion().code(), 1);
    now.baseline = Some(compared(&[("x", "abbb")], &[("x", "abbb")]));
    assert_eq!(now.conclusion().code(), 0);
    now.baseline = Some(compared(&[("x", "aaaa")], &[("x", "abbb")]));
    assert_eq!(now.conclusion().code(), 1);
}

#[test]
fn other_operands_and_texts_are_told_from_other_results() {
    let before = run(vec![case("x", "aaaa")]);
    let mut now = run(vec![case("x", "bbbb")]);
    now.cases[0].case_sha256 = "d".to_owned();
    now.cases[0].text_sha256 = None;
    let found = against(&before, &now, &|_| true);
    let expected = [
        "operands",
        "text",
        "mlx",
        "interp",
        "iree fma",
        "iree no-fma",
    ];
    assert_eq!(found.changes[0].changed, expected);
    assert!(found.changes[0].was_equal && found.changes[0].is_equal);
}

#[test]
fn the_fingerprints_differences_are_named() {
    let before = run(vec![]);
    let mut now = run(vec![]);
    now.fingerprint.mlx.as_mut().unwrap().version = "0.33.0".to_owned();
    now.fingerprint.iree = None;
    now.targets[1].flags = vec!["--other".to_owned()];
    let found = against(&before, &now, &|_| true).fingerprint;
    let told: Vec<String> = found
        .iter()
        .map(|d| format!("{} {} {}", d.what, d.before, d.now))
        .collect();
    let expected = [
        "iree.compiler 3.13.0 none",
        "iree.device local-task none",
        "iree.flags.no-fma --no-fma --other",
        "iree.runtime 3.13.0 none",
        "mlx.version 0.32.2 0.33.0",
    ];
    assert_eq!(told, expected);
}

#[test]
fn runs_of_another_size_or_with_a_name_twice_are_refused() {
    let twice = run(vec![case("x", "aaaa"), case("x", "aaaa")]);
    let once = run(vec![case("x", "aaaa")]);
    assert_eq!(comparable(&once, "short"), Ok(()));
    let error = comparable(&once, "full").unwrap_err();
    let text = "compare with the baseline: it is of the short catalogue, this of the full one";
    assert_eq!(error.to_string(), text);
    let expected = NotComparable::Twice("x".to_owned());
    assert_eq!(comparable(&twice, "short"), Err(expected));
}

#[test]
fn what_is_written_is_read_again_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ops.json");
    let mut ops = run(vec![case("x", "abaa"), case("y", "!aaa")]);
    ops.cases[0].first.push(OpElement {
        element: 3,
        operands: vec![Bits(1)],
        mlx: Bits(2),
        interp: Some(Bits(3)),
        iree: vec![],
    });
    ops.baseline = Some(compared(&[("x", "aaaa")], &[("x", "abaa")]));
    write_ops(&path, &ops).unwrap();
    assert_eq!(read_ops(&path).unwrap(), ops);
    std::fs::write(&path, "{\"schema_version\": 2}").unwrap();
    let error = read_ops(&path).unwrap_err();
    assert!(
        matches!(error, ReadError::Version { found: 2, .. }),
        "{error}"
    );
    std::fs::write(&path, "{\"schema_version\": 1}").unwrap();
    let error = read_ops(&path).unwrap_err();
    assert!(matches!(error, ReadError::Json { .. }), "{error}");
}
