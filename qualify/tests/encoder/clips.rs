//! Pieces of the fixtures' recording, and the frames they must give.

use std::{iter, path::Path};

use hound::{WavReader, WavWriter};
use stages::audio::PaddingSide;

/// Samples of the recording: 11 s.
const WHOLE: usize = 176_000;

/// A piece of the recording, which begins anew where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clip {
    pub from: usize,
    pub samples: usize,
}

impl Clip {
    /// All of it.
    pub const ALL: Clip = Clip {
        from: 0,
        samples: WHOLE,
    };

    /// One of so many frames, and one sample short of the next multiple of 128: padded on the left
    /// its first frame is padding.
    pub fn of_frames(frames: usize) -> Clip {
        Clip {
            from: 16_000,
            samples: (513 + 160 * (frames - 1)).next_multiple_of(128) - 1,
        }
    }

    /// Writes it as it is in the recording: mono, 16 kHz, 16 bits.
    pub fn write(self, file: &Path) {
        let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/audio/jfk.wav");
        let mut reader = WavReader::open(recording).unwrap();
        let samples: Vec<i16> = reader.samples().map(Result::unwrap).collect();
        assert_eq!(samples.len(), WHOLE);
        let mut writer = WavWriter::create(file, reader.spec()).unwrap();
        let piece = samples.iter().cycle().skip(self.from).take(self.samples);
        piece.for_each(|&sample| writer.write_sample(sample).unwrap());
        writer.finalize().unwrap();
    }
}

/// Samples of each clip with its padding.
fn padded(clips: &[Clip]) -> usize {
    let longest = clips.iter().map(|clip| clip.samples).max();
    longest.unwrap().next_multiple_of(128)
}

/// T.
pub fn frames(clips: &[Clip]) -> usize {
    (padded(clips) - 513) / 160 + 1
}

/// Frames of each clip that are no padding: those whose first sample is the clip's.
pub fn valid(clips: &[Clip], side: PaddingSide) -> Vec<usize> {
    let starts = || iter::successors(Some(0), |start| Some(start + 160)).take(frames(clips));
    clips
        .iter()
        .map(|clip| {
            let before = padded(clips) - clip.samples;
            match side {
                PaddingSide::Left => starts().filter(|&start| start >= before).count(),
                PaddingSide::Right => starts().filter(|&start| start < clip.samples).count(),
            }
        })
        .collect()
}

#[test]
fn frames_are_as_many_as_asked_for() {
    for wanted in [1, 2, 65, 96, 97, 1152, 2997] {
        let clip = Clip::of_frames(wanted);
        assert_eq!(frames(&[clip]), wanted);
        assert_eq!(valid(&[clip], PaddingSide::Right), [wanted]);
        assert_eq!(valid(&[clip], PaddingSide::Left), [wanted - 1]);
    }
    assert_eq!(frames(&[Clip::ALL]), 1097);
    assert_eq!(valid(&[Clip::ALL], PaddingSide::Left), [1097]);
}
