//! `logaddexp` as MLX's CPU backend computes it.

use super::{KernelBuilder, Predicate, Reg, RoundTo, exp, log1p, maximum, minimum};

/// `log(eᵃ + eᵇ)` for every pair of F32 (MLX 0.32.2, `detail::LogAddExp`, CPU): the larger plus
/// `log1p(exp(smaller − larger))`, where the difference, the exponential and the logarithm are
/// each rounded onto the array's grid; the larger alone where the smaller is −∞ or the larger
/// +∞. The result is F32; the caller rounds it.
pub fn logaddexp(k: &mut KernelBuilder, a: Reg, b: Reg, inner: Option<RoundTo>) -> Reg {
    let onto_grid = |k: &mut KernelBuilder, x| match inner {
        Some(to) => k.round(to, x),
        None => x,
    };
    let larger = maximum(k, a, b);
    let smaller = minimum(k, a, b);
    let difference = k.sub(smaller, larger);
    let difference = onto_grid(k, difference);
    let e = exp(k, difference);
    let e = onto_grid(k, e);
    let logarithm = log1p(k, e);
    let logarithm = onto_grid(k, logarithm);
    let sum = k.add(larger, logarithm);

    let (low, high) = (k.f32(f32::NEG_INFINITY), k.f32(f32::INFINITY));
    let low = k.compare(Predicate::Eq, smaller, low);
    let high = k.compare(Predicate::Eq, larger, high);
    let sum = k.select(low, larger, sum);
    k.select(high, larger, sum)
}
