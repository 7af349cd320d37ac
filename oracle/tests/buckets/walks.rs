//! On MLX, boundary by boundary.

use std::collections::BTreeSet;

use stages::{
    BoundaryId, Profile, Tensor,
    audio::PaddingSide::{self, Left, Right},
};

use crate::{
    case::{Case, Walked},
    compare::{compare, is_blind},
    extent::{TABLE, general},
};

/// The boundaries that differ where a value belongs to the batch.
fn differing(case: &Case, walked: &Walked) -> Vec<String> {
    let mut differing = Vec::new();
    let mut seen = BTreeSet::new();
    assert_eq!(walked.exact.len(), walked.bucket.len());
    for (id, exact) in walked.exact.iter() {
        let bucket = walked.bucket.get(id).unwrap();
        assert_eq!(exact.dtype(), bucket.dtype(), "{id}");
        let count = compare(case, id.as_str(), exact, bucket);
        assert!(count.compared > 0, "{id}");
        if count.differing > 0 {
            differing.push(id.to_string());
        }
        seen.insert(general(id.as_str()));
    }
    let known = TABLE.iter().flat_map(|(_, names)| *names);
    let known: BTreeSet<String> = known.map(|name| (*name).to_owned()).collect();
    assert_eq!(seen, known, "the table has the graph's boundaries");
    differing
}

#[track_caller]
fn equal(case: &Case) {
    assert_eq!(differing(case, &case.walk()), [""; 0], "{case:?}");
}

/// Also S ≡ 1 mod 4 behind an odd ⌈T/2⌉, where the last token sees one frame beyond its own; and
/// lengths at the edges of buckets.
const LENGTHS: [usize; 16] = [
    1, 2, 3, 5, 16, 17, 65, 95, 96, 97, 191, 192, 193, 194, 197, 209,
];

fn one_clip_of_every_length(profile: Profile, seeds: u64) {
    for seed in 0..seeds {
        for frames in LENGTHS {
            equal(&Case::one(profile, seed, frames));
        }
    }
}

#[test]
fn bf16_one_clip() {
    one_clip_of_every_length(Profile::Bf16, 4);
}

#[test]
fn mixed_one_clip() {
    one_clip_of_every_length(Profile::Mixed, 2);
}

#[test]
fn f32_one_clip() {
    one_clip_of_every_length(Profile::F32, 2);
}

#[test]
fn long_clips_and_buckets_much_too_large() {
    for frames in [768, 769, 1097, 2997] {
        equal(&Case::one(Profile::Bf16, 0, frames));
    }
    for frames in [1, 65, 193] {
        let bucket = 960;
        let case = Case::one(Profile::Bf16, 2, frames);
        equal(&Case { bucket, ..case });
    }
}

/// T and the valid frames of each clip. In the last but one no frame behind the subsampling is
/// valid in one of the clips, if the padding is on the left.
const BATCHES: [(usize, &[usize]); 7] = [
    (5, &[5, 3, 1]),
    (96, &[40, 96, 77]),
    (97, &[97, 33]),
    (193, &[193, 160, 20]),
    (197, &[5, 100, 197, 196]),
    (198, &[198, 1, 99]),
    (209, &[209, 150, 3]),
];

fn padded(profile: Profile, seed: u64, side: PaddingSide) -> impl Iterator<Item = Case> {
    BATCHES.into_iter().map(move |(frames, valid)| Case {
        valid,
        side,
        ..Case::one(profile, seed, frames)
    })
}

#[test]
fn clips_padded_on_the_left() {
    for profile in Profile::ALL {
        for seed in 0..3 {
            padded(profile, seed, Left).for_each(|case| equal(&case));
        }
    }
}

#[test]
fn clips_padded_on_the_right() {
    for profile in Profile::ALL {
        for seed in 0..3 {
            padded(profile, seed, Right).for_each(|case| equal(&case));
        }
    }
}

fn values(walked: &Walked, name: &str) -> [Vec<f32>; 2] {
    let of = |tensor: &Tensor| tensor.to_f32().unwrap().into_owned();
    let id = BoundaryId::new(name);
    [&walked.exact, &walked.bucket].map(|captures| of(captures.get(&id).unwrap()))
}

/// Behind the batch conv_0 gives 0, which less a negative mean is positive and passes the ReLU.
/// Its scales are positive.
#[test]
fn frames_behind_the_batch_must_be_zero_where_the_mean_is_negative() {
    for profile in Profile::ALL {
        for (seed, negative) in [(0, true), (1, false), (2, true), (3, false)] {
            for frames in [65, 193, 209] {
                let case = Case::one(profile, seed, frames);
                let walked = case.walk_told(case.bucket);
                let [mean, _] = values(&walked, "sscp_conv_0.norm.mean");
                assert!(
                    mean.iter().all(|mean| (*mean < 0.0) == negative),
                    "{case:?}"
                );
                let differ = differing(&case, &walked);
                let first = negative.then_some("sscp_conv_1.convolution");
                assert_eq!(differ.first().map(String::as_str), first, "{case:?}");
                let last = differ.iter().any(|name| name == "audio_tokens");
                assert_eq!(last, negative, "{case:?}");
            }
        }
    }
}

/// Why rows of padding are left out behind attention, and that nothing else has to be.
#[test]
fn blind_rows_differ_until_they_are_zero() {
    let case = Case {
        valid: &[193, 160, 20],
        ..Case::one(Profile::F32, 1, 193)
    };
    let blind: Vec<[usize; 2]> = (0..3)
        .flat_map(|clip| (0..case.subsampled()).map(move |frame| [clip, frame]))
        .filter(|&[clip, frame]| is_blind(&case, clip, frame))
        .collect();
    assert_eq!(blind, [[2, 48]]);
    let walked = case.walk();
    let row = |name: &str, frames: usize, values: &[f32]| {
        let width = values.len() / 3 / frames;
        assert_eq!(width, 64, "{name}");
        values[(2 * frames + 48) * width..][..width].to_vec()
    };
    for (part, numbers, bits) in [
        ("attention.context", false, false),
        ("attention", false, false),
        ("light_conv.masked_input", true, false),
        ("light_conv.pre_norm", true, false),
        ("light_conv", true, true),
    ] {
        let name = format!("conformer.0.{part}");
        let [exact, bucket] = values(&walked, &name);
        let exact = row(&name, case.subsampled(), &exact);
        let bucket = row(&name, case.bucket / 4, &bucket);
        assert_eq!(exact == bucket, numbers, "{name}");
        let pairs = exact.iter().zip(&bucket);
        let same = pairs.filter(|(a, b)| a.to_bits() == b.to_bits()).count();
        assert_eq!(same == exact.len(), bits, "{name}");
    }
}
