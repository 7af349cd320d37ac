//! The synthetic clips of the recordings, from integer arithmetic only.
//!
//! `scripts/peers/clips.py` states the same clips; both must change together.

use super::Waveform;

/// The clips, in the order of the recorded batch.
pub(super) const BATCH: [&str; 4] = ["quiet", "loud", "clipped", "silent"];

/// The samples of one clip: a rising voice, a steady one and noise.
pub(super) fn samples(kind: &str) -> Vec<f32> {
    let length = match kind {
        "quiet" => 9000,
        "loud" => 8001,
        "clipped" => 7040,
        "silent" => 3000,
        _ => panic!("no clip {kind}"),
    };
    let (mut noise, mut low, mut low_step, mut high) = (1_u32, 0_u32, 53_687_091_u32, 0_u32);
    let sample = |_| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        low_step = low_step.wrapping_add(6_710);
        low = low.wrapping_add(low_step);
        high = high.wrapping_add(456_340_275);
        let noise = (noise >> 16) as i32 - 32768;
        let mix = (5 * triangle(low) + 2 * triangle(high) + noise) >> 3;
        let sample = match kind {
            "quiet" => mix >> 10,
            "loud" => mix,
            "clipped" => (4 * mix).clamp(-32768, 32767),
            _ => 0,
        };
        sample as f32 / 32768.0
    };
    (0..length).map(sample).collect()
}

pub(super) fn clip(kind: &str) -> Waveform {
    Waveform::from_samples(kind, samples(kind)).unwrap()
}

/// A triangle wave over one turn of a 32-bit phase, −32767..32767.
fn triangle(phase: u32) -> i32 {
    let high = (phase >> 16) as i32;
    2 * if high < 32768 { high } else { 65535 - high } - 32767
}
