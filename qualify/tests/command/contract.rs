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
    assert_eq!(boundary["origin"], "local");
    for side in ["local", "inherited"] {
        assert_eq!(boundary[side]["verdict"], "diverged");
        assert!(boundary[side]["differing"].as_u64().unwrap() > 0);
        assert!(boundary[side]["max_abs"].as_f64().unwrap() > 0.0);
        assert_eq!(boundary[side]["worst"].as_array().unwrap().len(), 32);
    }
    assert!(!place.path("c/interp.safetensors").exists());
}
