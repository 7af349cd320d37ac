//! Along axes: reductions, running sums, softmax.

use rayon::prelude::*;

use super::{amount::Amount, movement::positions};
use crate::{Shape, graph::ReduceKind};

pub(super) fn reduce(x: &Amount, kind: ReduceKind, axes: &[usize], shape: Shape) -> Amount {
    let own = x.shape.strides();
    let starts = positions(&shape, 0, &own);
    let extents: Vec<usize> = axes.iter().map(|&axis| x.shape[axis]).collect();
    let strides: Vec<usize> = axes.iter().map(|&axis| own[axis]).collect();
    let steps = positions(&extents.into(), 0, &strides);
    let (starts, steps) = (&starts, &steps);
    let terms = |i: usize| {
        let start = starts[i];
        steps.iter().map(move |step| start + step)
    };
    let extreme = |i: usize| {
        let larger = |a: f64, b: f64| {
            a.is_nan()
                || if kind == ReduceKind::Max {
                    a >= b
                } else {
                    a <= b
                }
        };
        let best = |best: Option<usize>, p: usize| match best {
            Some(at) if larger(x.values[at], x.values[p]) => Some(at),
            _ => Some(p),
        };
        terms(i).fold(None, best)
    };
    Amount::computed(
        shape,
        x.spread.is_some(),
        |i| match kind {
            ReduceKind::Sum => terms(i).map(|p| x.values[p]).sum(),
            ReduceKind::Max => extreme(i).map_or(f64::NEG_INFINITY, |p| x.values[p]),
            ReduceKind::Min => extreme(i).map_or(f64::INFINITY, |p| x.values[p]),
        },
        |i, _| match kind {
            ReduceKind::Sum => terms(i).map(|p| x.spread_at(p)).sum(),
            _ => extreme(i).map_or(0.0, |p| x.spread_at(p)),
        },
    )
}

pub(super) fn scan(x: &Amount, axis: usize, reverse: bool, inclusive: bool) -> Amount {
    let dims = x.shape.dims();
    let (extent, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    let block = extent * inner;
    let mut values = vec![0.0; x.values.len()];
    let mut spreads = x.spread.as_ref().map(|_| vec![0.0; x.values.len()]);
    if block == 0 {
        return x.clone();
    }
    let running = |out: &mut [f64], base: usize, term: &dyn Fn(usize) -> f64| {
        let mut sums = vec![0.0; inner];
        for k in 0..extent {
            let k = if reverse { extent - 1 - k } else { k };
            for (j, sum) in sums.iter_mut().enumerate() {
                let at = k * inner + j;
                let before = *sum;
                *sum += term(base + at);
                out[at] = if inclusive { *sum } else { before };
            }
        }
    };
    let blocks = values.par_chunks_mut(block).enumerate();
    blocks.for_each(|(b, out)| running(out, b * block, &|p| x.values[p]));
    if let Some(spreads) = &mut spreads {
        let blocks = spreads.par_chunks_mut(block).enumerate();
        blocks.for_each(|(b, out)| running(out, b * block, &|p| x.spread_at(p)));
    }
    Amount {
        shape: x.shape.clone(),
        values: values.into(),
        spread: spreads.map(Into::into),
    }
}

/// Over the last axis: `y = e / Σe` with `∂yᵢ/∂xⱼ = yᵢ·(δᵢⱼ − yⱼ)`.
pub(super) fn softmax(x: &Amount) -> Amount {
    let width = x.shape.dims().last().copied().unwrap_or(1).max(1);
    let mut values = vec![0.0; x.values.len()];
    let rows = values.par_chunks_mut(width).enumerate();
    rows.for_each(|(row, out)| {
        let own = &x.values[row * width..(row + 1) * width];
        let max = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (y, &x) in out.iter_mut().zip(own) {
            *y = if x == max { 1.0 } else { (x - max).exp() };
        }
        let sum: f64 = out.iter().sum();
        out.iter_mut().for_each(|y| *y /= sum);
    });
    let spreads = x.spread.as_ref().map(|own| {
        let mut spreads = vec![0.0; values.len()];
        let rows = spreads.par_chunks_mut(width).enumerate();
        rows.for_each(|(row, out)| {
            let at = row * width;
            // No share, no influence, even of an infinite one.
            let share = |j: usize| through(values[at + j], own[at + j]);
            let all: f64 = (0..out.len()).map(share).sum();
            for (i, spread) in out.iter_mut().enumerate() {
                let y = values[at + i];
                let others = all - share(i);
                *spread = through(y, others + (1.0 - y) * own[at + i]);
            }
        });
        spreads
    });
    Amount {
        shape: x.shape.clone(),
        values: values.into(),
        spread: spreads.map(Into::into),
    }
}

/// `share · spread`, where no share gives nothing.
fn through(share: f64, spread: f64) -> f64 {
    if share == 0.0 { 0.0 } else { share * spread }
}
