//! `log1pf` as the C library computes it.

use super::{IntBinary as I, KernelBuilder, Predicate as P, Reg};

/// ln 2 in two parts (fdlibm, `s_log1pf.c`).
const LN2_HIGH: f32 = 6.931_381e-1;
const LN2_LOW: f32 = 9.058_001e-6;
/// Coefficients Lp7 … Lp1 (fdlibm, `s_log1pf.c`).
const LP: [f32; 7] = [
    1.479_819_9e-1,
    1.531_383_8e-1,
    1.818_357_3e-1,
    2.222_219_8e-1,
    2.857_143e-1,
    4.0e-1,
    6.666_667e-1,
];

/// `log(1 + x)` for x ≥ 0, +∞ and NaN: fdlibm's `log1pf`, every product rounded on its own, which
/// glibc's results are up to 2.40 (MLX 0.32.2 calls the host's `log1pf`).
pub fn log1p(k: &mut KernelBuilder, x: Reg) -> Reg {
    let (half, one, two) = (k.f32(0.5), k.f32(1.0), k.f32(2.0));
    let (zero_i, one_i) = (k.i32(0), k.i32(1));
    let bits = k.bitcast(x);
    let bound = k.i32(0x3ED4_13D7); // √2 − 1
    let plain = k.compare(P::Lt, bits, bound);

    // 1 + x = 2ⁿ·(1 + f), the rounding error of 1 + x in `c`.
    let u = k.add(one, x);
    let u_bits = k.bitcast(u);
    let (width, bias) = (k.i32(23), k.i32(127));
    let n = k.int(I::ShrS, u_bits, width);
    let n = k.int(I::Sub, n, bias);
    let large = k.compare(P::Gt, n, zero_i);
    let difference = k.sub(u, x);
    let if_large = k.sub(one, difference);
    let difference = k.sub(u, one);
    let if_small = k.sub(x, difference);
    let c = k.select(large, if_large, if_small);
    let c = k.div(c, u);
    let mask = k.i32(0x007F_FFFF);
    let mantissa = k.int(I::And, u_bits, mask);
    let bound = k.i32(0x0035_04F7); // √2
    let low = k.compare(P::Lt, mantissa, bound);
    let (one_bits, half_bits) = (k.i32(0x3F80_0000), k.i32(0x3F00_0000));
    let exponent = k.select(low, one_bits, half_bits);
    let normal = k.int(I::Or, mantissa, exponent);
    let normal = k.bitcast(normal);
    let carry = k.select(low, zero_i, one_i);
    let n = k.int(I::Add, n, carry);
    let (hidden, two_i) = (k.i32(0x0080_0000), k.i32(2));
    let rest = k.int(I::Sub, hidden, mantissa);
    let rest = k.int(I::ShrS, rest, two_i);
    let rest = k.select(low, mantissa, rest);
    let f = k.sub(normal, one);
    let f = k.select(plain, x, f);
    let rest = k.select(plain, one_i, rest);

    // Just above √2 − 1 the sum may round to less than √2: then there is no power of two, and
    // fdlibm leaves the rounding error out.
    let no_power = k.compare(P::Eq, n, zero_i);
    let no_power = k.int(I::Or, plain, no_power);
    let n = k.from_int(n);
    let (ln2_high, ln2_low) = (k.f32(LN2_HIGH), k.f32(LN2_LOW));
    let high = k.mul(n, ln2_high);
    let low = k.mul(n, ln2_low);
    let low = k.add(low, c);
    let hfsq = k.mul(half, f);
    let hfsq = k.mul(hfsq, f);
    let sum = k.add(two, f);
    let s = k.div(f, sum);
    let z = k.mul(s, s);
    let mut r = k.f32(LP[0]);
    for lp in &LP[1..] {
        let lp = k.f32(*lp);
        let product = k.mul(z, r);
        r = k.add(lp, product);
    }
    let r = k.mul(z, r);
    let sum = k.add(hfsq, r);
    let correction = k.mul(s, sum);

    // Without a power of two, and with one.
    let difference = k.sub(hfsq, correction);
    let without = k.sub(f, difference);
    let sum = k.add(correction, low);
    let difference = k.sub(hfsq, sum);
    let difference = k.sub(difference, f);
    let with = k.sub(high, difference);
    let result = k.select(no_power, without, with);

    // |f| < 2⁻²⁰.
    let third = k.f32(0.666_666_7);
    let product = k.mul(third, f);
    let difference = k.sub(one, product);
    let r = k.mul(hfsq, difference);
    let difference = k.sub(r, low);
    let difference = k.sub(difference, f);
    let near = k.sub(high, difference);
    let zero = k.f32(0.0);
    let exact = k.compare(P::Eq, f, zero);
    let sum = k.add(high, low);
    let near = k.select(exact, sum, near);
    let is_near = k.compare(P::Eq, rest, zero_i);
    let result = k.select(is_near, near, result);

    let small = k.i32(0x3100_0000); // 2⁻²⁹
    let small = k.compare(P::Lt, bits, small);
    let square = k.mul(x, x);
    let product = k.mul(square, half);
    let difference = k.sub(x, product);
    let result = k.select(small, difference, result);
    let tiny = k.i32(0x2480_0000); // 2⁻⁵⁴
    let tiny = k.compare(P::Lt, bits, tiny);
    let result = k.select(tiny, x, result);
    let limit = k.i32(0x7F80_0000);
    let special = k.compare(P::Ge, bits, limit);
    let sum = k.add(x, x);
    k.select(special, sum, result)
}
