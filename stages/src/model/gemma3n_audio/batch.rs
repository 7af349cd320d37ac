//! What the encoder is run on: features of a few clips and which frames of each are padding.

use std::collections::BTreeMap;

use super::Frames;
use crate::{
    Tensor, TensorError,
    audio::{Features, PaddingSide},
    config::MAX_FRAMES,
};

/// The most clips encoded at once.
pub const MAX_BATCH: usize = 4;

/// Why features are no batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Not three axes of clips, frames and features, or a mask of another shape.
    #[error(
        "use mel {mel} with mask {mask}: they must be [clips, frames, features] F32 and [clips, frames]"
    )]
    Shape {
        /// Dtype and shape of the features.
        mel: String,
        /// Shape of the mask.
        mask: String,
    },
    /// Too few or too many clips.
    #[error("encode {0} clips: there must be 1 to {MAX_BATCH}")]
    Clips(usize),
    /// Too few or too many frames.
    #[error("encode {0} frames: there must be 1 to {MAX_FRAMES}, 30 s of sound")]
    Frames(usize),
    /// A value that is no number, or infinite.
    #[error("use mel: it is {value} in clip {clip}, frame {frame}, bin {bin}")]
    NotFinite {
        /// The value.
        value: String,
        /// Its clip.
        clip: usize,
        /// Its frame.
        frame: usize,
        /// Its bin.
        bin: usize,
    },
    /// A clip without valid frames.
    #[error("encode clip {0}: all its frames are padding")]
    OnlyPadding(usize),
    /// A clip whose valid frames do not follow one another.
    #[error("encode clip {clip}: its mask has a hole at frame {frame}")]
    Hole {
        /// The clip.
        clip: usize,
        /// The first frame of padding between valid ones.
        frame: usize,
    },
    /// A clip padded on both sides.
    #[error("encode clip {0}: it is padded on both sides")]
    BothSides(usize),
    /// Clips padded on different sides.
    #[error(
        "encode clips {left} and {right} together: one is padded on the left, the other on the right"
    )]
    Mixed {
        /// A clip padded on the left.
        left: usize,
        /// A clip padded on the right.
        right: usize,
    },
    /// A graph for another number of frames.
    #[error("encode {frames} frames in a graph for {graph}")]
    Graph {
        /// Frames of the batch.
        frames: usize,
        /// Frames of the graph.
        graph: usize,
    },
    /// A tensor that could not be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Features of 1 to [`MAX_BATCH`] clips of 1 to [`MAX_FRAMES`] frames, all finite; each clip's
/// valid frames follow one another and its padding stands on the same side as the others'.
#[derive(Clone, Debug)]
pub struct Batch {
    mel: Tensor,
    mask: Vec<bool>,
    clips: usize,
    frames: usize,
    side: Option<PaddingSide>,
}

impl Batch {
    /// The batch of `mel` `[B,T,features]` F32 and `mask` `[B,T]`, true for valid frames.
    ///
    /// # Errors
    /// When they are not what a [`Batch`] is.
    pub fn new(mel: Tensor, mask: Vec<bool>) -> Result<Batch, BatchError> {
        let dims = mel.shape().dims().to_vec();
        let malformed = || BatchError::Shape {
            mel: format!("{} {}", mel.dtype(), mel.shape()),
            mask: format!("of {} frames", mask.len()),
        };
        let [clips, frames, features] = dims[..] else {
            return Err(malformed());
        };
        if !(1..=MAX_BATCH).contains(&clips) {
            return Err(BatchError::Clips(clips));
        }
        if !(1..=MAX_FRAMES).contains(&frames) {
            return Err(BatchError::Frames(frames));
        }
        let values = mel.as_f32().ok_or_else(malformed)?;
        if mask.len() != clips * frames || features == 0 {
            return Err(malformed());
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(BatchError::NotFinite {
                value: values[at].to_string(),
                clip: at / (frames * features),
                frame: at / features % frames,
                bin: at % features,
            });
        }
        let side = side(&mask, frames)?;
        Ok(Batch {
            mel,
            mask,
            clips,
            frames,
            side,
        })
    }

    /// The batch of what the feature extractor gives.
    ///
    /// # Errors
    /// As [`Batch::new`].
    pub fn of(features: &Features) -> Result<Batch, BatchError> {
        let Features {
            mel,
            valid,
            clips,
            frames,
        } = features;
        if *frames == 0 {
            return Err(BatchError::Frames(0));
        }
        let width = mel.len() / (clips * frames).max(1);
        let mel = Tensor::from_f32([*clips, *frames, width], mel)?;
        Batch::new(mel, valid.clone())
    }

    /// B.
    pub fn clips(&self) -> usize {
        self.clips
    }

    /// T, padding included.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Valid frames of each clip.
    pub fn valid(&self) -> Vec<usize> {
        let count = |clip: &[bool]| clip.iter().filter(|&&valid| valid).count();
        self.mask.chunks(self.frames).map(count).collect()
    }

    /// The side that clips are padded on; none where no clip is padded.
    pub fn side(&self) -> Option<PaddingSide> {
        self.side
    }

