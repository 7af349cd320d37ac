//! A batch of clips to log-mel features and the mask of valid frames.

use std::fmt;
use std::str::FromStr;

use super::filterbank::FilterBank;
use super::spectrum::Spectrum;
use super::window::{HOP, READ, Window};
use super::{AudioError, MAX_SAMPLES, MEL_BINS, SAMPLE_RATE, Waveform};

/// Clips are padded to a multiple of this many samples.
const PADDING_UNIT: usize = 128;

/// Least mel value before the logarithm: silence is ln(1e-5) = −11.512925.
const FLOOR: f64 = 1e-5;

/// Where zeros go when a clip is shorter than its batch: `padding_side` of the checkpoint's
/// `preprocessor_config.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaddingSide {
    /// Before the clip.
    Left,
    /// After the clip, the reference's default.
    Right,
}

/// A padding side that is neither `left` nor `right`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown padding side {0:?}: expected \"left\" or \"right\"")]
pub struct UnknownPaddingSide(pub String);

impl FromStr for PaddingSide {
    type Err = UnknownPaddingSide;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "left" => Ok(Self::Left),
            "right" => Ok(Self::Right),
            _ => Err(UnknownPaddingSide(name.into())),
        }
    }
}

impl fmt::Display for PaddingSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "left",
            Self::Right => "right",
        })
    }
}

/// What to do with a clip longer than 30 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Overlong {
    /// Refuse it.
    Reject,
    /// Keep its first 30 s, as the reference does.
    Truncate,
}

/// Features of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// Natural logarithm of the mel magnitudes, `[clips, frames, 128]`, row-major.
    pub mel: Vec<f32>,
    /// Whether the first sample of a frame belongs to the clip and not to its padding,
    /// `[clips, frames]`.
    pub valid: Vec<bool>,
    /// Clips.
    pub clips: usize,
    /// Frames of each clip, padding included.
    pub frames: usize,
}

/// The feature extractor: its window, transform and filters.
pub struct LogMel {
    window: Window,
    spectrum: Spectrum,
    filters: FilterBank,
}

impl Default for LogMel {
    fn default() -> Self {
        Self::new()
    }
}

impl LogMel {
    /// Computes the tables; a fraction of a millisecond.
    pub fn new() -> Self {
        Self {
            window: Window::new(),
            spectrum: Spectrum::new(),
            filters: FilterBank::new(),
        }
    }

    /// Features of a batch, all clips padded to the length of the longest.
    ///
    /// # Errors
    /// [`AudioError::NoClips`], [`AudioError::TooLong`] unless told to truncate, and
    /// [`AudioError::TooLoud`] when F32 arithmetic on the samples overflows.
    pub fn extract(
        &self,
        clips: &[&Waveform],
        side: PaddingSide,
        overlong: Overlong,
    ) -> Result<Features, AudioError> {
        if overlong == Overlong::Reject
            && let Some(clip) = clips.iter().find(|clip| clip.is_overlong())
        {
            return Err(AudioError::TooLong {
                clip: clip.name().into(),
                seconds: clip.seconds(),
            });
        }
        let longest = clips.iter().map(|clip| clip.samples().len()).max();
        let padded = longest
            .ok_or(AudioError::NoClips)?
            .next_multiple_of(PADDING_UNIT);
        debug_assert!(padded <= MAX_SAMPLES, "a waveform holds at most 30 s");
        // A waveform holds one frame at least, so this does not wrap.
        let frames = (padded - READ) / HOP + 1;

        let mut mel = Vec::with_capacity(clips.len() * frames * MEL_BINS);
        let mut valid = Vec::with_capacity(clips.len() * frames);
        let mut samples = vec![0.0; padded];
        for clip in clips {
            let length = clip.samples().len();
            let own = match side {
                PaddingSide::Left => padded - length..padded,
                PaddingSide::Right => 0..length,
            };
            samples.fill(0.0);
            samples[own.clone()].copy_from_slice(clip.samples());
            for (frame, start) in (0..frames).map(|frame| (frame, frame * HOP)) {
                let window = &samples[start..start + READ];
                if !self.frame(window, &mut mel) {
                    let offset = (frame * HOP).saturating_sub(own.start);
                    let at = offset as f64 / f64::from(SAMPLE_RATE);
                    return Err(AudioError::TooLoud {
                        clip: clip.name().into(),
                        at,
                    });
                }
                valid.push(own.contains(&start));
            }
        }
        Ok(Features {
            mel,
            valid,
            clips: clips.len(),
            frames,
        })
    }

    /// Appends the 128 values of one frame; whether all are finite.
    fn frame(&self, samples: &[f32], mel: &mut Vec<f32>) -> bool {
        let mut read = [0.0; READ];
        read.copy_from_slice(samples);
        let magnitudes = self.spectrum.magnitudes(&self.window.apply(&read));
        let start = mel.len();
        // `max` would swallow a NaN.
        mel.extend(self.filters.apply(&magnitudes).map(|energy| {
            let floored = if energy < FLOOR { FLOOR } else { energy };
            libm::log(floored) as f32
        }));
        mel[start..].iter().all(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(name: &str, samples: Vec<f32>) -> Waveform {
        Waveform::from_samples(name, samples).unwrap()
    }

    fn ramp(length: usize) -> Vec<f32> {
        (0..length).map(|i| (i % 97) as f32 / 97.0 - 0.5).collect()
    }

    #[test]
    fn a_clip_of_31_seconds_is_refused_or_cut_to_its_first_30() {
        let log_mel = LogMel::new();
        let long = clip("long", ramp(496_000));
        let error = log_mel
            .extract(&[&long], PaddingSide::Right, Overlong::Reject)
            .unwrap_err();
        assert!(
            matches!(error, AudioError::TooLong { seconds: 31.0, .. }),
            "{error}"
        );
        let cut = log_mel
            .extract(&[&long], PaddingSide::Left, Overlong::Truncate)
            .unwrap();
        let whole = clip("whole", ramp(MAX_SAMPLES));
        let first = log_mel
            .extract(&[&whole], PaddingSide::Left, Overlong::Reject)
            .unwrap();
        assert_eq!((cut.frames, &cut), (2997, &first));
    }

    #[test]
    fn a_batch_of_nothing_is_an_error() {
        let result = LogMel::new().extract(&[], PaddingSide::Right, Overlong::Reject);
        assert!(matches!(result, Err(AudioError::NoClips)));
    }

    #[test]
    fn samples_that_overflow_are_an_error_and_no_infinite_feature() {
        let mut samples = vec![0.0; 32_000];
        samples[16_000] = f32::MAX;
        samples[16_001] = -f32::MAX;
        let clip = clip("huge", samples);
        let error = LogMel::new().extract(&[&clip], PaddingSide::Right, Overlong::Reject);
        let Err(AudioError::TooLoud { at, .. }) = error else {
            panic!("{error:?}")
        };
        assert!((0.96..=1.0).contains(&at), "{at}");
    }

    #[test]
    fn a_clip_has_the_same_features_alone_and_first_in_a_right_padded_batch() {
        let log_mel = LogMel::new();
        let (short, long) = (clip("short", ramp(1280)), clip("long", ramp(9000)));
        let extract = |clips: &[&Waveform]| {
            log_mel
                .extract(clips, PaddingSide::Right, Overlong::Reject)
                .unwrap()
        };
        let (alone, batch) = (extract(&[&short]), extract(&[&short, &long]));
        assert_eq!(alone.mel[..], batch.mel[..alone.mel.len()]);
    }
}
