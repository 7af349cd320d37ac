//! Runs of the real sides that qualify.

use crate::harness::{Place, compiled};

const BOUNDARIES: [&str; 10] = [
    "sscp_conv_1.convolution",
    "sscp_conv_1.norm.sum_at_time",
    "sscp_conv_1.norm.cumulative_sum",
    "sscp_conv_1.norm.mean",
    "sscp_conv_1.norm.squared_at_time",
    "sscp_conv_1.norm.cumulative_squared",
    "sscp_conv_1.norm.variance",
    "sscp_conv_1.norm.inverse_stddev",
    "sscp_conv_1.norm",
    "sscp_conv_1",
];

#[test]
fn a_stage_is_bit_exact_and_every_boundary_of_it_has_a_line() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    let ended = place.run("--stage sscp_conv_1").exits(0);
    let table: Vec<&str> = ended.stdout.lines().collect();
    assert!(table[0].starts_with("boundary"), "{ended}");
    for (line, name) in table[1..].iter().zip(BOUNDARIES) {
        assert_eq!(line.split_whitespace().next(), Some(name), "{ended}");
        assert!(line.ends_with("✓ bit-exact"), "{ended}");
    }
    ended.prints("10 of 10 boundaries bit-exact; production = tapped = chained\n");
    assert!(
        place.holds().is_empty(),
        "nothing is written without --report"
    );
}

#[test]
fn every_profile_is_bit_exact_on_every_device_and_interpreted() {
    for profile in ["bf16", "mixed", "f32"] {
        let line = format!("--stage sscp_conv_1 --profile {profile}");
        compiled(&line);
        for side in [
            "--device local-task",
            "--device local-task --threads 3",
            "--device local-sync",
            "--candidate interp",
            "--candidate interp --interp off",
        ] {
            let ended = Place::new().run(&format!("{line} {side}")).exits(0);
            ended.prints("10 of 10 boundaries bit-exact");
        }
    }
}

#[test]
fn another_seed_is_another_model_and_bit_exact_too() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    for seed in [0, 9] {
        let line = format!("--stage sscp_conv_1 --seed {seed} --report {seed}.json");
        place.run(&line).exits(0);
    }
    let digest = |name: &str| place.json(name)["model"]["checkpoint_sha256"].clone();
    assert_ne!(digest("0.json"), digest("9.json"));
}

#[test]
fn stages_add_up_in_evaluation_order() {
    let place = Place::new();
    place
        .run("--stage sscp_conv_0.norm.mean --stage mel_* --report r.json")
        .exits(0)
        .prints("2 of 2 boundaries bit-exact");
    let report = place.json("r.json");
    assert_eq!(report["boundaries"][0]["name"], "mel_cast");
    assert_eq!(report["boundaries"][1]["name"], "sscp_conv_0.norm.mean");
}
