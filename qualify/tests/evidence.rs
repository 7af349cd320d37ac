//! What took weeks by hand in earlier ports of this model, asked of one command each.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{
    collections::HashMap,
    fs,
    path::Path,
    process::{Command, Output},
};

use safetensors::{Dtype, SafeTensors, serialize, tensor::TensorView};
use serde_json::Value;
use tempfile::TempDir;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures");

fn qualify(place: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_qualify"))
        .args(line.split_whitespace())
        .current_dir(place)
        .env(
            "QUALIFY_CACHE",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/evidence"),
        )
        .env("QUALIFY_FIXTURES", FIXTURES)
        .output()
        .unwrap()
}

/// The report of a run that ends with that exit code.
fn report(place: &Path, code: i32, line: &str) -> Value {
    let output = qualify(place, &format!("run {line} --report report.json"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    serde_json::from_slice(&fs::read(place.join("report.json")).unwrap()).unwrap()
}

fn boundary<'r>(report: &'r Value, name: &str) -> &'r Value {
    let all = report["boundaries"].as_array().unwrap();
    all.iter().find(|b| b["name"] == name).unwrap()
}

/// Tensors of F32, by name.
fn save(file: &Path, tensors: &[(&str, Vec<usize>, Vec<f32>)]) {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(.., values)| values.iter().flat_map(|x| x.to_le_bytes()).collect())
        .collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap();
        ((*name).to_owned(), view)
    });
    let views: HashMap<String, TensorView<'_>> = views.collect();
    fs::write(file, serialize(views, None).unwrap()).unwrap();
}

/// A projection of a vision model differed at a few hundred elements, and seven builds later the
/// norm before it was found to have made the error.
#[test]
fn the_norm_is_named_and_the_projections_behind_it_are_innocent() {
    let place = TempDir::new().unwrap();
    let stage = "conformer.0.attention";
    let mistake = format!("{stage}.pre_norm/bf16-accumulator@Reduce.1");
    let line = format!("--stage {stage} --plant {mistake} --interp on");
    let report = report(place.path(), 1, &line);
    assert_eq!(report["planted"], mistake);
    let norm = format!("{stage}.pre_norm");
    assert_eq!(report["first_divergence"]["local"], norm);
    let made = boundary(&report, &norm);
    assert_eq!(made["origin"], "local");
    assert_eq!(made["cause"], "contract");
    for projection in ["query", "key", "value"] {
        let innocent = boundary(&report, &format!("{stage}.{projection}"));
        assert_eq!(innocent["local"]["differing"], 0, "{projection}");
        assert_eq!(innocent["local"]["verdict"], "bit_exact", "{projection}");
        assert!(innocent["inherited"]["differing"].as_u64().unwrap() > 0);
        assert_eq!(innocent["origin"], "inherited", "{projection}");
        assert_eq!(innocent["share_local"], 0.0, "{projection}");
    }
}

/// A running sum of values that are no BF16 was given 0 BF16 ULP, and the 0 was read as good.
#[test]
fn values_off_the_grid_have_no_ulp_on_it_and_have_them_in_f32() {
    let place = TempDir::new().unwrap();
    let shape = vec![1, 2, 64, 8];
    let name = "sscp_conv_0.convolution";
    // 2^-6 is one F32 ULP between 2^17 and 2^18.
    let sums: Vec<f32> = (0..1024)
        .map(|i| 131_072.0 + i as f32 + 0.015_625)
        .collect();
    let mut others = sums.clone();
    others[373] += 0.015_625;
    let parent = ("mel_cast", vec![1, 4, 128], vec![1.0; 512]);
    let files = [("a.safetensors", sums), ("b.safetensors", others)];
    for (file, values) in files {
        let tensors = [parent.clone(), (name, shape.clone(), values)];
        save(&place.path().join(file), &tensors);
    }
    let mel = (0..4 * 128).map(|i| (i % 7) as f32 - 3.0).collect();
    let mask: Vec<u8> = vec![1; 4];
    let mel_bytes: Vec<u8> = Vec::<f32>::into_iter(mel)
        .flat_map(f32::to_le_bytes)
        .collect();
    let views = HashMap::from([
        (
            "mel".to_owned(),
            TensorView::new(Dtype::F32, vec![1, 4, 128], &mel_bytes).unwrap(),
        ),
        (
            "mask".to_owned(),
            TensorView::new(Dtype::U8, vec![1, 4], &mask).unwrap(),
        ),
    ]);
    fs::write(
        place.path().join("mel.safetensors"),
        serialize(views, None).unwrap(),
    )
    .unwrap();
    let line = format!(
        "--mel mel.safetensors --bucket exact --stage {name} --reference recorded:a.safetensors \
         --candidate recorded:b.safetensors"
    );
    let report = report(place.path(), 1, &line);
    let inherited = &boundary(&report, name)["inherited"];
    assert_eq!(inherited["ulp"], Value::Null);
    let reason = inherited["ulp_reason"].as_str().unwrap();
    assert!(
        reason.contains("1024 of 1024 values are not BF16"),
        "{reason}"
    );
    assert_eq!(inherited["ulp_f32"]["max"], 1);
    assert_eq!(inherited["max_abs"], 0.015_625);
    assert_eq!(
        inherited["max_abs_at"]["index"],
        serde_json::json!([0, 0, 46, 5])
    );
}

