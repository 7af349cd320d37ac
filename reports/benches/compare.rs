//! How long a full comparison takes, as a multiple of one plain read of both arrays.
//!
//! `cargo bench -p reports --bench compare [-- THREADS]`; the table is what
//! `docs/benchmarks/compare.md` keeps.

use std::hint::black_box;
use std::time::{Duration, Instant};

use half::bf16;
use rayon::prelude::*;
use reports::Grid;
use reports::measure::{Measurement, Values, compare, count_differing};

const ELEMENTS: usize = 64 << 20;
const RUN: usize = 1 << 18;
const REPEATS: usize = 15;

fn main() {
    let threads = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(2);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    match pool {
        Ok(pool) => pool.install(|| table(threads)),
        Err(error) => eprintln!("failed to start {threads} threads: {error}"),
    }
}

fn table(threads: usize) {
    println!("{ELEMENTS} elements, {threads} threads, fastest of {REPEATS}\n");
    println!("| case | ms | ratio to the read |");
    println!("|---|---:|---:|");
    let a = values(false);
    let mut b = a.clone();
    let read = fastest(|| black_box(read(&a) ^ read(&b)));
    row("one plain read of both arrays", read, read);
    let full = |name: &str, a: &[f32], b: &[f32], grid| {
        let time = fastest(|| black_box(measure(a, b, grid).differing));
        row(name, time, read);
    };
    full("F32, equal", &a, &b, Grid::F32);
    let time = fastest(|| black_box(count_differing(Values::F32(&a), Values::F32(&b)).ok()));
    row("F32, equal, count_differing alone", time, read);
    disturb(&mut b, 1000, false);
    full("F32, 1 in 1000 differ", &a, &b, Grid::F32);
    b.copy_from_slice(&a);
    disturb(&mut b, 1, false);
    full("F32, all differ", &a, &b, Grid::F32);
    full(
        "F32 values off a declared F16 grid, all differ",
        &a,
        &b,
        Grid::F16,
    );
    let a = values(true);
    b.copy_from_slice(&a);
    disturb(&mut b, 1000, true);
    full("BF16 grid in F32, 1 in 1000 differ", &a, &b, Grid::Bf16);
    b.copy_from_slice(&a);
    disturb(&mut b, 1, true);
    full("BF16 grid in F32, all differ", &a, &b, Grid::Bf16);
    let narrow = |wide: &[f32]| -> Vec<bf16> { wide.iter().map(|&v| bf16::from_f32(v)).collect() };
    let (na, nb) = (narrow(&a), narrow(&b));
    let shape = [ELEMENTS];
    let mixed = |a: Values<'_>, b: Values<'_>| {
        fastest(|| black_box(compare(a, b, &shape, Grid::Bf16).map(|m| m.differing).ok()))
    };
    row(
        "BF16 against F32, all differ",
        mixed(Values::Bf16(&na), Values::F32(&b)),
        read,
    );
    row(
        "BF16 against BF16, all differ",
        mixed(Values::Bf16(&na), Values::Bf16(&nb)),
        read,
    );
}

fn measure(a: &[f32], b: &[f32], grid: Grid) -> Measurement {
    match compare(Values::F32(a), Values::F32(b), &[a.len()], grid) {
        Ok(measurement) => measurement,
        Err(error) => unreachable!("the sides fit: {error}"),
    }
}

fn row(name: &str, time: Duration, read: Duration) {
    let ratio = time.as_secs_f64() / read.as_secs_f64();
    println!("| {name} | {:.1} | {ratio:.2} |", time.as_secs_f64() * 1e3);
}

fn fastest<T>(mut work: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..REPEATS).map(time).min().unwrap_or_default()
}

/// Activations-like values: both signs, ten binades.
fn values(bf16_grid: bool) -> Vec<f32> {
    let value = |i: usize| {
        let r = scramble(i as u64);
        let exponent = 120 + (r >> 40) as u32 % 10;
        let bits = (r as u32 & 0x807f_ffff) | exponent << 23;
        f32::from_bits(if bf16_grid { bits & 0xffff_0000 } else { bits })
    };
    (0..ELEMENTS).into_par_iter().map(value).collect()
}

/// Moves one in `every` values by 1 to 64 steps of its grid.
fn disturb(values: &mut [f32], every: u64, bf16_grid: bool) {
    values.par_iter_mut().enumerate().for_each(|(i, value)| {
        let r = scramble(i as u64 ^ 0x5555_0000_0000);
        if r.is_multiple_of(every) {
            let steps = 1 << ((r >> 32) % 7);
            let step = if bf16_grid { steps << 16 } else { steps };
            *value = f32::from_bits(value.to_bits() ^ step);
        }
    });
}

/// The finaliser of splitmix64.
fn scramble(i: u64) -> u64 {
    let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Reads every element with the widest loads at hand.
fn read(values: &[f32]) -> u32 {
    values
        .par_chunks(RUN)
        .map(read_run)
        .reduce(|| 0, |a, b| a ^ b)
}

fn read_run(values: &[f32]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only requirement of the callee.
        return unsafe { read_avx2(values) };
    }
    fold(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn read_avx2(values: &[f32]) -> u32 {
    fold(values)
}

#[inline(always)]
fn fold(values: &[f32]) -> u32 {
    values.iter().fold(0, |x, v| x ^ v.to_bits())
}
