//! Features in place of a recording.

use crate::{
    harness::Place,
    tensors::{self, floats},
};

const FRAMES: usize = 24;

fn mel(clips: usize) -> Vec<u8> {
    floats((0..clips * FRAMES * 128).map(|i| (i % 97) as f32 * 0.125 - 11.0))
}

/// A clip's mask: from where it is valid, and up to where.
fn mask(valid: &[(usize, usize)]) -> Vec<u8> {
    let is_valid = |frame| {
        valid
            .iter()
            .any(|&(start, end)| (start..end).contains(&frame))
    };
    (0..FRAMES).map(|frame| u8::from(is_valid(frame))).collect()
}

#[test]
fn features_are_run_on() {
    let place = Place::new();
    let mut mask = vec![1; 2 * FRAMES];
    mask[FRAMES - 5..FRAMES].fill(0);
    let parts: [(&str, &str, &[usize], &[u8]); 2] = [
        ("mel", "F32", &[2, FRAMES, 128], &mel(2)),
        ("mask", "U8", &[2, FRAMES], &mask),
    ];
    place.put("two", &tensors::file(&parts));
    place
        .run("--mel two --stage mel_cast --stage sscp_conv_0.norm.mean --report r.json")
        .exits(0);
    let report = place.json("r.json");
    assert_eq!(
        report["boundaries"][0]["shape"],
        serde_json::json!([2, 96, 128])
    );
    assert_eq!(report["model"]["bucket"], 96);
    assert_eq!(
        report["inputs"]["frames"],
        serde_json::json!([FRAMES - 5, FRAMES])
    );
    assert_eq!(report["inputs"]["padding"], "right");
}

#[test]
fn features_that_cannot_be_run_on_are_refused_before_any_work() {
    let (values, ones) = (mel(1), vec![1_u8; FRAMES]);
    let shape: &[usize] = &[1, FRAMES, 128];
    let row: &[usize] = &[1, FRAMES];
    let two = |mel: (&str, &[usize], &[u8]), mask: (&str, &[usize], &[u8])| {
        tensors::file(&[
            ("mel", mel.0, mel.1, mel.2),
            ("mask", mask.0, mask.1, mask.2),
        ])
    };
    let good_mel = ("F32", shape, &*values);
    let good_mask = ("U8", row, &*ones);
    let mut nan = values.clone();
    let at = 4 * (3 * 128 + 5);
    nan[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut infinite = values.clone();
    infinite[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let mut twos = ones.clone();
    twos[7] = 2;
    let five: &[usize] = &[5, FRAMES, 128];
    let long: &[usize] = &[1, 2998, 128];
    let whole = two(good_mel, good_mask);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "the file has 0 bytes"),
        (
            "cut",
            whole[..whole.len() - 1].to_vec(),
            "tensor mask ends at byte",
        ),
        ("beyond", tensors::beyond_memory(), "tensor t0 ends at byte"),
        ("huge", vec![0xff; 64], "the header claims"),
        (
            "mel-alone",
            tensors::file(&[("mel", "F32", shape, &values)]),
            "it has no tensor mask",
        ),
        (
            "mask-alone",
            tensors::file(&[("mask", "U8", row, &ones)]),
            "it has no tensor mel",
        ),
        (
            "bf16",
            two(("BF16", &[1, FRAMES, 256], &values), good_mask),
            "mel is BF16, not F32",
        ),
        (
            "f32-mask",
            two(good_mel, ("F32", &[1, FRAMES / 4], &ones)),
            "mask is F32, not U8",
        ),
        (
            "wide-mask",
            two(good_mel, ("U16", &[1, FRAMES / 2], &ones)),
            "mask is U16, not U8",
        ),
        (
            "bins",
            two(("F32", &[1, 2 * FRAMES, 64], &values), good_mask),
            "mel has shape [1,48,64], not [B,T,128]",
        ),
        (
            "flat",
            two(("F32", &[FRAMES, 128], &values), good_mask),
            "mel has shape [24,128]",
        ),
        (
            "rows",
            two(good_mel, ("U8", &[2, FRAMES / 2], &ones)),
            "mask has shape [2,12]",
        ),
        (
            "nan",
            two(("F32", shape, &nan), good_mask),
            "mel: it is NaN in clip 0, frame 3, bin 5",
        ),
        (
            "inf",
            two(("F32", shape, &infinite), good_mask),
            "mel: it is inf in clip 0, frame 0",
        ),
        (
            "padding",
            two(good_mel, ("U8", row, &[0; FRAMES])),
            "encode clip 0: all its frames are padding",
        ),
        (
            "hole",
            two(good_mel, ("U8", row, &mask(&[(3, 9), (12, 20)]))),
            "encode clip 0: its mask has a hole at frame 9",
        ),
        (
            "both",
            two(good_mel, ("U8", row, &mask(&[(3, 9)]))),
            "encode clip 0: it is padded on both sides",
        ),
        (
            "mixed",
            two(
                ("F32", &[3, FRAMES, 128], &mel(3)),
                (
                    "U8",
                    &[3, FRAMES],
                    &[mask(&[(0, FRAMES)]), mask(&[(0, 9)]), mask(&[(5, FRAMES)])].concat(),
                ),
            ),
            "encode clips 2 and 1 together: one is padded on the left, the other on the right",
        ),
        ("twos", two(good_mel, ("U8", row, &twos)), "mask holds 2"),
        (
            "five",
            two(
                ("F32", five, &mel(5)),
                ("U8", &[5, FRAMES], &[1; 5 * FRAMES]),
            ),
            "encode 5 clips: there must be 1 to 4",
        ),
        (
            "none",
            two(("F32", &[0, FRAMES, 128], &[]), ("U8", &[0, FRAMES], &[])),
            "0 clips",
        ),
        (
            "still",
            two(("F32", &[1, 0, 128], &[]), ("U8", &[1, 0], &[])),
            "0 frames",
        ),
        (
            "long",
            two(
                ("F32", long, &[0; 2998 * 128 * 4]),
                ("U8", &[1, 2998], &[1; 2998]),
            ),
            "2998 frames",
        ),
    ];
    let place = Place::new();
    for (name, bytes, _) in &cases {
        place.put(name, bytes);
    }
    let holds = place.holds();
    let files = cases.iter().map(|(name, _, because)| (*name, *because));
    let others = [("absent", "No such file"), ("fixtures", "Is a directory")];
    for (name, because) in files.chain(others) {
        place
            .run_without_libraries(&format!("--mel {name} --report r.json --captures c"))
            .exits(5)
            .says("qualify: failed to ")
            .says(because)
            .does_no_work();
        assert_eq!(place.holds(), holds);
    }
}
