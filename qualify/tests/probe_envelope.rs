//! `qualify probe envelope`, by the command.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::process::{Command, Output};

use serde_json::Value;

fn probe(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qualify"));
    command
        .args(["probe", "envelope", "--no-cache"])
        .args(args.split_whitespace())
        .output()
        .unwrap()
}

fn code_and_text(args: &str) -> (Option<i32>, String) {
    let output = probe(args);
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text)
}

fn code_and_json(args: &str) -> (Option<i32>, Value) {
    let output = probe(&format!("{args} --json"));
    let json = serde_json::from_slice(&output.stdout).unwrap();
    // The text goes where it does not disturb.
    assert!(!output.stderr.is_empty());
    (output.status.code(), json)
}

/// Input [16384, 1, −16384]: the products of four channels from left to right.
const FOUR_CHANNELS: &str = "\
    --terms 16777216,1,-16777216 --terms 16777216,-16777216,1 \
    --terms 1,16777216,-16777216 --terms -16777216,1,16777216 \
    --observed mlx=0,1,0,1 --observed other=0,1,0,0";

#[test]
fn of_four_channels_one_side_is_explained_by_f32_and_the_other_by_bf16_only() {
    let (code, text) = code_and_text(FOUR_CHANNELS);
    assert_eq!(code, Some(0), "{text}");
    let expected = "\
4 sums of 3 terms
sum  reachable, F32 accumulator  reachable, BF16 accumulator  mlx  other
0    {0, 1}                      {0, 1}                       0    0
1    {0, 1}                      {0, 1}                       1    1
2    {0, 1}                      {0, 1}                       0    0
3    {0, 1}                      {0, 1}                       1    0
mlx
  E3  F32 accumulator: sequential
  E2  BF16 accumulator: no order of additions gives all 4, each result is reachable by itself; \
the last to fail: sequential, at sum 3, with 0
other
  E2  F32 accumulator: no order of additions, and no matrix unit that is known, gives all 4, \
each result is reachable by itself; the last to fail: sequential, at sum 3, with 1
  E3  BF16 accumulator: sequential
";
    assert_eq!(text, expected);
}

#[test]
fn the_same_as_json_has_every_rejection() {
    let (code, json) = code_and_json(FOUR_CHANNELS);
    assert_eq!(code, Some(0));
    let explained = |side: &str, accumulator: &str| {
        let all = json["explanations"].as_array().unwrap().iter();
        let mut found = all.filter(|e| e["side"] == side && e["accumulator"] == accumulator);
        found.next().unwrap().clone()
    };
    let other = explained("other", "F32 accumulator");
    assert_eq!(other["evidence"], "E2");
    assert_eq!(
        (&other["explains"], &other["other_order"]),
        (&false.into(), &false.into())
    );
    let rejected = other["rejected"].as_array().unwrap();
    assert_eq!(rejected.len(), 6);
    let sequential = &rejected[0];
    assert_eq!(sequential["schedule"], "sequential, F32 accumulator");
    assert_eq!(sequential["first_rejected_by"], 3);
    assert_eq!(sequential["gives"]["bits"], "0x3f800000");
    let narrow = explained("other", "BF16 accumulator");
    assert_eq!(narrow["evidence"], "E3");
    assert_eq!(narrow["schedules"][0], "sequential, BF16 accumulator");
    let reachable = json["shown"][0]["envelopes"][0]["reachable"]
        .as_array()
        .unwrap();
    assert_eq!(reachable.len(), 2);
    assert_eq!(json["exit_code"], 0);
}

#[test]
fn the_results_of_one_sum_in_all_orders() {
    let (code, text) = code_and_text("--terms 33554432,1,-33554432");
    assert_eq!(code, Some(0));
    assert!(
        text.starts_with(
            "a sum of 3 terms\n\
             F32 accumulator: 2 results: 0 (0x00000000), 1 (0x3f800000); interval ["
        ),
        "{text}"
    );
    let (_, text) = code_and_text("--terms 33554432,1,-33554432 --leaves fixed");
    assert!(text.contains("1 result: 0 (0x00000000)"), "{text}");
    let (_, text) = code_and_text("--terms 1,0x3b800000 --acc bf16");
    assert!(text.contains("BF16 accumulator: 1 result: 1 "), "{text}");
    let (_, text) = code_and_text("--terms 1,0x3b800000 --result bf16");
    assert!(text.contains("BF16 result: 1 result: 1 "), "{text}");
    let (_, text) = code_and_text("--terms -0,-0 --start zero");
    assert!(
        text.contains("2 results: -0 (0x80000000), 0 (0x00000000)"),
        "{text}"
    );
}

#[test]
fn products_are_fused_as_asked() {
    // (1 + 2^-23)² − (1 + 2^-22) is 2^-46, if the square is not rounded.
    let line = "--terms 0xbf800002 --products 0x3f800001*0x3f800001";
    let of = |fma: &str| code_and_text(&format!("{line} --fma {fma}")).1;
    assert!(of("off").contains("1 result: 0 (0x00000000)"));
    assert!(of("on").contains("1 result: 1.4210855e-14 (0x28800000)"));
    assert!(of("both").contains("2 results: 0 (0x00000000), 1.4210855e-14"));
}