    /// The inputs of the encoder stated for `frames`, by name. In a bucket, frames of zeros that
    /// are not valid follow the batch's own.
    ///
    /// # Errors
    /// When the batch does not fit.
    pub fn inputs(&self, frames: Frames) -> Result<BTreeMap<String, Tensor>, BatchError> {
        let count = frames.count();
        let fits = match frames {
            Frames::Exact(_) => self.frames == count,
            Frames::Bucket(_) => self.frames <= count,
        };
        if !fits {
            return Err(BatchError::Graph {
                frames: self.frames,
                graph: count,
            });
        }
        let mask = padded(&self.mask, self.frames, count, false);
        let mask = Tensor::from_bool([self.clips, count], &mask)?;
        let mut inputs = BTreeMap::from([("mask".to_owned(), mask)]);
        let features = self.mel.shape()[2];
        let mel = if count == self.frames {
            self.mel.clone()
        } else {
            let values = self.mel.as_f32().unwrap_or(&[]);
            let values = padded(values, self.frames * features, count * features, 0.0);
            Tensor::from_f32([self.clips, count, features], &values)?
        };
        inputs.insert("mel".to_owned(), mel);
        if let Frames::Bucket(_) = frames {
            let own = i32::try_from(self.frames).unwrap_or(i32::MAX);
            inputs.insert("frames".to_owned(), Tensor::from_i32([1], &[own])?);
        }
        Ok(inputs)
    }
}

/// Rows of `from` values, each filled up to `to`.
fn padded<T: Copy>(rows: &[T], from: usize, to: usize, fill: T) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.len() / from.max(1) * to);
    for row in rows.chunks(from.max(1)) {
        out.extend_from_slice(row);
        out.resize(out.len() + to - from, fill);
    }
    out
}

fn side(mask: &[bool], frames: usize) -> Result<Option<PaddingSide>, BatchError> {
    let (mut left, mut right) = (None, None);
    for (clip, row) in mask.chunks(frames).enumerate() {
        let first = row.iter().position(|&valid| valid);
        let first = first.ok_or(BatchError::OnlyPadding(clip))?;
        let last = row.iter().rposition(|&valid| valid).unwrap_or(first);
        if let Some(hole) = row[first..=last].iter().position(|&valid| !valid) {
            let frame = first + hole;
            return Err(BatchError::Hole { clip, frame });
        }
        match (first > 0, last + 1 < frames) {
            (true, true) => return Err(BatchError::BothSides(clip)),
            (true, false) => left = Some(clip),
            (false, true) => right = Some(clip),
            (false, false) => {}
        }
    }
    match (left, right) {
        (Some(left), Some(right)) => Err(BatchError::Mixed { left, right }),
        (Some(_), None) => Ok(Some(PaddingSide::Left)),
        (None, Some(_)) => Ok(Some(PaddingSide::Right)),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(rows: &[&str]) -> Result<Batch, BatchError> {
        let frames = rows.first().map_or(0, |row| row.len());
        let mask: Vec<bool> = rows.concat().chars().map(|c| c == '1').collect();
        let values: Vec<f32> = (0..mask.len() * 2).map(|i| i as f32).collect();
        let mel = Tensor::from_f32([rows.len(), frames, 2], &values).unwrap();
        Batch::new(mel, mask)
    }

    #[test]
    fn masks_that_no_padding_makes_are_refused() {
        assert_eq!(batch(&["0000"]).unwrap_err(), BatchError::OnlyPadding(0));
        assert_eq!(
            batch(&["1111", "1011"]).unwrap_err(),
            BatchError::Hole { clip: 1, frame: 1 }
        );
        assert_eq!(batch(&["0110"]).unwrap_err(), BatchError::BothSides(0));
        assert_eq!(
            batch(&["1110", "0111"]).unwrap_err(),
            BatchError::Mixed { left: 1, right: 0 }
        );
        assert_eq!(batch(&[]).unwrap_err(), BatchError::Clips(0));
        assert_eq!(batch(&["1"; 5]).unwrap_err(), BatchError::Clips(5));
        assert_eq!(batch(&[""]).unwrap_err(), BatchError::Frames(0));
        let long = "1".repeat(MAX_FRAMES + 1);
        assert_eq!(batch(&[&long]).unwrap_err(), BatchError::Frames(2998));
    }

    #[test]
    fn features_must_be_finite() {
        let mel = Tensor::from_f32([1, 2, 2], &[0.0, 1.0, 2.0, f32::NAN]).unwrap();
        let error = Batch::new(mel, vec![true; 2]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "use mel: it is NaN in clip 0, frame 1, bin 1"
        );
    }

    #[test]
    fn a_bucket_adds_invalid_frames_of_zeros_and_the_number_of_the_others() {
        let batch = batch(&["011", "111"]).unwrap();
        assert_eq!(batch.side(), Some(PaddingSide::Left));
        assert_eq!(batch.valid(), [2, 3]);
        let inputs = batch.inputs(Frames::Bucket(4)).unwrap();
        assert_eq!(inputs["frames"].as_i32(), Some(&[3][..]));
        assert_eq!(
            inputs["mask"].as_bool(),
            Some(&[0, 1, 1, 0, 1, 1, 1, 0][..])
        );
        let mel = inputs["mel"].as_f32().unwrap();
        assert_eq!(mel[..8], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0]);
        assert_eq!(mel[8..], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 0.0, 0.0]);
        assert_eq!(batch.inputs(Frames::Exact(3)).unwrap().len(), 2);
        assert!(batch.inputs(Frames::Exact(4)).is_err());
        assert!(batch.inputs(Frames::Bucket(2)).is_err());
    }
}
