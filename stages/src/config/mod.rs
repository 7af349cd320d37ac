//! A checkpoint's `config.json`, typed and checked: what the audio encoder and its projection
//! into the text model need of it.
//!
//! Layout: transformers' `Gemma3nConfig`. Every number is checked against the range it may take
//! before anything is computed from it, so that no extent derived from a configuration overflows.
//!
//! One trap: mlx-vlm 0.7.10 ignores the checkpoint's `sscp_conv_group_norm_eps` and reads
//! `sscp_conv_eps`, which transformers' configuration does not have, with the default 1e-3. The
//! published models say 1e-3, so both agree. Here `sscp_conv_group_norm_eps` counts,
//! `sscp_conv_eps` stands in for it where it is absent, and two that differ are an error.

mod error;
mod keys;
mod preprocessor;
mod quantization;

use std::{
    fs::File,
    io::{self, Read},
    ops::RangeInclusive,
    path::Path,
};

use serde_json::Value;
use sha2::{Digest, Sha256};

pub use error::ConfigError;
pub use preprocessor::padding_side;
pub use quantization::Quantization;

use crate::checkpoint::QuantizedModules;
use keys::Keys;

/// The longest batch of features the encoder takes: 30 s of sound in frames of 10 ms.
pub const MAX_FRAMES: usize = 2997;

/// The most clips in one batch.
pub const MAX_CLIPS: usize = 4096;

/// Zeros before and after the frequency axis of each subsampling convolution.
pub const FREQUENCY_PADDING: usize = 1;

const MODEL_TYPE: &str = "gemma3n";
const MAX_FILE: u64 = 16 << 20;
const EXTENTS: RangeInclusive<usize> = 1..=1 << 16;

/// One subsampling convolution.
#[derive(Clone, Debug, PartialEq)]
pub struct SscpConv {
    /// Channels it reads.
    pub inputs: usize,
    /// Channels it gives.
    pub channels: usize,
    /// Extents of its kernel along time and frequency.
    pub kernel: [usize; 2],
    /// Steps along time and frequency.
    pub stride: [usize; 2],
    /// Frequency bins it reads.
    pub bins_in: usize,
    /// Frequency bins it gives.
    pub bins: usize,
}

impl SscpConv {
    /// Zeros after the time axis, none before it: frame `t` sees `stride·t` and later ones
    /// ("reverse causal").
    pub fn time_padding(&self) -> usize {
        self.kernel[0] - 1
    }

    /// Frames it gives for `frames`: ⌈frames / stride⌉.
    pub fn frames(&self, frames: usize) -> usize {
        frames.div_ceil(self.stride[0])
    }
}

/// The conformer blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Conformer {
    /// How many blocks.
    pub layers: usize,
    /// Attention heads; they divide the hidden size.
    pub heads: usize,
    /// Queries of one attention chunk.
    pub chunk: usize,
    /// Keys a query sees up to and including its own.
    pub context_left: usize,
    /// Keys a query sees after its own.
    pub context_right: usize,
    /// Attention logits are capped to ± this by a hyperbolic tangent.
    pub logit_cap: f64,
    /// Taps of the depthwise convolution.
    pub kernel: usize,
    /// Every how-many-th frame is kept behind the last block.
    pub reduction: usize,
    /// The factor of the feed-forward layers in their residual sums.
    pub residual_weight: f64,
    /// Activations are clipped to ± this.
    pub gradient_clipping: f64,
}

/// The part of the token vocabulary that stands for audio.
#[derive(Clone, Debug, PartialEq)]
pub struct AudioVocab {
    /// How many tokens.
    pub size: usize,
    /// The first one's id.
    pub offset: usize,
    /// Which of them is the last token of the whole vocabulary: it stands for padding.
    pub padding: usize,
}

/// The audio encoder and its projection into the text model.
#[derive(Clone, Debug, PartialEq)]
pub struct AudioConfig {
    /// Mel bins of one frame of features.
    pub features: usize,
    /// Width of the encoder.
    pub hidden: usize,
    /// The two subsampling convolutions.
    pub convs: [SscpConv; 2],
    /// Added to the variance in the cumulative group norms.
    pub group_norm_eps: f64,
    /// Added to the mean square in RMS norms.
    pub rms_norm_eps: f64,
    /// The conformer blocks.
    pub conformer: Conformer,
    /// Audio tokens.
    pub vocab: AudioVocab,
    /// Soft tokens one clip becomes.
    pub soft_tokens: usize,
    /// Width of the text model.
    pub text_hidden: usize,
    /// How quantised tensors are, if any are.
    pub quantization: Option<Quantization>,
    /// Which modules are quantised. The file does not say: an opened checkpoint knows.
    pub quantized: QuantizedModules,
    sha256: String,
}

