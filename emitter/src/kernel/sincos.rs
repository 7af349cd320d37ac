//! Sine and cosine as MLX's CPU backend computes them.

use super::{IntBinary as I, KernelBuilder, Predicate as P, Reg, Table};

/// Sine or cosine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Sine,
    Cosine,
}

/// `sin x` for every F32 (MLX 0.32.2, `simd::sin`, CPU): Cephes' polynomials after a reduction
/// in three fused steps up to |x| = 2²³, the C library's `sinf` beyond.
pub fn sin(k: &mut KernelBuilder, x: Reg) -> Reg {
    checked(k, x, Function::Sine)
}

/// `cos x` for every F32 (MLX 0.32.2, `simd::cos`, CPU): see [`sin`].
pub fn cos(k: &mut KernelBuilder, x: Reg) -> Reg {
    checked(k, x, Function::Cosine)
}

fn checked(k: &mut KernelBuilder, x: Reg, function: Function) -> Reg {
    let magnitude = k.abs(x);
    let (limit, zero) = (k.f32(8_388_608.0), k.f32(0.0));
    let small = k.compare(P::Le, magnitude, limit);
    let clamped = k.select(small, magnitude, zero);
    let negative = k.compare(P::Lt, x, zero);
    let cephes = cephes(k, clamped, negative, function);
    let library = library(k, x, function);
    let result = k.select(small, cephes, library);
    // NaN for NaN and both infinities.
    let difference = k.sub(x, x);
    let not_finite = k.is_nan(difference);
    k.select(not_finite, difference, result)
}

/// Cephes' algorithm for 0 ≤ a ≤ 2²³ (MLX 0.32.2, `simd::sincos`).
fn cephes(k: &mut KernelBuilder, a: Reg, negative: Reg, function: Function) -> Reg {
    let four_over_pi = k.f32(1.273_239_5);
    let y = k.mul(a, four_over_pi);
    let (zero_i, one_i, even) = (k.i32(0), k.i32(1), k.i32(!1));
    let octant = k.to_int(y);
    let octant = k.int(I::Add, octant, one_i);
    let octant = k.int(I::And, octant, even);
    let y = k.from_int(octant);
    let (two_i, four_i) = (k.i32(2), k.i32(4));
    let swapped = k.int(I::And, octant, two_i);
    let swapped = k.compare(P::Ne, swapped, zero_i);

    let mut x = a;
    for part in [-0.785_156_25, -2.418_756_5e-4, -3.774_895e-8] {
        let part = k.f32(part);
        x = k.fma(y, part, x);
    }
    let z = k.mul(x, x);
    let (c0, c1, c2) = (
        k.f32(2.443_315_7e-5),
        k.f32(-1.388_731_6e-3),
        k.f32(4.166_664_6e-2),
    );
    let cosine = k.fma(z, c0, c1);
    let cosine = k.fma(cosine, z, c2);
    let cosine = k.mul(cosine, z);
    let cosine = k.mul(cosine, z);
    let (minus_half, one) = (k.f32(-0.5), k.f32(1.0));
    let cosine = k.fma(z, minus_half, cosine);
    let cosine = k.add(cosine, one);
    let (s0, s1, s2) = (
        k.f32(-1.951_529_6e-4),
        k.f32(8.332_161e-3),
        k.f32(-1.666_665_5e-1),
    );
    let sine = k.fma(z, s0, s1);
    let sine = k.fma(sine, z, s2);
    let sine = k.mul(sine, z);
    let sine = k.fma(x, sine, x);

    match function {
        Function::Sine => {
            let value = k.select(swapped, cosine, sine);
            let flip = k.int(I::And, octant, four_i);
            let flip = k.compare(P::Ne, flip, zero_i);
            let flip = k.int(I::Xor, negative, flip);
            let minus = k.neg(value);
            k.select(flip, minus, value)
        }
        Function::Cosine => {
            let value = k.select(swapped, sine, cosine);
            let keep = k.int(I::Sub, octant, two_i);
            let keep = k.int(I::And, keep, four_i);
            let keep = k.compare(P::Ne, keep, zero_i);
            let minus = k.neg(value);
            k.select(keep, value, minus)
        }
    }
}

/// 2π·2⁻⁶⁴ (ARM optimized-routines, `math/sincosf.h`).
const PI_63: f64 = f64::from_bits(0x3C19_21FB_5444_2D18);
/// Polynomials of cosine and sine (ARM optimized-routines, `math/sincosf_data.c`).
const COSINE: [f64; 5] = [
    1.0,
    f64::from_bits(0xBFDF_FFFF_FD0C_621C),
    f64::from_bits(0x3FA5_5553_E106_8F19),
    f64::from_bits(0xBF56_C087_E89A_359D),
    f64::from_bits(0x3EF9_9343_027B_F8C3),
];
const SINE: [f64; 3] = [
    f64::from_bits(0xBFC5_5554_5995_A603),
    f64::from_bits(0x3F81_1076_0523_0BC4),
    f64::from_bits(0xBF29_94EB_3774_CF24),
];

