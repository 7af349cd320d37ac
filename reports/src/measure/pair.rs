//! The comparison of one block of binary32 pairs.
//!
//! A block is cut in groups of [`GROUP`] elements. A group whose bits are all equal costs one
//! look at each side. Where a few elements differ they are visited one by one; where many do,
//! every quantity is computed over the whole group in loops that vectorise. Both ways give the
//! same bits: squares are added to eight lanes by element index modulo 8 either way, and an equal
//! pair adds +0 to a lane that is never −0.

use super::partial::Partial;
use super::side::{First, tally};
use super::ulp::{BINS, UlpTotals, bin, gap, ordered_f16, ordered_f32};
use super::worst::{INF_RANK, NAN_RANK, Offender, rank};
use crate::grid::{INFINITY, MAGNITUDE, mask};

/// Elements looked at together; divides the block, a multiple of the lanes.
pub(super) const GROUP: usize = 256;
/// Differing elements from which on a group is computed as a whole.
const MANY: u32 = 24;
const LANES: usize = 8;
/// Copies of the histogram: neighbours count in different ones, so that equal bins do not wait
/// for each other's stores.
const TABLES: usize = 8;
const TABLE: usize = 64;

/// What the comparison of a tensor is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    pub first: First,
    /// Whether F16 steps are wanted besides those of binary32.
    pub f16: bool,
}

/// The state while a run of blocks is compared.
pub(super) struct Run {
    partial: Partial,
    tables: [[u32; TABLE]; TABLES],
    tables_f16: [[u32; TABLE]; TABLES],
}

impl Run {
    pub fn new() -> Self {
        let tables = [[0; TABLE]; TABLES];
        Self {
            partial: Partial::new(),
            tables,
            tables_f16: tables,
        }
    }

    pub fn finish(mut self) -> Partial {
        for (tables, totals) in [
            (&self.tables, &mut self.partial.gaps),
            (&self.tables_f16, &mut self.partial.gaps_f16),
        ] {
            for table in tables {
                for (bin, &n) in totals.bins[1..].iter_mut().zip(&table[1..BINS]) {
                    *bin += u64::from(n);
                }
            }
        }
        self.partial
    }
}

/// Compares a block that starts at element `base`. At most 2³² elements may pass through one run.
#[inline(always)]
pub(super) fn block(subject: &Subject, base: u64, a: &[f32], b: &[f32], run: &mut Run) {
    let mut squares = [0.0; LANES];
    let groups = a.chunks(GROUP).zip(b.chunks(GROUP));
    for (at, (a, b)) in (base..).step_by(GROUP).zip(groups) {
        group(subject, at, a, b, &mut squares, run);
    }
    run.partial.square_sum += ((squares[0] + squares[4]) + (squares[2] + squares[6]))
        + ((squares[1] + squares[5]) + (squares[3] + squares[7]));
}

#[inline(always)]
fn group(
    subject: &Subject,
    base: u64,
    a: &[f32],
    b: &[f32],
    squares: &mut [f64; LANES],
    run: &mut Run,
) {
    let p = &mut run.partial;
    let reference = tally(a);
    p.elements += a.len() as u64;
    p.reference.add(reference);
    if !p.varies {
        p.varies = subject.first.unlike_any(a);
    }
    if !differ(a, b) {
        p.candidate.add(reference);
        let finite = a.len() as u64 - reference.nonfinite;
        p.finite_pairs += finite;
        p.relative_pairs += finite - reference.zero;
        return;
    }
    p.candidate.add(tally(b));
    let pairs = tally_pairs(a, b);
    p.differing += u64::from(pairs.differing);
    p.neg_zero += u64::from(pairs.zeros);
    p.finite_pairs += u64::from(pairs.finite);
    p.relative_pairs += u64::from(pairs.relative);
    if pairs.nonfinite > 0 {
        disagreements(base, a, b, p);
    }
    if pairs.differing - pairs.nonfinite >= MANY {
        match (a.try_into(), b.try_into()) {
            (Ok(a), Ok(b)) if pairs.finite as usize == GROUP => {
                dense(subject, base, a, b, squares, run);
            }
            _ => {
                let (a, b) = finite_only(a, b);
                dense(subject, base, &a, &b, squares, run);
            }
        }
    } else if pairs.differing > pairs.nonfinite {
        sparse(subject, base, a, b, squares, p);
    }
}

/// Whether any bit differs.
#[inline(always)]
pub(super) fn differ(a: &[f32], b: &[f32]) -> bool {
    a.iter()
        .zip(b)
        .fold(0, |or, (x, y)| or | (x.to_bits() ^ y.to_bits()))
        != 0
}