/// A norm overflowed, the row collapsed to zero, and a later comparison of zeros with zeros passed.
#[test]
fn zeros_that_equal_zeros_are_vacuous() {
    let place = TempDir::new().unwrap();
    let checkpoint = place.path().join("checkpoint");
    fs::create_dir(&checkpoint).unwrap();
    for entry in fs::read_dir(format!("{FIXTURES}/tiny")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), checkpoint.join(entry.file_name())).unwrap();
    }
    let file = checkpoint.join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    let norm = "model.audio_tower.conformer.0.attention.pre_attn_norm.weight";
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let at = tensors.tensor(norm).unwrap().data().as_ptr().addr() - bytes.as_ptr().addr();
    let len = tensors.tensor(norm).unwrap().data().len();
    let mut zeroed = bytes.clone();
    zeroed[at..at + len].fill(0);
    fs::write(&file, zeroed).unwrap();
    let line = format!(
        "--checkpoint checkpoint --audio {FIXTURES}/audio/jfk.wav --stage conformer.0.attention.query"
    );
    let report = report(place.path(), 3, &line);
    let query = boundary(&report, "conformer.0.attention.query");
    assert_eq!(query["verdict"], "vacuous");
    assert_eq!(query["inherited"]["differing"], 0);
    assert_eq!(report["verdict"], "vacuous");
}

/// An identity permutation was a control that could not change anything, and the run panicked.
#[test]
fn a_control_that_changes_nothing_is_vacuous_and_a_run_with_it_does_not_pass() {
    let place = TempDir::new().unwrap();
    let norm = "conformer.0.attention.pre_norm";
    let mistake = format!("{norm}/only-operand-0@Maximum.1");
    let output = qualify(
        place.path(),
        &format!("controls --stage {norm} --json controls.json"),
    );
    assert!(matches!(output.status.code(), Some(0 | 3)));
    let controls: Value =
        serde_json::from_slice(&fs::read(place.path().join("controls.json")).unwrap()).unwrap();
    let all = controls["controls"].as_array().unwrap();
    let same = all.iter().find(|c| c["name"] == mistake.as_str()).unwrap();
    assert_eq!(same["outcome"], "vacuous");
    assert!(
        !same["fixture"].is_null() || !same["reason"].is_null(),
        "{same}"
    );

    let report = report(
        place.path(),
        3,
        &format!("--stage {norm} --plant {mistake}"),
    );
    assert_eq!(boundary(&report, norm)["verdict"], "bit_exact");
    assert_eq!(report["verdict"], "inconclusive");
}

#[test]
fn what_cannot_be_planted_is_a_mistake_in_the_command_line() {
    let place = TempDir::new().unwrap();
    for mistake in [
        "nothing",
        "conformer.0.attention.pre_norm/wrong",
        "nowhere/one-ulp",
    ] {
        let output = qualify(place.path(), &format!("run --plant {mistake}"));
        assert_eq!(output.status.code(), Some(2), "{mistake}");
    }
    // A recording has no graph.
    let line = "run --candidate recorded:x.safetensors --plant mel_cast/one-ulp";
    assert_eq!(qualify(place.path(), line).status.code(), Some(2));
}
