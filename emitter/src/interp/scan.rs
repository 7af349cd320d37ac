//! Running sums, in order along one axis, many at once across the others.

use rayon::prelude::*;
use stages::DType;

use super::{
    array::{Array, Data},
    kernel::round_bf16,
    wide::{self, Eight, Loop},
};

/// How a scan runs along its axis.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub(super) reverse: bool,
    pub(super) inclusive: bool,
    pub(super) round_each: Option<DType>,
}

/// The running sums of `x` along `axis`.
pub(super) fn scan(x: &Array, axis: usize, direction: Direction) -> Array {
    let dims = x.shape.dims();
    let extent = dims[axis];
    let inner: usize = dims[axis + 1..].iter().product();
    let values = x.f32();
    let mut out = vec![0.0; values.len()];
    if !out.is_empty() {
        let block = extent * inner;
        let blocks = (1usize << 14).div_ceil(block);
        out.par_chunks_mut(block)
            .zip(values.par_chunks(block))
            .with_min_len(blocks)
            .for_each(|(out, values)| {
                wide::widest(Block {
                    values,
                    out,
                    extent,
                    inner,
                    direction,
                });
            });
    }
    Array {
        shape: x.shape.clone(),
        data: Data::F32(out.into()),
    }
}

/// `inner` sums over `extent` rows.
struct Block<'a> {
    values: &'a [f32],
    out: &'a mut [f32],
    extent: usize,
    inner: usize,
    direction: Direction,
}

impl Loop for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Eight>(self) {
        match self.direction.round_each {
            Some(DType::BF16) => self.with(round_bf16),
            _ => self.with(|x| x),
        }
    }
}

impl Block<'_> {
    #[inline(always)]
    fn with(self, round: impl Fn(f32) -> f32) {
        let Direction {
            reverse, inclusive, ..
        } = self.direction;
        let row = |step: usize| {
            if reverse {
                self.extent - 1 - step
            } else {
                step
            }
        };
        // From −0, as −0 + x is x for every x; an exclusive sum starts from the +0 it shows.
        let mut acc = vec![if inclusive { -0.0f32 } else { 0.0 }; self.inner];
        for step in 0..self.extent {
            let at = row(step) * self.inner;
            let x = &self.values[at..at + self.inner];
            let out = &mut self.out[at..at + self.inner];
            for ((acc, &x), o) in acc.iter_mut().zip(x).zip(out) {
                let next = round(*acc + x);
                *o = if inclusive { next } else { *acc };
                *acc = next;
            }
        }
    }
}
