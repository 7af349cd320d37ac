//! transformers' own modules on torch, recorded in F32: the same model, other orders of additions
//! and other functions of the C library.

use stages::{DType, Profile};

use crate::live::Pair;

/// Of the largest magnitude in a boundary. Measured: at most 1.6e-6.
const TOLERANCE: f64 = 2e-5;

fn close_to_transformers(input: &str) {
    let pair = Pair::new(&format!("transformers-{input}-f32"), "tiny", Profile::F32);
    let mut count = 0;
    for (id, theirs, ours) in pair.boundaries() {
        count += 1;
        if ours.dtype() != DType::F32 {
            assert_eq!(ours.bytes(), theirs.bytes(), "{id}");
            continue;
        }
        let (ours, theirs) = (ours.as_f32().unwrap(), theirs.as_f32().unwrap());
        let scale = theirs
            .iter()
            .fold(0.0, |scale, v| f64::from(v.abs()).max(scale));
        let within = TOLERANCE * scale;
        for (at, (a, b)) in ours.iter().zip(theirs.iter()).enumerate() {
            let apart = (f64::from(*a) - f64::from(*b)).abs();
            assert!(apart <= within, "{id}, element {at}: {a} here, {b} there");
        }
    }
    assert_eq!(count, 109, "{input}");

    let not_common: Vec<&str> = pair.not_recorded().map(|id| id.as_str()).collect();
    assert_eq!(
        not_common,
        [
            "mel_cast",
            "conformer.0.attention.masked",
            "conformer.1.attention.masked",
            "lengths",
        ]
    );
}

#[test]
fn one_clip_is_close_to_transformers() {
    close_to_transformers("jfk");
}

#[test]
fn a_padded_batch_is_close_to_transformers() {
    close_to_transformers("left");
}
