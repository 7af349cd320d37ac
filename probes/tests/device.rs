//! The schedules of MLX 0.32.2 on CUDA, as black boxes: written out here lane by lane, they are
//! revealed, called by their names and reproduced.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::convert::Infallible;

use probes::order::{
    Arithmetic, Device, Each, Form, Fused, Plan, Positive, Sums, Tree, confirm, reveal,
    reveal_positive,
};

const WARP: usize = 32;

/// `v_l = v_l + v_{l^m}` for m = 16, 8, 4, 2, 1: all lanes at once.
fn butterfly(lanes: &[f32]) -> f32 {
    let mut lanes = lanes.to_vec();
    lanes.resize(WARP, 0.0);
    for mask in [16, 8, 4, 2, 1] {
        lanes = (0..WARP).map(|l| lanes[l] + lanes[l ^ mask]).collect();
    }
    assert!(
        lanes
            .iter()
            .all(|lane| lane.to_bits() == lanes[0].to_bits() || lane.is_nan())
    );
    lanes[0]
}

/// `row_reduce_simple`: `warps` warps, each thread `each` neighbours a round.
fn row(x: &[f32], warps: usize, each: usize) -> f32 {
    let threads = warps * WARP;
    let mut sums = vec![0.0f32; threads];
    for (i, x) in x.iter().enumerate() {
        sums[i / each % threads] += x;
    }
    let warps: Vec<f32> = sums.chunks(WARP).map(butterfly).collect();
    if warps.len() == 1 {
        warps[0]
    } else {
        butterfly(&warps)
    }
}

/// `col_reduce_looped`: row `y` of 32 takes the terms y, y + 32, …
fn column(x: &[f32]) -> f32 {
    let mut sums = [0.0f32; WARP];
    for (i, x) in x.iter().enumerate() {
        sums[i % WARP] += x;
    }
    butterfly(&sums)
}

/// Two passes: 32 chunks, then their sums.
fn two_passes(x: &[f32]) -> f32 {
    let partial: Vec<f32> = x.chunks(x.len().div_ceil(32)).map(column).collect();
    column(&partial)
}

/// `v_l = v_l + v_{l−off}` for off = 1, 2, 4, 8, 16: all lanes at once.
fn hillis_steele(values: &mut [f32]) {
    for off in [1, 2, 4, 8, 16] {
        for l in (off..values.len()).rev() {
            values[l] += values[l - off];
        }
    }
}

/// The contiguous scan: all its elements.
fn scan(x: &[f32], threads: usize) -> Vec<f32> {
    let (mut out, mut prefix) = (Vec::new(), 0.0f32);
    for round in x.chunks(4 * threads) {
        let mut round = round.to_vec();
        round.resize(4 * threads, 0.0);
        for own in round.chunks_mut(4) {
            for j in 1..4 {
                own[j] += own[j - 1];
            }
        }
        let totals: Vec<f32> = round.chunks(4).map(|own| own[3]).collect();
        let mut lanes = totals.clone();
        lanes.chunks_mut(WARP).for_each(hillis_steele);
        let before = |thread: usize| {
            if thread.is_multiple_of(WARP) {
                0.0
            } else {
                lanes[thread - 1]
            }
        };
        let mut warps: Vec<f32> = (0..threads / WARP)
            .map(|warp| before(warp * WARP + 31) + totals[warp * WARP + 31])
            .collect();
        hillis_steele(&mut warps);
        for (i, v) in round.iter().enumerate() {
            let warp = i / 4 / WARP;
            let warp = if warp == 0 { 0.0 } else { warps[warp - 1] };
            out.push(((v + prefix) + warp) + before(i / 4));
        }
        prefix = out[out.len() - 1];
    }
    out.truncate(x.len());
    out
}

/// The strided scan: chunks of 32.
fn chunk_scan(x: &[f32]) -> Vec<f32> {
    let (mut out, mut prefix) = (Vec::new(), 0.0f32);
    for chunk in x.chunks(WARP) {
        let mut chunk = chunk.to_vec();
        hillis_steele(&mut chunk);
        out.extend(chunk.iter().map(|v| v + prefix));
        prefix = out[out.len() - 1];
    }
    out
}

fn each(n: usize, op: impl Fn(&[f32]) -> f32) -> impl Sums<Error = Infallible> {
    Each::new(n, move |terms: &[f32]| Ok(op(terms)))
}

/// Reveals, reproduces, and gives the name.
fn told(n: usize, op: impl Fn(&[f32]) -> f32 + Copy) -> (Tree, String) {
    let tree = reveal(&mut each(n, op)).unwrap().tree;
    let found = confirm(&tree, &Arithmetic::default(), 0..16, &mut each(n, op)).unwrap();
    assert!(found.telling > 0 || n < 16, "{tree}: {found:?}");
    let name = tree.to_string();
    (tree, name)
}

#[test]
fn sums_of_rows_are_lanes_and_butterflies() {
    for (n, warps, lanes, name) in [
        (256, 1, 4, "32 lanes of 4, XOR butterfly 16,8,4,2,1"),
        (896, 1, 4, "32 lanes of 4, XOR butterfly 16,8,4,2,1"),
        (100, 1, 4, "32 lanes of 4, XOR butterfly 16,8,4,2,1"),
        (1000, 1, 8, "32 lanes of 8, XOR butterfly 16,8,4,2,1"),
        (
            2048,
            4,
            4,
            "4 warps of 32 lanes of 4, XOR butterfly 16,8,4,2,1, then over the warps",
        ),
        (
            1537,
            3,
            4,
            "3 warps of 32 lanes of 4, XOR butterfly 16,8,4,2,1, then over the warps",
        ),
        (
            2048,
            2,
            8,
            "2 warps of 32 lanes of 8, XOR butterfly 16,8,4,2,1, then over the warps",
        ),
    ] {
        let (tree, found) = told(n, |x| row(x, warps, lanes));
        assert_eq!(found, name, "{n}");
        let apart = false;
        let device = Device::Threads {
            warps,
            each: lanes,
            apart,
        };
        assert_eq!(tree, device.tree(n));
    }
}

