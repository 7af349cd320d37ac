//! Measurements of integer and boolean boundaries: the difference is one of integers, exact.

use super::partial::{Partial, Side};
use super::worst::{Offender, rank};
use crate::grid::integer_fits;

/// The largest integer magnitude an F16 holds.
const F16_MAX: u32 = 65504;

/// Measures pairs of integers; what is about NaN, infinities and ULPs stays empty.
pub(super) fn measure(pairs: impl Iterator<Item = (i32, i32)>) -> Partial {
    let mut p = Partial::new();
    let mut first = None;
    for (index, (x, y)) in (0..).zip(pairs) {
        p.elements += 1;
        p.finite_pairs += 1;
        p.varies |= *first.get_or_insert(x) != x;
        p.reference.add(side(x));
        p.candidate.add(side(y));
        p.relative_pairs += u64::from(x != 0);
        if x == y {
            continue;
        }
        p.differing += 1;
        let abs = (f64::from(x) - f64::from(y)).abs();
        let (reference, candidate) = (x.cast_unsigned(), y.cast_unsigned());
        let offender = Offender {
            rank: rank(abs),
            index,
            reference,
            candidate,
        };
        p.square_sum += abs * abs;
        if abs > p.max_abs {
            (p.max_abs, p.max_abs_at) = (abs, Some(offender));
        }
        if x != 0 {
            p.max_rel = p.max_rel.max(abs / f64::from(x).abs());
        }
        p.worst.offer(offender);
    }
    p
}

fn side(value: i32) -> Side {
    let f16 = integer_fits(value, 11) && value.unsigned_abs() <= F16_MAX;
    Side {
        bf16: integer_fits(value, 8).into(),
        f16: f16.into(),
        f32: integer_fits(value, 24).into(),
        nonfinite: 0,
        zero: (value == 0).into(),
    }
}
