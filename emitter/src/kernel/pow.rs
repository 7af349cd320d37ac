//! `powf` as the C library computes it.

use super::{
    IntBinary as I, KernelBuilder, Predicate as P, Reg, Table,
    log::{Reduced, reduced},
};

/// The polynomial of log2(1 + r) (ARM optimized-routines, `math/powf_log2_data.c`).
const A: [f64; 5] = [
    f64::from_bits(0x3FD2_7616_C949_6E0B),
    f64::from_bits(0xBFD7_1969_A075_C67A),
    f64::from_bits(0x3FDE_C70A_6CA7_BADD),
    f64::from_bits(0xBFE7_1547_48BE_F6C8),
    f64::from_bits(0x3FF7_1547_652A_B82B),
];
/// The polynomial of 2^r (ARM optimized-routines, `math/exp2f_data.c`).
const C: [f64; 3] = [
    f64::from_bits(0x3FAC_6AF8_4B91_2394),
    f64::from_bits(0x3FCE_BFCE_50FA_C4F3),
    f64::from_bits(0x3FE6_2E42_FF0C_52D6),
];
/// Adding it leaves an F64 with 5 fractional bits.
const SHIFT: f64 = 211_106_232_532_992.0;
/// y·log2|x| above which the magnitude rounds to +∞.
const OVERFLOW: f64 = f64::from_bits(0x405F_FFFF_FFD1_D571);

/// `xʸ` for every pair of F32: ARM optimized-routines' `powf` in F64 without fused steps, the
/// algorithm of glibc since 2.28 (MLX 0.32.2 calls the host's `powf`).
pub fn pow(k: &mut KernelBuilder, x: Reg, y: Reg) -> Reg {
    let y_bits = k.bitcast(y);
    let parity = Parity::of(k, y_bits);
    let zero_i = k.i32(0);
    let y_negative = k.compare(P::Lt, y_bits, zero_i);
    let result = for_finite_exponent(k, x, y, &parity, y_negative);
    special_exponent(k, x, y, y_negative, result)
}

/// [`pow`] of an exponent that is known: the same values from fewer instructions.
pub fn pow_known(k: &mut KernelBuilder, x: Reg, exponent: f32) -> Reg {
    let y = k.f32(exponent);
    if exponent == 0.0 || !exponent.is_finite() {
        return pow(k, x, y);
    }
    let whole = exponent.trunc() == exponent;
    let odd = whole && (exponent % 2.0).abs() == 1.0;
    let parity = Parity {
        whole: k.bool(whole),
        odd: k.bool(odd),
    };
    let y_negative = k.bool(exponent < 0.0);
    if exponent == 2.0 {
        let (square, near) = square(k, x);
        let stated = for_finite_exponent(k, x, y, &parity, y_negative);
        return k.rarely(near, stated, square);
    }
    for_finite_exponent(k, x, y, &parity, y_negative)
}

/// How far from halfway between two F32, in 2⁻²⁹ of their distance, a square must lie for `powf`
/// to round it as it is. The algorithm's F64 result is off by less than 2⁻³³ of itself, which is
/// less than 2²⁰ of these; the rest is margin.
const NEAR: i64 = 1 << 21;

/// x² rounded once from its exact value, and whether `powf(x, 2)` might be another F32: where the
/// exact square is near halfway between two, or its F32 is not a normal number.
fn square(k: &mut KernelBuilder, x: Reg) -> (Reg, Reg) {
    let wide = k.extend(x);
    // 48 bits at most: exact.
    let exact = k.mul(wide, wide);
    let rounded = k.truncate(exact);
    let bits = k.bitcast(exact);
    let (fraction, start) = (k.i64((1 << 29) - 1), k.i64((1 << 28) - NEAR));
    let below = k.int(I::And, bits, fraction);
    let from_start = k.int(I::Sub, below, start);
    let width = k.i64(2 * NEAR);
    let halfway = k.compare(P::Ult, from_start, width);
    // The least normal number may be a rounded subnormal one.
    let (least, range) = (k.i32(0x0100_0000), k.i32(0x7F80_0000 - 0x0100_0000));
    let rounded_bits = k.bitcast(rounded);
    let above = k.int(I::Sub, rounded_bits, least);
    let extreme = k.compare(P::Uge, above, range);
    (rounded, k.int(I::Or, halfway, extreme))
}

