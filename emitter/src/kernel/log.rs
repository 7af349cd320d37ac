//! `logf` as the C library computes it.

use super::{IntBinary as I, KernelBuilder, Predicate as P, Reg, Table};

/// ln 2 and the polynomial of log(1 + r) (ARM optimized-routines, `math/logf_data.c`).
const LN2: f64 = std::f64::consts::LN_2;
const A: [f64; 3] = [
    f64::from_bits(0xBFD0_0EA3_48B8_8334),
    f64::from_bits(0x3FD5_575B_0BE0_0B6A),
    f64::from_bits(0xBFDF_FFFE_F20A_4123),
];

/// The mantissa interval starts here: 0.7.
const OFFSET: i32 = 0x3F33_0000;

/// A positive normal number as 2ⁿ·z with z in [0.7, 1.4): index of z's interval, n, z.
fn split(k: &mut KernelBuilder, bits: Reg) -> (Reg, Reg, Reg) {
    let offset = k.i32(OFFSET);
    let from_start = k.int(I::Sub, bits, offset);
    let (width, low_bits, fifteen) = (k.i32(23), k.i32(19), k.i32(15));
    let index = k.int(I::ShrU, from_start, low_bits);
    let index = k.int(I::And, index, fifteen);
    let mask = k.u32(0xFF80_0000);
    let top = k.int(I::And, from_start, mask);
    let n = k.int(I::ShrS, top, width);
    let z = k.int(I::Sub, bits, top);
    let z = k.bitcast(z);
    (index, n, z)
}

/// The bits of a positive finite number, and for a subnormal one those it would have if the
/// exponent could go below the range.
fn normalised(k: &mut KernelBuilder, magnitude: Reg) -> Reg {
    let bits = k.bitcast(magnitude);
    let (least, scale, down) = (k.i32(0x0080_0000), k.f32(8_388_608.0), k.i32(23 << 23));
    let subnormal = k.compare(P::Ult, bits, least);
    let scaled = k.mul(magnitude, scale);
    let scaled = k.bitcast(scaled);
    let scaled = k.int(I::Sub, scaled, down);
    k.select(subnormal, scaled, bits)
}

/// A positive finite x as `2ⁿ·c·(1 + r)` in F64, with `centre` the logarithm of c.
pub(super) struct Reduced {
    pub(super) r: Reg,
    pub(super) n: Reg,
    pub(super) centre: Reg,
}

/// Reduces x by tables of 1/c and of c's logarithm.
pub(super) fn reduced(
    k: &mut KernelBuilder,
    x: Reg,
    reciprocals: Table,
    logarithms: Table,
) -> Reduced {
    let bits = normalised(k, x);
    let (index, n, z) = split(k, bits);
    let inverse = k.lookup(reciprocals, index);
    let centre = k.lookup(logarithms, index);
    let z = k.extend(z);
    let product = k.mul(z, inverse);
    let one = k.f64(1.0);
    let r = k.sub(product, one);
    let n = k.from_int(n);
    let n = k.extend(n);
    Reduced { r, n, centre }
}

/// `ln x` for every F32: ARM optimized-routines' `logf` in F64 without fused steps, the algorithm
/// of glibc since 2.27 (MLX 0.32.2 calls the host's `logf`).
pub fn log(k: &mut KernelBuilder, x: Reg) -> Reg {
    let Reduced { r, n, centre } = reduced(k, x, Table::LogReciprocal, Table::LogLogarithm);
    let ln2 = k.f64(LN2);
    let product = k.mul(n, ln2);
    let y0 = k.add(centre, product);

    let [a0, a1, a2] = A.map(|a| k.f64(a));
    let r2 = k.mul(r, r);
    let y = k.mul(a1, r);
    let y = k.add(y, a2);
    let product = k.mul(a0, r2);
    let y = k.add(product, y);
    let product = k.mul(y, r2);
    let base = k.add(y0, r);
    let y = k.add(product, base);
    let result = k.truncate(y);

    let (zero, infinity) = (k.f32(0.0), k.f32(f32::INFINITY));
    let is_infinite = k.compare(P::Eq, x, infinity);
    let result = k.select(is_infinite, infinity, result);
    let low = k.f32(f32::NEG_INFINITY);
    let is_zero = k.compare(P::Eq, x, zero);
    let result = k.select(is_zero, low, result);
    // Ordered: false for NaN too.
    let valid = k.compare(P::Ge, x, zero);
    let nan = k.f32(f32::NAN);
    k.select(valid, result, nan)
}
