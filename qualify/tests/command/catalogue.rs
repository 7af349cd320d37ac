//! `qualify ops`: the catalogue of operations.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Place;

const FEW: &str = "ops --op LogicalNot --op Sqrt.BF16";

#[test]
fn every_side_has_the_bits_of_mlx_and_the_file_says_so() {
    let place = Place::new();
    let ended = place.run(&format!("{FEW} --json f.json")).exits(0);
    let ended = ended.prints("LogicalNot  BOOL       1             2          0          0");
    ended.prints("3 of 3 cases bit-exact on all sides, 0 differ, 0 failed; 131,074 elements");
    let ops = place.json("f.json");
    assert_eq!(ops["schema_version"], 1);
    assert_eq!(ops["exit_code"], 0);
    assert_eq!(ops["selection"]["ops"], json!(["LogicalNot", "Sqrt.BF16"]));
    assert_eq!(ops["fingerprint"]["mlx"]["version"], "0.32.2");
    assert_eq!(ops["targets"][0]["name"], "fma");
    let case = &ops["cases"][0];
    assert_eq!(case["primitive"], "Sqrt");
    assert_eq!(case["mlx"]["sha256"], case["interp"]["sha256"]);
    assert_eq!(case["iree"][1]["target"], "no-fma");
    assert_eq!(case["iree"][1]["differing"], 0);
    assert_eq!(case["cause"], Value::Null);
}

#[test]
fn json_on_standard_output_is_alone_there() {
    let ended = Place::new()
        .run("ops --family unary --op LogicalNot --json -")
        .exits(0);
    let ops: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ops["cases"].as_array().unwrap().len(), 1);
    ended.says("1 of 1 cases bit-exact");
}

#[test]
fn what_there_is_not_is_refused_before_any_work() {
    let place = Place::new();
    let refused = |line: &str, code: i32, text: &str| {
        place.run(line).exits(code).says(text).does_no_work();
    };
    refused(
        "ops --family sums",
        2,
        "it must be one of unary, binary, cast, ",
    );
    refused(
        "ops --op sqrt",
        2,
        "find an operation named sqrt; did you mean Sqrt?",
    );
    refused(
        "ops --family cast --op Matmul",
        2,
        "no case is of such a family",
    );
    refused(
        "ops --json missing/f.json",
        4,
        "failed to write missing/f.json",
    );
    refused("ops --json fixtures", 4, "it is a folder");
    refused(
        "ops --baseline missing.json",
        5,
        "failed to read the report missing.json",
    );
    place.put("torn.json", b"{\"schema_version\": 1, ");
    refused(
        "ops --baseline torn.json",
        5,
        "failed to parse the report torn.json",
    );
    refused(
        "ops --baseline torn.json --json torn.json",
        2,
        "it is an input of this run",
    );
}

#[test]
fn what_changed_since_an_earlier_run_is_told() {
    let place = Place::new();
    place.run(&format!("{FEW} --json then.json")).exits(0);
    let same = format!("{FEW} --baseline then.json");
    let ended = place.run(&same).exits(0);
    ended
        .prints("  the same versions, libraries and processor\n")
        .prints("  no case changed\n");

    // As another MLX might have written it, with a case that is no longer there.
    let mut then = place.json("then.json");
    then["fingerprint"]["mlx"]["version"] = json!("0.32.1");
    then["cases"][0]["mlx"]["sha256"] = json!("0");
    then["cases"][0]["interp"]["differing"] = json!(3);
    let mut gone = then["cases"][1].clone();
    gone["name"] = json!("Sqrt of another time");
    then["cases"].as_array_mut().unwrap().push(gone);
    fs::write(place.path("other.json"), then.to_string()).unwrap();
    let ended = place.run(&format!("{FEW} --baseline other.json --json now.json"));
    ended
        .exits(0)
        .prints("  mlx.version: 0.32.1 → 0.32.2\n")
        .prints("  mlx changed in 1 case\n")
        .prints(" (mlx): was not equal, is equal\n")
        .prints("  removed:\n    Sqrt of another time\n");
    let baseline = &place.json("now.json")["baseline"];
    assert_eq!(baseline["changes"][0]["changed"], json!(["mlx"]));
    assert_eq!(baseline["better"].as_array().unwrap().len(), 1);
    assert_eq!(baseline["worse"], json!([]));

    // What this run would not have taken is not missed.
    let ended = place.run("ops --op LogicalNot --baseline other.json");
    assert!(!ended.exits(0).stdout.contains("removed"));
    then["size"] = json!("full");
    fs::write(place.path("full.json"), then.to_string()).unwrap();
    place
        .run(&format!("{FEW} --baseline full.json"))
        .exits(2)
        .says("it is of the full catalogue, this of the short one")
        .does_no_work();
}
