//! A clip ready for feature extraction: mono, 16 kHz, finite, long enough.

use std::path::Path;

use super::{AudioError, MAX_SAMPLES, MIN_SAMPLES, SAMPLE_RATE, wav};

/// Mono samples at 16 kHz, all finite, at least [`MIN_SAMPLES`] of them.
///
/// Of a clip longer than 30 s only the first [`MAX_SAMPLES`] are held (nothing reads more), with
/// the length of the whole beside them, so that a long file costs no more than a short one.
#[derive(Debug, Clone, PartialEq)]
pub struct Waveform {
    name: String,
    samples: Vec<f32>,
    seconds: f64,
}

impl Waveform {
    /// Reads a WAV file: PCM integers of 8, 16, 24 or 32 bits or 32-bit floats, any channel count.
    ///
    /// Integers are divided by 2^(bits−1) (8-bit ones are unsigned around 128), floats are taken
    /// as they are; channels are averaged in F64 and rounded to F32 once; a rate other than 16 kHz
    /// is resampled.
    ///
    /// # Errors
    /// Everything [`AudioError`] names except what concerns a batch. Lengths in the header are
    /// compared with the file's before anything is read. Samples after the first 30 s are counted,
    /// not decoded.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, AudioError> {
        let path = path.as_ref();
        let (samples, seconds) = wav::read(path)?;
        Self::new(path.display().to_string(), samples, seconds)
    }

    /// Takes mono samples at 16 kHz, as they are. `name` is what errors call the clip.
    ///
    /// # Errors
    /// [`AudioError::TooShort`] and [`AudioError::NotFinite`].
    pub fn from_samples(
        name: impl Into<String>,
        mut samples: Vec<f32>,
    ) -> Result<Self, AudioError> {
        let seconds = samples.len() as f64 / f64::from(SAMPLE_RATE);
        samples.truncate(MAX_SAMPLES);
        Self::new(name.into(), samples, seconds)
    }

    fn new(name: String, samples: Vec<f32>, seconds: f64) -> Result<Self, AudioError> {
        if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(AudioError::NotFinite {
                clip: name,
                index,
                value: samples[index],
            });
        }
        if samples.len() < MIN_SAMPLES {
            return Err(AudioError::TooShort {
                clip: name,
                samples: samples.len(),
            });
        }
        Ok(Self {
            name,
            samples,
            seconds,
        })
    }

    /// What errors call the clip: its path, if it was read from a file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The samples; the first 30 s of a longer clip.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// Length of the whole clip in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Whether the clip is longer than the encoder takes.
    pub fn is_overlong(&self) -> bool {
        self.seconds * f64::from(SAMPLE_RATE) > MAX_SAMPLES as f64
    }
}
