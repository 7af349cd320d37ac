//! A batch, the graphs for it and what MLX makes of them.

use std::{collections::BTreeMap, sync::OnceLock};

use fixtures::Fixture;
use oracle::{Captures, MlxSide};
use stages::{
    Boundary, Graph, Profile, Tensor,
    audio::{Features, LogMel, MEL_BINS, Overlong, PaddingSide, Waveform},
    model::gemma3n_audio::{Batch, Frames, audio_encoder},
};

/// What a frame of padding holds: the logarithm of the floor.
const SILENCE: f32 = -11.512_925;

/// Clips of speech in one batch.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub profile: Profile,
    /// Of the weights of the fixture `tiny`.
    pub seed: u64,
    /// T.
    pub frames: usize,
    /// Valid frames of each clip.
    pub valid: &'static [usize],
    pub side: PaddingSide,
    pub bucket: usize,
}

impl Case {
    /// One clip without padding, in the smallest bucket that holds it.
    pub fn one(profile: Profile, seed: u64, frames: usize) -> Case {
        Case {
            profile,
            seed,
            frames,
            valid: &[],
            side: PaddingSide::Right,
            bucket: Frames::bucket_of(frames).unwrap().count(),
        }
    }

    pub fn clips(&self) -> usize {
        self.valid.len().max(1)
    }

    /// Frames behind the subsampling.
    pub fn subsampled(&self) -> usize {
        self.frames.div_ceil(4)
    }

    /// Whether that frame of a clip is no padding.
    pub fn is_valid(&self, clip: usize, frame: usize) -> bool {
        let valid = self.valid.get(clip).copied().unwrap_or(self.frames);
        match self.side {
            PaddingSide::Left => frame >= self.frames - valid && frame < self.frames,
            PaddingSide::Right => frame < valid,
        }
    }

    /// Every clip is another part of the recording.
    pub fn batch(&self, fixture: &Fixture) -> Batch {
        let features = speech(fixture);
        let (mut mel, mut mask) = (Vec::new(), Vec::new());
        for clip in 0..self.clips() {
            for frame in 0..self.frames {
                let valid = self.is_valid(clip, frame);
                let at = (frame + 97 * clip) % features.frames * MEL_BINS;
                if valid {
                    mel.extend_from_slice(&features.mel[at..at + MEL_BINS]);
                } else {
                    mel.extend([SILENCE; MEL_BINS]);
                }
                mask.push(valid);
            }
        }
        let mel = Tensor::from_f32([self.clips(), self.frames, MEL_BINS], &mel).unwrap();
        Batch::new(mel, mask).unwrap()
    }

    pub fn graph(&self, fixture: &Fixture, frames: Frames) -> Graph {
        let config = fixture.checkpoint.config();
        audio_encoder(config, self.profile, self.clips(), frames).unwrap()
    }

    /// All boundaries of the graph for the batch's frames and of the one for the bucket.
    pub fn walk(&self) -> Walked {
        self.walk_told(self.frames)
    }

    /// The same, with the graph for the bucket told that so many frames are the batch's.
    pub fn walk_told(&self, frames: usize) -> Walked {
        let fixture = self.fixture();
        let batch = self.batch(&fixture);
        let exact = batch.inputs(self.exact()).unwrap();
        let mut bucket = batch.inputs(self.bucketed()).unwrap();
        let told = i32::try_from(frames).unwrap();
        let told = Tensor::from_i32([1], &[told]).unwrap();
        assert!(bucket.insert("frames".to_owned(), told).is_some());
        Walked {
            exact: capture(self, &fixture, self.exact(), &exact),
            bucket: capture(self, &fixture, self.bucketed(), &bucket),
        }
    }

    /// What the reference's graph is stated for.
    pub fn exact(&self) -> Frames {
        Frames::Exact(self.frames)
    }

    /// What the shipped graph is stated for.
    pub fn bucketed(&self) -> Frames {
        Frames::Bucket(self.bucket)
    }

    pub fn fixture(&self) -> Fixture {
        Fixture::named("tiny", self.seed).unwrap()
    }
}

/// The features of the fixtures' recording.
fn speech(fixture: &Fixture) -> &'static Features {
    static SPEECH: OnceLock<Features> = OnceLock::new();
    SPEECH.get_or_init(|| {
        let wave = Waveform::read(&fixture.audio).unwrap();
        LogMel::new()
            .extract(&[&wave], PaddingSide::Right, Overlong::Reject)
            .unwrap()
    })
}

/// MLX's values of every boundary, without a bucket and in one.
pub struct Walked {
    pub exact: Captures,
    pub bucket: Captures,
}

fn capture(
    case: &Case,
    fixture: &Fixture,
    frames: Frames,
    inputs: &BTreeMap<String, Tensor>,
) -> Captures {
    let graph = case.graph(fixture, frames);
    let all: Vec<&Boundary> = graph.boundaries().iter().collect();
    let weights = |name: &str| fixture.checkpoint.tensor(name).cloned();
    MlxSide::new()
        .unwrap()
        .capture(&graph, &weights, inputs, &all, &mut |_| ())
        .unwrap()
}