impl AudioConfig {
    /// Reads `config.json` in `dir`.
    ///
    /// # Errors
    /// When the file cannot be read or does not describe an audio encoder.
    pub fn read(dir: &Path) -> Result<AudioConfig, ConfigError> {
        let path = dir.join("config.json");
        let text = read_limited(&path)?;
        AudioConfig::parse(&text)
    }

    /// Reads the text of a `config.json`.
    ///
    /// # Errors
    /// When it is not JSON or does not describe an audio encoder.
    pub fn parse(text: &[u8]) -> Result<AudioConfig, ConfigError> {
        let json: Value = serde_json::from_slice(text).map_err(|source| ConfigError::Json {
            file: "config.json".into(),
            source,
        })?;
        let root = Keys::root(&json)?;
        if root.has("model_type") && root.string("model_type")? != MODEL_TYPE {
            return Err(ConfigError::Unsupported {
                key: "model_type".into(),
                value: root.string("model_type")?.to_owned(),
                supported: MODEL_TYPE.into(),
            });
        }
        let audio = root.object("audio_config")?;
        let features = audio.integer("input_feat_size", 1..=4096)?;
        let hidden = audio.integer("hidden_size", EXTENTS)?;
        Ok(AudioConfig {
            features,
            hidden,
            convs: convs(&audio, features)?,
            group_norm_eps: group_norm_eps(&audio)?,
            rms_norm_eps: audio.positive("rms_norm_eps", 1.0)?,
            conformer: conformer(&audio, hidden)?,
            vocab: vocab(&audio, &root.object("text_config")?)?,
            soft_tokens: root.integer("audio_soft_tokens_per_image", EXTENTS)?,
            text_hidden: root
                .object("text_config")?
                .integer("hidden_size", EXTENTS)?,
            quantization: quantization::quantization(&root)?,
            quantized: QuantizedModules::default(),
            sha256: hex(&Sha256::digest(text)),
        })
    }

    /// SHA-256 of the `config.json` this was read from, in hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Frames behind the subsampling convolutions: ⌈⌈frames / 2⌉ / 2⌉ with the usual strides.
    pub fn subsampled_frames(&self, frames: usize) -> usize {
        self.convs
            .iter()
            .fold(frames, |frames, conv| conv.frames(frames))
    }

    /// Width of what the input projection reads: bins times channels of the last convolution.
    pub fn flattened(&self) -> usize {
        self.convs[1].bins * self.convs[1].channels
    }

    /// Tokens that `frames` frames become, padding to [`AudioConfig::soft_tokens`] not counted.
    pub fn tokens(&self, frames: usize) -> usize {
        self.subsampled_frames(frames)
            .div_ceil(self.conformer.reduction)
    }

    /// Checks that a batch is one the encoder takes.
    ///
    /// # Errors
    /// When there are no clips or no frames, more than [`MAX_CLIPS`] or [`MAX_FRAMES`], or more
    /// tokens than a clip may become.
    pub fn check_batch(&self, clips: usize, frames: usize) -> Result<(), ConfigError> {
        let batch = |what, actual, most| {
            if (1..=most).contains(&actual) {
                Ok(())
            } else {
                Err(ConfigError::Batch { what, actual, most })
            }
        };
        batch("clips", clips, MAX_CLIPS)?;
        batch("frames", frames, MAX_FRAMES)?;
        let (tokens, most) = (self.tokens(frames), self.soft_tokens);
        if tokens > most {
            return Err(ConfigError::Tokens {
                frames,
                tokens,
                most,
            });
        }
        Ok(())
    }
}

