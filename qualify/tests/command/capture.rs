//! `qualify capture`.

use crate::{
    harness::{Place, compiled},
    tensors,
};

#[test]
fn the_three_sides_capture_the_same_bits() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    for side in ["mlx", "iree", "interp"] {
        place
            .run(&format!(
                "capture --side {side} --stage sscp_conv_1 --out {side}.safetensors"
            ))
            .exits(0)
            .says(&format!(
                "10 boundaries and 1 that their steps start from written to {side}.safetensors"
            ));
    }
    let [(mlx, notes), (iree, _), (interp, _)] = ["mlx", "iree", "interp"]
        .map(|side| tensors::read(&place.path(&format!("{side}.safetensors"))));
    assert_eq!(mlx.len(), 11);
    assert!(mlx.contains_key("sscp_conv_0"));
    for (name, tensor) in &mlx {
        assert!(iree[name] == *tensor, "iree: {name}");
        assert!(interp[name] == *tensor, "interp: {name}");
    }
    assert_eq!((iree.len(), interp.len()), (11, 11));
    assert!(notes["fingerprint"].contains("\"mlx\""));
}

#[test]
fn a_capture_of_a_stage_is_a_reference_for_it() {
    compiled("--stage sscp_conv_1.norm.variance");
    let place = Place::new();
    let stage = "--stage sscp_conv_1.norm.variance";
    place
        .run(&format!("capture --side mlx {stage} --out f"))
        .exits(0)
        .says("1 boundary and 1 that their steps start from written to f");
    place
        .run(&format!("{stage} --reference recorded:f"))
        .exits(0)
        .prints("1 of 1 boundary bit-exact");
    place
        .run(&format!("{stage} --candidate recorded:f"))
        .exits(0);
}

#[test]
fn a_capture_that_cannot_be_written_is_found_out_before_any_work() {
    let place = Place::new();
    place.put("file", b"");
    for (out, because) in [
        ("nowhere/f", "No such file"),
        ("file/f", "Not a directory"),
        ("fixtures", "it is a folder"),
        ("/proc/f", "/proc/f"),
    ] {
        place
            .run(&format!("capture --side mlx --stage mel_cast --out {out}"))
            .exits(4)
            .says(&format!("qualify: failed to write {out}: "))
            .says(because)
            .does_no_work();
        assert_eq!(place.holds(), ["file"]);
    }
}
