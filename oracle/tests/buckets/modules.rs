//! On IREE: the modules that ship, compiled for a bucket and for the batch's own frames.

use std::{collections::BTreeMap, path::Path};

use emitter::{Contract, Cut, emit::emit, program::Source};
use oracle::iree::{self, IreeSide};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::{
    Boundary, BoundaryId, Profile, Tensor, audio::PaddingSide, model::gemma3n_audio::Frames,
};

use crate::case::Case;

/// What the production module for these frames returns, by name. Modules are kept between runs.
fn produced(case: &Case, frames: Frames) -> BTreeMap<String, Tensor> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("buckets-cache");
    let toolchain = Toolchain::new(
        &Native::locate().unwrap(),
        Some(Store::open(cache).unwrap()),
    );
    let side = IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap();
    let fixture = case.fixture();
    let graph = case.graph(&fixture, frames);
    let all: Vec<&Boundary> = graph.boundaries().iter().collect();
    let cut = Cut::production(&graph, &all);
    let emitted = emit(&graph, &cut, Contract::MlxCpu).unwrap();
    let unit = side.build("production", vec![emitted.laid_out]).unwrap();
    let inputs = case.batch(&fixture).inputs(frames).unwrap();
    let supply = |source: &Source| match source {
        Source::Input(name) => inputs.get(name).cloned(),
        Source::Weight(name) => fixture.checkpoint.tensor(name).cloned(),
        Source::Boundary(_) => None,
    };
    let results = side.call(&unit, 0, &supply, &|_| None).unwrap();
    let names = emitted
        .stated
        .outputs()
        .iter()
        .map(|output| output.name.clone());
    let tensors = results.iter().map(|buffer| iree::tensor(buffer).unwrap());
    names.zip(tensors).collect()
}

/// BF16 values leave a module as F32.
fn bits(tensor: &Tensor) -> Vec<u32> {
    match tensor.to_f32() {
        Some(values) => values.iter().map(|value| value.to_bits()).collect(),
        None => tensor
            .as_i32()
            .unwrap()
            .iter()
            .map(|value| value.cast_unsigned())
            .collect(),
    }
}

/// All of what leaves the encoder, also compared with MLX.
#[track_caller]
fn equal(case: &Case) {
    let exact = produced(case, case.exact());
    let bucket = produced(case, case.bucketed());
    let walked = case.walk().exact;
    let names: Vec<&str> = exact.keys().map(String::as_str).collect();
    assert_eq!(names, ["audio_tokens", "lengths"]);
    for (name, exact) in &exact {
        let bucket = &bucket[name];
        assert_eq!(exact.shape(), bucket.shape());
        assert!(
            exact.bytes() == bucket.bytes(),
            "{name} in a bucket, {case:?}"
        );
        let reference = walked.get(&BoundaryId::new(name.as_str())).unwrap();
        assert!(bits(exact) == bits(reference), "{name} on MLX, {case:?}");
    }
}

#[test]
fn one_clip() {
    // The running mean is negative behind the one's last frame and positive behind the other's.
    for seed in [0, 1] {
        for frames in [65, 96, 1] {
            equal(&Case::one(Profile::Bf16, seed, frames));
        }
    }
}

#[test]
fn three_clips_in_f32() {
    for side in [PaddingSide::Left, PaddingSide::Right] {
        equal(&Case {
            valid: &[65, 40, 9],
            side,
            ..Case::one(Profile::F32, 0, 65)
        });
    }
}
