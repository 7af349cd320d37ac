//! `qualify probe order`, by the command.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::process::{Command, Output};

fn probe(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qualify"));
    command
        .args(["probe", "order", "--no-cache"])
        .args(args.split(' '))
        .output()
        .unwrap()
}

fn code_and_text(args: &str) -> (Option<i32>, String) {
    let output = probe(args);
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn both_sides_add_in_the_same_order_under_the_contract() {
    for (op, words) in [
        ("--op sum --n 300 --dtype bf16", "each sum to BF16;"),
        ("--op dot --n 100", "FMA: no product"),
        (
            "--op conv2d --n 144 --dtype bf16",
            "each sum to F32, the last one to BF16",
        ),
        ("--op cumsum --n 64", "sequential"),
        ("--op depthwise --n 5", "4 vectors"),
        (
            "--op softmax --n 64",
            "sequential; 4096 random results reproduced",
        ),
        (
            "--op rms_norm --n 64",
            "sequential; FMA: no product; 4096 random",
        ),
        ("--op mean --n 100", "256 random results reproduced"),
        ("--op boundary:sscp_conv_0.convolution", "sequential"),
    ] {
        let (code, text) = code_and_text(op);
        assert_eq!(code, Some(0), "{op}: {text}");
        assert_eq!(text.matches(words).count(), 2, "{op}: {text}");
        assert!(text.ends_with("the same order on both sides\n"), "{text}");
    }
}

#[test]
fn the_compilers_own_order_differs_and_is_drawn_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, json) = (
        folder.path().join("tree.svg"),
        folder.path().join("tree.json"),
    );
    let line = format!(
        "--op sum --n 128 --contract native --draw {} --json {}",
        svg.display(),
        json.display()
    );
    let (code, text) = code_and_text(&line);
    assert_eq!(code, Some(1), "{text}");
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert_eq!(drawn.matches("<path").count(), 127);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["sides"][0]["order"], "sequential");
    assert_eq!(report["sides"][1]["nodes"].as_array().unwrap().len(), 127);
    assert_eq!(report["sides"][1]["evidence"], "E4");
    assert_eq!(report["equal"], false);
}

#[test]
fn what_cannot_be_told_is_refused_with_the_reason() {
    for (op, reason) in [
        (
            "--op softmax --n 64 --dtype bf16",
            "arguments in BF16 have 8 bits",
        ),
        (
            "--op rms_norm --n 64 --dtype bf16",
            "does not show the last bit",
        ),
        (
            "--op boundary:sscp_conv_0.no_such",
            "there is no such boundary",
        ),
        ("--op boundary:mel_cast", "it does not add"),
    ] {
        let (code, text) = code_and_text(op);
        assert_eq!(code, Some(3), "{op}: {text}");
        assert!(text.contains(reason), "{op}: {text}");
    }
    for op in ["--op sum", "--op conv2d --n 10", "--op product --n 4"] {
        assert_eq!(probe(op).status.code(), Some(2), "{op}");
    }
}
