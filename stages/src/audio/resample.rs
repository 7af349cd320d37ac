//! Other rates to 16 kHz, by windowed-sinc interpolation.
//!
//! `rubato` walks the input; the filter and its scalar product are stated here, because its own
//! take the sine from the host's library and an order of additions from the host's vector units.

use rubato::{Resampler, SincFixedIn, SincInterpolationType, sinc_interpolator::SincInterpolator};

use super::SAMPLE_RATE;

/// Taps of the filter at the output's rate, or the input's if that is lower.
const TAPS: usize = 128;

/// Filters between two input samples; in between, cubic interpolation.
const PHASES: usize = 256;

/// Where the filter cuts off, of the lower of the two Nyquist frequencies.
const CUTOFF: f64 = 0.95;

/// Input samples a call to the resampler takes.
const CHUNK: usize = 4096;

/// Mono samples at `rate` to `ceil(n·16000/rate)` samples at 16 kHz, output `k` at `k/16000` s.
pub(super) fn to_16_khz(samples: Vec<f32>, rate: u32) -> Result<Vec<f32>, String> {
    if rate == SAMPLE_RATE {
        return Ok(samples);
    }
    let length = (samples.len() as u64 * u64::from(SAMPLE_RATE)).div_ceil(rate.into()) as usize;
    // rubato's first output lies one output period after the first input, so the input is led in
    // by the fewest zeros that are a whole number of both periods.
    let common = greatest_common_divisor(rate, SAMPLE_RATE);
    let (lead_in, skip) = (
        (rate / common) as usize,
        (SAMPLE_RATE / common) as usize - 1,
    );

    let ratio = f64::from(SAMPLE_RATE) / f64::from(rate);
    let filter = Box::new(Filter::new(ratio));
    let taps = filter.len();
    let kind = SincInterpolationType::Cubic;
    let mut resampler = SincFixedIn::new_with_interpolator(ratio, 1.0, kind, filter, CHUNK, 1)
        .map_err(|error| error.to_string())?;

    let mut input: Vec<f64> = vec![0.0; lead_in];
    input.extend(samples.into_iter().map(f64::from));
    input.resize(
        (input.len() + 2 * taps).next_multiple_of(CHUNK) + CHUNK,
        0.0,
    );
    let mut output = Vec::with_capacity(skip + length + CHUNK);
    let mut block = resampler.output_buffer_allocate(true);
    for chunk in input.chunks_exact(CHUNK) {
        let (_, written) = resampler
            .process_into_buffer(&[chunk], &mut block, None)
            .map_err(|error| error.to_string())?;
        output.extend(block[0][..written].iter().map(|&sample| sample as f32));
    }
    let wanted = output
        .get(skip..skip + length)
        .ok_or("too few samples came out")?;
    Ok(wanted.to_vec())
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// A sinc under a Blackman-Harris window, tabulated at [`PHASES`] positions between two samples.
struct Filter {
    taps: usize,
    /// `[PHASES][taps]`, each phase of sum one.
    table: Vec<f64>,
}

impl Filter {
    /// The filter for outputs at `ratio` times the input's rate.
    fn new(ratio: f64) -> Self {
        // Wider when the output is slower, and even.
        let scale = ratio.min(1.0);
        let taps = ((TAPS as f64 / scale).ceil() as usize).next_multiple_of(8);
        let half = (taps / 2) as f64;
        let cutoff = CUTOFF * scale;
        let phase = |phase: usize| {
            let centre = half + phase as f64 / PHASES as f64;
            let weight = |tap: usize| {
                let distance = tap as f64 - centre;
                sinc(cutoff * distance) * blackman_harris(distance / half)
            };
            let weights: Vec<f64> = (0..taps).map(weight).collect();
            let sum: f64 = weights.iter().sum();
            weights.into_iter().map(move |weight| weight / sum)
        };
        Self {
            taps,
            table: (0..PHASES).flat_map(phase).collect(),
        }
    }
}

impl SincInterpolator<f64> for Filter {
    /// The scalar product in eight interleaved sums, added in order.
    fn get_sinc_interpolated(&self, wave: &[f64], index: usize, subindex: usize) -> f64 {
        let weights = &self.table[subindex * self.taps..][..self.taps];
        let samples = &wave[index..][..self.taps];
        let mut lanes = [0.0; 8];
        for (weights, samples) in weights.chunks_exact(8).zip(samples.chunks_exact(8)) {
            for lane in 0..8 {
                lanes[lane] += weights[lane] * samples[lane];
            }
        }
        lanes.iter().sum()
    }

    fn len(&self) -> usize {
        self.taps
    }

    fn nbr_sincs(&self) -> usize {
        PHASES
    }
}

/// `sin(πx)/(πx)`.
fn sinc(x: f64) -> f64 {
    let angle = std::f64::consts::PI * x;
    if angle == 0.0 {
        1.0
    } else {
        libm::sin(angle) / angle
    }
}

/// The window over −1..1, zero outside.
fn blackman_harris(x: f64) -> f64 {
    if x.abs() >= 1.0 {
        return 0.0;
    }
    let cosine = |turns: f64| libm::cos(std::f64::consts::PI * turns * x);
    0.35875 + 0.48829 * cosine(1.0) + 0.14128 * cosine(2.0) + 0.01168 * cosine(3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(hertz: f64, rate: u32, length: usize) -> Vec<f32> {
        let angle = |i| std::f64::consts::TAU * hertz * i as f64 / f64::from(rate);
        (0..length).map(|i| (0.5 * angle(i).sin()) as f32).collect()
    }

    #[test]
    fn a_tone_keeps_its_phase_and_amplitude_from_any_rate() {
        for rate in [8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 16_001] {
            let length = rate as usize + 7;
            let resampled = to_16_khz(tone(1234.5, rate, length), rate).unwrap();
            assert_eq!(resampled.len(), (length * 16_000).div_ceil(rate as usize));
            let expected = tone(1234.5, SAMPLE_RATE, resampled.len());
            let inner = 200..resampled.len() - 200;
            let largest = inner
                .map(|i| (resampled[i] - expected[i]).abs())
                .fold(0.0, f32::max);
            println!("{rate} Hz: {largest:.1e}");
            assert!(largest < 1e-5, "{rate} Hz: {largest:e}");
        }
    }

    #[test]
    fn what_lies_above_8_khz_is_gone_and_not_folded_down() {
        let resampled = to_16_khz(tone(9_000.0, 48_000, 48_000), 48_000).unwrap();
        let inner = &resampled[200..resampled.len() - 200];
        assert!(inner.iter().all(|sample| sample.abs() < 1e-4));
    }
}