/// ARM optimized-routines' `sinf` and `cosf` in F64 without fused steps for finite |x| ≥ 120,
/// the algorithm of glibc since 2.28: the argument is reduced with 4/π to 192 bits in integers.
fn library(k: &mut KernelBuilder, x: Reg, function: Function) -> Reg {
    let (bits, zero_i) = (k.bitcast(x), k.i32(0));
    let (n, reduced) = reduce(k, bits);
    let one_i = k.i32(1);
    let negative = k.compare(P::Lt, bits, zero_i);
    let sign = k.select(negative, one_i, zero_i);
    let quadrant = k.int(I::Add, n, sign);
    let two_i = k.i32(2);
    let negate_cosine = k.int(I::And, quadrant, two_i);
    let negate_cosine = k.compare(P::Ne, negate_cosine, zero_i);
    // Quadrants 1 and 2.
    let negate_sine = k.int(I::Add, quadrant, one_i);
    let negate_sine = k.int(I::And, negate_sine, two_i);
    let negate_sine = k.compare(P::Ne, negate_sine, zero_i);

    let minus = k.neg(reduced);
    let signed = k.select(negate_sine, minus, reduced);
    let x2 = k.mul(reduced, reduced);

    let [s1, s2, s3] = SINE.map(|s| k.f64(s));
    let x3 = k.mul(signed, x2);
    let product = k.mul(x2, s3);
    let high = k.add(s2, product);
    let x7 = k.mul(x3, x2);
    let product = k.mul(x3, s1);
    let low = k.add(signed, product);
    let product = k.mul(x7, high);
    let sine = k.add(low, product);

    let [c0, c1, c2, c3, c4] = COSINE.map(|c| k.f64(c));
    let x4 = k.mul(x2, x2);
    let product = k.mul(x2, c4);
    let high = k.add(c3, product);
    let product = k.mul(x2, c1);
    let low = k.add(c0, product);
    let x6 = k.mul(x4, x2);
    let product = k.mul(x4, c2);
    let middle = k.add(low, product);
    let product = k.mul(x6, high);
    let cosine = k.add(middle, product);
    let minus = k.neg(cosine);
    let cosine = k.select(negate_cosine, minus, cosine);

    let odd = k.int(I::And, n, one_i);
    let odd = k.compare(P::Ne, odd, zero_i);
    let value = match function {
        Function::Sine => k.select(odd, cosine, sine),
        Function::Cosine => k.select(odd, sine, cosine),
    };
    k.truncate(value)
}

/// The quadrant and the rest in [−π/4, π/4] of a large F32, from its bits.
fn reduce(k: &mut KernelBuilder, bits: Reg) -> (Reg, Reg) {
    let (place, fifteen, four) = (k.i32(26), k.i32(15), k.i32(4));
    let index = k.int(I::ShrU, bits, place);
    let index = k.int(I::And, index, fifteen);
    let first = k.lookup(Table::FourOverPi, index);
    let index = k.int(I::Add, index, four);
    let second = k.lookup(Table::FourOverPi, index);
    let index = k.int(I::Add, index, four);
    let third = k.lookup(Table::FourOverPi, index);

    let (width, seven) = (k.i32(23), k.i32(7));
    let shift = k.int(I::ShrU, bits, width);
    let shift = k.int(I::And, shift, seven);
    let (mask, hidden) = (k.i32(0x00FF_FFFF), k.i32(0x0080_0000));
    let mantissa = k.int(I::And, bits, mask);
    let mantissa = k.int(I::Or, mantissa, hidden);
    let shift = k.extend_int(shift);
    let mantissa = k.extend_int(mantissa);
    let mantissa = k.int(I::Shl, mantissa, shift);

    // The middle 64 bits of a product of 32 and 96 bits.
    let half = k.i64(32);
    let high = k.int(I::Mul, mantissa, first);
    let high = k.int(I::Shl, high, half);
    let middle = k.int(I::Mul, mantissa, second);
    let low = k.int(I::Mul, mantissa, third);
    let low = k.int(I::ShrU, low, half);
    let product = k.int(I::Or, low, high);
    let product = k.int(I::Add, product, middle);

    let (round, top) = (k.i64(1 << 61), k.i64(62));
    let n = k.int(I::Add, product, round);
    let n = k.int(I::ShrU, n, top);
    let whole = k.int(I::Shl, n, top);
    let rest = k.int(I::Sub, product, whole);
    let rest = k.from_int(rest);
    let pi = k.f64(PI_63);
    let rest = k.mul(rest, pi);
    let n = k.truncate_int(n);
    (n, rest)
}
