//! The 4-bit checkpoint.

use crate::harness::{Place, compiled};

/// Nothing but weights leads there, so that the module is a small one.
const PADDING: &str = "--fixture tiny-4bit --stage projection.hard_linear";

#[test]
fn products_with_quantized_weights_are_bit_exact_in_every_profile() {
    let place = Place::new();
    for profile in ["bf16", "mixed", "f32"] {
        let line = format!("{PADDING} --profile {profile}");
        compiled(&line);
        place
            .run(&format!("{line} --report r.json"))
            .exits(0)
            .prints("1 of 1 boundary bit-exact; production = tapped = chained");
        assert_eq!(
            place.json("r.json")["boundaries"][0]["interp"]["differing"],
            0
        );
    }
}

#[test]
fn what_mlx_vlm_recorded_of_it_is_met() {
    let place = Place::new();
    for profile in ["bf16", "mixed", "f32"] {
        let file = format!("fixtures/recorded/encoder-jfk4bit-{profile}.safetensors");
        place
            .run(&format!(
                "--fixture tiny-4bit --profile {profile} --bucket exact --mel {file} \
                 --reference recorded:{file} --candidate interp --stage projection.* \
                 --stage audio_tokens"
            ))
            .exits(0)
            .prints("8 of 8 boundaries bit-exact");
    }
}

#[test]
fn a_checkpoint_of_4_bits_is_opened_from_its_folder() {
    let place = Place::new();
    place
        .run(
            "--checkpoint fixtures/tiny-4bit --audio fixtures/audio/jfk.wav \
             --stage projection.hard_embedding --report r.json",
        )
        .exits(0);
    place
        .run("--fixture tiny-4bit --stage projection.hard_embedding --report s.json")
        .exits(0);
    let digest = |name: &str| place.json(name)["model"]["checkpoint_sha256"].clone();
    assert_eq!(digest("r.json"), digest("s.json"));
}
