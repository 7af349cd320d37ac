//! A tensor of floats cut into blocks and runs, over all threads of the current rayon pool.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use rayon::prelude::*;

use super::pair::{Run, Subject};
use super::partial::Partial;
use super::side::First;
use super::simd;

/// Elements widened together: two such buffers stay in the first-level cache.
const BLOCK: usize = 4096;
/// Elements one thread takes at a time. Fixed, so that sums do not depend on the threads.
pub(super) const RUN: usize = 256 * BLOCK;

/// Values of a float dtype.
#[derive(Debug, Clone, Copy)]
pub(super) enum Floats<'a> {
    F32(&'a [f32]),
    Bf16(&'a [bf16]),
    F16(&'a [f16]),
}

impl<'a> Floats<'a> {
    pub fn len(self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::Bf16(v) => v.len(),
            Self::F16(v) => v.len(),
        }
    }

    fn first(self) -> f32 {
        let mut buffer = [0.0; BLOCK];
        self.block(0, 1, &mut buffer)
            .first()
            .copied()
            .unwrap_or(0.0)
    }

    /// Elements `from..to`, at most a block of them, widened into the buffer unless already F32.
    fn block<'b>(self, from: usize, to: usize, buffer: &'b mut [f32; BLOCK]) -> &'b [f32]
    where
        'a: 'b,
    {
        match self {
            Self::F32(v) => &v[from..to],
            Self::Bf16(v) => {
                let wide = &mut buffer[..to - from];
                for (wide, narrow) in wide.iter_mut().zip(&v[from..to]) {
                    *wide = f32::from_bits(u32::from(narrow.to_bits()) << 16);
                }
                wide
            }
            Self::F16(v) => {
                let wide = &mut buffer[..to - from];
                v[from..to].convert_to_f32_slice(wide);
                wide
            }
        }
    }
}

/// Calls `each` with the blocks of run number `run`: first index, reference, candidate.
pub(super) fn blocks(
    a: Floats<'_>,
    b: Floats<'_>,
    run: usize,
    mut each: impl FnMut(usize, &[f32], &[f32]),
) {
    let end = (run * RUN + RUN).min(a.len());
    let (mut wide_a, mut wide_b) = ([0.0; BLOCK], [0.0; BLOCK]);
    for from in (run * RUN..end).step_by(BLOCK) {
        let to = (from + BLOCK).min(end);
        each(
            from,
            a.block(from, to, &mut wide_a),
            b.block(from, to, &mut wide_b),
        );
    }
}

/// Measures two tensors of the same, non-zero length. `f16` asks for F16 steps as well.
pub(super) fn measure(a: Floats<'_>, b: Floats<'_>, f16: bool) -> Partial {
    let subject = Subject {
        first: First::new(a.first()),
        f16,
    };
    let partials: Vec<Partial> = (0..a.len().div_ceil(RUN))
        .into_par_iter()
        .map(|index| {
            let mut run = Run::new();
            blocks(a, b, index, |at, a, b| {
                simd::block(&subject, at as u64, a, b, &mut run)
            });
            run.finish()
        })
        .collect();
    partials.into_iter().fold(Partial::new(), Partial::join)
}

/// How many pairs have different bits, two NaNs being equal.
pub(super) fn count_differing(a: Floats<'_>, b: Floats<'_>) -> u64 {
    let runs = (0..a.len().div_ceil(RUN)).into_par_iter();
    runs.map(|index| {
        let mut differing = 0;
        blocks(a, b, index, |_, a, b| {
            differing += u64::from(simd::count_differing(a, b))
        });
        differing
    })
    .sum()
}
