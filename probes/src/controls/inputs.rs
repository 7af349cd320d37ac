//! On which inputs a mutation shows.

use std::fmt;

use half::bf16;
use stages::{
    Tensor,
    graph::{Node, Op},
    model::gemma3n_audio::{Batch, BatchError},
};

use super::{mutation::Mutation, step::Step};

/// What a mutated step is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Inputs {
    /// The reference's captures of the run itself.
    Own,
    /// Captures of a batch of short clips of the same sound, two of them padded on the left.
    LeftPadded,
    /// Captures of the same inputs in the profile `f32`, where no rounding to BF16 hides a small
    /// difference.
    WideProfile,
    /// The run's captures times 2⁴⁰, so that bounds are active; the reference is MLX on the
    /// unmutated step alone.
    Magnified,
}

impl Inputs {
    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Inputs::Own => "own",
            Inputs::LeftPadded => "left-padded",
            Inputs::WideProfile => "f32",
            Inputs::Magnified => "magnified",
        }
    }
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The inputs on which a mutation is tried where it changes nothing on the run's own, in order.
pub fn needs(mutation: &Mutation, step: &Step) -> &'static [Inputs] {
    let Some(node) = mutation.at().and_then(|at| step.node(at)) else {
        return &[];
    };
    match &node.op {
        Op::Maximum | Op::Minimum if is_bound(step, node) => &[Inputs::Magnified],
        Op::LogicalAnd
        | Op::LogicalNot
        | Op::Select
        | Op::GreaterEqual
        | Op::Arange { .. }
        | Op::Slice { .. }
        | Op::Pad { .. }
        | Op::Input { .. } => &[Inputs::LeftPadded],
        _ => &[Inputs::WideProfile, Inputs::LeftPadded],
    }
}

/// Whether an operand is a number of a magnitude that sane values do not reach.
fn is_bound(step: &Step, node: &Node) -> bool {
    node.inputs.iter().any(|&value| {
        let mut node = step.graph().node(value);
        while let (Op::Broadcast { .. } | Op::AsType { .. }, Some(&inner)) =
            (&node.op, node.inputs.first())
        {
            node = step.graph().node(inner);
        }
        matches!(node.op, Op::Constant { value } if value.abs() >= 1e6)
    })
}

/// Frames of each clip of [`left_padded`].
const FRAMES: usize = 170;

/// Frames of padding before each of its clips. A token is 16 frames: shifted by one frame in
/// either direction one of the first two begins in another token.
const PADDING: [usize; 3] = [33, 48, 0];

/// What a frame of padding holds: the logarithm of the floor.
const SILENCE: f32 = -11.512_925;

/// Three clips out of the first of `mel` `[B,T,features]`, of which `valid` frames are sound: two
/// padded on the left, one not.
///
/// # Errors
/// When `mel` has no valid frames.
pub fn left_padded(mel: &Tensor, valid: usize) -> Result<Batch, BatchError> {
    let values = mel.as_f32().unwrap_or_default();
    let features = mel.shape().dims().last().copied().unwrap_or(0);
    let valid = valid.min(values.len() / features.max(1));
    if valid == 0 {
        return Err(BatchError::Frames(0));
    }
    let (mut out, mut mask) = (Vec::new(), Vec::new());
    for (clip, padding) in PADDING.into_iter().enumerate() {
        for frame in 0..FRAMES {
            let at = (frame + 97 * clip) % valid * features;
            if frame < padding {
                out.extend(std::iter::repeat_n(SILENCE, features));
            } else {
                out.extend_from_slice(&values[at..at + features]);
            }
            mask.push(frame >= padding);
        }
    }
    let mel = Tensor::from_f32([PADDING.len(), FRAMES, features], &out)?;
    Batch::new(mel, mask)
}

/// Floats times 2⁴⁰; anything else as it is.
pub fn magnified(tensor: &Tensor) -> Tensor {
    let by = 2f32.powi(40);
    let shape = tensor.shape().clone();
    let larger = if let Some(values) = tensor.as_f32() {
        let values: Vec<f32> = values.iter().map(|v| v * by).collect();
        Tensor::from_f32(shape, &values)
    } else if let Some(values) = tensor.as_bf16() {
        let values: Vec<bf16> = values
            .iter()
            .map(|v| bf16::from_f32(v.to_f32() * by))
            .collect();
        Tensor::from_bf16(shape, &values)
    } else {
        return tensor.clone();
    };
    larger.unwrap_or_else(|_| tensor.clone())
}

/// Why a mutation of a boundary of the audio encoder changes no value on any inputs, if that is
/// known.
pub fn reason(_boundary: &str, _name: &str) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_more_or_less_of_padding_is_another_token() {
        let mel = Tensor::from_f32([1, 7, 2], &[0.5; 14]).unwrap();
        let batch = left_padded(&mel, 7).unwrap();
        assert_eq!((batch.clips(), batch.frames()), (3, FRAMES));
        assert_eq!(batch.valid(), [FRAMES - 33, FRAMES - 48, FRAMES]);
        let tokens = |padding: usize| padding.div_ceil(16);
        assert_ne!(tokens(PADDING[0]), tokens(PADDING[0] - 1));
        assert_ne!(tokens(PADDING[1]), tokens(PADDING[1] + 1));
        assert!(left_padded(&mel, 0).is_err());
    }

    #[test]
    fn magnified_floats_keep_their_dtype() {
        let x = Tensor::from_bf16([1], &[bf16::from_f32(-3.0)]).unwrap();
        let y = magnified(&x);
        assert_eq!(y.as_bf16().unwrap()[0].to_f32(), -3.0 * 2f32.powi(40));
        let n = Tensor::from_i32([1], &[3]).unwrap();
        assert_eq!(magnified(&n).as_i32(), Some(&[3][..]));
    }
}
