//! What can be wrong with a sound file, and what to do about it.

use std::io;
use std::path::PathBuf;

use super::{MIN_SAMPLES, SAMPLE_RATE};

/// Why a clip cannot become features.
///
/// Messages complete "failed to read audio: …" and end with the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AudioError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder, pipe or device: lengths could not be checked before reading.
    #[error("{}: not a regular file; save the audio to a WAV file first", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file of no bytes.
    #[error("{}: the file is empty; record or copy it again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file does not begin as WAV files do.
    #[error("{}: not a WAV file; convert it, e.g. `ffmpeg -i IN -ar 16000 -ac 1 OUT.wav`", path.display())]
    NotWav {
        /// The file.
        path: PathBuf,
    },
    /// The file ends before its samples begin.
    #[error("{}: the file ends inside its header; record or copy it again", path.display())]
    CutHeader {
        /// The file.
        path: PathBuf,
    },
    /// The header contradicts itself.
    #[error("{}: the WAV header is malformed ({reason}); write the file again, e.g. `ffmpeg -i IN OUT.wav`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// Samples of a kind that is not read.
    #[error(
        "{}: {encoding} samples are not supported, only PCM integers of 8, 16, 24 or 32 bits and \
         32-bit floats; convert it, e.g. `ffmpeg -i IN -c:a pcm_s16le OUT.wav`",
        path.display()
    )]
    Encoding {
        /// The file.
        path: PathBuf,
        /// What the header says they are.
        encoding: String,
    },
    /// A sample rate outside what is resampled.
    #[error("{}: a rate of {rate} Hz is not supported; resample it, e.g. `ffmpeg -i IN -ar 16000 OUT.wav`", path.display())]
    Rate {
        /// The file.
        path: PathBuf,
        /// Samples per second in the header.
        rate: u32,
    },
    /// Fewer samples in the file than its header declares.
    #[error(
        "{}: truncated: the header declares {declared} bytes of samples, {present} are there; \
         copy the file again, or repair the header, e.g. `ffmpeg -i IN OUT.wav`",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes of samples by the header.
        declared: u64,
        /// Bytes between the header and the end of the file.
        present: u64,
    },
    /// A file without samples.
    #[error("{}: holds no samples; record it again", path.display())]
    NoSamples {
        /// The file.
        path: PathBuf,
    },
    /// A NaN or an infinity among the samples.
    #[error("{clip}: sample {index} is {value}; audio must be finite, repair or record it again")]
    NotFinite {
        /// The clip.
        clip: String,
        /// Its position, counted in frames of the file or of the given samples.
        index: usize,
        /// The value.
        value: f32,
    },
    /// Samples so large that a frame of them overflows.
    #[error("{clip}: samples near {at:.3} s overflow; scale the audio to -1..1")]
    TooLoud {
        /// The clip.
        clip: String,
        /// Where, in seconds.
        at: f64,
    },
    /// Not even one frame.
    #[error(
        "{clip}: {samples} samples at {SAMPLE_RATE} Hz are too short for one frame; \
         give at least {MIN_SAMPLES}"
    )]
    TooShort {
        /// The clip.
        clip: String,
        /// Its length at 16 kHz.
        samples: usize,
    },
    /// More than the encoder takes.
    #[error("{clip}: {seconds:.2} s is longer than 30 s; split it, or cut it with --truncate")]
    TooLong {
        /// The clip.
        clip: String,
        /// Its length.
        seconds: f64,
    },
    /// A batch of nothing.
    #[error("no clip was given; name at least one audio file")]
    NoClips,
    /// The resampler refused.
    #[error("{}: cannot be resampled from {rate} Hz ({reason}); convert it to 16000 Hz first", path.display())]
    Resample {
        /// The file.
        path: PathBuf,
        /// Its rate.
        rate: u32,
        /// What the resampler says.
        reason: String,
    },
}
