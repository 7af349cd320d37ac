//! The front end against what transformers' own extractor was recorded to give.

use std::path::{Path, PathBuf};

use half::bf16;
use safetensors::SafeTensors;

use super::{Features, LogMel, MEL_BINS, Overlong, PaddingSide, Waveform, synthetic};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(name)
}

/// The extractor's Hann window.
pub(super) fn window() -> Vec<f32> {
    let file = std::fs::read(fixture("recorded/mel-synthetic.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    floats(tensors.tensor("window").unwrap().data()).collect()
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
}

/// Largest difference and how many elements differ after rounding to BF16.
fn compare(features: &Features, file: &[u8], prefix: &str) -> (f32, usize) {
    let recorded = SafeTensors::deserialize(file).unwrap();
    let mel = recorded.tensor(&format!("{prefix}mel")).unwrap();
    let valid = recorded.tensor(&format!("{prefix}valid")).unwrap();
    assert_eq!(
        mel.shape(),
        [features.clips, features.frames, MEL_BINS],
        "{prefix}"
    );
    assert!(
        valid
            .data()
            .iter()
            .map(|&byte| byte == 1)
            .eq(features.valid.iter().copied())
    );
    let pairs: Vec<_> = floats(mel.data())
        .zip(features.mel.iter().copied())
        .collect();
    let largest = pairs.iter().map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let differing = pairs
        .iter()
        .filter(|(a, b)| bf16::from_f32(*a) != bf16::from_f32(*b));
    let differing = differing.count();
    println!(
        "{prefix:16} max {largest:.2e}, {differing} of {} differ in BF16",
        pairs.len()
    );
    (largest, differing)
}

#[test]
fn the_recording_has_the_features_transformers_gives() {
    let file = std::fs::read(fixture("recorded/mel-jfk.safetensors")).unwrap();
    let clip = Waveform::read(fixture("audio/jfk.wav")).unwrap();
    // Both sides: 176000 samples need no padding.
    for side in [PaddingSide::Left, PaddingSide::Right] {
        let features = LogMel::new()
            .extract(&[&clip], side, Overlong::Reject)
            .unwrap();
        let (largest, differing) = compare(&features, &file, "");
        assert!(largest < 1e-4);
        assert!(differing * 10_000 <= features.mel.len(), "{differing}");
    }
}

#[test]
fn synthetic_clips_and_their_batch_have_the_features_transformers_gives() {
    let file = std::fs::read(fixture("recorded/mel-synthetic.safetensors")).unwrap();
    let clips = synthetic::BATCH.map(synthetic::clip);
    let all: Vec<&Waveform> = clips.iter().collect();
    let log_mel = LogMel::new();
    let (mut elements, mut differing) = (0, 0);
    for side in [PaddingSide::Left, PaddingSide::Right] {
        let singles = clips.iter().map(|clip| (clip.name(), vec![clip]));
        for (name, batch) in singles.chain([("batch", all.clone())]) {
            let features = log_mel.extract(&batch, side, Overlong::Reject).unwrap();
            let result = compare(&features, &file, &format!("{name}.{side}."));
            assert!(result.0 < 1e-4, "{name}");
            elements += features.mel.len();
            differing += result.1;
        }
    }
    assert!(differing * 10_000 <= elements, "{differing} of {elements}");
}

#[test]
fn a_frame_is_valid_by_its_first_sample() {
    let cases = [
        (513, 1, 1, 0),
        (641, 2, 2, 1),
        (1600, 8, 8, 7),
        (16001, 98, 98, 97),
    ];
    for (samples, frames, right, left) in cases {
        let clip = Waveform::from_samples("zeros", vec![0.0; samples]).unwrap();
        for (side, expected) in [(PaddingSide::Right, right), (PaddingSide::Left, left)] {
            let features = LogMel::new()
                .extract(&[&clip], side, Overlong::Reject)
                .unwrap();
            let valid = features.valid.iter().filter(|&&valid| valid).count();
            assert_eq!(
                (features.frames, valid),
                (frames, expected),
                "{samples} {side}"
            );
            assert!(features.mel.iter().all(|&value| value == -11.512925));
        }
    }
}