/// Whether a finite exponent is an integer, and an odd one.
struct Parity {
    whole: Reg,
    odd: Reg,
}

impl Parity {
    fn of(k: &mut KernelBuilder, bits: Reg) -> Parity {
        let (width, byte) = (k.i32(23), k.i32(0xFF));
        let exponent = k.int(I::ShrU, bits, width);
        let exponent = k.int(I::And, exponent, byte);
        let (least, most) = (k.i32(0x7F), k.i32(0x7F + 23));
        let not_small = k.compare(P::Ge, exponent, least);
        let not_large = k.compare(P::Le, exponent, most);
        let inside = k.int(I::And, not_small, not_large);
        // The place of the unit's bit.
        let shift = k.int(I::Sub, most, exponent);
        let zero = k.i32(0);
        let shift = k.select(inside, shift, zero);
        let one = k.i32(1);
        let unit = k.int(I::Shl, one, shift);
        let below = k.int(I::Sub, unit, one);
        let fraction = k.int(I::And, bits, below);
        let no_fraction = k.compare(P::Eq, fraction, zero);
        let last = k.int(I::And, bits, unit);
        let last = k.compare(P::Ne, last, zero);
        let inside_whole = k.int(I::And, inside, no_fraction);
        let odd = k.int(I::And, inside_whole, last);
        let large = k.compare(P::Gt, exponent, most);
        let whole = k.int(I::Or, large, inside_whole);
        Parity { whole, odd }
    }
}

/// Everything but an exponent that is zero, infinite or NaN.
fn for_finite_exponent(
    k: &mut KernelBuilder,
    x: Reg,
    y: Reg,
    parity: &Parity,
    y_negative: Reg,
) -> Reg {
    let zero_i = k.i32(0);
    let x_bits = k.bitcast(x);
    let x_negative = k.compare(P::Lt, x_bits, zero_i);
    let magnitude = k.abs(x);
    let negate = k.int(I::And, x_negative, parity.odd);

    let result = power_of_magnitude(k, magnitude, y);
    let minus = k.neg(result);
    let result = k.select(negate, minus, result);
    let nan = k.f32(f32::NAN);
    let defined = k.select(parity.whole, result, nan);
    let result = k.select(x_negative, defined, result);

    // x is zero, infinite or NaN.
    let magnitude_bits = k.bitcast(magnitude);
    let infinite = k.i32(0x7F80_0000);
    let is_zero = k.compare(P::Eq, magnitude_bits, zero_i);
    let is_large = k.compare(P::Uge, magnitude_bits, infinite);
    let special = k.int(I::Or, is_zero, is_large);
    let square = k.mul(x, x);
    let minus = k.neg(square);
    let square = k.select(negate, minus, square);
    let one = k.f32(1.0);
    let inverse = k.div(one, square);
    let of_special = k.select(y_negative, inverse, square);
    k.select(special, of_special, result)
}

/// The cases of an exponent that is zero, infinite or NaN.
fn special_exponent(k: &mut KernelBuilder, x: Reg, y: Reg, y_negative: Reg, result: Reg) -> Reg {
    let (zero, one) = (k.f32(0.0), k.f32(1.0));
    let magnitude = k.abs(x);
    let y_magnitude = k.abs(y);
    let infinity = k.f32(f32::INFINITY);

    // y = ±∞ decays where |x| < 1 meets +∞ or |x| > 1 meets −∞, else grows; 1 where |x| = 1.
    let zero_i = k.i32(0);
    let below = k.compare(P::Lt, magnitude, one);
    let below = k.select(below, one, zero);
    let y_positive = k.select(y_negative, zero, one);
    let decays = k.compare(P::Eq, below, y_positive);
    let limit = k.select(decays, zero, infinity);
    let unit = k.compare(P::Eq, magnitude, one);
    let limit = k.select(unit, one, limit);
    let y_infinite = k.compare(P::Eq, y_magnitude, infinity);
    let result = k.select(y_infinite, limit, result);

    let sum = k.add(x, y);
    let either_nan = k.compare(P::Uno, x, y);
    let result = k.select(either_nan, sum, result);
    let x_one = k.compare(P::Eq, x, one);
    let unless = signalling(k, y_magnitude);
    let unit = k.select(unless, sum, one);
    let result = k.select(x_one, unit, result);
    let y_bits = k.bitcast(y_magnitude);
    let y_zero = k.compare(P::Eq, y_bits, zero_i);
    let unless = signalling(k, magnitude);
    let unit = k.select(unless, sum, one);
    k.select(y_zero, unit, result)
}