#[test]
fn sums_of_columns_are_32_rows_of_threads_in_one_pass_or_two() {
    for n in [64, 100, 1000] {
        assert_eq!(told(n, column).1, "32 lanes, then halving");
    }
    for n in [1500, 2048] {
        let (tree, name) = told(n, two_passes);
        assert_eq!(
            name,
            "32 chunks of 32 lanes, XOR butterfly 16,8,4,2,1, then over the chunks"
        );
        assert_eq!(tree.form(), Some(Form::Device(Device::TwoPasses)));
    }
}

#[test]
fn every_element_of_a_scan_has_its_tree() {
    for at in [
        0, 1, 3, 4, 9, 31, 127, 128, 200, 255, 256, 300, 519, 767, 1100,
    ] {
        let n = at + 1;
        let threads = 64;
        let tree = told(n, |x| scan(x, threads)[at]).0;
        assert_eq!(tree, Device::Scan { threads }.tree(n), "element {at}");
        let tree = told(n, |x| chunk_scan(x)[at]).0;
        assert_eq!(tree, Device::ChunkScan.tree(n), "element {at}");
    }
    let name = told(768, |x| scan(x, 64)[767]).1;
    assert_eq!(name, "scan of 64 threads of 4, Hillis–Steele 1,2,4,8,16");
    let name = told(300, |x| chunk_scan(x)[299]).1;
    assert_eq!(name, "scan of chunks of 32, Hillis–Steele 1,2,4,8,16");
}

/// A product of a row and a column, the factors given: `gemv`, with one running sum a lane or with
/// one for each of its neighbours (`qmv`).
fn dot(x: &[f32], w: &[f32], each: usize, apart: bool) -> f32 {
    let own = if apart { each } else { 1 };
    let mut sums = vec![0.0f32; WARP * own];
    for (k, (x, w)) in x.iter().zip(w).enumerate() {
        let sum = &mut sums[k / each % WARP * own + if apart { k % each } else { 0 }];
        *sum = x.mul_add(*w, *sum);
    }
    let lanes: Vec<f32> = sums
        .chunks(own)
        .map(|own| own.iter().fold(0.0, |a, b| a + b))
        .collect();
    butterfly(&lanes)
}

#[test]
fn products_are_lanes_of_fused_running_sums() {
    for (n, lanes, apart, name) in [
        (512, 4, false, "32 lanes of 4, XOR butterfly 16,8,4,2,1"),
        (192, 2, false, "32 lanes of 2, XOR butterfly 16,8,4,2,1"),
        (
            1024,
            16,
            true,
            "32 lanes of 16 running sums each, XOR butterfly 16,8,4,2,1",
        ),
        (
            512,
            8,
            true,
            "32 lanes of 8 running sums each, XOR butterfly 16,8,4,2,1",
        ),
    ] {
        let ones = vec![1.0; n];
        let tree = reveal(&mut each(n, |x| dot(x, &ones, lanes, apart)))
            .unwrap()
            .tree;
        assert_eq!(tree.to_string(), name);
        let (plan, mut fused) = (Plan::new(&tree), Fused::default());
        for side in [false, true] {
            let factors = plan.factors(side);
            fused
                .ask(
                    &plan,
                    side,
                    &mut each(n, |x| dot(x, &factors, lanes, apart)),
                )
                .unwrap();
        }
        // The first product of each running sum is rounded: it is added to 0.
        let sums = if apart { WARP * lanes } else { WARP };
        assert_eq!(fused.count(), n - sums, "{fused}");
        let factors: Vec<f32> = (0..n).map(|i| 0.3 + (i % 97) as f32 / 64.0).collect();
        let arithmetic = Arithmetic {
            factors: Some(factors.clone()),
            fused,
            ..Arithmetic::default()
        };
        let mut op = each(n, |x| dot(x, &factors, lanes, apart));
        assert!(confirm(&tree, &arithmetic, 0..32, &mut op).unwrap().telling > 0);
    }
}

/// Squares on CUDA: fused, chunk after chunk, then two butterflies.
struct Norm(usize);

impl Positive for Norm {
    type Error = Infallible;

    fn terms(&self) -> usize {
        self.0
    }

    fn rows(&self) -> usize {
        1
    }

    fn fineness(&self) -> u32 {
        20
    }

    fn grows(&mut self, large: &[usize], row_of: &[f32]) -> Result<Vec<Option<bool>>, Infallible> {
        let mut terms = row_of.to_vec();
        terms[large[0]] = 8_388_608.0;
        let sum = row(&terms, 2, 8);
        Ok(vec![match sum {
            8_388_608.0 => Some(false),
            8_388_609.0 => Some(true),
            _ => None,
        }])
    }
}

#[test]
fn a_norm_is_two_warps_of_eight() {
    for n in [256, 700] {
        let tree = reveal_positive(&mut Norm(n)).unwrap().tree;
        let device = Device::Threads {
            warps: 2,
            each: 8,
            apart: false,
        };
        assert_eq!(tree, device.tree(n));
    }
}
