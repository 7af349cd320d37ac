//! Magnitudes of the 1024-point Fourier transform of one frame, in F64.
//!
//! A plain radix-2 transform with its order of operations fixed here: a library's would depend on
//! the host's `sin` and `cos` (`rustfft` computes its factors with them) or on the vector units it
//! finds. 1100 frames take a few milliseconds.

use std::ops::{Add, Mul, Sub};

use super::window::FRAME;

/// Points of the transform: the frame, and as many zeros after it.
const POINTS: usize = 2 * FRAME;

/// Points of the complex transform that the real one is folded into.
const HALF: usize = POINTS / 2;

/// Magnitudes: from 0 Hz to 8 kHz inclusive, 15.625 Hz apart.
pub(super) const BINS: usize = HALF + 1;

#[derive(Debug, Clone, Copy, Default)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn conjugate(self) -> Self {
        Self {
            re: self.re,
            im: -self.im,
        }
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// The tables of the transform.
pub(super) struct Spectrum {
    /// `exp(−2πi·k/1024)`.
    roots: [Complex; BINS],
    /// The roots of each pass of the transform, passes one after another.
    passes: Vec<Complex>,
    /// Where each of the [`HALF`] points goes first: its index with the bits reversed.
    reversed: [usize; HALF],
}

impl Spectrum {
    pub fn new() -> Self {
        let roots = std::array::from_fn(|k| {
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * k as f64 / POINTS as f64);
            Complex { re: cos, im: -sin }
        });
        let passes = passes().flat_map(|span| (0..span).map(move |k| roots[k * (HALF / span)]));
        Self {
            roots,
            passes: passes.collect(),
            reversed: std::array::from_fn(|i| i.reverse_bits() >> (usize::BITS - HALF.ilog2())),
        }
    }

    /// `|X[k]|` for k from 0 to 512, `X` the transform of the frame followed by 512 zeros.
    pub fn magnitudes(&self, frame: &[f32; FRAME]) -> [f64; BINS] {
        // Even samples as real parts, odd ones as imaginary parts; the second half stays zero.
        let mut points = [Complex::default(); HALF];
        for (pair, &target) in frame.chunks_exact(2).zip(&self.reversed) {
            points[target] = Complex {
                re: f64::from(pair[0]),
                im: f64::from(pair[1]),
            };
        }
        let mut roots = self.passes.as_slice();
        for span in passes() {
            let (pass, rest) = roots.split_at(span);
            roots = rest;
            for block in points.chunks_exact_mut(2 * span) {
                let (low, high) = block.split_at_mut(span);
                for ((a, b), &root) in low.iter_mut().zip(high).zip(pass) {
                    let turned = *b * root;
                    (*a, *b) = (*a + turned, *a - turned);
                }
            }
        }
        std::array::from_fn(|k| {
            let (here, mirrored) = (points[k % HALF], points[(HALF - k) % HALF].conjugate());
            let (even, difference) = (here + mirrored, here - mirrored);
            // Divided by i.
            let odd = Complex {
                re: difference.im,
                im: -difference.re,
            } * self.roots[k];
            let twice = even + odd;
            0.5 * (twice.re * twice.re + twice.im * twice.im).sqrt()
        })
    }
}

/// Half the block length of each pass.
fn passes() -> impl Iterator<Item = usize> {
    (0..HALF.ilog2()).map(|pass| 1 << pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::synthetic;

    #[test]
    fn magnitudes_are_those_of_the_defining_sum() {
        let clip = synthetic::samples("loud");
        let frame: [f32; FRAME] = std::array::from_fn(|i| clip[1000 + i]);
        let magnitudes = Spectrum::new().magnitudes(&frame);
        let largest = magnitudes.iter().copied().fold(0.0, f64::max);
        for (k, &magnitude) in magnitudes.iter().enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (n, &x) in frame.iter().enumerate() {
                let angle = std::f64::consts::TAU * ((n * k) % POINTS) as f64 / POINTS as f64;
                re += f64::from(x) * angle.cos();
                im -= f64::from(x) * angle.sin();
            }
            assert!(
                (magnitude - re.hypot(im)).abs() < 1e-14 * largest,
                "bin {k}"
            );
        }
    }
}
