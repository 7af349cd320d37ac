//! What the model is run on: recordings' features, or features as they are given.

use std::{collections::BTreeMap, fs, path::Path};

use safetensors::Dtype;
use sha2::{Digest, Sha256};
use stages::{
    DType, Tensor,
    audio::{AudioError, LogMel, MEL_BINS, Overlong, PaddingSide, Waveform},
    checkpoint::header,
    model::gemma3n_audio::{Batch, Frames, MAX_BATCH},
};

use crate::{
    cli::Bucket,
    failure::{Failure, Kind, OrFail, said},
};

/// The model's inputs and where they come from.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The encoder's inputs, by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// Clips B.
    pub clips: usize,
    /// Frames of the graph.
    pub frames: Frames,
    /// Frames that are not padding, a clip each.
    pub valid: Vec<usize>,
    /// The side the clips are padded on.
    pub padding: PaddingSide,
    /// Digest of every recording, or of the features' file.
    pub sha256: Vec<String>,
}

impl Inputs {
    /// The features of recordings, one clip each.
    ///
    /// # Errors
    /// When a file cannot be read as audio the model takes, or the batch does not fit the bucket.
    pub fn recordings<P: AsRef<Path>>(
        paths: &[P],
        padding: PaddingSide,
        truncate: bool,
        bucket: Bucket,
    ) -> Result<Inputs, Failure> {
        if paths.len() > MAX_BATCH {
            let given = paths.len();
            let message = format!("encode {given} clips: there must be 1 to {MAX_BATCH}");
            return Err(Failure::new(Kind::Input, message));
        }
        let overlong = if truncate {
            Overlong::Truncate
        } else {
            Overlong::Reject
        };
        let refuse =
            |error: AudioError| Failure::new(Kind::Input, format!("read audio: {}", said(&error)));
        let (mut waves, mut sha256) = (Vec::new(), Vec::new());
        for path in paths {
            let path = path.as_ref();
            waves.push(Waveform::read(path).map_err(refuse)?);
            let bytes = fs::read(path).map_err(|error| {
                Failure::new(Kind::Input, format!("read {}: {error}", path.display()))
            })?;
            sha256.push(hex(&Sha256::digest(&bytes)));
        }
        let clips: Vec<&Waveform> = waves.iter().collect();
        let features = LogMel::new()
            .extract(&clips, padding, overlong)
            .map_err(refuse)?;
        let batch = Batch::of(&features).or_fail(Kind::Input)?;
        Inputs::of(&batch, padding, sha256, bucket)
    }

    /// Features out of a safetensors file: `mel` [B,T,128] F32 and `mask` [B,T] U8 or BOOL. A
    /// recording of all boundaries may hold them as `input.mel` and `input.mask`.
    ///
    /// # Errors
    /// When the file is not that, carries a NaN or infinity, or a mask no padding makes.
    pub fn features(path: &Path, bucket: Bucket) -> Result<Inputs, Failure> {
        let refuse = |reason: String| {
            Failure::new(
                Kind::Input,
                format!("read features from {}: {reason}", path.display()),
            )
        };
        let bytes = fs::read(path).map_err(|error| refuse(error.to_string()))?;
        let header = header::read(&bytes).map_err(|error| refuse(said(&error)))?;
        let find = |name: &str| header.entries.iter().find(|entry| entry.name == name);
        // A recording's own `mask` is the boundary of that name.
        let recording = find("input.mel").is_some();
        let part = |name: &str, dtypes: &[Dtype]| {
            let own = format!("input.{name}");
            match find(if recording { &own } else { name }) {
                Some(entry) if dtypes.contains(&entry.dtype) => Ok(entry),
                Some(entry) => {
                    let (found, wanted) = (entry.dtype, dtypes[0]);
                    Err(refuse(format!("{name} is {found}, not {wanted}")))
                }
                None => Err(refuse(format!("it has no tensor {name}"))),
            }
        };
        let mel = part("mel", &[Dtype::F32])?;
        let mask = part("mask", &[Dtype::U8, Dtype::BOOL])?;
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
        if let Some(value) = mask.iter().find(|&&value| value > 1) {
            return Err(refuse(format!("mask holds {value}, not only 0 and 1")));
        }
        let tensor = Tensor::from_bytes(DType::F32, mel.shape.clone(), &bytes[mel.bytes.clone()])
            .or_fail(Kind::Input)?;
        let mask = mask.iter().map(|&value| value == 1).collect();
        let batch = Batch::new(tensor, mask).map_err(|error| refuse(said(&error)))?;
        let padding = batch.side().unwrap_or(PaddingSide::Right);
        Inputs::of(&batch, padding, vec![hex(&Sha256::digest(&bytes))], bucket)
    }

    fn of(
        batch: &Batch,
        padding: PaddingSide,
        sha256: Vec<String>,
        bucket: Bucket,
    ) -> Result<Inputs, Failure> {
        let frames = bucket.of(batch.frames()).or_fail(Kind::Usage)?;
        Ok(Inputs {
            tensors: batch.inputs(frames).or_fail(Kind::Input)?,
            clips: batch.clips(),
            frames,
            valid: batch.valid(),
            padding,
            sha256,
        })
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
