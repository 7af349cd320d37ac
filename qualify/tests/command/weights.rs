//! Weights that are not numbers, or so large that what is computed of them is none.

use std::fs;

use serde_json::{Value, json};

use crate::{harness::Place, tensors};

const CONV: &str = "audio_tower.subsample_conv_projection.conv_0.conv.weight";
const TABLE: &str = "embed_audio.embedding.weight";
const SCALE: &str = "audio_tower.conformer.0.attention.attn.per_dim_scale";

/// A copy of the checkpoint of the fixture `tiny` in which elements of tensors have other bits.
fn altered(changes: &[(&str, usize, u16)]) -> Place {
    let place = Place::new();
    place.put_checkpoint("model");
    let mut file = fs::read(place.path("model/model.safetensors")).unwrap();
    for &(tensor, element, bits) in changes {
        let start = tensors::position(&file, &format!("model.{tensor}")) + 2 * element;
        file[start..start + 2].copy_from_slice(&bits.to_le_bytes());
    }
    place.put("model/model.safetensors", &file);
    place
}

fn is_flagged(boundary: &Value) -> bool {
    let flags = boundary["flags"].as_array().unwrap();
    flags.contains(&json!("non_finite"))
}

#[test]
fn tensors_that_hold_no_numbers_are_named_and_run_with() {
    let place = altered(&[
        (CONV, 5, 0x7fc0),
        (CONV, 71, 0xff80),
        (TABLE, 0, 0x7f80),
        (TABLE, 1, 0x7f80),
    ]);
    let line = "--checkpoint model --audio fixtures/audio/jfk.wav --stage mel_cast \
                --stage sscp_conv_0.convolution";
    let warning = format!("qualify: warning: tensor {CONV} holds 1 NaN and 1 infinite values");
    place
        .run(&format!("{line} --report r.json"))
        .exits(0)
        .says(&warning)
        .says(&format!("tensor {TABLE} holds 0 NaN and 2 infinite values"))
        .prints("2 of 2 boundaries bit-exact")
        .prints("holds NaN or infinities in 1 boundary, the first sscp_conv_0.convolution");
    let report = place.json("r.json");
    assert_eq!(
        report["model"]["non_finite"],
        json!([
            {"tensor": CONV, "nan": 1, "infinite": 1},
            {"tensor": TABLE, "nan": 0, "infinite": 2},
        ])
    );
    let [mel, convolution] = [0, 1].map(|i| &report["boundaries"][i]);
    assert!(!is_flagged(mel) && is_flagged(convolution));
    place
        .run(&format!("capture {line} --side mlx --out f"))
        .exits(0)
        .says(&warning);
}

#[test]
fn numbers_alone_are_not_warned_of() {
    let place = Place::new();
    let ended = place.run("--stage mel_cast --report r.json").exits(0);
    assert!(!ended.stderr.contains("warning"), "{ended}");
    assert_eq!(place.json("r.json")["model"]["non_finite"], json!([]));
}

/// Queries overflow, their products with keys are infinite, and sums of those no numbers. The
/// graph states all that as MLX computes it. Fused with the addition, a product does not overflow:
/// what the compiler makes of the graph may have an infinity where MLX has a NaN, and then the
/// report says so.
#[test]
fn a_scale_that_overflows_is_judged_like_any_other() {
    let scales: Vec<(&str, usize, u16)> = (0..16).map(|i| (SCALE, i, 0x7f60 + i as u16)).collect();
    let place = altered(&scales);
    let line = "--checkpoint model --mel fixtures/recorded/encoder-jfk-bf16.safetensors \
                --stage conformer.0.attention --report r.json";
    place
        .run(&format!("{line} --candidate interp"))
        .exits(0)
        .prints("18 of 18 boundaries bit-exact")
        .prints("the first conformer.0.attention.query_scaled");
    let ended = place.run(line);
    let report = place.json("r.json");
    assert_eq!(report["model"]["non_finite"], json!([]));
    let boundaries = report["boundaries"].as_array().unwrap();
    let named = |name: &str| boundaries.iter().find(|b| b["name"] == name).unwrap();
    let scaled = named("conformer.0.attention.query_scaled");
    assert!(
        is_flagged(scaled) && scaled["verdict"] == "bit_exact",
        "{ended}"
    );
    let wrong = |b: &&Value| b["verdict"] != "bit_exact";
    for boundary in boundaries.iter().filter(wrong) {
        let makes_it = boundary["origin"] != "inherited";
        assert!(!makes_it || boundary["cause"] == "backend", "{ended}");
        assert!(!makes_it || is_flagged(boundary), "{ended}");
        assert_eq!(boundary["interp"]["differing"], 0, "{ended}");
    }
}