fn convs(audio: &Keys<'_>, features: usize) -> Result<[SscpConv; 2], ConfigError> {
    let channels = audio.pair("sscp_conv_channel_size")?;
    let kernels = audio.pair("sscp_conv_kernel_size")?;
    let strides = audio.pair("sscp_conv_stride_size")?;
    let conv = |i: usize, inputs: usize, bins_in: usize| {
        let channels = channels.integer(i, 1..=1 << 14)?;
        let kernel = kernels.only(i, [3, 3])?;
        let stride = strides.only(i, [2, 2])?;
        // Cannot underflow: at least one bin, two zeros and a kernel of three.
        let bins = (bins_in + 2 * FREQUENCY_PADDING - kernel[1]) / stride[1] + 1;
        // The norm counts the elements of a frame in F32, exact up to 2^24.
        if bins * channels > 1 << 24 {
            return Err(ConfigError::Range {
                key: channels_key(i),
                value: channels.to_string(),
                allowed: format!(
                    "1..={}, as the norm counts {bins} bins of each",
                    (1 << 24) / bins
                ),
            });
        }
        Ok(SscpConv {
            inputs,
            channels,
            kernel,
            stride,
            bins_in,
            bins,
        })
    };
    let first = conv(0, 1, features)?;
    let second = conv(1, first.channels, first.bins)?;
    Ok([first, second])
}

fn vocab(audio: &Keys<'_>, text: &Keys<'_>) -> Result<AudioVocab, ConfigError> {
    let size = audio.integer("vocab_size", 1..=1 << 20)?;
    let offset = audio.integer("vocab_offset", 0..=1 << 30)?;
    // The embedding of padding is that of the text vocabulary's last id, an audio token.
    let whole = text.integer("vocab_size", 1..=1 << 31)?;
    if !(offset + 1..=offset + size).contains(&whole) {
        return Err(ConfigError::Conflict {
            first: text.path("vocab_size"),
            first_value: whole.to_string(),
            second: "audio_config.vocab_offset".into(),
            second_value: format!(
                "that its last id is one of {offset} to {}",
                offset + size - 1
            ),
        });
    }
    Ok(AudioVocab {
        size,
        offset,
        padding: whole - 1 - offset,
    })
}

fn channels_key(i: usize) -> String {
    format!("audio_config.sscp_conv_channel_size[{i}]")
}

fn group_norm_eps(audio: &Keys<'_>) -> Result<f64, ConfigError> {
    let named = |key| audio.has(key).then(|| audio.positive(key, 1.0)).transpose();
    match (named("sscp_conv_group_norm_eps")?, named("sscp_conv_eps")?) {
        (Some(a), Some(b)) if a != b => Err(ConfigError::Conflict {
            first: "audio_config.sscp_conv_group_norm_eps".into(),
            first_value: a.to_string(),
            second: "audio_config.sscp_conv_eps".into(),
            second_value: b.to_string(),
        }),
        (Some(eps), _) | (None, Some(eps)) => Ok(eps),
        (None, None) => Err(ConfigError::Missing {
            key: "audio_config.sscp_conv_group_norm_eps".into(),
        }),
    }
}

fn conformer(audio: &Keys<'_>, hidden: usize) -> Result<Conformer, ConfigError> {
    let heads = audio.integer("conf_num_attention_heads", EXTENTS)?;
    if !hidden.is_multiple_of(heads) {
        return Err(ConfigError::Range {
            key: "audio_config.conf_num_attention_heads".into(),
            value: heads.to_string(),
            allowed: format!("a divisor of hidden_size {hidden}"),
        });
    }
    Ok(Conformer {
        layers: audio.integer("conf_num_hidden_layers", 0..=1024)?,
        heads,
        chunk: audio.integer("conf_attention_chunk_size", 1..=MAX_FRAMES)?,
        context_left: audio.integer("conf_attention_context_left", 1..=MAX_FRAMES)?,
        context_right: audio.integer("conf_attention_context_right", 0..=MAX_FRAMES)?,
        logit_cap: audio.positive("conf_attention_logit_cap", f64::from(f32::MAX))?,
        kernel: audio.integer("conf_conv_kernel_size", 1..=1024)?,
        reduction: audio.integer("conf_reduction_factor", 1..=MAX_FRAMES)?,
        residual_weight: audio.number("conf_residual_weight")?,
        gradient_clipping: audio.positive("gradient_clipping", f64::from(f32::MAX))?,
    })
}

fn read_limited(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let read = |source: io::Error| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    let mut text = Vec::new();
    let file = File::open(path).map_err(read)?;
    file.take(MAX_FILE + 1)
        .read_to_end(&mut text)
        .map_err(read)?;
    if text.len() as u64 > MAX_FILE {
        return Err(ConfigError::TooLarge {
            path: path.to_owned(),
            limit: MAX_FILE,
        });
    }
    Ok(text)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
pub(crate) mod tests;
