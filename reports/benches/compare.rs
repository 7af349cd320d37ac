//! How long a full comparison takes, as a multiple of one plain read of both arrays.
//!
//! `cargo bench -p reports --bench compare [-- THREADS]`; the table is what
//! `docs/benchmarks/compare.md` keeps.

use std::hint::black_box;
use std::time::{Duration, Instant};

use half::bf16;
use rayon::prelude::*;
use reports::Grid;
use reports::measure::{Measurement, Values, compare, compare_and_map, count_differing};

const ELEMENTS: usize = 64 << 20;
const RUN: usize = 1 << 18;
const ROUNDS: u32 = 20;

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

/// A case: its name and what is timed.
type Case<'a> = (&'static str, Box<dyn Fn() -> u64 + 'a>);

fn table(threads: usize) {
    let (plain, coarse) = (values(false), values(true));
    let disturbed = |of: &[f32], every, bf16_grid| {
        let mut values = of.to_vec();
        disturb(&mut values, every, bf16_grid);
        values
    };
    let (plain_few, plain_all) = (disturbed(&plain, 1000, false), disturbed(&plain, 1, false));
    let (coarse_few, coarse_all) = (disturbed(&coarse, 1000, true), disturbed(&coarse, 1, true));
    let narrow = |wide: &[f32]| -> Vec<bf16> { wide.iter().map(|&v| bf16::from_f32(v)).collect() };
    let (narrow, narrow_all) = (narrow(&coarse), narrow(&coarse_all));
    let same = plain.clone();
    let (f32s, bf16s) = (Values::F32, Values::Bf16);

    let full =
        |name, a, b, grid| -> Case<'_> { (name, Box::new(move || measure(a, b, grid).differing)) };
    let count = || count_differing(Values::F32(&plain), Values::F32(&same)).unwrap_or(u64::MAX);
    let cases: Vec<Case<'_>> = vec![
        (
            "one plain read of both arrays",
            Box::new(|| u64::from(read(&plain) ^ read(&plain_all))),
        ),
        full("F32, equal", f32s(&plain), f32s(&same), Grid::F32),
        ("F32, equal, count_differing alone", Box::new(count)),
        full(
            "F32, 1 in 1000 differ",
            f32s(&plain),
            f32s(&plain_few),
            Grid::F32,
        ),
        full("F32, all differ", f32s(&plain), f32s(&plain_all), Grid::F32),
        full(
            "F32 off a declared F16 grid, all differ",
            f32s(&plain),
            f32s(&plain_all),
            Grid::F16,
        ),
        full(
            "BF16 grid in F32, 1 in 1000 differ",
            f32s(&coarse),
            f32s(&coarse_few),
            Grid::Bf16,
        ),
        full(
            "BF16 grid in F32, all differ",
            f32s(&coarse),
            f32s(&coarse_all),
            Grid::Bf16,
        ),
        (
            "F32, 1 in 1000 differ, and the map",
            Box::new(|| map(f32s(&plain), f32s(&plain_few), Grid::F32)),
        ),
        (
            "F32, all differ, and the map",
            Box::new(|| map(f32s(&plain), f32s(&plain_all), Grid::F32)),
        ),
        full(
            "BF16 against F32, all differ",
            bf16s(&narrow),
            f32s(&coarse_all),
            Grid::Bf16,
        ),
        full(
            "BF16 against BF16, all differ",
            bf16s(&narrow),
            bf16s(&narrow_all),
            Grid::Bf16,
        ),
    ];

    // Round after round, so that what else the machine does falls on all cases alike.
    let mut fastest = vec![Duration::MAX; cases.len()];
    let mut cpu = vec![Duration::ZERO; cases.len()];
    for _ in 0..ROUNDS {
        for (i, (_, work)) in cases.iter().enumerate() {
            let (start, before) = (Instant::now(), cpu_time());
            black_box(work());
            fastest[i] = fastest[i].min(start.elapsed());
            cpu[i] += cpu_time().saturating_sub(before) / ROUNDS;
        }
    }
    println!("{ELEMENTS} elements, {threads} threads, {ROUNDS} rounds\n");
    println!("| case | fastest, ms | ratio to the read | mean CPU, ms | ratio to the read |");
    println!("|---|---:|---:|---:|---:|");
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    for (i, (name, _)) in cases.iter().enumerate() {
        let (wall, cpu_ms) = (ms(fastest[i]), ms(cpu[i]));
        let (wall_ratio, cpu_ratio) = (wall / ms(fastest[0]), cpu_ms / ms(cpu[0]));
        println!("| {name} | {wall:.1} | {wall_ratio:.2} | {cpu_ms:.1} | {cpu_ratio:.2} |");
    }
}

/// Time all threads of this process have run on a processor, which other load does not stretch
/// as it stretches the clock. Zero where the system does not tell.
fn cpu_time() -> Duration {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return Duration::ZERO;
    };
    let nanoseconds = tasks.filter_map(|task| {
        let stat = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

fn measure(a: Values<'_>, b: Values<'_>, grid: Grid) -> Measurement {
    match compare(a, b, &[ELEMENTS], grid) {
        Ok(measurement) => measurement,
        Err(error) => unreachable!("the sides fit: {error}"),
    }
}

/// The same, and the map of a tensor of frames of 1024 channels.
fn map(a: Values<'_>, b: Values<'_>, grid: Grid) -> u64 {
    match compare_and_map(a, b, &[1, ELEMENTS / 1024, 1024], grid) {
        Ok(measurement) => measurement.differing,
        Err(error) => unreachable!("the sides fit: {error}"),
    }
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
