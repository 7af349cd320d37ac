//! Recordings that cannot be run on.

use std::io::Cursor;

use hound::{Sample, SampleFormat, WavSpec, WavWriter};

use crate::harness::Place;

/// A WAV file of mono samples at 16 kHz.
pub fn wav<S: Sample + Copy>(format: SampleFormat, bits: u16, samples: &[S]) -> Vec<u8> {
    let spec = WavSpec {
        channels: 1,
        sample_rate: 16_000,
        bits_per_sample: bits,
        sample_format: format,
    };
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut bytes, spec).unwrap();
    for &sample in samples {
        writer.write_sample(sample).unwrap();
    }
    writer.finalize().unwrap();
    bytes.into_inner()
}

fn integers(samples: usize) -> Vec<u8> {
    wav(SampleFormat::Int, 16, &vec![1000_i16; samples])
}

/// A file with four bytes replaced.
fn with(mut file: Vec<u8>, at: usize, value: u32) -> Vec<u8> {
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    file
}

#[test]
fn a_recording_that_cannot_be_read_is_refused_before_any_work() {
    let mut nan = vec![0.25_f32; 16_000];
    nan[77] = f32::NAN;
    let mut loud = vec![0.25_f32; 16_000];
    loud[99..101].copy_from_slice(&[f32::MAX, f32::MIN]);
    let whole = integers(16_000);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty.wav", Vec::new(), "the file is empty"),
        (
            "text.wav",
            b"not a recording at all".to_vec(),
            "not a WAV file",
        ),
        ("head.wav", whole[..30].to_vec(), "ends inside its header"),
        (
            "cut.wav",
            whole[..20_000].to_vec(),
            "truncated: the header declares 32000 bytes",
        ),
        ("silent.wav", integers(0), "holds no samples"),
        ("short.wav", integers(512), "give at least 513"),
        (
            "nan.wav",
            wav(SampleFormat::Float, 32, &nan),
            "sample 77 is NaN",
        ),
        ("loud.wav", wav(SampleFormat::Float, 32, &loud), "overflow"),
        ("long.wav", integers(480_001), "longer than 30 s"),
        // The data chunk's length, the format chunk's, the rate and the channels.
        (
            "data.wav",
            with(whole.clone(), 40, u32::MAX - 1),
            "truncated",
        ),
        (
            "format.wav",
            with(whole.clone(), 16, u32::MAX),
            "format.wav",
        ),
        ("rate.wav", with(whole.clone(), 24, 0), "rate.wav"),
        ("channels.wav", with(whole, 22, 0), "channels.wav"),
    ];
    let place = Place::new();
    for (name, bytes, _) in &cases {
        place.put(name, bytes);
    }
    let holds = place.holds();
    let files = cases.iter().map(|(name, _, because)| (*name, *because));
    let others = [
        ("none.wav", "No such file"),
        ("fixtures", "not a regular file"),
        ("/dev/zero", "not a regular file"),
    ];
    for (name, because) in files.chain(others) {
        for command in [
            "run --report r.json --captures c",
            "stages",
            "capture --side mlx --out f",
        ] {
            place
                .run_without_libraries(&format!("{command} --audio {name}"))
                .exits(5)
                .says(&format!("qualify: failed to read audio: {name}: "))
                .says(because)
                .does_no_work();
            assert_eq!(place.holds(), holds);
        }
    }
}

#[test]
fn more_than_four_recordings_are_refused() {
    let place = Place::new();
    let clip = "--audio fixtures/audio/jfk.wav ";
    for (clips, command) in [
        (5, "--report r.json"),
        (9, "stages"),
        (5, "capture --side mlx --out f"),
    ] {
        place
            .run_without_libraries(&format!("{command} {}", clip.repeat(clips)))
            .exits(5)
            .says(&format!(
                "failed to encode {clips} clips: there must be 1 to 4"
            ))
            .does_no_work();
        assert!(place.holds().is_empty());
    }
}

#[test]
fn recordings_of_different_lengths_are_one_batch() {
    let place = Place::new();
    place.put("a.wav", &integers(16_000));
    place.put("b.wav", &integers(12_345));
    for (padding, frames) in [("right", [97, 78]), ("left", [97, 74])] {
        place
            .run(&format!(
                "--audio a.wav --audio b.wav --padding {padding} --stage mel_cast --report r.json"
            ))
            .exits(0);
        let report = place.json("r.json");
        assert_eq!(report["model"]["clips"], 2);
        assert_eq!(report["model"]["bucket"], 192);
        assert_eq!(report["inputs"]["padding"], padding);
        assert_eq!(report["inputs"]["frames"], serde_json::json!(frames));
        let digests = report["inputs"]["audio_sha256"].as_array().unwrap();
        assert_eq!(digests.len(), 2);
        assert_eq!(report["boundaries"][0]["shape"][0], 2);
    }
}

#[test]
fn the_shortest_recording_and_a_cut_one_are_run_on() {
    let place = Place::new();
    place.put("short.wav", &integers(513));
    place.put("long.wav", &integers(480_001));
    place
        .run("stages --audio short.wav")
        .exits(0)
        .prints("[1,96,128]");
    place
        .run("stages --audio short.wav --bucket exact")
        .exits(0)
        .prints("[1,1,128]");
    place
        .run("stages --audio long.wav --truncate")
        .exits(0)
        .prints("[1,2997,128]");
}