#[derive(Default)]
struct Pairs {
    differing: u32,
    /// Differing bits, not both finite; two NaNs of different payload are among them.
    nonfinite: u32,
    finite: u32,
    relative: u32,
    /// Two zeros of different sign.
    zeros: u32,
}

#[inline(always)]
fn tally_pairs(a: &[f32], b: &[f32]) -> Pairs {
    let mut n = Pairs::default();
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x.to_bits(), y.to_bits());
        let (p, q) = (x & MAGNITUDE, y & MAGNITUDE);
        let finite = mask(p < INFINITY) & mask(q < INFINITY);
        let differing = mask(x != y);
        n.differing = n.differing.wrapping_sub(differing);
        n.nonfinite = n.nonfinite.wrapping_sub(differing & !finite);
        n.finite = n.finite.wrapping_sub(finite);
        n.relative = n.relative.wrapping_sub(finite & mask(p != 0));
        n.zeros = n.zeros.wrapping_sub(differing & mask(p | q == 0));
    }
    n
}

/// How many pairs differ, two NaNs being equal.
#[inline(always)]
pub(super) fn count_differing(a: &[f32], b: &[f32]) -> u32 {
    let mut n = 0;
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x.to_bits(), y.to_bits());
        let nans = (x & MAGNITUDE > INFINITY) & (y & MAGNITUDE > INFINITY);
        n += u32::from((x != y) & !nans);
    }
    n
}

/// Visits the differing pairs of which not both are finite. Rare, so not in the vector code.
#[inline(never)]
fn disagreements(base: u64, a: &[f32], b: &[f32], p: &mut Partial) {
    for (index, (x, y)) in (base..).zip(a.iter().zip(b)) {
        let (reference, candidate) = (x.to_bits(), y.to_bits());
        if reference == candidate || x.is_finite() && y.is_finite() {
            continue;
        }
        let rank = match (x.is_nan(), y.is_nan()) {
            (true, true) => {
                p.differing -= 1;
                continue;
            }
            (false, false) => {
                p.inf += 1;
                INF_RANK
            }
            _ => {
                p.nan += 1;
                NAN_RANK
            }
        };
        p.worst.offer(Offender {
            rank,
            index,
            reference,
            candidate,
        });
    }
}

#[inline(always)]
fn sparse(
    subject: &Subject,
    base: u64,
    a: &[f32],
    b: &[f32],
    squares: &mut [f64; LANES],
    p: &mut Partial,
) {
    const STEP: usize = 16;
    for (part, (a, b)) in a.chunks(STEP).zip(b.chunks(STEP)).enumerate() {
        if !differ(a, b) {
            continue;
        }
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            if x.to_bits() != y.to_bits() && x.is_finite() && y.is_finite() {
                let index = base + (part * STEP + i) as u64;
                pair(subject, index, x, y, &mut squares[i % LANES], p);
            }
        }
    }
}

/// One differing pair of finite numbers.
#[inline(always)]
fn pair(subject: &Subject, index: u64, x: f32, y: f32, square: &mut f64, p: &mut Partial) {
    let (reference, candidate) = (x.to_bits(), y.to_bits());
    let abs = (f64::from(x) - f64::from(y)).abs();
    let offender = Offender {
        rank: rank(abs),
        index,
        reference,
        candidate,
    };
    *square += abs * abs;
    if abs > p.max_abs {
        (p.max_abs, p.max_abs_at) = (abs, Some(offender));
    }
    if x != 0.0 {
        p.max_rel = p.max_rel.max(abs / f64::from(x).abs());
    }
    p.gaps
        .record(gap(ordered_f32(reference), ordered_f32(candidate)));
    if subject.f16 {
        p.gaps_f16
            .record(gap(ordered_f16(reference), ordered_f16(candidate)));
    }
    p.worst.offer(offender);
}

/// A full group with 0 in place of missing pairs and of pairs that are not both finite: equal
/// zeros change no total.
#[inline(always)]
fn finite_only(a: &[f32], b: &[f32]) -> ([f32; GROUP], [f32; GROUP]) {
    let (mut x, mut y) = ([0.0; GROUP], [0.0; GROUP]);
    for (i, (&a, &b)) in a.iter().zip(b).enumerate().take(GROUP) {
        if a.is_finite() && b.is_finite() {
            (x[i], y[i]) = (a, b);
        }
    }
    (x, y)
}

