//! Orders of running sums.

use std::fmt;

use crate::{envelope::partial, order::Rounding};

/// Threads in a warp.
const WARP: usize = 32;

/// Elements that a thread takes of every round of [`ScanOrder::Block`].
const EACH: usize = 4;

/// In which order running sums are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanOrder {
    /// Each is the one before it plus its element.
    Sequential,
    /// Each from its own elements, pairs of neighbours first.
    Doubling,
    /// 32 elements after 32: a warp adds to each what stands 1, 2, 4, 8, 16 before it, and then
    /// the last sum of the 32 before (MLX 0.32.2, CUDA, `strided_scan`).
    Warps,
    /// A block of threads with 4 neighbours each: a thread's own sums, their totals scanned by
    /// warps, the warps' totals by one more; an element is the thread's sum, plus the last sum of
    /// the round before, plus the warps before, plus the threads before (MLX 0.32.2, CUDA,
    /// `contiguous_scan`).
    Block,
}

impl ScanOrder {
    /// All orders, from the plainest on.
    pub const ALL: [ScanOrder; 4] = [
        ScanOrder::Sequential,
        ScanOrder::Warps,
        ScanOrder::Block,
        ScanOrder::Doubling,
    ];

    /// The running sums of `x`, each addition rounded as `rounding` says.
    pub fn scan(self, x: &[f32], rounding: Rounding) -> Vec<f32> {
        let add = |a: f32, b: f32| partial(rounding, a + b);
        match self {
            ScanOrder::Sequential => {
                let mut sum = None;
                let step = |&x: &f32| {
                    let next = sum.map_or(partial(rounding, x), |sum| add(sum, x));
                    sum = Some(next);
                    next
                };
                x.iter().map(step).collect()
            }
            ScanOrder::Doubling => {
                let mut sums = x.to_vec();
                inclusive(&mut sums, x.len(), &add);
                sums
            }
            ScanOrder::Warps => {
                let mut out = Vec::with_capacity(x.len());
                let mut before = 0.0;
                for chunk in x.chunks(WARP) {
                    let mut lanes = vec![0.0; WARP];
                    lanes[..chunk.len()].copy_from_slice(chunk);
                    inclusive(&mut lanes, WARP, &add);
                    let sums = lanes.iter().map(|&sum| add(sum, before));
                    let sums: Vec<f32> = sums.collect();
                    before = sums[WARP - 1];
                    out.extend(&sums[..chunk.len()]);
                }
                out
            }
            ScanOrder::Block => block(x, &add),
        }
    }
}

/// Hillis and Steele's inclusive scan: every element plus the one 1, 2, 4, … before it.
fn inclusive(sums: &mut [f32], len: usize, add: &dyn Fn(f32, f32) -> f32) {
    let mut offset = 1;
    while offset < len {
        for i in (offset..len).rev() {
            sums[i] = add(sums[i], sums[i - offset]);
        }
        offset *= 2;
    }
}

fn block(x: &[f32], add: &dyn Fn(f32, f32) -> f32) -> Vec<f32> {
    let threads = x
        .len()
        .div_ceil(EACH)
        .next_multiple_of(WARP)
        .clamp(WARP, 1024);
    let mut out = Vec::with_capacity(x.len());
    let mut before = 0.0;
    for round in x.chunks(threads * EACH) {
        let mut sums = vec![0.0; threads * EACH];
        sums[..round.len()].copy_from_slice(round);
        for own in sums.chunks_mut(EACH) {
            for i in 1..EACH {
                own[i] = add(own[i], own[i - 1]);
            }
        }
        // What stands before each thread in its warp, and before each warp.
        let totals: Vec<f32> = sums.iter().skip(EACH - 1).step_by(EACH).copied().collect();
        let mut threads_before = vec![0.0; threads];
        let mut of_warps = vec![0.0; WARP];
        for (warp, totals) in totals.chunks(WARP).enumerate() {
            let mut scanned = totals.to_vec();
            inclusive(&mut scanned, WARP, add);
            let first = warp * WARP;
            threads_before[first + 1..first + WARP].copy_from_slice(&scanned[..WARP - 1]);
            of_warps[warp] = add(threads_before[first + WARP - 1], totals[WARP - 1]);
        }
        inclusive(&mut of_warps, WARP, add);
        for (i, sum) in sums.iter_mut().enumerate() {
            let thread = i / EACH;
            let warps = (thread / WARP).checked_sub(1).map_or(0.0, |w| of_warps[w]);
            *sum = add(add(add(*sum, before), warps), threads_before[thread]);
        }
        before = sums[threads * EACH - 1];
        out.extend(&sums[..round.len()]);
    }
    out
}

impl fmt::Display for ScanOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScanOrder::Sequential => "sequential",
            ScanOrder::Doubling => "doubling over the whole axis",
            ScanOrder::Warps => "warps of 32, doubling, one after the other",
            ScanOrder::Block => "a block of threads by 4, doubling in warps and over warps",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_give_the_same_sums_of_integers() {
        let x: Vec<f32> = (0..5000).map(|i| (i % 7) as f32).collect();
        let expected = ScanOrder::Sequential.scan(&x, Rounding::F32);
        assert_eq!(expected[10], 27.0);
        for order in ScanOrder::ALL {
            assert_eq!(order.scan(&x, Rounding::F32), expected, "{order}");
        }
    }

    #[test]
    fn orders_of_fractions_differ() {
        let x: Vec<f32> = (0..300).map(|i| 1.0 / (i as f32 + 0.7)).collect();
        let all = ScanOrder::ALL.map(|order| order.scan(&x, Rounding::F32));
        for (i, one) in all.iter().enumerate() {
            for other in &all[i + 1..] {
                assert_ne!(one, other);
            }
        }
    }
}
