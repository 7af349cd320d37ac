//! The `mlx` side walks our restatement of the model; mlx-vlm's own modules must give its bits.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{collections::BTreeMap, fs, path::PathBuf};

use fixtures::Fixture;
use oracle::{Captures, MlxSide};
use sha2::{Digest, Sha256};
use stages::{
    Boundary, BoundaryId, DType, Profile, audio::MEL_BINS, model::gemma3n_audio::audio_encoder,
};

fn recording(input: &str, profile: Profile) -> PathBuf {
    let name = format!("sscp-{input}-{profile}.safetensors");
    fixtures::data_dir().unwrap().join("recorded").join(name)
}

/// Every boundary of the encoder, from mlx-vlm's modules, against the live walk of the graph.
fn equals_mlx_vlm(input: &str, profile: Profile) {
    let path = recording(input, profile);
    let (recorded, notes) = Captures::load(&path).unwrap();
    let fixture = Fixture::named("tiny", 0).unwrap();
    let file = fixtures::data_dir().unwrap().join("tiny/model.safetensors");
    let digest: String = Sha256::digest(fs::read(file).unwrap())
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(
        notes["checkpoint_sha256"],
        digest,
        "{}: recorded from other weights",
        path.display()
    );
    assert_eq!(notes["mlx"], oracle::mlx::VERSION);

    let mel = recorded.get(&BoundaryId::new("mel")).unwrap().clone();
    let &[clips, frames, MEL_BINS] = mel.shape().dims() else {
        panic!("mel is {}", mel.shape())
    };
    let graph = audio_encoder(fixture.checkpoint.config(), profile, clips, frames).unwrap();
    let wanted: Vec<&Boundary> = graph.boundaries().iter().collect();
    let weights = |name: &str| fixture.checkpoint.tensor(name).cloned();
    let inputs = BTreeMap::from([("mel".to_owned(), mel)]);
    let live = MlxSide::new()
        .unwrap()
        .capture(&graph, &weights, &inputs, &wanted, &mut |_| ())
        .unwrap();

    assert_eq!(
        recorded.len(),
        wanted.len() + 1,
        "the features and every boundary"
    );
    for boundary in wanted {
        let (ours, theirs) = (
            live.get(&boundary.id).unwrap(),
            recorded.get(&boundary.id).unwrap(),
        );
        assert_eq!(ours.dtype(), theirs.dtype(), "{}", boundary.id);
        assert_eq!(ours.shape(), theirs.shape(), "{}", boundary.id);
        let width = ours.dtype().size();
        let differing = ours
            .bytes()
            .chunks(width)
            .zip(theirs.bytes().chunks(width))
            .filter(|(a, b)| a != b);
        assert_eq!(differing.count(), 0, "values of {} differ", boundary.id);
        if ours.dtype() == DType::F32 {
            assert!(
                ours.as_f32().unwrap().iter().all(|v| v.is_finite()),
                "{}",
                boundary.id
            );
        }
    }
}

#[test]
fn bf16_equals_mlx_vlm() {
    equals_mlx_vlm("jfk", Profile::Bf16);
    equals_mlx_vlm("left", Profile::Bf16);
}

#[test]
fn mixed_equals_mlx_vlm() {
    equals_mlx_vlm("jfk", Profile::Mixed);
    equals_mlx_vlm("left", Profile::Mixed);
}

#[test]
fn f32_equals_mlx_vlm() {
    equals_mlx_vlm("jfk", Profile::F32);
    equals_mlx_vlm("left", Profile::F32);
}
