//! What came of a case, and how results are compared.

use std::fmt;

use emitter::{emit::EmitError, target::TargetClass};
use oracle::{MlxError, interp::InterpSideError, iree::IreeError};
use sha2::{Digest as _, Sha256};
use stages::{DType, Shape, Tensor, TensorError};

/// How many differing elements an outcome names.
pub const NAMED: usize = 5;

/// A SHA-256, displayed in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(hasher: Sha256) -> Digest {
        Digest(hasher.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why a side gives nothing to compare; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The operands are no tensors: a fault of the catalogue.
    #[error(transparent)]
    Operand(#[from] TensorError),
    /// MLX does not run it.
    #[error(transparent)]
    Mlx(#[from] MlxError),
    /// It cannot be emitted.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The interpreter cannot follow it.
    #[error(transparent)]
    Interp(#[from] InterpSideError),
    /// It is not compiled or not run.
    #[error(transparent)]
    Iree(#[from] IreeError),
    /// It has no result, or one that cannot be compared.
    #[error("find a result that can be compared")]
    NoResult,
    /// The result has another shape than MLX's.
    #[error("give a result of shape {expected}: it is {found}")]
    Shape {
        /// MLX's.
        expected: Shape,
        /// This side's.
        found: Shape,
    },
}

/// A side's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Of its bits.
    pub digest: Digest,
    /// In how many elements they are not MLX's; nothing if MLX gave none.
    pub differing: Option<u64>,
}

/// A side's result, or why there is none.
pub type Result<T, E = SideError> = std::result::Result<T, E>;

/// An element that a side has otherwise than MLX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Its row-major position.
    pub element: usize,
    /// The bits at that position of those inputs that have as many elements.
    pub operands: Vec<u32>,
    /// MLX's bits.
    pub mlx: u32,
    /// The interpreter's, if it ran.
    pub interp: Option<u32>,
    /// IREE's, where it ran.
    pub iree: Vec<(TargetClass, u32)>,
}

/// What came of a case.
#[derive(Debug)]
pub struct Outcome {
    /// Elements of the result.
    pub elements: usize,
    /// Of the level-one graph and the operands' bits.
    pub case: Digest,
    /// Of the text that is compiled, if there is one.
    pub text: Option<Digest>,
    /// Of MLX's bits.
    pub mlx: Result<Digest>,
    /// The interpreter; nothing where the program states no order.
    pub interp: Option<Result<Compared>>,
    /// IREE, for each target the program may be compiled for.
    pub iree: Vec<(TargetClass, Result<Compared>)>,
    /// The first differing elements.
    pub first: Vec<Differing>,
}

impl Outcome {
    /// The sides that are compared with MLX.
    pub fn compared(&self) -> impl Iterator<Item = &Result<Compared>> {
        let iree = self.iree.iter().map(|(_, side)| side);
        self.interp.iter().chain(iree)
    }

    /// Whether every side ran and has MLX's bits.
    pub fn is_equal(&self) -> bool {
        let equal = |side: &Result<Compared>| {
            let compared = side.as_ref().ok();
            compared.is_some_and(|compared| compared.differing == Some(0))
        };
        self.mlx.is_ok() && !self.iree.is_empty() && self.compared().all(equal)
    }
}

/// Elements by their bits as level two carries them; all NaNs are one.
pub fn carried(tensor: &Tensor) -> Result<Vec<u32>> {
    Ok(match tensor.dtype() {
        DType::Bool => tensor.bytes().iter().map(|&byte| byte.into()).collect(),
        DType::U32 => tensor.as_u32().ok_or(SideError::NoResult)?.to_vec(),
        DType::I32 => {
            let values = tensor.as_i32().ok_or(SideError::NoResult)?;
            values.iter().map(|v| v.cast_unsigned()).collect()
        }
        _ => {
            let canonical = |x: &f32| {
                if x.is_nan() {
                    f32::NAN.to_bits()
                } else {
                    x.to_bits()
                }
            };
            let values = tensor.to_f32().ok_or(SideError::NoResult)?;
            values.iter().map(canonical).collect()
        }
    })
}

/// The digest of a result's shape and bits.
pub(super) fn digest(shape: &Shape, bits: &[u32]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(shape.to_string());
    let mut bytes = Vec::with_capacity(4096);
    for part in bits.chunks(1024) {
        bytes.clear();
        bytes.extend(part.iter().flat_map(|bits| bits.to_le_bytes()));
        hasher.update(&bytes);
    }
    Digest::of(hasher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_are_one_and_zeros_are_two() {
        let bits = [0x7F80_0001, 0xFFC0_0000, 0x8000_0000, 0];
        let x = Tensor::from_f32([4], &bits.map(f32::from_bits)).unwrap();
        assert_eq!(carried(&x).unwrap(), [0x7FC0_0000, 0x7FC0_0000, 1 << 31, 0]);
    }

    #[test]
    fn a_digest_tells_shapes_and_bits_apart() {
        let of = |shape: &[usize], bits: &[u32]| digest(&shape.into(), bits);
        assert_eq!(of(&[2], &[1, 2]), of(&[2], &[1, 2]));
        assert_ne!(of(&[2], &[1, 2]), of(&[2], &[2, 1]));
        assert_ne!(of(&[2], &[1, 2]), of(&[2, 1], &[1, 2]));
        assert_eq!(of(&[0], &[]).to_string().len(), 64);
    }
}
