//! `qualify controls`, what a run makes of its results, and `qualify audit`, from outside.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

/// An empty folder to run the command in.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// Exit code, standard output and what was said on standard error.
    fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(env!("CARGO_BIN_EXE_qualify"))
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env(
                "QUALIFY_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("guards"),
            )
            .env("QUALIFY_FIXTURES", own.join("../fixtures"))
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.0.path().join(name)).unwrap()).unwrap()
    }
}

const STAGE: &str = "--stage sscp_conv_1.norm.mean --stage lengths";

#[test]
fn a_boundary_is_guarded_by_the_controls_that_were_caught_there() {
    let place = Place::new();
    let (code, table, said) = place.run(&format!("controls {STAGE} --json controls.json"));
    assert_eq!(code, Some(0), "{table}{said}");
    assert!(
        table.contains(" 0 vacuous, 0 missed; 2 boundaries\n"),
        "{table}"
    );
    let controls = place.json("controls.json");
    let outcomes: Vec<&str> = controls["controls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|control| control["outcome"].as_str().unwrap())
        .collect();
    assert!(outcomes.contains(&"caught") && outcomes.contains(&"vacuous"));
    assert!(!outcomes.contains(&"missed"));

    let line = "run --candidate interp --stage sscp_conv_1.norm.mean --report report.json";
    let flags = |place: &Place| place.json("report.json")["boundaries"][0]["flags"].clone();
    assert_eq!(place.run(line).0, Some(0));
    assert_eq!(flags(&place), serde_json::json!(["unguarded"]));
    let (code, _, said) = place.run(&format!("{line} --controls controls.json"));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(flags(&place), serde_json::json!([]));
    let report = place.json("report.json");
    let guards = report["boundaries"][0]["guarded_by"].as_array().unwrap();
    let swapped = "sscp_conv_1.norm.mean/only-operand-0@Divide.1";
    assert!(guards.iter().any(|name| name == swapped), "{guards:?}");
    let all = report["controls"].as_array().unwrap();
    assert!(all.len() > guards.len() && all.iter().all(|c| c["stage"] == "sscp_conv_1"));

    let (code, _, said) = place.run(&format!("{line} --profile f32 --controls controls.json"));
    assert_eq!(code, Some(5));
    assert!(said.contains("they are about another profile"), "{said}");
    let (code, ..) = place.run("run --candidate interp --controls report.json");
    assert_eq!(code, Some(5));
}

#[test]
fn controls_run_on_a_device_too() {
    let place = Place::new();
    let line = "controls --stage lengths --candidate iree --device local-sync";
    let (code, table, said) = place.run(line);
    assert_eq!(code, Some(0), "{table}{said}");
}

#[test]
fn a_contract_without_orders_has_no_interpreted_controls() {
    let (code, _, said) = Place::new().run("controls --contract native");
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn code_for_the_cpu_is_clean_and_code_for_a_gpu_is_not() {
    let place = Place::new();
    let stage = "--stage sscp_conv_1.norm.inverse_stddev";
    let (code, table, said) = place.run(&format!("audit {stage} --json audit.json"));
    assert_eq!(code, Some(0), "{table}{said}");
    let audit = place.json("audit.json");
    assert_eq!(audit["boundaries"][0]["findings"], serde_json::json!([]));
    assert!(audit["boundaries"][0]["instructions"].as_u64() > Some(0));
    let (code, table, _) = place.run(&format!("audit {stage} --target cuda:sm_89"));
    assert_eq!(code, Some(1), "{table}");
    assert!(table.contains("!1"), "{table}");
    let (code, ..) = place.run(&format!("audit {stage} --target cuda:sm_90"));
    assert_eq!(code, Some(2));
}
