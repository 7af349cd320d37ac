//! The report and the captures of a run.

use reports::{
    verdict::{ExitCode, Verdict},
    wire::read_report,
};
use safetensors::Dtype;
use serde_json::Value;

use crate::{
    harness::{Place, compiled},
    tensors,
};

const LINE: &str = "--stage sscp_conv_1 --report r.json --captures c";

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(|k| &**k).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_report_says_what_was_run_on_what_and_how_it_came_out() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    place.run(LINE).exits(0);
    let report = read_report(&place.path("r.json")).unwrap();
    assert_eq!(report.verdict, Verdict::BitExact);
    assert_eq!(report.exit_code, ExitCode::QUALIFIED.code());
    assert_eq!(report.non_interference.tapped, Some(true));
    assert_eq!(report.non_interference.chained, Some(true));
    assert_eq!(report.first_divergence, Default::default());
    assert_eq!(report.command[1], "run");
    assert_eq!(report.boundaries.len(), 10);
    for boundary in &report.boundaries {
        assert_eq!(boundary.stage, "sscp_conv_1");
        assert_eq!(boundary.verdict, Verdict::BitExact);
        assert_eq!(boundary.inherited.differing, Some(0));
        assert_eq!(boundary.local.as_ref().unwrap().differing, Some(0));
        let interp = boundary.interp.unwrap();
        assert_eq!((interp.differing, interp.candidate_differing), (0, 0));
    }
    assert_eq!(report.inputs.frames, [1097]);
    assert!(report.fingerprint.mlx.is_some() && report.fingerprint.iree.is_some());
    assert!(report.timing.cached.contains(&"compile".to_owned()));
}

#[test]
fn the_report_has_the_keys_of_the_format() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    place.run(LINE).exits(0);
    let report = place.json("r.json");
    let top = "boundaries command controls created exit_code fingerprint first_divergence inputs \
               model non_interference planted policy repeat schema_version timing tool verdict";
    assert_eq!(keys(&report).join(" "), top);
    let boundary = "cause elements evidence flags grid guarded_by inherited interp local name \
                    origin parents policy shape share_local stage truth verdict";
    assert_eq!(keys(&report["boundaries"][0]).join(" "), boundary);
    for part in ["host", "iree", "mlx"] {
        assert!(report["fingerprint"][part].is_object(), "{part}");
    }
    assert_eq!(report["verdict"], "bit_exact");
    assert_eq!(report["boundaries"][0]["grid"], "BF16");
}

#[test]
fn captures_are_a_file_for_each_side_in_the_dtypes_of_the_grids() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    place.run(LINE).exits(0);
    let written = [
        "c/",
        "c/inherited.safetensors",
        "c/interp.safetensors",
        "c/local.safetensors",
        "c/reference.safetensors",
        "r.json",
    ];
    assert_eq!(place.holds(), written);
    let report = place.json("r.json");
    for side in ["reference", "inherited", "local", "interp"] {
        let (tensors, notes) = tensors::read(&place.path(&format!("c/{side}.safetensors")));
        for boundary in report["boundaries"].as_array().unwrap() {
            let (dtype, shape, _) = &tensors[boundary["name"].as_str().unwrap()];
            let grid = match dtype {
                Dtype::BF16 => "BF16",
                Dtype::F32 => "F32",
                other => panic!("{other}"),
            };
            assert_eq!(boundary["grid"], grid);
            assert_eq!(boundary["shape"], serde_json::json!(shape));
        }
        let fingerprint: Value = serde_json::from_str(&notes["fingerprint"]).unwrap();
        assert_eq!(fingerprint, report["fingerprint"]);
        assert!(!notes.contains_key("off_grid"));
    }
}

#[test]
fn captures_of_a_run_without_a_side_do_not_keep_an_earlier_runs() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    place.run(LINE).exits(0);
    place.run(&format!("{LINE} --interp off")).exits(0);
    assert!(!place.path("c/interp.safetensors").exists());
    assert!(place.path("c/local.safetensors").exists());
    assert!(place.json("r.json")["boundaries"][0]["interp"].is_null());
}

#[test]
fn a_report_replaces_an_earlier_one_but_a_failed_run_leaves_it_alone() {
    compiled("--stage mel_cast");
    let place = Place::new();
    place.put("r.json", b"earlier");
    place.run("--stage nothing --report r.json").exits(2);
    place.run("--audio none.wav --report r.json").exits(5);
    assert_eq!(std::fs::read(place.path("r.json")).unwrap(), b"earlier");
    place.run("--stage mel_cast --report r.json").exits(0);
    assert_eq!(place.json("r.json")["schema_version"], 1);
}
