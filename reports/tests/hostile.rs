//! Reports that nobody should trust: each is refused with what is wrong, in little memory.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reports::wire::{MAX_REPORT_BYTES, ReadError, Report, read_report, read_report_within};
use serde_json::{Value, json};

const EXAMPLE: &str = include_str!("data/report-example.json");

fn put(text: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn read(text: impl AsRef<[u8]>) -> Result<Report, ReadError> {
    read_report(&put(text).1)
}

fn refused(text: impl AsRef<[u8]>) -> ReadError {
    read(text).unwrap_err()
}

/// What is said of the example with this changed.
fn said(pointer: &str, value: Value) -> String {
    let mut report: Value = serde_json::from_str(EXAMPLE).unwrap();
    *report.pointer_mut(pointer).unwrap() = value;
    let error = refused(report.to_string());
    assert!(matches!(error, ReadError::Contradiction { .. }), "{error}");
    error.to_string()
}

#[test]
fn the_example_itself_is_read() {
    assert!(read(EXAMPLE).is_ok());
}

#[test]
fn what_is_cut_short_anywhere_is_malformed() {
    for end in (0..EXAMPLE.trim_end().len()).step_by(7) {
        let error = refused(&EXAMPLE.as_bytes()[..end]);
        assert!(matches!(error, ReadError::Json { .. }), "{end}: {error}");
    }
}

#[test]
fn what_is_no_json_is_malformed() {
    for text in [
        EXAMPLE.replace("0.015625", "NaN"),
        EXAMPLE.replace("0.015625", "-Infinity"),
        EXAMPLE.replace("0.015625", "1e999"),
        EXAMPLE.replace("\"exit_code\": 1", "\"exit_code\": 1}{"),
        EXAMPLE.replace("\"exit_code\": 1", "\"exit_code\": 1, \"exit_code\": 1"),
        EXAMPLE.replace("\"exit_code\": 1", "\"exit_code\": 256"),
        EXAMPLE.replace("\"differing\": 3", "\"differing\": -3"),
        EXAMPLE.replace("\"differing\": 3", "\"differing\": 3.5"),
        EXAMPLE.replace("\"differing\": 3", "\"differing\": 99999999999999999999"),
        EXAMPLE.replace("\"0\": 546", "\"x\": 546"),
        EXAMPLE.replace("\"boundaries\"", "\"borders\""),
        "null".to_owned(),
        "[]".to_owned(),
    ] {
        assert!(matches!(refused(&text), ReadError::Json { .. }), "{text}");
    }
}

#[test]
fn what_is_no_text_is_malformed() {
    let mut bytes = EXAMPLE.as_bytes().to_vec();
    let at = EXAMPLE.find("sscp_conv_0").unwrap();
    bytes[at] = 0xff;
    assert!(matches!(refused(&bytes), ReadError::Json { .. }));
    assert!(matches!(refused([0; 4096]), ReadError::Json { .. }));
    let utf16: Vec<u8> = EXAMPLE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(matches!(refused(utf16), ReadError::Json { .. }));
}

#[test]
fn another_version_is_said_before_anything_else() {
    let newer = refused("{\"schema_version\": 7, \"boundaries\": \"elsewhere\"}");
    assert!(matches!(newer, ReadError::Version { found: 7, .. }));
    assert!(
        newer
            .to_string()
            .ends_with("schema_version 7, written by a newer qualify (this one: 1)")
    );
    let older = refused("{\"schema_version\": 0}");
    assert!(older.to_string().ends_with("schema_version 0, not 1"));
}

#[test]
fn no_depth_overflows_the_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(1 << 20), close.repeat(1 << 20));
        assert!(matches!(refused(&deep), ReadError::Json { .. }));
        let inside = format!("{{\"schema_version\": 1, \"x\": {deep}}}");
        assert!(matches!(refused(&inside), ReadError::Json { .. }));
    }
}

#[test]
fn a_file_over_the_limit_is_refused_at_once() {
    let (_directory, path) = put("");
    // Sparse: it takes no place on the disk.
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let started = Instant::now();
    let error = read_report(&path).unwrap_err();
    assert!(matches!(
        error,
        ReadError::TooLarge {
            limit: MAX_REPORT_BYTES,
            ..
        }
    ));
    assert!(started.elapsed() < Duration::from_millis(100));
}

