//! mlx-vlm's own modules, recorded: equal in every bit.

use stages::{DType, Profile};

use crate::live::Pair;

/// Checks every boundary in the recording and says how many those are.
fn equal_boundaries(pair: &Pair) -> usize {
    let mut count = 0;
    for (id, theirs, ours) in pair.boundaries() {
        count += 1;
        let width = ours.dtype().size();
        let differing = ours
            .bytes()
            .chunks(width)
            .zip(theirs.bytes().chunks(width))
            .filter(|(a, b)| a != b);
        assert_eq!(
            differing.count(),
            0,
            "of {} values of {id} differ",
            ours.shape().elements()
        );
        if ours.dtype() == DType::F32 {
            let values = ours.as_f32().unwrap();
            assert!(values.iter().all(|v| v.is_finite()), "{id}");
        }
    }
    count
}

fn equals_mlx_vlm(profile: Profile) {
    for input in ["jfk", "left"] {
        let pair = Pair::new(&format!("encoder-{input}-{profile}"), "tiny", profile);
        assert_eq!(pair.not_recorded().next(), None, "every boundary");
        assert_eq!(equal_boundaries(&pair), 113, "{input}");
    }
}

#[test]
fn bf16_equals_mlx_vlm() {
    equals_mlx_vlm(Profile::Bf16);
}

#[test]
fn mixed_equals_mlx_vlm() {
    equals_mlx_vlm(Profile::Mixed);
}

#[test]
fn f32_equals_mlx_vlm() {
    equals_mlx_vlm(Profile::F32);
}

/// Recorded from the pooling on, which depends on everything before it.
#[test]
fn a_4_bit_checkpoint_equals_mlx_vlm() {
    for profile in [Profile::Bf16, Profile::Mixed, Profile::F32] {
        let recording = format!("encoder-jfk4bit-{profile}");
        let pair = Pair::new(&recording, "tiny-4bit", profile);
        assert_eq!(equal_boundaries(&pair), 11, "{profile}");
    }
}
