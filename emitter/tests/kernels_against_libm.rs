//! Restated functions against this host's C library: every BF16 value, every kind of F32, and
//! millions of random ones must give the same bits.
//!
//! The host's glibc must be one whose results the kernels restate (2.28 to 2.40).

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::hint::black_box;

use emitter::{
    interp::kernel::{Column, Results, eval},
    kernel::{self, KernelBuilder, Reg, Scalar},
};

// Called with exponents the compiler cannot see: it knows powf and would write x·x for 2.
unsafe extern "C" {
    safe fn tanhf(x: f32) -> f32;
    safe fn log1pf(x: f32) -> f32;
    safe fn logf(x: f32) -> f32;
    safe fn sinf(x: f32) -> f32;
    safe fn cosf(x: f32) -> f32;
    safe fn powf(x: f32, y: f32) -> f32;
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Any bits.
    fn any(&mut self) -> f32 {
        f32::from_bits(self.bits() as u32)
    }

    /// Uniform in ±`scale`.
    fn within(&mut self, scale: f32) -> f32 {
        ((self.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * scale
    }
}

/// Every BF16 value, the neighbourhoods of powers of two and of extremes, F32 of any bits, and
/// F32 uniform on several scales.
fn samples(seed: u64) -> Vec<f32> {
    let mut values: Vec<f32> = (0..=0xFFFFu32).map(|b| f32::from_bits(b << 16)).collect();
    for exponent in 0..=0xFFu32 {
        for offset in -40i32..40 {
            let bits = (exponent << 23).wrapping_add_signed(offset);
            values.push(f32::from_bits(bits));
            values.push(f32::from_bits(bits ^ 0x8000_0000));
        }
    }
    for bits in 0..4096u32 {
        values.push(f32::from_bits(bits));
        values.push(f32::from_bits(0x8000_0000 | bits));
    }
    let mut random = Random(seed);
    values.extend((0..2_500_000).map(|_| random.any()));
    for scale in [0.01, 0.5, 1.0, 4.0, 25.0, 100.0, 2000.0, 1e9] {
        values.extend((0..250_000).map(|_| random.within(scale)));
    }
    values
}

fn unary(write: impl Fn(&mut KernelBuilder, Reg) -> Reg, x: &[f32]) -> Vec<f32> {
    let mut k = KernelBuilder::new();
    let operand = k.operand(0, Scalar::F32);
    let result = write(&mut k, operand);
    match eval(&k.finish(result), &[Column::F32(x)]).unwrap() {
        Results::F32(values) => values,
        other => panic!("{other:?}"),
    }
}

fn binary(x: &[f32], y: &[f32]) -> Vec<f32> {
    let mut k = KernelBuilder::new();
    let (a, b) = (k.operand(0, Scalar::F32), k.operand(1, Scalar::F32));
    let result = kernel::pow(&mut k, a, b);
    match eval(&k.finish(result), &[Column::F32(x), Column::F32(y)]).unwrap() {
        Results::F32(values) => values,
        other => panic!("{other:?}"),
    }
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn assert_same(
    name: &str,
    got: &[f32],
    want: impl Fn(usize) -> f32,
    show: impl Fn(usize) -> String,
) {
    let wrong: Vec<usize> = (0..got.len()).filter(|&i| !same(got[i], want(i))).collect();
    let shown: Vec<String> = wrong
        .iter()
        .take(8)
        .map(|&i| format!("{}: {:e} is not {:e}", show(i), got[i], want(i)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{name}: {} of {} differ; {}",
        wrong.len(),
        got.len(),
        shown.join(", ")
    );
}

fn check(
    name: &str,
    write: impl Fn(&mut KernelBuilder, Reg) -> Reg,
    want: fn(f32) -> f32,
    x: &[f32],
) {
    let got = unary(write, x);
    assert_same(name, &got, |i| want(x[i]), |i| format!("{:e}", x[i]));
}

#[test]
fn tanh_is_the_librarys() {
    check("tanh", kernel::tanh, |x| tanhf(x), &samples(1));
}

#[test]
fn log_is_the_librarys() {
    check("log", kernel::log, |x| logf(x), &samples(2));
}

#[test]
fn log1p_is_the_librarys_from_zero_up() {
    let mut x: Vec<f32> = samples(3)
        .into_iter()
        .filter(|x| x.is_nan() || *x >= 0.0)
        .collect();
    // √2 − 1, above which the algorithm changes its ways, and for four values differently.
    x.extend((0x3ED4_1300..0x3ED4_1500).map(f32::from_bits));
    check("log1p", kernel::log1p, |x| log1pf(x), &x);
}

#[test]
fn sine_and_cosine_beyond_2_to_the_23_are_the_librarys() {
    let mut random = Random(4);
    let mut x = samples(5);
    x.extend((0..1_000_000).map(|_| random.within(f32::MAX)));
    x.retain(|x| x.is_nan() || x.abs() > 8_388_608.0);
    check("sin", kernel::sin, |x| sinf(x), &x);
    check("cos", kernel::cos, |x| cosf(x), &x);
}

/// Values at which `powf` takes another path.
fn edges() -> Vec<f32> {
    let mut edges: Vec<f32> = vec![
        0.0,
        f32::from_bits(1),
        f32::from_bits(0x007F_FFFF),
        f32::MIN_POSITIVE,
        1e-20,
        0.25,
        1.0 / 3.0,
        0.5,
        0.75,
        f32::from_bits(0x3F7F_FFFF),
        1.0,
        f32::from_bits(0x3F80_0001),
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        7.0,
        126.0,
        127.0,
        128.0,
        149.0,
        150.0,
        8_388_607.0,
        8_388_607.5,
        8_388_608.0,
        8_388_609.0,
        16_777_215.0,
        16_777_216.0,
        16_777_218.0,
        2_147_483_648.0,
        1e20,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    edges.extend(edges.clone().iter().map(|x| -x));
    edges
}

#[test]
fn powers_are_the_librarys() {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut push = |a: f32, b: f32| {
        x.push(a);
        y.push(b);
    };
    for &a in &edges() {
        for &b in &edges() {
            push(a, b);
        }
    }
    let mut random = Random(6);
    for _ in 0..1_000_000 {
        let (a, b) = (random.any(), random.any());
        push(a, b);
        push(a, (b % 40.0).trunc());
        push(a, random.within(8.0));
        push(1.0 + random.within(0.3), random.within(400.0));
        // Around the least and the largest results.
        let a = random.within(6.0).abs();
        let result = if random.bits() & 1 == 0 {
            -149.5
        } else {
            128.0
        };
        push(a, (result + random.within(1.5)) / a.log2());
    }
    let got = binary(&x, &y);
    assert_same(
        "pow",
        &got,
        |i| powf(x[i], y[i]),
        |i| format!("{:e}^{:e}", x[i], y[i]),
    );
}

#[test]
fn known_exponents_give_the_same_powers() {
    let x = samples(7);
    let x: Vec<f32> = x.iter().copied().step_by(5).chain(edges()).collect();
    for exponent in [
        2.0,
        3.0,
        0.5,
        -0.5,
        -1.0,
        -2.0,
        1.0,
        1.0 / 3.0,
        16_777_215.0,
        1e10,
        -1e10,
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-40,
        8_388_607.5,
    ] {
        let got = unary(|k, x| kernel::pow_known(k, x, exponent), &x);
        assert_same(
            "pow_known",
            &got,
            |i| powf(x[i], black_box(exponent)),
            |i| format!("{:e}^{exponent:e}", x[i]),
        );
    }
    let x = samples(8);
    let got = unary(|k, x| kernel::pow_known(k, x, 2.0), &x);
    assert_same(
        "square",
        &got,
        |i| powf(x[i], black_box(2.0)),
        |i| format!("{:e}^2", x[i]),
    );
}

/// A square is taken as it is unless it is near halfway: whether that is wide enough, all
/// mantissas tell. With `QUALIFY_FULL` set, all positive F32 (the sign takes no part).
#[test]
fn every_mantissa_squares_as_powf_does() {
    let all = std::env::var_os("QUALIFY_FULL").is_some();
    // The octaves of 1 and 2 hold the smallest logarithms, the others the largest errors of them.
    let exponents: Vec<u32> = if all {
        (0..=254).collect()
    } else {
        vec![66, 126, 127, 128, 188]
    };
    for exponent in exponents {
        let x: Vec<f32> = (0..1u32 << 23)
            .map(|mantissa| f32::from_bits(exponent << 23 | mantissa))
            .collect();
        let got = unary(|k, x| kernel::pow_known(k, x, 2.0), &x);
        assert_same(
            "square",
            &got,
            |i| powf(x[i], black_box(2.0)),
            |i| format!("{:e}^2", x[i]),
        );
    }
}
