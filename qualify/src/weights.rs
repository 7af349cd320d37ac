//! Weights that are not numbers: said, and then run with as the reference runs with them.

use rayon::prelude::*;
use reports::wire::NonFinite;
use stages::{Checkpoint, Tensor};

use crate::say;

/// The audio tensors that hold a NaN or an infinity, each said on stderr.
pub fn non_finite(checkpoint: &Checkpoint) -> Vec<NonFinite> {
    let tensors: Vec<(&str, &Tensor)> = checkpoint.tensors().collect();
    let found: Vec<NonFinite> = tensors
        .into_par_iter()
        .filter_map(|(name, tensor)| {
            let (nan, infinite) = count(tensor);
            (nan + infinite > 0).then(|| NonFinite {
                tensor: name.to_owned(),
                nan,
                infinite,
            })
        })
        .collect();
    for NonFinite {
        tensor,
        nan,
        infinite,
    } in &found
    {
        say(format_args!(
            "qualify: warning: tensor {tensor} holds {nan} NaN and {infinite} infinite values"
        ));
    }
    found
}

/// NaNs and infinities.
fn count(tensor: &Tensor) -> (u64, u64) {
    if let Some(values) = tensor.as_bf16() {
        return count_of(values, |value| value.to_bits() & 0x7fff, 0x7f80);
    }
    let values = tensor.as_f32().unwrap_or_default();
    count_of(values, |value| value.to_bits() & 0x7fff_ffff, 0x7f80_0000)
}

/// The same by the bits of a magnitude, of which the infinite one is given. Most tensors hold
/// neither, and are passed over once, at the speed of memory.
fn count_of<T: Copy, M: PartialOrd>(
    values: &[T],
    magnitude: impl Fn(T) -> M,
    infinity: M,
) -> (u64, u64) {
    let both = values.iter().filter(|&&value| magnitude(value) >= infinity);
    let both = both.count() as u64;
    if both == 0 {
        return (0, 0);
    }
    let nan = values.iter().filter(|&&value| magnitude(value) > infinity);
    let nan = nan.count() as u64;
    (nan, both - nan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_and_infinities_are_told_apart_in_either_dtype() {
        let values = [0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::MAX, -1.0];
        let wide = Tensor::from_f32([6], &values).unwrap();
        assert_eq!(count(&wide), (2, 1));
        let narrow = values.map(|value| (value.to_bits() >> 16) as u16);
        let bytes: Vec<u8> = narrow.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        let narrow = Tensor::from_bytes(stages::DType::BF16, [6].into(), &bytes).unwrap();
        assert_eq!(count(&narrow), (2, 1));
        assert_eq!(count(&Tensor::from_f32([1], &[1.0]).unwrap()), (0, 0));
    }
}
