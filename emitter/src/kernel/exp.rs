//! `exp` as MLX's CPU backend computes it.

use super::{IntBinary, KernelBuilder, Predicate, Reg};

/// Horner coefficients of 2^f for |f| ≤ ½, highest power first.
const COEFFICIENTS: [f32; 7] = [
    1.535_336_2e-4,
    1.339_887_4e-3,
    9.618_437e-3,
    5.550_332_5e-2,
    2.402_264_8e-1,
    std::f32::consts::LN_2,
    1.0,
];

/// `eˣ` for every F32 (MLX 0.32.2, `simd::exp`, CPU): x·log₂e is rounded once, split into the
/// nearest integer and a rest, and the rest's power of two is a polynomial of six fused steps.
/// Above 88 the result is +∞, below −88 it is +0, NaN passes.
///
/// MLX adds ½ and takes the floor in F64; comparing the rest of the F32 floor with ½ gives the
/// same integer.
pub fn exp(k: &mut KernelBuilder, x: Reg) -> Reg {
    let (low, high) = (k.f32(-88.0), k.f32(88.0));
    // Comparisons that NaN fails, so that the conversion to an integer is always in range.
    let above = k.compare(Predicate::Gt, x, low);
    let clamped = k.select(above, x, low);
    let below = k.compare(Predicate::Lt, clamped, high);
    let clamped = k.select(below, clamped, high);

    let scale = k.f32(std::f32::consts::LOG2_E);
    let y = k.mul(clamped, scale);
    let floor = k.floor(y);
    let rest = k.sub(y, floor);
    let (half, one) = (k.f32(0.5), k.f32(1.0));
    let up = k.compare(Predicate::Ge, rest, half);
    let next = k.add(floor, one);
    let whole = k.select(up, next, floor);
    let fraction = k.sub(y, whole);

    let mut power = k.f32(COEFFICIENTS[0]);
    for coefficient in &COEFFICIENTS[1..] {
        let coefficient = k.f32(*coefficient);
        power = k.fma(power, fraction, coefficient);
    }

    let (bias, width) = (k.i32(127), k.i32(23));
    let exponent = k.to_int(whole);
    let exponent = k.int(IntBinary::Add, exponent, bias);
    let exponent = k.int(IntBinary::Shl, exponent, width);
    let exponent = k.bitcast(exponent);
    let result = k.mul(exponent, power);

    let (infinity, zero) = (k.f32(f32::INFINITY), k.f32(0.0));
    let overflows = k.compare(Predicate::Gt, x, high);
    let result = k.select(overflows, infinity, result);
    let underflows = k.compare(Predicate::Lt, x, low);
    let result = k.select(underflows, zero, result);
    let nan = k.is_nan(x);
    k.select(nan, x, result)
}
