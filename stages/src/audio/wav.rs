//! Decodes WAV files to mono samples at 16 kHz, trusting nothing the header says.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use hound::{SampleFormat, WavReader, WavSpec};

use super::{AudioError, MAX_SAMPLES, SAMPLE_RATE, resample};

/// Rates that are resampled, in Hz: beyond them a header is more likely wrong than the microphone.
const RATES: std::ops::RangeInclusive<u32> = 2_000..=384_000;

/// The first 30 s of the file as mono samples at 16 kHz, and the length of all of it in seconds.
pub(super) fn read(path: &Path) -> Result<(Vec<f32>, f64), AudioError> {
    let io = |source| AudioError::Io {
        path: path.into(),
        source,
    };
    let metadata = std::fs::metadata(path).map_err(io)?;
    if !metadata.is_file() {
        return Err(AudioError::NotAFile { path: path.into() });
    }
    if metadata.len() == 0 {
        return Err(AudioError::Empty { path: path.into() });
    }
    let mut file = BufReader::new(File::open(path).map_err(io)?);
    hound::read_wave_header(&mut file).map_err(|error| match header_error(path, error) {
        AudioError::Malformed { path, .. } | AudioError::CutHeader { path } => {
            AudioError::NotWav { path }
        }
        other => other,
    })?;
    file.rewind().map_err(io)?;

    let reader = WavReader::new(&mut file).map_err(|error| header_error(path, error))?;
    let (spec, declared) = (reader.spec(), reader.len());
    if declared == 0 {
        return Err(AudioError::NoSamples { path: path.into() });
    }
    check(path, spec)?;
    let present = metadata.len() - file.stream_position().map_err(io)?.min(metadata.len());
    // 24-bit samples may take four bytes each; then the end is found while reading.
    let declared_bytes = u64::from(declared) * u64::from(spec.bits_per_sample / 8);
    if declared_bytes > present {
        return Err(AudioError::Truncated {
            path: path.into(),
            declared: declared_bytes,
            present,
        });
    }
    file.rewind().map_err(io)?;

    let reader = WavReader::new(file).map_err(|error| header_error(path, error))?;
    let frames = declared as usize / usize::from(spec.channels);
    let wanted = frames.min(source_frames(spec.sample_rate));
    let mono = downmix(reader, wanted).map_err(|error| match error {
        hound::Error::Unsupported | hound::Error::TooWide => unsupported(path, spec),
        // The comparison above missed it: 24-bit samples that take four bytes each.
        hound::Error::IoError(source) if source.raw_os_error().is_none() => AudioError::Truncated {
            path: path.into(),
            declared: 4 * u64::from(declared),
            present,
        },
        other => header_error(path, other),
    })?;
    if let Some(index) = mono.iter().position(|sample| !sample.is_finite()) {
        let clip = path.display().to_string();
        return Err(AudioError::NotFinite {
            clip,
            index,
            value: mono[index],
        });
    }
    let seconds = frames as f64 / f64::from(spec.sample_rate);
    let mut samples =
        resample::to_16_khz(mono, spec.sample_rate).map_err(|reason| AudioError::Resample {
            path: path.into(),
            rate: spec.sample_rate,
            reason,
        })?;
    samples.truncate(MAX_SAMPLES);
    Ok((samples, seconds))
}

/// Frames of the source that decide the first 30 s: one second more when it is resampled.
fn source_frames(rate: u32) -> usize {
    if rate == SAMPLE_RATE {
        MAX_SAMPLES
    } else {
        31 * rate as usize
    }
}

fn check(path: &Path, spec: WavSpec) -> Result<(), AudioError> {
    match (spec.sample_format, spec.bits_per_sample) {
        (SampleFormat::Int, 8 | 16 | 24 | 32) | (SampleFormat::Float, 32) => {}
        _ => return Err(unsupported(path, spec)),
    }
    if !RATES.contains(&spec.sample_rate) {
        return Err(AudioError::Rate {
            path: path.into(),
            rate: spec.sample_rate,
        });
    }
    Ok(())
}

/// The mean of the channels, `frames` times.
fn downmix<R: Read>(mut reader: WavReader<R>, frames: usize) -> hound::Result<Vec<f32>> {
    let WavSpec {
        channels,
        bits_per_sample,
        sample_format,
        ..
    } = reader.spec();
    let channels = usize::from(channels);
    match sample_format {
        SampleFormat::Float => mean(
            reader.samples::<f32>().map(|sample| sample.map(f64::from)),
            channels,
            frames,
        ),
        SampleFormat::Int => {
            let scale = 1.0 / (1_u64 << (bits_per_sample - 1)) as f64;
            let samples = reader.samples::<i32>();
            mean(
                samples.map(|sample| sample.map(|s| f64::from(s) * scale)),
                channels,
                frames,
            )
        }
    }
}

