//! Which weights are not finite: no arithmetic makes sense of them.

use half::bf16;
use rayon::prelude::*;

use super::Checkpoint;

/// A tensor with values that are not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonFinite {
    /// Its canonical name.
    pub name: String,
    /// How many values are NaN.
    pub nan: usize,
    /// How many are infinite, of either sign.
    pub infinite: usize,
}

/// Elements looked at by one thread at a time.
const PIECE: usize = 1 << 18;

/// All but the sign.
const MAGNITUDE: u16 = 0x7FFF;

const INFINITE: u16 = 0x7F80;

impl Checkpoint {
    /// The audio tensors that are not finite, in order of their names. Words of quantised modules
    /// have no such values; their scales and biases may.
    ///
    /// Reads every value: about as long as it takes to read the file into memory.
    pub fn non_finite(&self) -> Vec<NonFinite> {
        let tensors: Vec<_> = self.tensors().collect();
        tensors
            .par_iter()
            .filter_map(|(name, tensor)| {
                let (nan, infinite) = count(tensor.as_bf16()?);
                (nan + infinite > 0).then(|| NonFinite {
                    name: (*name).to_owned(),
                    nan,
                    infinite,
                })
            })
            .collect()
    }
}

/// How many are NaN and how many infinite.
fn count(values: &[bf16]) -> (usize, usize) {
    let bits: &[u16] = bytemuck::cast_slice(values);
    bits.par_chunks(PIECE)
        .map(|piece| {
            // Nearly always the largest magnitude is finite, and finding it is one instruction
            // for many values, as signed integers on every processor.
            let magnitude = |&bits: &u16| bits & MAGNITUDE;
            let largest = piece
                .iter()
                .fold(0i16, |most, bits| most.max(magnitude(bits).cast_signed()));
            if largest.cast_unsigned() < INFINITE {
                return (0, 0);
            }
            let of = |fits: fn(u16) -> bool| piece.iter().filter(|b| fits(magnitude(b))).count();
            (of(|m| m > INFINITE), of(|m| m == INFINITE))
        })
        .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bf16_is_finite_infinite_or_nan() {
        let all: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
        let nan = all.iter().filter(|x| x.is_nan()).count();
        assert_eq!(count(&all), (nan, 2));
        let finite: Vec<bf16> = all.into_iter().filter(|x| x.is_finite()).collect();
        assert_eq!(count(&finite), (0, 0));
        assert_eq!(count(&[]), (0, 0));
    }

    #[test]
    fn one_value_among_many_is_found() {
        let mut values = vec![bf16::MAX; 3 * PIECE + 5];
        values[2 * PIECE + 1] = bf16::NEG_INFINITY;
        values[3 * PIECE + 4] = bf16::from_bits(0xFF81);
        assert_eq!(count(&values), (1, 1));
    }
}
