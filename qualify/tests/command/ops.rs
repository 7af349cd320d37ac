//! `--ops`: every result of arithmetic is a boundary.

use std::fs;

use serde_json::json;

use crate::{
    harness::{Place, compiled},
    tensors,
};

#[test]
fn the_tree_has_primitives_below_the_boundaries_they_lead_to() {
    let place = Place::new();
    let ended = place.run("stages --ops --stage sscp_conv_0 --stage conformer.1.attention.softcap");
    insta::assert_snapshot!(ended.exits(0).stdout);
    let one = place.run("stages --ops --stage sscp_conv_0.norm.mean/2.Maximum");
    insta::assert_snapshot!(one.exits(0).stdout, @r"
    sscp_conv_0
    └─ sscp_conv_0.norm.mean/2.Maximum [1,576,1,1]  F32   ← /1.Scan
    ");
}

#[test]
fn without_it_there_are_none() {
    let place = Place::new();
    for command in ["", "stages ", "capture --side mlx --out f "] {
        place
            .run(&format!("{command}--stage sscp_conv_0.norm.mean/2.Maximum"))
            .exits(2)
            .says("failed to find a boundary named sscp_conv_0.norm.mean/2.Maximum; did you mean ")
            .says("; single primitives are there with --ops")
            .does_no_work();
    }
}

#[test]
fn every_primitive_is_judged_by_a_step_of_its_own() {
    let line = "--ops --stage sscp_conv_0.norm.squared_at_time";
    compiled(line);
    let place = Place::new();
    place
        .run(&format!("{line} --report r.json"))
        .exits(0)
        .prints("sscp_conv_0.norm.squared_at_time/2.Power ")
        .prints("3 of 3 boundaries bit-exact; production = tapped = chained");
    let report = place.json("r.json");
    let [difference, square, sum] = [0, 1, 2].map(|i| &report["boundaries"][i]);
    let name = "sscp_conv_0.norm.squared_at_time";
    assert_eq!(difference["name"], format!("{name}/1.Subtract"));
    assert_eq!(square["parents"], json!([format!("{name}/1.Subtract")]));
    assert_eq!(sum["parents"], json!([format!("{name}/2.Power")]));
    assert_eq!(square["stage"], "sscp_conv_0");
}

#[test]
fn an_error_is_found_in_the_primitive_that_makes_it() {
    let place = Place::new();
    let stage = "--ops --stage sscp_conv_0.norm.inverse_stddev";
    for side in ["mlx", "interp"] {
        let line = format!("capture {stage} --side {side} --out {side}.safetensors");
        place.run(&line).exits(0);
    }
    let (mlx, _) = tensors::read(&place.path("mlx.safetensors"));
    let (interp, _) = tensors::read(&place.path("interp.safetensors"));
    assert!(mlx == interp);
    let sum = "sscp_conv_0.norm.inverse_stddev/1.Add";
    assert!(mlx.contains_key(sum), "{:?}", mlx.keys());

    let mut file = fs::read(place.path("mlx.safetensors")).unwrap();
    let start = tensors::position(&file, sum);
    file[start + 4 * 5] ^= 1;
    place.put("altered.safetensors", &file);
    let sides = "--reference recorded:altered.safetensors --candidate interp";
    place
        .run(&format!("{stage} {sides}"))
        .exits(1)
        .prints(&format!(
            "first divergence, local and inherited: {sum} (diverged, cause: contract)"
        ));
}