#[test]
fn what_cannot_be_told_is_said_and_has_its_exit_code() {
    let many = "--terms 1,2,3,4,5,6,7,8,9,10,11,12,13";
    let (code, text) = code_and_text(many);
    assert_eq!(code, Some(3));
    assert!(
        text.contains(
            "failed to add 13 terms in all orders: the limit is 12 (--max-n); interval ["
        ),
        "{text}"
    );
    let (code, text) = code_and_text(&format!("{many} --max-n 15"));
    assert_eq!(code, Some(0));
    assert!(text.contains("1 result: 91 "), "{text}");
    let (code, text) = code_and_text("--terms 1,nan");
    assert_eq!(code, Some(3));
    assert!(text.contains("number 1 is NaN"), "{text}");
    let (code, json) = code_and_json("--terms 1,inf*0");
    assert_eq!((code, &json["exit_code"]), (Some(3), &3.into()));
    // What has results is answered by schedules, whatever the number of terms.
    let (code, text) = code_and_text(&format!("{many} --observed 91"));
    assert_eq!(code, Some(0));
    assert!(
        text.contains("E1  F32 accumulator: sequential; right to left;"),
        "{text}"
    );
}

#[test]
#[ignore = "takes some seconds"]
fn sets_that_are_too_large_are_refused() {
    // Twenty numbers of one magnitude, no two of whose sums are alike.
    let number = |i: i32| format!("{:?}", (i as f32).sin() + 0.1);
    let terms: Vec<String> = (1..=20).map(number).collect();
    let (code, text) = code_and_text(&format!("--max-n 20 --terms {}", terms.join(",")));
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("there are more than"), "{text}");
    let more = format!("--max-n 99 --terms {},1", terms.join(","));
    let (code, text) = code_and_text(&more);
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("21 terms in all orders: the limit is 20"),
        "{text}"
    );
}

#[test]
fn command_lines_that_make_no_sense_are_usage_errors() {
    for line in [
        "",
        "--terms 1,x",
        "--terms 1e39",
        "--terms 1 --terms 2",
        "--terms 1 --products 1*2 --products 3*4",
        "--terms 1 --terms 2 --observed 1",
        "--terms 1 --observed 1,2",
        "--element 1",
        "--boundary sscp_conv_0.convolution",
        "--boundary sscp_conv_0.convolution --element 1 --all",
        "--boundary sscp_conv_0.convolution --element 1 --terms 1",
        "--boundary sscp_conv_0.convolution --element 1 --stage sscp_conv_0",
        "--boundary no_such_thing --element 0",
    ] {
        assert_eq!(probe(line).status.code(), Some(2), "{line}");
    }
}

#[test]
fn elements_of_a_boundary_are_explained_by_what_the_contract_states() {
    let (code, text) = code_and_text("--boundary sscp_conv_0.convolution --element 17");
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("element 17 of 9 terms; stated: sequential, F32 accumulator, BF16 result")
    );
    assert!(
        text.contains("mlx = iree -11.3125 (0xc1350000)\n  E2  F32 accumulator"),
        "{text}"
    );
    assert!(text.contains("sequential; sequential, fused;"), "{text}");
    // One output is no evidence; all of them are.
    let (code, text) = code_and_text("--boundary sscp_conv_1.convolution --all");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("all elements of 72 terms"), "{text}");
    assert!(
        text.contains("E4  F32 accumulator, BF16 result: sequential; "),
        "{text}"
    );
    for side in ["mlx", "iree"] {
        let line = format!("revealed on {side}: sequential, F32 accumulator, BF16 result\n");
        assert!(text.contains(&line), "{text}");
    }
    // Of a running sum only the last element's order is revealed.
    let (code, text) = code_and_text("--boundary sscp_conv_0.norm.cumulative_sum --all");
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("of 1 to 576 terms; stated: sequential, F32 accumulator"),
        "{text}"
    );
    assert!(text.contains("E3  F32 accumulator: sequential\n"), "{text}");
}

#[test]
fn a_native_candidate_differs_and_is_explained_by_other_arithmetic() {
    // The compiler fuses where the target can, and drops the rounding to BF16.
    let line = "--boundary sscp_conv_1.convolution --all --contract native";
    let (code, json) = code_and_json(line);
    assert_eq!(code, Some(0));
    let level = |side: &str, accumulator: &str| {
        let all = json["explanations"].as_array().unwrap().iter();
        let mut found = all.filter(|e| e["side"] == side && e["accumulator"] == accumulator);
        found.next().map(|e| e["evidence"].clone())
    };
    let rounded = "F32 accumulator, BF16 result";
    assert_eq!(level("mlx", rounded), Some("E4".into()));
    assert!(
        !["E3", "E4"]
            .map(|level| Some(level.into()))
            .contains(&level("iree", rounded))
    );
    assert_ne!(level("iree", "F32 accumulator"), None);
}

#[test]
fn boundaries_without_a_sum_are_told_from_those_that_are_none() {
    let (code, text) = code_and_text("--boundary sscp_conv_0 --element 0");
    assert_eq!(code, Some(3));
    assert!(
        text.starts_with("not told: failed to find a sum in the step"),
        "{text}"
    );
    let output = probe("--boundary sscp_conv_0.convolution --element 999999999");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("294912 elements: there is none of index 999999999"),
        "{said}"
    );
}
