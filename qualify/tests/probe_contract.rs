//! `qualify probe contract`, by the command.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn probe(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qualify"));
    let command = command.args(["probe", "contract", "--no-cache"]).args(args);
    command.output().unwrap()
}

fn code_and_text(args: &[&str]) -> (Option<i32>, String) {
    let output = probe(args);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text + &errors)
}

fn recorded(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recorded");
    folder.join(format!("{name}.safetensors"))
}

#[test]
fn a_boundary_of_mlx_is_explained_by_what_the_emitter_states() {
    let (code, text) = code_and_text(&["--boundary", "conformer.0.attention.softcap"]);
    assert_eq!(code, Some(0), "{text}");
    let expected = "\
conformer.0.attention.softcap[1,4,24,12,24], side mlx
E3  27648 of 27648 elements:
  Divide: bf16(a / 50)
";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.contains("\n  Tanh: bf16(tanh(a))\n      or bf16("),
        "{text}"
    );
    assert!(
        text.contains("cannot be told apart on these captures"),
        "{text}"
    );
    // Nothing is marked as stated otherwise.
    assert!(!text.contains('*'), "{text}");
}

#[test]
fn random_values_tell_the_order_of_a_product() {
    let boundary = ["--boundary", "conformer.0.attention.query"];
    let others = |inputs: &str| {
        let output = probe(&[&boundary[..], &["--inputs", inputs, "--json"]].concat());
        assert_eq!(output.status.code(), Some(0));
        // The text goes where it does not disturb.
        assert!(!output.stderr.is_empty());
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let answer = &json["answer"];
        assert_eq!(answer["evidence"], "E3");
        assert_eq!(answer["emitter"][0]["relation"], "same");
        let line = &answer["ranking"][0]["lines"][0];
        assert_eq!(line["op"], "Matmul");
        line["others"].as_array().unwrap().len()
    };
    assert!(others("captured") > 10);
    // One that begins with its first term differs in the sign of a zero only.
    assert_eq!(others("random"), 1);
}

#[test]
fn iree_on_its_own_differs_from_what_mlx_does() {
    let line = ["--boundary", "conformer.0.attention.probabilities"];
    let mlx = code_and_text(&line);
    assert_eq!(mlx.0, Some(0), "{}", mlx.1);
    let native = [&line[..], &["--side", "iree", "--contract", "native"]].concat();
    let (code, text) = code_and_text(&native);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("no contract that was tried gives every element"),
        "{text}"
    );
    assert!(
        text.contains("the contract leaves it to the compiler"),
        "{text}"
    );
    // What it makes of the soft cap is told: nothing is rounded, and the function is another.
    let native = "--boundary conformer.0.attention.softcap --side iree --contract native";
    let (code, text) = code_and_text(&native.split(' ').collect::<Vec<_>>());
    assert_eq!(code, Some(0), "{text}");
    let expected = "E3  27648 of 27648 elements:
  Divide: a / 50  *
  Tanh: rational_tanh(a)  *
  Multiply: a·50  *
";
    assert!(text.contains(expected), "{text}");
    // Under the exact contract both are the same.
    let exact = [&line[..], &["--side", "iree"]].concat();
    let (code, text) = code_and_text(&exact);
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("* "), "{text}");
}

#[test]
fn a_recording_of_a_boundary_is_explained_too() {
    let file = recorded("encoder-jfk-f32");
    let side = format!("recorded:{}", file.display());
    let line = [
        "--boundary",
        "sscp_conv_0.convolution",
        "--profile",
        "f32",
        "--bucket",
        "exact",
        "--mel",
        file.to_str().unwrap(),
        "--side",
        &side,
    ];
    let (code, text) = code_and_text(&line);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains(
            "\n  Convolution: sequential, products rounded, in F32, kernel axes (0, 1, channels)\n"
        ),
        "{text}"
    );
    // MLX itself on the recording's values does the same.
    let live = line.map(|word| {
        if word == "--side" {
            "--reference"
        } else {
            word
        }
    });
    let (code, text) = code_and_text(&live);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("sscp_conv_0.convolution[1,"), "{text}");
    assert!(text.contains(", side mlx\nE3"), "{text}");
}

#[test]
fn captures_of_an_operation_in_a_file_are_explained() {
    let file = recorded("emulated-cuda-row-sum-f32");
    let (code, text) = code_and_text(&["--from", file.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{text}");
    let sum = "sum over axis 1, 4 warps of 32 by 4, butterfly, then butterfly, in F32";
    assert!(text.contains(&format!("  Reduce: {sum}  *\n")), "{text}");
    assert!(
        text.contains(
            "* Reduce: the emitter states sum over axis 1, sequential, in F32 under mlx-cpu: cause \
             contract"
        ),
        "{text}"
    );
    // The same file taken for another operation has results that nothing gives.
    let mean = ["--from", file.to_str().unwrap(), "--op", "mean axis=1"];
    let (code, text) = code_and_text(&mean);
    assert_eq!(code, Some(1), "{text}");
    let sum = ["--from", file.to_str().unwrap(), "--op", "sum axis=0"];
    let (code, text) = code_and_text(&sum);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("take the result as captured"), "{text}");
}

#[test]
fn what_has_no_arithmetic_is_refused() {
    for boundary in ["sscp_conv_0", "pooling", "lengths"] {
        let (code, text) = code_and_text(&["--boundary", boundary]);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("not told: failed to "), "{text}");
    }
    let output = probe(&["--boundary", "sscp_conv_0", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["exit_code"], &json["answer"]),
        (&3.into(), &Value::Null)
    );
}

#[test]
fn files_that_are_no_captures_are_input_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.safetensors");
    let whole = fs::read(recorded("emulated-cuda-row-sum-f32")).unwrap();
    for bytes in [
        &b"no safetensors"[..],
        &whole[..200],
        &whole[..whole.len() - 1],
    ] {
        fs::write(&file, bytes).unwrap();
        let (code, text) = code_and_text(&["--from", file.to_str().unwrap()]);
        assert_eq!(code, Some(5), "{text}");
    }
    let other = recorded("encoder-jfk-f32");
    let (code, text) = code_and_text(&["--from", other.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--op does"), "{text}");
    let line = ["--from", other.to_str().unwrap(), "--op", "exp"];
    let (code, text) = code_and_text(&line);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("find the captured values of x"), "{text}");
}

#[test]
fn command_lines_that_make_no_sense_are_usage_errors() {
    for line in [
        "",
        "--op exp",
        "--boundary no_such_thing",
        "--boundary sscp_conv_0 --from x.safetensors",
        "--boundary sscp_conv_0 --side interp",
        "--boundary sscp_conv_0 --side recorded:x.safetensors --inputs random",
        "--boundary sscp_conv_0 --stage sscp_conv_0",
        "--from x.safetensors --op no_such_thing",
        "--from x.safetensors --op sum",
    ] {
        let args: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(probe(&args).status.code(), Some(2), "{line}");
    }
}
