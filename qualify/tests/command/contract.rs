//! The contract that states nothing.

use crate::harness::Place;

#[test]
fn the_native_contract_differs_honestly_and_blames_nobody() {
    let place = Place::new();
    place
        .run("--contract native --stage sscp_conv_0.convolution --report r.json --captures c")
        .exits(1)
        .prints("0 of 1 boundary bit-exact, 1 diverged; production = tapped = chained\n")
        .prints("first divergence, local and inherited: sscp_conv_0.convolution (diverged)");
    let report = place.json("r.json");
    assert_eq!(report["model"]["contract"], "native");
    assert_eq!(
        (&report["verdict"], &report["exit_code"]),
        (&"diverged".into(), &1.into())
    );
    let boundary = &report["boundaries"][0];
    assert!(boundary["cause"].is_null() && boundary["interp"].is_null());
    // The features it reads were not rounded to BF16 either, though nobody asked to see them.
    assert_eq!(boundary["origin"], "both");
    for side in ["local", "inherited"] {
        assert_eq!(boundary[side]["verdict"], "diverged");
        assert!(boundary[side]["differing"].as_u64().unwrap() > 0);
        assert!(boundary[side]["max_abs"].as_f64().unwrap() > 0.0);
        assert_eq!(boundary[side]["worst"].as_array().unwrap().len(), 32);
    }
    assert!(!place.path("c/interp.safetensors").exists());
}

#[test]
fn the_first_local_and_the_first_inherited_error_are_named() {
    let place = Place::new();
    let ended = place
        .run("--contract native --stage sscp_conv_0 --report r.json")
        .exits(1)
        .prints("first divergence, local and inherited: sscp_conv_0.convolution (diverged)")
        .prints("worst element [");
    let report = place.json("r.json");
    let with = |origins: &[&str]| -> Vec<&str> {
        let all = report["boundaries"].as_array().unwrap().iter();
        let found = all.filter(|b| origins.iter().any(|origin| b["origin"] == *origin));
        found.map(|b| b["name"].as_str().unwrap()).collect()
    };
    let (makes, inherits) = (with(&["local", "both"]), with(&["inherited"]));
    // A running sum is added up as MLX does it even so; what it adds up is wrong.
    assert!(
        inherits.contains(&"sscp_conv_0.norm.cumulative_sum"),
        "{ended}"
    );
    ended.prints(&format!(
        "local error in {} boundaries, the first {}; inherited alone in {} boundaries, the first {}",
        makes.len(),
        makes[0],
        inherits.len(),
        inherits[0]
    ));
}