/// Whether a magnitude is a signalling NaN, the one operand whose zeroth power is not 1.
fn signalling(k: &mut KernelBuilder, magnitude: Reg) -> Reg {
    let bits = k.bitcast(magnitude);
    let (infinity, quiet) = (k.i32(0x7F80_0000), k.i32(0x7FC0_0000));
    let nan = k.compare(P::Gt, bits, infinity);
    let low = k.compare(P::Lt, bits, quiet);
    k.int(I::And, nan, low)
}

/// `|x|ʸ` for a positive finite |x| and a finite y.
fn power_of_magnitude(k: &mut KernelBuilder, magnitude: Reg, y: Reg) -> Reg {
    let logarithm = log2(k, magnitude);
    let y = k.extend(y);
    let product = k.mul(y, logarithm);
    let result = exp2(k, product);

    let (least, most, tiny) = (k.f64(-150.0), k.f64(OVERFLOW), k.f64(-149.0));
    let (zero, infinity) = (k.f32(0.0), k.f32(f32::INFINITY));
    let smallest = k.f32(f32::from_bits(1));
    let overflows = k.compare(P::Gt, product, most);
    let result = k.select(overflows, infinity, result);
    let is_tiny = k.compare(P::Lt, product, tiny);
    let result = k.select(is_tiny, smallest, result);
    let underflows = k.compare(P::Le, product, least);
    k.select(underflows, zero, result)
}

/// `log2 x` in F64 for a positive finite x.
fn log2(k: &mut KernelBuilder, x: Reg) -> Reg {
    let Reduced { r, n, centre } = reduced(k, x, Table::PowReciprocal, Table::PowLogarithm);
    let y0 = k.add(centre, n);

    let [a0, a1, a2, a3, a4] = A.map(|a| k.f64(a));
    let r2 = k.mul(r, r);
    let y = k.mul(a0, r);
    let y = k.add(y, a1);
    let p = k.mul(a2, r);
    let p = k.add(p, a3);
    let r4 = k.mul(r2, r2);
    let q = k.mul(a4, r);
    let q = k.add(q, y0);
    let product = k.mul(p, r2);
    let q = k.add(product, q);
    let product = k.mul(y, r4);
    k.add(product, q)
}

/// `2ˣ` of an F64 that rounds to a finite F32.
fn exp2(k: &mut KernelBuilder, x: Reg) -> Reg {
    let shift = k.f64(SHIFT);
    let shifted = k.add(x, shift);
    let bits = k.bitcast(shifted);
    let whole = k.sub(shifted, shift);
    let r = k.sub(x, whole);
    let (entries, place) = (k.i64(31), k.i64(47));
    let index = k.int(I::And, bits, entries);
    let index = k.truncate_int(index);
    let entry = k.lookup(Table::Exp2, index);
    let exponent = k.int(I::Shl, bits, place);
    let scale = k.int(I::Add, entry, exponent);
    let scale = k.bitcast(scale);

    let [c0, c1, c2] = C.map(|c| k.f64(c));
    let one = k.f64(1.0);
    let z = k.mul(c0, r);
    let z = k.add(z, c1);
    let r2 = k.mul(r, r);
    let y = k.mul(c2, r);
    let y = k.add(y, one);
    let product = k.mul(z, r2);
    let y = k.add(product, y);
    let y = k.mul(y, scale);
    k.truncate(y)
}
