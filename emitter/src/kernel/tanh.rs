//! `tanhf` as the C library computes it.

use super::{IntBinary as I, KernelBuilder, Predicate as P, Reg};

/// ln 2 in two parts, and 1 / ln 2 (fdlibm, `s_expm1f.c`).
const LN2_HIGH: f32 = 6.931_381e-1;
const LN2_LOW: f32 = 9.058_001e-6;
const LN2_INVERSE: f32 = std::f32::consts::LOG2_E;
/// Coefficients of the rational approximation, highest power first (fdlibm, `s_expm1f.c`).
const Q: [f32; 6] = [
    -2.010_992_1e-7,
    4.008_217_8e-6,
    -7.936_507_6e-5,
    1.587_301_6e-3,
    -3.333_333_5e-2,
    1.0,
];

/// `tanh x` for every F32: fdlibm's `tanhf` over its `expm1f`, every product rounded on its own,
/// which glibc's results are up to 2.40 (MLX 0.32.2 calls the host's `tanhf`).
pub fn tanh(k: &mut KernelBuilder, x: Reg) -> Reg {
    let magnitude = k.abs(x);
    let (one, two, bound) = (k.f32(1.0), k.f32(2.0), k.f32(22.0));
    let below = k.compare(P::Lt, magnitude, bound);
    let clamped = k.select(below, magnitude, bound);
    let double = k.mul(two, clamped);
    let minus = k.neg(double);
    let large = k.compare(P::Ge, magnitude, one);
    let argument = k.select(large, double, minus);
    let t = expm1(k, argument);
    let t2 = k.add(t, two);
    let quotient = k.div(two, t2);
    let from_large = k.sub(one, quotient);
    let negated = k.neg(t);
    let from_small = k.div(negated, t2);
    let z = k.select(large, from_large, from_small);
    let z = k.select(below, z, one);

    let zero = k.i32(0);
    let bits = k.bitcast(x);
    let positive = k.compare(P::Ge, bits, zero);
    let minus = k.neg(z);
    let result = k.select(positive, z, minus);

    let tiny = k.f32(f32::from_bits(0x2400_0000)); // 2⁻⁵⁵
    let tiny = k.compare(P::Lt, magnitude, tiny);
    let sum = k.add(one, x);
    let product = k.mul(x, sum);
    let result = k.select(tiny, product, result);
    let nan = k.is_nan(x);
    k.select(nan, x, result)
}