fn mean(
    mut samples: impl Iterator<Item = hound::Result<f64>>,
    channels: usize,
    frames: usize,
) -> hound::Result<Vec<f32>> {
    let mut mono = Vec::with_capacity(frames);
    for _ in 0..frames {
        let mut sum = 0.0;
        for _ in 0..channels {
            sum += samples
                .next()
                .ok_or(hound::Error::FormatError("missing samples"))??;
        }
        mono.push((sum / channels as f64) as f32);
    }
    Ok(mono)
}

fn unsupported(path: &Path, spec: WavSpec) -> AudioError {
    let kind = match spec.sample_format {
        SampleFormat::Int => "integer",
        SampleFormat::Float => "float",
    };
    AudioError::Encoding {
        path: path.into(),
        encoding: format!("{}-bit {kind}", spec.bits_per_sample),
    }
}

fn header_error(path: &Path, error: hound::Error) -> AudioError {
    let path = path.to_path_buf();
    match error {
        // hound reports the end of the file as an error of its own making, without an OS code.
        hound::Error::IoError(source) if source.raw_os_error().is_none() => {
            AudioError::CutHeader { path }
        }
        hound::Error::IoError(source) => AudioError::Io { path, source },
        // The words of hound 3.5.1 for a bit depth it does not read.
        hound::Error::FormatError(reason) if reason.starts_with("bits per sample is not") => {
            AudioError::Encoding {
                path,
                encoding: format!("these (\"{reason}\")"),
            }
        }
        hound::Error::FormatError(reason) => AudioError::Malformed { path, reason },
        _ => AudioError::Encoding {
            path,
            encoding: "compressed or other non-PCM".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hound::WavWriter;
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;
    use crate::audio::Waveform;

    const LENGTH: usize = 600;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            Self(TempDir::new().unwrap())
        }

        fn holding(&self, bytes: &[u8]) -> PathBuf {
            let path = self.0.path().join("clip.wav");
            std::fs::write(&path, bytes).unwrap();
            path
        }
    }

    fn spec(sample_format: SampleFormat, bits_per_sample: u16) -> WavSpec {
        WavSpec {
            channels: 1,
            sample_rate: 16_000,
            bits_per_sample,
            sample_format,
        }
    }

    fn file<S: hound::Sample + Copy>(spec: WavSpec, samples: &[S]) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let mut writer = WavWriter::new(&mut bytes, spec).unwrap();
        samples
            .iter()
            .for_each(|&sample| writer.write_sample(sample).unwrap());
        writer.finalize().unwrap();
        bytes.into_inner()
    }

    fn sixteen_bits(samples: usize) -> Vec<u8> {
        file(spec(SampleFormat::Int, 16), &vec![1000_i16; samples])
    }

    fn error(bytes: &[u8]) -> AudioError {
        let folder = Folder::new();
        let error = Waveform::read(folder.holding(bytes)).unwrap_err();
        println!("{error}");
        assert!(error.to_string().contains("clip.wav: "), "{error}");
        error
    }

    #[test]
    fn integers_of_every_width_are_scaled_to_one() {
        for bits in [8, 16, 24, 32] {
            let full = 1_i64 << (bits - 1);
            let values = [-full, full / 2, 0, -full / 4, full - 1].map(|value| value as i32);
            let samples: Vec<i32> = values.iter().copied().cycle().take(LENGTH).collect();
            let folder = Folder::new();
            let path = folder.holding(&file(spec(SampleFormat::Int, bits), &samples));
            let read = Waveform::read(path).unwrap();
            let largest = ((full - 1) as f64 / full as f64) as f32;
            assert_eq!(
                read.samples()[..5],
                [-1.0, 0.5, 0.0, -0.25, largest],
                "{bits} bits"
            );
            assert_eq!(read.samples().len(), LENGTH);
        }
    }

    #[test]
    fn eight_bit_samples_are_unsigned_around_128() {
        let mut bytes = file(spec(SampleFormat::Int, 8), &[0_i8; LENGTH]);
        let start = bytes.len() - LENGTH;
        bytes[start..start + 3].copy_from_slice(&[0, 128, 192]);
        let folder = Folder::new();
        let read = Waveform::read(folder.holding(&bytes)).unwrap();
        assert_eq!(read.samples()[..3], [-1.0, 0.0, 0.5]);
    }

    #[test]
    fn floats_are_taken_as_they_are() {
        let samples: Vec<f32> = (0..LENGTH).map(|i| i as f32 * 0.37 - 2.5).collect();
        let folder = Folder::new();
        let path = folder.holding(&file(spec(SampleFormat::Float, 32), &samples));
        assert_eq!(Waveform::read(path).unwrap().samples(), samples);
    }

    #[test]
    fn channels_are_averaged() {
        let spec = WavSpec {
            channels: 3,
            ..spec(SampleFormat::Int, 16)
        };
        let frame = [3000_i16, -6000, 9000];
        let samples: Vec<i16> = frame.iter().copied().cycle().take(3 * LENGTH).collect();
        let folder = Folder::new();
        let read = Waveform::read(folder.holding(&file(spec, &samples))).unwrap();
        assert_eq!(read.samples(), [2000.0 / 32768.0; LENGTH]);
    }

    #[test]
    fn only_the_first_thirty_seconds_are_decoded_and_the_whole_is_counted() {
        for rate in [16_000, 8_000] {
            let spec = WavSpec {
                sample_rate: rate,
                ..spec(SampleFormat::Int, 16)
            };
            let folder = Folder::new();
            let path = folder.holding(&file(spec, &vec![1_i16; 40 * rate as usize]));
            let read = Waveform::read(path).unwrap();
            assert_eq!((read.samples().len(), read.seconds()), (MAX_SAMPLES, 40.0));
            assert!(read.is_overlong());
        }
    }

    #[test]
    fn an_empty_file_is_named_so() {
        assert!(matches!(error(b""), AudioError::Empty { .. }));
    }

    #[test]
    fn another_kind_of_file_is_not_a_wav_file() {
        assert!(matches!(
            error(b"fLaC and more than twelve bytes"),
            AudioError::NotWav { .. }
        ));
        assert!(matches!(error(b"RIFF"), AudioError::NotWav { .. }));
    }

    #[test]
    fn a_header_without_an_end_is_cut() {
        assert!(matches!(
            error(&sixteen_bits(LENGTH)[..30]),
            AudioError::CutHeader { .. }
        ));
    }

    #[test]
    fn a_file_shorter_than_its_header_says_is_truncated() {
        let bytes = sixteen_bits(LENGTH);
        let AudioError::Truncated {
            declared, present, ..
        } = error(&bytes[..bytes.len() - 101])
        else {
            panic!("not truncated");
        };
        assert_eq!((declared, present), (1200, 1099));
    }

    #[test]
    fn a_header_that_declares_four_gigabytes_is_not_believed() {
        let mut bytes = sixteen_bits(LENGTH);
        let length = bytes.len() - 2 * LENGTH - 4;
        bytes[length..length + 4].copy_from_slice(&0xFFFF_FFFE_u32.to_le_bytes());
        assert!(matches!(
            error(&bytes),
            AudioError::Truncated {
                declared: 0xFFFF_FFFE,
                ..
            }
        ));
    }

    #[test]
    fn a_clip_of_no_samples_and_one_of_512_are_refused() {
        assert!(matches!(
            error(&sixteen_bits(0)),
            AudioError::NoSamples { .. }
        ));
        assert!(matches!(
            error(&sixteen_bits(512)),
            AudioError::TooShort { samples: 512, .. }
        ));
        let folder = Folder::new();
        Waveform::read(folder.holding(&sixteen_bits(513))).unwrap();
    }

    #[test]
    fn nan_and_infinity_are_found_where_they_are() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut samples = vec![0.0_f32; LENGTH];
            samples[77] = value;
            let error = error(&file(spec(SampleFormat::Float, 32), &samples));
            assert!(
                matches!(error, AudioError::NotFinite { index: 77, .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn other_encodings_are_refused_by_name() {
        let bytes = sixteen_bits(LENGTH);
        // Format tag: ADPCM, mu-law.
        for tag in [2, 7] {
            let mut bytes = bytes.clone();
            bytes[20] = tag;
            assert!(matches!(error(&bytes), AudioError::Encoding { .. }));
        }
        // A 64-bit float.
        let mut float = bytes.clone();
        float[20] = 3;
        float[28..32].copy_from_slice(&128_000_u32.to_le_bytes());
        float[32] = 8;
        float[34] = 64;
        assert!(matches!(error(&float), AudioError::Encoding { .. }));
    }

    #[test]
    fn a_rate_of_zero_is_refused() {
        let mut bytes = sixteen_bits(LENGTH);
        bytes[24..32].fill(0);
        assert!(matches!(error(&bytes), AudioError::Rate { rate: 0, .. }));
    }

    #[test]
    fn a_folder_and_a_missing_file_are_told_apart() {
        let folder = Folder::new();
        let read = |path: &Path| Waveform::read(path).unwrap_err();
        assert!(matches!(read(folder.0.path()), AudioError::NotAFile { .. }));
        assert!(matches!(
            read(&folder.0.path().join("none.wav")),
            AudioError::Io { .. }
        ));
    }

    proptest! {
        #[test]
        fn no_damage_to_a_header_makes_reading_panic(
            damage in prop::collection::vec((0_usize..48, any::<u8>()), 1..6),
            kept in 0_usize..1300,
            extensible in any::<bool>(),
        ) {
            let bits = if extensible { 24 } else { 16 };
            let mut bytes = file(spec(SampleFormat::Int, bits), &[5_i32; LENGTH]);
            for (position, value) in damage {
                bytes[position] = value;
            }
            bytes.truncate(kept.max(48));
            let folder = Folder::new();
            let _ = Waveform::read(folder.holding(&bytes));
        }
    }
}
