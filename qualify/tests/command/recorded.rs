//! Recordings in place of a side: what they are judged by, and what is wrong with some.

use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::{Place, compiled},
    tensors,
};

/// The block's result: its shape, and an element that is not zero.
const RESULT: &str = "sscp_conv_1";
const SHAPE: [usize; 4] = [1, 288, 32, 4];

/// A place with MLX's captures of the stage and what it starts from.
fn recorded() -> Place {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    place
        .run("capture --side mlx --stage sscp_conv_0 --stage sscp_conv_1 --out mlx.safetensors")
        .exits(0);
    place
}

/// Copies the captures with one bit of one positive element of the result flipped, and returns
/// its coordinate.
fn flip(place: &Place, to: &str, bit: u8) -> Vec<usize> {
    let mut file = fs::read(place.path("mlx.safetensors")).unwrap();
    let start = tensors::position(&file, RESULT);
    let elements: usize = SHAPE.iter().product();
    let element = (elements / 2..elements)
        .find(|i| file[start + 2 * i + 1] == 0x3f)
        .unwrap();
    file[start + 2 * element + usize::from(bit / 8)] ^= 1 << (bit % 8);
    place.put(to, &file);
    let mut rest = element;
    let mut index: Vec<usize> = SHAPE
        .iter()
        .rev()
        .map(|extent| {
            let at = rest % extent;
            rest /= extent;
            at
        })
        .collect();
    index.reverse();
    index
}

fn boundary<'r>(report: &'r Value, name: &str) -> &'r Value {
    let boundaries = report["boundaries"].as_array().unwrap();
    boundaries.iter().find(|b| b["name"] == name).unwrap()
}

#[test]
fn the_references_own_recording_is_bit_exact_on_either_side() {
    let place = recorded();
    for sides in [
        "--candidate recorded:mlx.safetensors",
        "--reference recorded:mlx.safetensors",
        "--reference recorded:mlx.safetensors --candidate interp",
        "--reference recorded:mlx.safetensors --candidate recorded:mlx.safetensors",
    ] {
        place
            .run(&format!("--stage sscp_conv_1 {sides} --report r.json"))
            .exits(0)
            .prints("10 of 10 boundaries bit-exact");
        let report = place.json("r.json");
        let live = !sides.contains("--candidate recorded");
        assert_eq!(report["boundaries"][0]["local"].is_object(), live);
        let known = report["fingerprint"]["mlx"].is_object();
        assert_eq!(known, !sides.contains("--reference"));
    }
}

/// It has as many frames as the clip.
#[test]
fn a_recording_of_another_implementation_needs_the_exact_number_of_frames() {
    let place = Place::new();
    let stages = "--stage sscp_conv_* --stage conformer.0.feed_forward_start";
    for input in ["jfk", "left"] {
        let file = format!("fixtures/recorded/encoder-{input}-bf16.safetensors");
        let line = format!("{stages} --mel {file} --reference recorded:{file} --candidate interp");
        place
            .run(&format!("{line} --bucket exact"))
            .exits(0)
            .prints("26 of 26 boundaries bit-exact");
        place
            .run(&line)
            .exits(5)
            .says("failed to use recording")
            .says(", not BF16 [")
            .does_no_work();
    }
}

#[test]
fn the_captures_of_a_run_are_a_recording() {
    compiled("--stage sscp_conv_1");
    let place = Place::new();
    place.run("--stage sscp_conv_1 --captures c").exits(0);
    for side in ["reference", "inherited", "local", "interp"] {
        let line = format!("--stage sscp_conv_1 --candidate recorded:c/{side}.safetensors");
        place.run(&line).exits(0);
    }
    place
        .run("--stage sscp_conv_1 --reference recorded:c/reference.safetensors")
        .exits(0);
}

