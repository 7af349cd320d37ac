//! `sigmoid` as MLX's CPU backend computes it.

use super::{KernelBuilder, Predicate, Reg, RoundTo, exp};

/// `1 / (1 + e⁻ˣ)` for every F32 (MLX 0.32.2, `detail::Sigmoid`, CPU): from `e = exp |x|`, which
/// is rounded onto the array's grid, `y = 1 / (1 + e)` and, for x ≥ 0, `1 − y`. The result is
/// F32; the caller rounds it.
pub fn sigmoid(k: &mut KernelBuilder, x: Reg, inner: Option<RoundTo>) -> Reg {
    let magnitude = k.abs(x);
    let e = exp(k, magnitude);
    let e = match inner {
        Some(to) => k.round(to, e),
        None => e,
    };
    let (zero, one) = (k.f32(0.0), k.f32(1.0));
    let sum = k.add(one, e);
    let y = k.div(one, sum);
    let complement = k.sub(one, y);
    let negative = k.compare(Predicate::Lt, x, zero);
    k.select(negative, y, complement)
}
