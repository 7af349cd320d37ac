//! `qualify fixture`, and running what it writes.

use std::fs;

use crate::harness::Place;

const WRITE: &str = "fixture --config fixtures/tiny/config.json";

#[test]
fn a_fixture_is_written_and_qualifies() {
    let place = Place::new();
    place.run(&format!("{WRITE} --seed 3 --out model")).exits(0);
    let written = [
        "model/",
        "model/config.json",
        "model/generation_config.json",
        "model/model.safetensors",
        "model/preprocessor_config.json",
    ];
    assert_eq!(place.holds(), written);
    place
        .run(
            "run --checkpoint model --audio fixtures/audio/jfk.wav --stage sscp_conv_0 \
             --report r.json",
        )
        .exits(0)
        .prints("10 of 10 boundaries bit-exact");
    // The same as from the command line, where the seed is the model.
    place
        .run("--seed 3 --stage mel_cast --report s.json")
        .exits(0);
    let [written, generated] = ["r.json", "s.json"].map(|name| place.json(name)["model"].clone());
    assert_eq!(written["checkpoint_sha256"], generated["checkpoint_sha256"]);
}

#[test]
fn fixtures_that_are_not_where_the_environment_says_are_named() {
    let place = Place::new();
    let nowhere = place.path("nowhere");
    place
        .run_with("--stage mel_cast", &[("QUALIFY_FIXTURES", &*nowhere)])
        .exits(5)
        .says("failed to find fixtures in ")
        .says("nowhere, which QUALIFY_FIXTURES names")
        .does_no_work();
}

#[test]
fn the_same_fixture_may_be_written_again_and_another_may_not_replace_it() {
    let place = Place::new();
    place.run(&format!("{WRITE} --out model")).exits(0);
    let weights = || fs::read(place.path("model/model.safetensors")).unwrap();
    let first = weights();
    place.run(&format!("{WRITE} --out model")).exits(0);
    place
        .run(&format!("{WRITE} --seed 1 --out model"))
        .exits(4)
        .says("failed to write to model: it is not empty and holds something else");
    assert!(weights() == first);
    assert_eq!(place.holds().len(), 5);
}

#[test]
fn a_place_that_cannot_be_written_is_the_environments() {
    let place = Place::new();
    place.put("file", b"mine");
    for out in ["file", "file/model", "/proc/model"] {
        place
            .run(&format!("{WRITE} --out {out}"))
            .exits(4)
            .says("failed to write");
        assert_eq!(place.holds(), ["file"]);
    }
    assert_eq!(fs::read(place.path("file")).unwrap(), b"mine");
}

#[test]
fn a_configuration_that_is_none_writes_nothing() {
    let place = Place::new();
    place.put("empty.json", b"");
    place.put("list.json", b"[]");
    let config = fs::read_to_string(place.path("fixtures/tiny/config.json")).unwrap();
    let negative = config.replacen("\"hidden_size\": 64", "\"hidden_size\": -64", 1);
    assert_ne!(negative, config);
    place.put("negative.json", negative.as_bytes());
    let holds = place.holds();
    for (config, because) in [
        ("none.json", "failed to read none.json: No such file"),
        ("fixtures", "failed to read fixtures: Is a directory"),
        ("empty.json", "failed to read empty.json: EOF"),
        ("list.json", "configuration"),
        ("negative.json", "hidden_size"),
        ("fixtures/tiny/preprocessor_config.json", "audio_config"),
        (
            "fixtures/audio/jfk.wav",
            "failed to read fixtures/audio/jfk.wav",
        ),
    ] {
        place
            .run(&format!("fixture --config {config} --out model"))
            .exits(5)
            .says(because);
        assert_eq!(place.holds(), holds);
    }
}