#[test]
fn one_flipped_bit_of_the_candidate_is_found_where_it_is() {
    let place = recorded();
    for (bit, ulp) in [(0, 1), (3, 8)] {
        let index = flip(&place, "flipped.safetensors", bit);
        place
            .run("--stage sscp_conv_1 --candidate recorded:flipped.safetensors --report r.json")
            .exits(1)
            .prints("9 of 10 boundaries bit-exact, 1 diverged; non-interference not checked")
            .prints("first divergence, inherited: sscp_conv_1 (diverged)")
            .prints(&format!("worst element {index:?}: reference "))
            .prints(&format!(", {ulp} BF16 ULP apart"));
        let report = place.json("r.json");
        assert_eq!(
            report["first_divergence"],
            json!({"local": null, "inherited": RESULT})
        );
        let found = boundary(&report, RESULT);
        assert_eq!(found["verdict"], "diverged");
        for absent in ["local", "interp", "cause", "origin"] {
            assert!(found[absent].is_null(), "{absent}");
        }
        let inherited = &found["inherited"];
        assert_eq!(inherited["differing"], 1);
        assert_eq!(inherited["ulp"]["max"], ulp);
        assert_eq!(inherited["ulp"]["over_one"], u64::from(ulp > 1));
        assert_eq!(inherited["worst"][0]["index"], json!(index));
        let worst = &inherited["worst"][0];
        let apart = worst["reference"].as_f64().unwrap() - worst["candidate"].as_f64().unwrap();
        assert_eq!(inherited["max_abs"], apart.abs());
        assert_eq!(
            boundary(&report, "sscp_conv_1.norm")["verdict"],
            "bit_exact"
        );
    }
}

#[test]
fn a_flipped_bit_of_the_reference_is_local_and_the_contracts_fault() {
    let place = recorded();
    let index = flip(&place, "flipped.safetensors", 0);
    let line = "--stage sscp_conv_1 --reference recorded:flipped.safetensors --report r.json";
    for candidate in ["iree", "interp"] {
        place
            .run(&format!("{line} --candidate {candidate}"))
            .exits(1)
            .prints(
                "first divergence, local and inherited: sscp_conv_1 (diverged, cause: contract)",
            )
            .prints(&format!("worst element {index:?}"));
        let report = place.json("r.json");
        let found = boundary(&report, RESULT);
        assert_eq!(
            (&found["origin"], &found["cause"]),
            (&json!("local"), &json!("contract"))
        );
        assert_eq!(
            found["interp"],
            json!({"differing": 1, "candidate_differing": 0})
        );
        assert_eq!(found["local"]["ulp"]["max"], 1);
        assert_eq!(found["share_local"], 1.0);
    }
    place.run(&format!("{line} --interp off")).exits(1);
    let report = place.json("r.json");
    assert!(boundary(&report, RESULT)["cause"].is_null());
}

#[test]
fn a_wrong_value_that_a_step_starts_from_shows_in_that_step_alone() {
    let place = recorded();
    let mut file = fs::read(place.path("mlx.safetensors")).unwrap();
    let start = tensors::position(&file, "sscp_conv_1.norm.mean");
    file[start + 3] ^= 0x40;
    place.put("flipped.safetensors", &file);
    place
        .run("--stage sscp_conv_1 --reference recorded:flipped.safetensors --report r.json")
        .exits(1);
    let report = place.json("r.json");
    let mean = boundary(&report, "sscp_conv_1.norm.mean");
    assert_eq!(
        (&mean["origin"], &mean["cause"]),
        (&json!("local"), &json!("contract"))
    );
    // It is handed the wrong mean here, and the right one when it runs from the inputs.
    let squared = boundary(&report, "sscp_conv_1.norm.squared_at_time");
    assert_eq!(squared["local"]["verdict"], "diverged");
    assert_eq!(squared["inherited"]["verdict"], "bit_exact");
    let variance = boundary(&report, "sscp_conv_1.norm.variance");
    assert_eq!(variance["verdict"], "bit_exact");
    assert_eq!(report["first_divergence"]["local"], "sscp_conv_1.norm.mean");
}

#[test]
fn a_nan_against_a_number_is_a_failure() {
    let place = recorded();
    let mut file = fs::read(place.path("mlx.safetensors")).unwrap();
    let start = tensors::position(&file, RESULT);
    file[start..start + 2].copy_from_slice(&[0xc0, 0x7f]);
    place.put("nan.safetensors", &file);
    place
        .run("--stage sscp_conv_1 --candidate recorded:nan.safetensors --report r.json")
        .exits(1)
        .prints("NaN");
    let report = place.json("r.json");
    assert_eq!(boundary(&report, RESULT)["inherited"]["nan"], 1);
}

