//! The host front end: sound files to the log-mel features a Gemma 3n audio encoder reads.
//!
//! [`Waveform::read`] takes a WAV file to mono samples at 16 kHz; [`LogMel::extract`] takes a batch
//! of them to features, as transformers 5.24.0 `Gemma3nAudioFeatureExtractor` does with NumPy 2:
//!
//! 1. clips longer than 30 s are cut (only on request), all are padded with zeros to one length,
//!    a multiple of 128 samples;
//! 2. frames of 512 samples every 160, pre-emphasis and a Hann window in F32 ([`window`]);
//! 3. magnitudes of a Fourier transform over 1024 points ([`spectrum`]);
//! 4. 128 triangular mel filters ([`filterbank`]), natural logarithm, rounded to F32 at the end.
//!
//! # Rounding
//! Steps 1 and 2 are F32 as in the reference. From the transform on, everything is F64 until the
//! last rounding; the reference transforms in F32, so its own rounding noise (below 1e-4 in the
//! log-mel, fewer than one BF16 value in ten thousand) is the distance between the two.
//!
//! # Reproducibility
//! The features are a function of the samples alone. Sines, logarithms and powers come from the
//! `libm` crate and the transform is written out here, because the host's mathematical library
//! (which `rustfft` asks for its factors) and the vector units of the host's processor (by which
//! `rustfft` and `rubato` choose their code) may change low bits from machine to machine.

mod error;
mod features;
mod filterbank;
mod resample;
mod spectrum;
mod wav;
mod waveform;
mod window;

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod synthetic;

pub use error::AudioError;
pub use features::{Features, LogMel, Overlong, PaddingSide, UnknownPaddingSide};
pub use waveform::Waveform;

/// Samples per second of every [`Waveform`].
pub const SAMPLE_RATE: u32 = 16_000;

/// The longest clip the encoder takes, in samples at [`SAMPLE_RATE`]: 30 s.
pub const MAX_SAMPLES: usize = 480_000;

/// The shortest clip that fills one frame, in samples at [`SAMPLE_RATE`].
pub const MIN_SAMPLES: usize = 513;

/// Values of one frame of features.
pub const MEL_BINS: usize = 128;
