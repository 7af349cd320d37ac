//! What the model is run on: a recording's features, or features as they are given.

use std::{collections::BTreeMap, fs, path::Path};

use safetensors::Dtype;
use sha2::{Digest, Sha256};
use stages::{
    DType, Tensor,
    audio::{AudioError, LogMel, MEL_BINS, Overlong, PaddingSide, Waveform},
    checkpoint::header,
};

use crate::failure::{Failure, Kind, OrFail, said};

/// Most clips of one batch.
const MAX_CLIPS: usize = 4;

/// The model's inputs and where they come from.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `mel` [B,T,128] F32, by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// Clips B.
    pub clips: usize,
    /// Frames T of the batch.
    pub frames: usize,
    /// Frames that are not padding, a clip each.
    pub valid: Vec<usize>,
    /// The side the clips are padded on.
    pub padding: PaddingSide,
    /// Digest of every recording, or of the features' file.
    pub sha256: Vec<String>,
}

impl Inputs {
    /// The features of one recording.
    ///
    /// # Errors
    /// When the file cannot be read as audio the model takes.
    pub fn recording(path: &Path, padding: PaddingSide, truncate: bool) -> Result<Inputs, Failure> {
        let overlong = if truncate {
            Overlong::Truncate
        } else {
            Overlong::Reject
        };
        let refuse =
            |error: AudioError| Failure::new(Kind::Input, format!("read audio: {}", said(&error)));
        let wave = Waveform::read(path).map_err(refuse)?;
        let features = LogMel::new()
            .extract(&[&wave], padding, overlong)
            .map_err(refuse)?;
        let bytes = fs::read(path).map_err(|error| {
            Failure::new(Kind::Input, format!("read {}: {error}", path.display()))
        })?;
        let (clips, frames) = (features.clips, features.frames);
        let mel =
            Tensor::from_f32([clips, frames, MEL_BINS], &features.mel).or_fail(Kind::Input)?;
        Ok(Inputs {
            tensors: BTreeMap::from([("mel".to_owned(), mel)]),
            clips,
            frames,
            valid: features.valid.chunks(frames).map(count).collect(),
            padding,
            sha256: vec![hex(&Sha256::digest(&bytes))],
        })
    }

    /// Features out of a safetensors file: `mel` [B,T,128] F32 and `mask` [B,T] U8.
    ///
    /// # Errors
    /// When the file is not that, or carries a NaN or infinity.
    pub fn features(path: &Path) -> Result<Inputs, Failure> {
        let refuse = |reason: String| {
            Failure::new(
                Kind::Input,
                format!("read features from {}: {reason}", path.display()),
            )
        };
        let bytes = fs::read(path).map_err(|error| refuse(error.to_string()))?;
        let header = header::read(&bytes).map_err(|error| refuse(said(&error)))?;
        let part = |name: &str, dtype: Dtype| {
            let entry = header.entries.iter().find(|entry| entry.name == name);
            match entry {
                Some(entry) if entry.dtype == dtype => Ok(entry),
                Some(entry) => Err(refuse(format!("{name} is {}, not {dtype}", entry.dtype))),
                None => Err(refuse(format!("it has no tensor {name}"))),
            }
        };
        let (mel, mask) = (part("mel", Dtype::F32)?, part("mask", Dtype::U8)?);
        let &[clips, frames, MEL_BINS] = mel.shape.dims() else {
            return Err(refuse(format!(
                "mel has shape {}, not [B,T,128]",
                mel.shape
            )));
        };
        if mask.shape.dims() != [clips, frames] {
            return Err(refuse(format!(
                "mask has shape {}, not [{clips},{frames}]",
                mask.shape
            )));
        }
        let mask = &bytes[mask.bytes.clone()];
        if !(1..=MAX_CLIPS).contains(&clips) || frames == 0 {
            return Err(refuse(format!(
                "{clips} clips of {frames} frames: it takes 1 to {MAX_CLIPS} clips and at least one frame"
            )));
        }
        if let Some(value) = mask.iter().find(|&&value| value > 1) {
            return Err(refuse(format!("mask holds {value}, not only 0 and 1")));
        }
        let valid: Vec<usize> = mask
            .chunks(frames)
            .map(|row| row.iter().filter(|&&v| v == 1).count())
            .collect();
        if let Some(clip) = valid.iter().position(|&n| n == 0) {
            return Err(refuse(format!("clip {clip} is padding only")));
        }
        let tensor = Tensor::from_bytes(DType::F32, mel.shape.clone(), &bytes[mel.bytes.clone()])
            .or_fail(Kind::Input)?;
        let values = tensor.as_f32().unwrap_or(&[]);
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, bin) = (at / MEL_BINS, at % MEL_BINS);
            return Err(refuse(format!(
                "mel is {} in clip {}, frame {}, bin {bin}",
                values[at],
                row / frames,
                row % frames
            )));
        }
        let left = mask.chunks(frames).any(|row| row[0] == 0);
        Ok(Inputs {
            tensors: BTreeMap::from([("mel".to_owned(), tensor)]),
            clips,
            frames,
            valid,
            padding: if left {
                PaddingSide::Left
            } else {
                PaddingSide::Right
            },
            sha256: vec![hex(&Sha256::digest(&bytes))],
        })
    }
}

fn count(row: &[bool]) -> usize {
    row.iter().filter(|&&valid| valid).count()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
