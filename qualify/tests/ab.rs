//! `qualify ab`: both answers, and what keeps it from answering.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

fn ab(place: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_qualify"))
        .arg("ab")
        .args(line.split_whitespace())
        .current_dir(place)
        .env("QUALIFY_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/ab"))
        .env(
            "QUALIFY_FIXTURES",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures"),
        )
        .output()
        .unwrap()
}

fn json(output: &Output, code: i32) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_changes_nothing_is_said_as_clearly() {
    let place = TempDir::new().unwrap();
    let output = ab(
        place.path(),
        "--env MLX_ENABLE_TF32=0,1 --stage sscp_conv_1.convolution",
    );
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("MLX_ENABLE_TF32 changes nothing here: "),
        "{text}"
    );
    assert!(text.contains("a: MLX_ENABLE_TF32=0  bit_exact"), "{text}");
    assert!(text.contains("every side repeats itself"), "{text}");
}

#[test]
fn a_contract_changes_the_candidate_and_not_the_reference() {
    let place = TempDir::new().unwrap();
    let line = "--contract mlx-cpu,native --json - --reports kept --stage sscp_conv_0.convolution";
    let found = json(&ab(place.path(), line), 1);
    assert_eq!(found["sides"][0]["side"], "reference");
    assert_eq!(found["sides"][0]["changed"], serde_json::json!([]));
    let changed = &found["sides"][1]["changed"][0];
    assert!(changed["differing"].as_u64().unwrap() > 0);
    assert_eq!(found["diff"]["counts"]["worse"], 1);
    assert_eq!(found["arms"][1]["verdict"], "diverged");
    assert!(place.path().join("kept/b.json").exists());
}

#[test]
fn flags_of_run_are_factors_too() {
    let place = TempDir::new().unwrap();
    let line = "--flag device=local-task,local-sync --json - --stage sscp_conv_1.convolution";
    let found = json(&ab(place.path(), line), 0);
    assert_eq!(found["factor"], "--device");
    assert_eq!(found["arms"][0]["unstable"], serde_json::json!([]));
}

#[test]
fn an_arm_that_cannot_run_gives_its_exit_code() {
    let place = TempDir::new().unwrap();
    let code = |line: &str| ab(place.path(), line).status.code();
    assert_eq!(code("--flag fixture=none,tiny"), Some(2));
    assert_eq!(
        code("--env X=1,2 --checkpoint nowhere --audio nothing.wav"),
        Some(5)
    );
    assert_eq!(code("--env QUALIFY_NATIVE=/nowhere,/elsewhere"), Some(4));
    assert_eq!(code("--env X=1"), Some(2));
    assert_eq!(code("--env X=1,2 --contract mlx-cpu,native"), Some(2));
    assert_eq!(code("--stage mel_cast"), Some(2));
    assert_eq!(code("--env X=1,2 --stage mel_cast --json x.json"), Some(2));
    assert_eq!(code("--flag repeat=1,2"), Some(2));
    // What only one arm has is not compared.
    assert_eq!(
        code("--flag stage=mel_cast,sscp_conv_0.convolution"),
        Some(3)
    );
}
