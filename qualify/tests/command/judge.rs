//! `judge`, `diff` and `run --policy`: what a run's report is worth afterwards.

use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::{Place, compiled},
    tensors,
};

/// Two elements of the block's result are one and two ULP off in the recording.
const RUN: &str = "--stage sscp_conv_1 --reference recorded:off.safetensors";

/// A place with what a run left that diverged.
fn diverged() -> Place {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    place
        .run("capture --side mlx --stage sscp_conv_0 --stage sscp_conv_1 --out mlx.safetensors")
        .exits(0);
    let mut file = fs::read(place.path("mlx.safetensors")).unwrap();
    let start = tensors::position(&file, "sscp_conv_1");
    let ones = (10_000..).filter(|i| file[start + 2 * i + 1] == 0x3f);
    let found: Vec<usize> = ones.take(2).collect();
    file[start + 2 * found[0]] ^= 1;
    file[start + 2 * found[1]] ^= 2;
    place.put("off.safetensors", &file);
    place
        .run(&format!("{RUN} --report r.json --captures c"))
        .exits(1);
    place
}

#[test]
fn a_report_is_judged_without_running_anything() {
    let place = diverged();
    let report = fs::read(place.path("r.json")).unwrap();
    // No library is opened for it.
    let judged = place.run("judge r.json --suggest --report -").exits(1);
    assert_eq!(
        serde_json::from_str::<Value>(&judged.stdout).unwrap(),
        place.json("r.json")
    );
    judged.says("the tightest policy that passes has ");
    let suggested = fs::read_to_string(place.path("policy.toml.new")).unwrap();
    assert!(suggested.contains("differing = 2\nulp = { grid = \"bf16\", max = 2 }\n"));

    place.put("p.toml", suggested.as_bytes());
    let line = "judge r.json --policy p.toml --captures c --report j.json --suggest";
    let passed = place.run(line).exits(0).prints("policy p.toml: ");
    passed
        .prints(": 1 relaxed entry\n")
        .prints("~ within policy");
    assert_eq!(fs::read_to_string(place.path("p.toml")).unwrap(), suggested);
    assert_eq!(
        fs::read_to_string(place.path("p.toml.new")).unwrap(),
        suggested
    );
    assert_eq!(fs::read(place.path("r.json")).unwrap(), report);
    let after = place.json("j.json");
    assert_eq!(
        (&after["verdict"], &after["exit_code"]),
        (&json!("within_policy"), &json!(0))
    );
    assert_eq!(after["policy"]["file"], "p.toml");
    assert_eq!(after["policy"]["relaxed"].as_array().unwrap().len(), 1);

    // A run under the policy comes to the same.
    let line = format!("{RUN} --policy p.toml --report again.json");
    place.run(&line).exits(0).prints("policy p.toml: ");
    let again = place.json("again.json");
    assert_eq!(again["boundaries"], after["boundaries"]);
    assert_eq!(again["policy"], after["policy"]);
    // A policy judged away again leaves what was measured.
    place.run("judge j.json --report back.json").exits(1);
    assert_eq!(place.json("back.json"), place.json("r.json"));
}

#[test]
fn a_report_that_its_captures_contradict_is_refused() {
    let place = diverged();
    let mut report = place.json("r.json");
    let boundaries = report["boundaries"].as_array_mut().unwrap();
    let boundary = boundaries
        .iter_mut()
        .find(|b| b["local"]["rms"] != 0.0)
        .unwrap();
    boundary["local"]["rms"] = json!(0.0);
    place.put("false.json", report.to_string().as_bytes());
    let judged = place.run("judge false.json --captures c").exits(5);
    judged
        .says("local: rms is 0.0, the tensors give ")
        .does_no_work();

    let mut report = place.json("r.json");
    report["fingerprint"]["host"]["threads"] = json!(99);
    place.put("other.json", report.to_string().as_bytes());
    let judged = place.run("judge other.json --captures c").exits(5);
    judged.says("their fingerprint is another than the report's");
    fs::remove_file(place.path("c/local.safetensors")).unwrap();
    let judged = place.run("judge r.json --captures c").exits(5);
    judged.says("the local tensors lack it");
    place.run("judge r.json --captures nowhere").exits(5);
}

#[test]
fn what_a_policy_cannot_mean_costs_no_run() {
    let place = Place::new();
    let policy = |entry: &str| {
        let text = format!("schema_version = 1\n[[boundary]]\n{entry}\n");
        place.put("p.toml", text.as_bytes());
        place
            .run("run --stage mel_cast --policy p.toml")
            .exits(5)
            .does_no_work()
    };
    policy("match = \"sscp_conv_1\"")
        .says("entry 1 of the policy (sscp_conv_1): the report has no");
    policy("match = \"**\"\nabs = -1").says("entry 1 (**): abs = -1");
    policy("match = \"**\"\nlenient = true").says("unknown field `lenient`");
    place
        .run("run --stage mel_cast --policy none.toml")
        .exits(5);
    place
        .run("run --stage mel_cast --policy p.toml --report p.toml")
        .exits(2);
    place.put("cut.json", b"{\"schema_version\": 1,");
    place
        .run("judge cut.json")
        .exits(5)
        .says("parse the report cut.json");
    place.run("diff cut.json cut.json").exits(5);
    place.put("new.json", b"{\"schema_version\": 9}");
    place
        .run("judge new.json")
        .exits(5)
        .says("written by a newer qualify");
}

#[test]
fn two_reports_are_compared() {
    let place = diverged();
    let exact = RUN.replace("off.", "mlx.");
    place.run(&format!("{exact} --report exact.json")).exits(0);
    place
        .run("diff r.json r.json")
        .exits(0)
        .prints("10 boundaries: 10 same\n");
    let better = place.run("diff r.json exact.json").exits(0);
    better.prints("↑ better  sscp_conv_1: diverged → bit-exact; ");
    let worse = place.run("diff exact.json r.json --json -").exits(1);
    let found: Value = serde_json::from_str(&worse.stdout).unwrap();
    assert_eq!(found["first_changed"], "sscp_conv_1");
    assert_eq!(
        (&found["counts"]["worse"], &found["counts"]["same"]),
        (&json!(1), &json!(9))
    );
    worse.says("inherited max ULP 0 → 2");

    let mut other = place.json("exact.json");
    other["fingerprint"]["host"]["threads"] = json!(99);
    place.put("other.json", other.to_string().as_bytes());
    let hindered = place.run("diff other.json r.json").exits(3);
    hindered
        .prints("fingerprint.host.threads: 99 → ")
        .prints(" 10 not comparable");
    place
        .run("diff other.json r.json --across fingerprint")
        .exits(1);
    place.run("diff r.json r.json --json r.json").exits(2);
    place.run("diff r.json r.json --across time").exits(2);
}