/// A group in which many pairs differ, all of finite numbers.
#[inline(always)]
fn dense(
    subject: &Subject,
    base: u64,
    a: &[f32; GROUP],
    b: &[f32; GROUP],
    squares: &mut [f64; LANES],
    run: &mut Run,
) {
    let p = &mut run.partial;
    let mut abs = [0.0_f64; GROUP];
    let mut lanes = *squares;
    let mut largest = [0.0_f64; LANES];
    let mut excess = [0.0_f64; LANES];
    // The slack covers the rounding of the product that stands in for a quotient.
    let bound = p.max_rel * (1.0 - 1.0 / (1_u64 << 40) as f64);
    for at in (0..GROUP).step_by(LANES) {
        for lane in 0..LANES {
            let i = at + lane;
            let reference = f64::from(a[i]);
            let d = (reference - f64::from(b[i])).abs();
            let over = d - bound * reference.abs();
            excess[lane] = if over > excess[lane] {
                over
            } else {
                excess[lane]
            };
            lanes[lane] += d * d;
            largest[lane] = if d > largest[lane] { d } else { largest[lane] };
            abs[i] = d;
        }
    }
    *squares = lanes;
    let largest = largest.into_iter().fold(0.0, f64::max);
    if excess.into_iter().fold(0.0, f64::max) > 0.0 {
        relative(a, &abs, &mut p.max_rel);
    }
    histogram(a, b, ordered_f32, &mut p.gaps, &mut run.tables);
    if subject.f16 {
        histogram(a, b, ordered_f16, &mut p.gaps_f16, &mut run.tables_f16);
    }
    if largest > p.max_abs || p.worst.admits(rank(largest)) {
        offenders(base, a, b, &abs, p);
    }
}

/// Raises `max_rel` to the largest |a − b| / |a|. Called only where some quotient may exceed it:
/// divisions are slow.
#[inline(always)]
fn relative(a: &[f32; GROUP], abs: &[f64; GROUP], max_rel: &mut f64) {
    let mut largest = [0.0_f64; LANES];
    for at in (0..GROUP).step_by(LANES) {
        for lane in 0..LANES {
            let reference = f64::from(a[at + lane]).abs();
            let quotient = abs[at + lane] / reference;
            let quotient = if reference == 0.0 { 0.0 } else { quotient };
            largest[lane] = if quotient > largest[lane] {
                quotient
            } else {
                largest[lane]
            };
        }
    }
    *max_rel = largest.into_iter().fold(*max_rel, f64::max);
}

#[inline(always)]
fn histogram(
    a: &[f32; GROUP],
    b: &[f32; GROUP],
    ordered: impl Fn(u32) -> i32,
    totals: &mut UlpTotals,
    tables: &mut [[u32; TABLE]; TABLES],
) {
    // The sum in two halves: 2⁸ gaps of 16 bits each cannot leave 32 bits.
    let (mut max, mut low, mut high) = (0_u32, 0_u32, 0_u32);
    let mut bins = [0_u32; GROUP];
    for ((&x, &y), to) in a.iter().zip(b).zip(&mut bins) {
        let gap = gap(ordered(x.to_bits()), ordered(y.to_bits()));
        max = if gap > max { gap } else { max };
        low += gap & 0xffff;
        high += gap >> 16;
        *to = bin(gap);
    }
    totals.max = totals.max.max(max);
    totals.sum += u128::from(low) + (u128::from(high) << 16);
    for bins in bins.chunks_exact(TABLES) {
        for (table, &bin) in tables.iter_mut().zip(bins) {
            table[bin as usize % TABLE] += 1;
        }
    }
}

/// Finds which elements of a group are the worst so far, eight at a time.
#[inline(always)]
fn offenders(base: u64, a: &[f32; GROUP], b: &[f32; GROUP], abs: &[f64; GROUP], p: &mut Partial) {
    for (part, abs) in abs.chunks_exact(LANES).enumerate() {
        let floor = p.worst.floor().map_or(-1.0, |floor| floor.min(p.max_abs));
        if abs.iter().fold(0, |any, &abs| any | u8::from(abs > floor)) == 0 {
            continue;
        }
        let start = part * LANES;
        for (i, &abs) in (start..a.len()).zip(abs) {
            let (x, y) = (a[i], b[i]);
            let (reference, candidate) = (x.to_bits(), y.to_bits());
            if reference == candidate {
                continue;
            }
            let index = base + i as u64;
            let offender = Offender {
                rank: rank(abs),
                index,
                reference,
                candidate,
            };
            if abs > p.max_abs {
                (p.max_abs, p.max_abs_at) = (abs, Some(offender));
            }
            p.worst.offer(offender);
        }
    }
}