/// fdlibm's `expm1f` for finite |x| ≤ 44.
fn expm1(k: &mut KernelBuilder, x0: Reg) -> Reg {
    let (zero_i, one_i, minus_one_i) = (k.i32(0), k.i32(1), k.i32(-1));
    let (zero, half, one) = (k.f32(0.0), k.f32(0.5), k.f32(1.0));
    let bits = k.bitcast(x0);
    let mask = k.i32(0x7FFF_FFFF);
    let high = k.int(I::And, bits, mask);
    let negative = k.compare(P::Lt, bits, zero_i);

    // Argument reduction: x = n·ln2 + r, the rounding error of r in `c`.
    let bound = k.i32(0x3EB1_7218); // ½ ln2
    let reduced = k.compare(P::Ugt, high, bound);
    let bound = k.i32(0x3F85_1592); // 1½ ln2
    let near = k.compare(P::Ult, high, bound);
    let minus_half = k.f32(-0.5);
    let offset = k.select(negative, minus_half, half);
    let inverse = k.f32(LN2_INVERSE);
    let scaled = k.mul(inverse, x0);
    let scaled = k.add(scaled, offset);
    let far_n = k.to_int(scaled);
    let near_n = k.select(negative, minus_one_i, one_i);
    let n = k.select(near, near_n, far_n);
    let n = k.select(reduced, n, zero_i);
    let t = k.from_int(n);
    let (ln2_high, ln2_low) = (k.f32(LN2_HIGH), k.f32(LN2_LOW));
    let product = k.mul(t, ln2_high);
    let hi = k.sub(x0, product);
    let lo = k.mul(t, ln2_low);
    let r = k.sub(hi, lo);
    let c = k.sub(hi, r);
    let c = k.sub(c, lo);
    let x = k.select(reduced, r, x0);
    let c = k.select(reduced, c, zero);

    // x is now in the primary range.
    let hfx = k.mul(half, x);
    let hxs = k.mul(x, hfx);
    let mut r1 = k.f32(Q[0]);
    for q in &Q[1..] {
        let q = k.f32(*q);
        let product = k.mul(hxs, r1);
        r1 = k.add(q, product);
    }
    let (three, six) = (k.f32(3.0), k.f32(6.0));
    let product = k.mul(r1, hfx);
    let t = k.sub(three, product);
    let numerator = k.sub(r1, t);
    let product = k.mul(x, t);
    let denominator = k.sub(six, product);
    let quotient = k.div(numerator, denominator);
    let e0 = k.mul(hxs, quotient);

    // n = 0.
    let product = k.mul(x, e0);
    let difference = k.sub(product, hxs);
    let at_zero = k.sub(x, difference);

    let e = k.sub(e0, c);
    let e = k.mul(x, e);
    let e = k.sub(e, c);
    let e = k.sub(e, hxs);
    let x_e = k.sub(x, e);

    // n = −1.
    let product = k.mul(half, x_e);
    let at_minus_one = k.sub(product, half);

    // n = 1.
    let (two, minus_two, quarter) = (k.f32(2.0), k.f32(-2.0), k.f32(-0.25));
    let sum = k.add(x, half);
    let difference = k.sub(e, sum);
    let low = k.mul(minus_two, difference);
    let product = k.mul(two, x_e);
    let up = k.add(one, product);
    let is_low = k.compare(P::Lt, x, quarter);
    let at_one = k.select(is_low, low, up);

    // All others scale by 2ⁿ in the exponent's bits.
    let e_x = k.sub(e, x);
    let width = k.i32(23);
    let shifted = k.int(I::Shl, n, width);
    let scale = |k: &mut KernelBuilder, y| {
        let bits = k.bitcast(y);
        let bits = k.int(I::Add, bits, shifted);
        k.bitcast(bits)
    };

    // n ≤ −2 or n > 56.
    let y = k.sub(one, e_x);
    let y = scale(k, y);
    let far = k.sub(y, one);

    // 2 ≤ n < 23.
    let most = k.i32(31);
    let below = k.compare(P::Lt, n, zero_i);
    let shift = k.select(below, zero_i, n);
    let above = k.compare(P::Gt, shift, most);
    let shift = k.select(above, most, shift);
    let (one_bits, hidden) = (k.i32(0x3F80_0000), k.i32(0x0100_0000));
    let t = k.int(I::ShrU, hidden, shift);
    let t = k.int(I::Sub, one_bits, t);
    let t = k.bitcast(t);
    let y = k.sub(t, e_x);
    let below_23 = scale(k, y);

    // 23 ≤ n ≤ 56.
    let bias = k.i32(0x7F);
    let t = k.int(I::Sub, bias, n);
    let t = k.int(I::Shl, t, width);
    let t = k.bitcast(t);
    let sum = k.add(e, t);
    let y = k.sub(x, sum);
    let y = k.add(y, one);
    let above_22 = scale(k, y);

    let is_below_23 = k.compare(P::Lt, n, width);
    let result = k.select(is_below_23, below_23, above_22);
    let (minus_two_i, limit) = (k.i32(-2), k.i32(56));
    let low = k.compare(P::Le, n, minus_two_i);
    let high_n = k.compare(P::Gt, n, limit);
    let is_far = k.int(I::Or, low, high_n);
    let result = k.select(is_far, far, result);
    let is_one = k.compare(P::Eq, n, one_i);
    let result = k.select(is_one, at_one, result);
    let is_minus_one = k.compare(P::Eq, n, minus_one_i);
    let result = k.select(is_minus_one, at_minus_one, result);
    let is_zero = k.compare(P::Eq, n, zero_i);
    let result = k.select(is_zero, at_zero, result);

    let tiny = k.i32(0x3300_0000); // 2⁻²⁵
    let tiny = k.compare(P::Ult, high, tiny);
    k.select(tiny, x0, result)
}