#[test]
fn what_has_no_size_is_read_as_far_as_the_limit() {
    let endless = read_report_within(Path::new("/dev/zero"), 1 << 20);
    assert!(matches!(endless, Err(ReadError::TooLarge { .. })));
    let (_directory, path) = put(EXAMPLE);
    let size = EXAMPLE.len() as u64;
    assert!(read_report_within(&path, size).is_ok());
    assert!(matches!(
        read_report_within(&path, size - 1),
        Err(ReadError::TooLarge { .. })
    ));
    assert!(matches!(
        read_report(Path::new("/")),
        Err(ReadError::Io { .. })
    ));
}

#[test]
fn a_report_through_a_pipe_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    let reader = std::thread::spawn({
        let path = path.clone();
        move || read_report(&path)
    });
    let mut pipe = File::options().write(true).open(&path).unwrap();
    pipe.write_all(EXAMPLE.as_bytes()).unwrap();
    drop(pipe);
    assert!(reader.join().unwrap().is_ok());
}

#[test]
fn names_are_unique_and_can_be_shown() {
    let mut report: Value = serde_json::from_str(EXAMPLE).unwrap();
    let boundary = report["boundaries"][0].clone();
    report["boundaries"].as_array_mut().unwrap().push(boundary);
    let error = refused(report.to_string()).to_string();
    assert!(
        error.ends_with("boundary sscp_conv_0.norm.cumulative_sum is there twice"),
        "{error}"
    );
    let name = |name: &str| said("/boundaries/0/name", name.into());
    assert!(name("").contains("a name has 1 to 1024 bytes"));
    assert!(name(&"x".repeat(1 << 20)).len() < 400);
    let control = name("a\u{1b}[2J");
    assert!(control.contains("control character") && !control.contains('\u{1b}'));
    assert!(said("/boundaries/0/local/ulp_reason", "\u{1b}[2J".into()).contains("control"));
}

#[test]
fn numbers_that_contradict_each_other_are_found() {
    let local = |key: &str, value: Value| said(&format!("/boundaries/0/local/{key}"), value);
    for (said, what) in [
        (
            said("/boundaries/0/shape", json!([1, 549, 1, 2])),
            "does not hold 549 elements",
        ),
        (
            said(
                "/boundaries/0/shape",
                json!([4_294_967_296_u64, 4_294_967_296_u64]),
            ),
            "does not hold",
        ),
        (
            said("/boundaries/0/elements", json!(u64::MAX)),
            "does not hold 18446744073709551615",
        ),
        (
            local("differing", json!(550)),
            "local: 550 of 549 elements differ",
        ),
        (
            local("differing", json!(0)),
            "max_abs is 1.5625e-2, but no element differs",
        ),
        (
            local("nan", json!(4)),
            "nan, inf and neg_zero are 4 pairs, but 3 differ",
        ),
        (local("inf", json!(u64::MAX)), "pairs, but 3 differ"),
        (local("max_abs", json!(-1.0)), "max_abs is -1"),
        (local("rms", json!(-0.5)), "rms is -0.5"),
        (
            local("ulp/max", json!(u64::MAX)),
            "ulp: no two values are 18446744073709551615 apart",
        ),
        (
            local("ulp/max", json!(5)),
            "max is 5, but the last bin that is not empty is from 1",
        ),
        (
            local("ulp/mean", json!(2.0)),
            "the mean is 2, the largest 1",
        ),
        (
            local("ulp/over_one", json!(1)),
            "over_one is 1, the histogram has 0",
        ),
        (
            local("ulp/histogram", json!({"0": 546, "3": 3})),
            "the histogram has a bin from 3",
        ),
        (
            local("ulp/histogram", json!({"0": 1, "1": 3})),
            "the histogram counts 4 pairs",
        ),
        (
            local("ulp_f32/histogram/0", json!(u64::MAX)),
            "ulp_f32: the histogram counts",
        ),
    ] {
        assert!(said.contains(what), "{what}: {said}");
        assert!(
            said.contains("boundary sscp_conv_0.norm.cumulative_sum: "),
            "{said}"
        );
    }
}
