//! Whether a report says what its tensors say.

use crate::verdict::Verdict;
use crate::wire::{Bits, Measured, WorstElement};

/// The first thing that a report says otherwise than what was measured once more, as `rms is
/// 0.1, the tensors give 0.2`. What the report leaves out contradicts nothing, nor does a
/// comparison that was not made, or not trusted.
#[must_use]
pub fn disagreement(reported: &Measured, measured: &Measured) -> Option<String> {
    if reported.failure.is_some() || reported.differing.is_none() {
        return None;
    }
    fn other<T: PartialEq + std::fmt::Debug>(
        name: &str,
        reported: Option<&T>,
        measured: Option<&T>,
    ) -> Option<String> {
        let reported = reported?;
        let given = || measured.map_or("none".to_owned(), |value| format!("{value:?}"));
        (Some(reported) != measured)
            .then(|| format!("{name} is {reported:?}, the tensors give {}", given()))
    }
    let (r, m) = (reported, measured);
    let proves = |of: &Measured| match of.verdict {
        Verdict::BitExact | Verdict::Vacuous => Some(of.verdict.name()),
        _ => None,
    };
    other("differing", r.differing.as_ref(), m.differing.as_ref())
        .or_else(|| other("verdict", proves(r).as_ref(), proves(m).as_ref()))
        .or_else(|| other("nan", r.nan.as_ref(), m.nan.as_ref()))
        .or_else(|| other("inf", r.inf.as_ref(), m.inf.as_ref()))
        .or_else(|| other("neg_zero", r.neg_zero.as_ref(), m.neg_zero.as_ref()))
        .or_else(|| other("max_abs", r.max_abs.as_ref(), m.max_abs.as_ref()))
        .or_else(|| other("rms", r.rms.as_ref(), m.rms.as_ref()))
        .or_else(|| other("max_rel", r.max_rel.as_ref(), m.max_rel.as_ref()))
        .or_else(|| {
            let (r, m) = (r.zero_reference.as_ref(), m.zero_reference.as_ref());
            other("zero_reference", r, m)
        })
        .or_else(|| other("on_grid", r.on_grid.as_ref(), m.on_grid.as_ref()))
        .or_else(|| other("ulp", r.ulp.as_ref(), m.ulp.as_ref()))
        .or_else(|| other("ulp_f32", r.ulp_f32.as_ref(), m.ulp_f32.as_ref()))
        .or_else(|| {
            other(
                "worst",
                r.worst.first().map(key).as_ref(),
                m.worst.first().map(key).as_ref(),
            )
        })
}

/// An element by its bits; NaNs are one, captures do not keep their payloads.
fn key(element: &WorstElement) -> (&[usize], [u32; 2]) {
    let bits = |Bits(bits): Bits| match f32::from_bits(bits).is_nan() {
        true => f32::NAN.to_bits(),
        false => bits,
    };
    let sides = [element.reference_bits, element.candidate_bits];
    (&element.index, sides.map(bits))
}