#[test]
fn f32_may_stand_for_bf16_and_what_is_off_the_grid_is_said_so() {
    let place = recorded();
    let (recorded, _) = tensors::read(&place.path("mlx.safetensors"));
    let widened: Vec<(&str, &str, &[usize], Vec<u8>)> = recorded
        .iter()
        .map(|(name, (dtype, shape, bytes))| {
            let bytes = match dtype {
                safetensors::Dtype::BF16 => bytes
                    .chunks(2)
                    .flat_map(|half| [0, 0, half[0], half[1]])
                    .collect(),
                _ => bytes.clone(),
            };
            (name.as_str(), "F32", shape.as_slice(), bytes)
        })
        .collect();
    let parts: Vec<_> = widened.iter().map(|t| (t.0, t.1, t.2, &*t.3)).collect();
    let mut file = tensors::file(&parts);
    place.put("wide.safetensors", &file);
    let line = "--stage sscp_conv_1 --candidate recorded:wide.safetensors --report r.json";
    place.run(line).exits(0);

    let start = tensors::position(&file, RESULT);
    file[start] ^= 1;
    place.put("wide.safetensors", &file);
    place
        .run(line)
        .exits(1)
        .prints("off grid")
        .prints("1 of 36864 values are not BF16 (candidate)");
    let report = place.json("r.json");
    let found = boundary(&report, RESULT);
    assert!(
        found["flags"]
            .as_array()
            .unwrap()
            .contains(&json!("off_grid"))
    );
    assert!(found["inherited"]["ulp"].is_null());
    assert_eq!(found["inherited"]["differing"], 1);
}

#[test]
fn a_recording_that_cannot_be_used_is_refused_before_any_work() {
    let place = recorded();
    let whole = fs::read(place.path("mlx.safetensors")).unwrap();
    place.put("empty", b"");
    place.put("cut", &whole[..whole.len() - 1]);
    place.put("long", &[&whole[..], b"x"].concat());
    place.put("huge", &tensors::raw("", &[0xff; 64])[8..]);
    place.put("beyond", &tensors::beyond_memory());
    place.put("other", &tensors::file(&[("x", "F32", &[1], &[0; 4])]));
    let scalar = [(
        "sscp_conv_1.convolution",
        "F64",
        &[] as &[usize],
        &[0_u8; 8] as &[u8],
    )];
    place.put("dtype", &tensors::file(&scalar));
    let holds = place.holds();
    for side in ["candidate", "reference"] {
        for (file, because) in [
            ("none", "No such file"),
            ("fixtures", "fixtures"),
            ("empty", "the file has 0 bytes"),
            ("cut", "ends at byte"),
            ("long", "belong to no tensor"),
            ("huge", "the header claims"),
            ("beyond", "tensor t0 ends at byte"),
            ("fixtures/audio/jfk.wav", "the header claims"),
            ("other", "sscp_conv_1.convolution is missing"),
            ("dtype", "sscp_conv_1.convolution is F64 []"),
        ] {
            place
                .run(&format!(
                    "--stage sscp_conv_1 --{side} recorded:{file} --report r.json --captures c"
                ))
                .exits(5)
                .says("qualify: failed to ")
                .says(file)
                .says(because)
                .does_no_work();
            assert_eq!(place.holds(), holds);
        }
    }
}

#[test]
fn values_that_are_not_aligned_in_their_file_are_read() {
    let place = recorded();
    let file = fs::read(place.path("mlx.safetensors")).unwrap();
    let length = u64::from_le_bytes(file[..8].try_into().unwrap());
    let mut moved = (length + 1).to_le_bytes().to_vec();
    moved.extend(&file[8..8 + length as usize]);
    moved.push(b' ');
    moved.extend(&file[8 + length as usize..]);
    place.put("moved.safetensors", &moved);
    for side in ["candidate", "reference"] {
        place
            .run(&format!(
                "--stage sscp_conv_1 --{side} recorded:moved.safetensors"
            ))
            .exits(0);
    }
}
