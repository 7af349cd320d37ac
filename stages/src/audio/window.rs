//! One frame: pre-emphasis and the Hann window, every step in F32 as NumPy does them.

/// Samples of a frame after windowing.
pub(super) const FRAME: usize = 512;

/// Samples between the starts of two frames.
pub(super) const HOP: usize = 160;

/// Samples a frame reads: the last is only there because the reference unfolds one more.
pub(super) const READ: usize = FRAME + 1;

/// The periodic Hann window of [`FRAME`] points.
pub(super) struct Window([f32; FRAME]);

impl Window {
    /// `0.5·(1 − cos(2π·i/512))`, argument, difference and product in F32.
    ///
    /// The cosine is NumPy's and not the correctly rounded one: the two differ in the last bit of
    /// 37 entries, and that alone moves quiet log-mel values of real speech by up to 5e-4.
    pub fn new() -> Self {
        let turn = std::f64::consts::TAU as f32;
        Self(std::array::from_fn(|i| {
            let angle = turn * i as f32 / FRAME as f32;
            0.5 * (1.0 - numpy_cos(angle))
        }))
    }

    /// Pre-emphasis of the HTK kind, then the window: `y[0] = x[0]·(1 − 0.97)`,
    /// `y[i] = x[i] − 0.97·x[i−1]`, two roundings each.
    pub fn apply(&self, samples: &[f32; READ]) -> [f32; FRAME] {
        const EMPHASIS: f32 = 0.97;
        const FIRST: f32 = (1.0_f64 - 0.97_f64) as f32;
        std::array::from_fn(|i| {
            let emphasised = match i {
                0 => samples[0] * FIRST,
                _ => samples[i] - EMPHASIS * samples[i - 1],
            };
            emphasised * self.0[i]
        })
    }
}

/// The F32 cosine of NumPy 2.4.6 on x86 with fused multiply-add, for `|x| < 71476`.
///
/// Reduction by quarter turns in three parts (Cody and Waite), then a polynomial (coefficients of
/// T. Myklebust's, as in `loops_trigonometric` of NumPy). The rounding to whole quarter turns is
/// itself fused, which decides the tie at 5π/4.
fn numpy_cos(x: f32) -> f32 {
    let bits = f32::from_bits;
    let fma = libm::fmaf;
    // 1.5·2^23: adding it rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    let quarters = fma(x, std::f32::consts::FRAC_2_PI, ROUND) - ROUND;
    // −π/2 in three parts.
    let reduced = fma(quarters, bits(0xbfc9_0fd8), x);
    let reduced = fma(quarters, bits(0xb4a8_885a), reduced);
    let reduced = fma(quarters, bits(0xa7c2_34c4), reduced);
    let square = reduced * reduced;
    let quadrant = quarters as i32 + 1;
    let value = if quadrant & 1 == 0 {
        let sine = fma(bits(0x363e_9dde), square, bits(0xb950_35dd));
        let sine = fma(sine, square, bits(0x3c08_88cd));
        let sine = fma(sine, square, bits(0xbe2a_aaab));
        fma(sine * square, reduced, reduced)
    } else {
        let cosine = fma(bits(0x37cc_730b), square, bits(0xbab6_036e));
        let cosine = fma(cosine, square, bits(0x3d2a_aa9e));
        let cosine = fma(cosine, square, -0.5);
        fma(cosine, square, 1.0)
    };
    if quadrant & 2 == 0 { value } else { -value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::recorded;

    #[test]
    fn the_window_is_the_reference_s_own_bit_for_bit() {
        let Window(window) = Window::new();
        let expected = recorded::window();
        assert!(
            window
                .iter()
                .map(|w| w.to_bits())
                .eq(expected.iter().map(|w| w.to_bits()))
        );
    }
}
