//! The larger and the smaller of two values, with MLX's rule for NaN and for zeros.

use super::{KernelBuilder, Predicate, Reg, Scalar};

/// `isnan(a) ? a : (a > b ? a : b)` (MLX 0.32.2, `simd::maximum`, CPU): of two zeros it is b.
pub fn maximum(k: &mut KernelBuilder, a: Reg, b: Reg) -> Reg {
    extremum(k, Predicate::Gt, a, b)
}

/// `isnan(a) ? a : (a < b ? a : b)` (MLX 0.32.2, `simd::minimum`, CPU): of two zeros it is b.
pub fn minimum(k: &mut KernelBuilder, a: Reg, b: Reg) -> Reg {
    extremum(k, Predicate::Lt, a, b)
}

fn extremum(k: &mut KernelBuilder, predicate: Predicate, a: Reg, b: Reg) -> Reg {
    let first = k.compare(predicate, a, b);
    let result = k.select(first, a, b);
    if k.type_of(a) == Scalar::I32 {
        return result;
    }
    let nan = k.is_nan(a);
    k.select(nan, a, result)
}
