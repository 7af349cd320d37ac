//! On which inputs a mutation shows.

use std::fmt;

use half::bf16;
use stages::{
    Tensor,
    audio::PaddingSide,
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
    /// The same, padded on the right.
    RightPadded,
    /// Captures of the same inputs in the profile `f32`, where no rounding to BF16 hides a small
    /// difference.
    WideProfile,
    /// Captures in the profile `f32` times powers of two that differ from element to element, so
    /// that the order of additions shows; the reference is MLX on the unmutated step alone.
    Shaken {
        /// Which powers.
        draw: u8,
    },
    /// Captures in the profile `f32`, nearly all zeros, the rest moved to where a square lies next
    /// to the middle between two F32: one that is rounded otherwise is then alone in its sum. The
    /// reference is MLX on the unmutated step alone.
    NearTies,
    /// The run's captures, with each BF16 weight times 1 + 37/128, rounded: scales of few bits, whose
    /// products need no rounding, have more. The reference is MLX on the unmutated step alone.
    OtherWeights,
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
            Inputs::RightPadded => "right-padded",
            Inputs::WideProfile => "f32",
            Inputs::Shaken { draw } => SHAKEN[draw as usize % SHAKEN.len()],
            Inputs::NearTies => "near-ties",
            Inputs::OtherWeights => "other-weights",
            Inputs::Magnified => "magnified",
        }
    }

    /// Whether the reference is MLX on each step alone.
    pub(super) const fn is_alone(self) -> bool {
        matches!(
            self,
            Inputs::Shaken { .. } | Inputs::NearTies | Inputs::OtherWeights | Inputs::Magnified
        )
    }

    /// What becomes of a weight.
    pub(super) fn reweighted(self, tensor: Tensor) -> Tensor {
        match self {
            Inputs::OtherWeights => times(&tensor, 1.0 + 37.0 / 128.0),
            _ => tensor,
        }
    }

    /// What becomes of a value that a step is handed.
    pub(super) fn changed(self, tensor: &Tensor) -> Tensor {
        match self {
            Inputs::Shaken { draw } => shaken(tensor, draw),
            Inputs::NearTies => near_ties(tensor),
            Inputs::Magnified => magnified(tensor),
            _ => tensor.clone(),
        }
    }
}

/// The names of draws.
const SHAKEN: [&str; 8] = [
    "shaken", "shaken-1", "shaken-2", "shaken-3", "shaken-4", "shaken-5", "shaken-6", "shaken-7",
];

const fn shaken_by(draw: u8) -> Inputs {
    Inputs::Shaken { draw }
}

/// All but a run's own, in the order in which they are tried.
pub const OTHERS: [Inputs; 13] = [
    Inputs::LeftPadded,
    Inputs::RightPadded,
    Inputs::WideProfile,
    shaken_by(1),
    shaken_by(2),
    shaken_by(3),
    shaken_by(4),
    shaken_by(5),
    shaken_by(6),
    shaken_by(7),
    Inputs::NearTies,
    Inputs::OtherWeights,
    Inputs::Magnified,
];

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
        _ => &OTHERS[..12],
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

/// Frames of each clip of [`padded`]: a bucket, so that the last ones are sound.
const FRAMES: usize = 192;

/// Frames of padding of each of its clips, on the left and on the right. A token is 16 frames:
/// shifted by one frame in either direction one of the first two ends in another token.
const LEFT: [usize; 3] = [33, 48, 0];
const RIGHT: [usize; 3] = [47, 32, 0];

/// What a frame of padding holds: the logarithm of the floor.
const SILENCE: f32 = -11.512_925;

/// Three clips out of the first of `mel` `[B,T,features]`, whose frames `mask` `[B,T]` says to be
/// sound: two padded on this side, one not.
///
/// # Errors
/// When the first clip has no such frame.
pub fn padded(mel: &Tensor, mask: &Tensor, side: PaddingSide) -> Result<Batch, BatchError> {
    let values = mel.as_f32().unwrap_or_default();
    let features = mel.shape().dims().last().copied().unwrap_or(0).max(1);
    let frames = mel.shape().dims().get(1).copied().unwrap_or(0);
    let mask = mask.as_bool().unwrap_or_default().iter().take(frames);
    let sound: Vec<&[f32]> = values
        .chunks(features)
        .zip(mask)
        .filter_map(|(frame, &valid)| (valid != 0).then_some(frame))
        .collect();
    if sound.is_empty() {
        return Err(BatchError::Frames(0));
    }
    let (mut out, mut valid) = (Vec::new(), Vec::new());
    let paddings = match side {
        PaddingSide::Left => LEFT,
        PaddingSide::Right => RIGHT,
    };
    for (clip, padding) in paddings.into_iter().enumerate() {
        for frame in 0..FRAMES {
            let is_sound = match side {
                PaddingSide::Left => frame >= padding,
                PaddingSide::Right => frame < FRAMES - padding,
            };
            if !is_sound {
                out.extend(std::iter::repeat_n(SILENCE, features));
            } else {
                out.extend_from_slice(sound[(frame + 97 * clip) % sound.len()]);
            }
            valid.push(is_sound);
        }
    }
    let mel = Tensor::from_f32([paddings.len(), FRAMES, features], &out)?;
    Batch::new(mel, valid)
}

/// F32 values times powers of two, from 2⁻⁴ to 2⁴ in the first draw and further apart in each that
/// follows, those of every other draw negated; zeros are the powers themselves. Anything else as it
/// is.
fn shaken(tensor: &Tensor, draw: u8) -> Tensor {
    let Some(values) = tensor.as_f32() else {
        return tensor.clone();
    };
    let most = 4 * i32::from(draw);
    let sign = if draw.is_multiple_of(2) { -1.0 } else { 1.0 };
    let mut state = 0x9E37_79B9_u32.wrapping_mul(u32::from(draw));
    let mut factor = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        sign * 2f32.powi((state >> 16) as i32 % (2 * most + 1) - most)
    };
    let shake = |&v: &f32| if v == 0.0 { factor() } else { v * factor() };
    let values: Vec<f32> = values.iter().map(shake).collect();
    Tensor::from_f32(tensor.shape().clone(), &values).unwrap_or_else(|_| tensor.clone())
}

/// How far apart the values of [`near_ties`] are that are no zeros: no divisor of usual extents.
const LONE: usize = 1021;

/// F32 values, all zeros but every 1021st; those are the first of the same magnitude or above whose
/// square lies within 2⁻¹³ of the distance between two F32 from their middle. Anything else as it
/// is.
fn near_ties(tensor: &Tensor) -> Tensor {
    let Some(values) = tensor.as_f32() else {
        return tensor.clone();
    };
    let values = values.iter().enumerate();
    let values: Vec<f32> = values
        .map(
            |(i, &value)| {
                if i % LONE == 0 { near_tie(value) } else { 0.0 }
            },
        )
        .collect();
    Tensor::from_f32(tensor.shape().clone(), &values).unwrap_or_else(|_| tensor.clone())
}

/// A value from the magnitude of `value` on, one where that has no sane square.
fn near_tie(value: f32) -> f32 {
    // What a square in F64, which is exact, has below the last bit of an F32.
    const BELOW: u64 = (1 << 29) - 1;
    const MIDDLE: u64 = 1 << 28;
    let sane = value.is_finite() && (1e-15..1e15).contains(&value.abs());
    let start = if sane { value.abs() } else { 1.0 };
    let near = |&value: &f32| {
        let square = f64::from(value) * f64::from(value);
        (square.to_bits() & BELOW).abs_diff(MIDDLE) < 1 << 16
    };
    let mut above = (0..1 << 16).map(|i| f32::from_bits(start.to_bits() + i));
    above.find(near).unwrap_or(start)
}

/// Floats times 2⁴⁰; anything else as it is.
fn magnified(tensor: &Tensor) -> Tensor {
    let by = 2f32.powi(40);
    let Some(values) = tensor.as_f32() else {
        return times(tensor, by);
    };
    let values: Vec<f32> = values.iter().map(|v| v * by).collect();
    Tensor::from_f32(tensor.shape().clone(), &values).unwrap_or_else(|_| tensor.clone())
}

/// BF16 values times a number, rounded; anything else as it is.
fn times(tensor: &Tensor, by: f32) -> Tensor {
    let shape = tensor.shape().clone();
    let larger = if let Some(values) = tensor.as_bf16() {
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

/// Why a mutation changes no value on any inputs, for the boundaries of the audio encoder of which
/// that is known: by the end of the boundary's name and the mutation's.
const REASONS: [(&str, &str, &str); 7] = [
    (
        ".norm.squared_at_time",
        "swapped@Subtract.1",
        "a square does not depend on the sign",
    ),
    (
        ".norm.mean",
        "only-operand-0@Maximum.1",
        "every frame has at least one element",
    ),
    (
        ".norm.mean",
        "constant@Constant.2",
        "every frame has more elements than that",
    ),
    (
        ".norm.variance",
        "only-operand-0@Maximum.1",
        "every frame has at least one element",
    ),
    (
        ".norm.variance",
        "constant@Constant.2",
        "every frame has more elements than that",
    ),
    (
        "lengths/3.Reduce",
        "reversed-1@Input.1",
        "a count does not depend on the order",
    ),
    (
        "lengths",
        "reversed-1@Input.1",
        "a count does not depend on the order",
    ),
];

/// Why a mutation changes no value on any inputs, if that is known.
pub fn reason(boundary: &str, name: &str) -> Option<&'static str> {
    let known = |(of, mutation, _): &&(&str, &str, &'static str)| {
        boundary.ends_with(of) && name == *mutation
    };
    REASONS.iter().find(known).map(|(_, _, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_more_or_less_of_padding_is_another_token() {
        let mel = Tensor::from_f32([1, 7, 2], &[0.5; 14]).unwrap();
        let mask = |valid: [bool; 7]| Tensor::from_bool([1, 7], &valid).unwrap();
        let tokens = |frames: usize| frames.div_ceil(16);
        for (side, paddings) in [(PaddingSide::Left, LEFT), (PaddingSide::Right, RIGHT)] {
            let batch = padded(&mel, &mask([true; 7]), side).unwrap();
            assert_eq!((batch.clips(), batch.frames()), (3, FRAMES));
            assert_eq!(batch.side(), Some(side));
            assert_eq!(batch.valid(), paddings.map(|padding| FRAMES - padding));
            // Where the first clips change from padding to sound or back.
            let [a, b] = match side {
                PaddingSide::Left => [paddings[0], paddings[1]],
                PaddingSide::Right => [FRAMES - paddings[0], FRAMES - paddings[1]],
            };
            assert_ne!(tokens(a), tokens(a - 1));
            assert_ne!(tokens(b), tokens(b + 1));
        }
        assert!(padded(&mel, &mask([false; 7]), PaddingSide::Left).is_err());
    }

    #[test]
    fn few_values_are_left_and_their_squares_are_rounded_at_a_tie() {
        let values: Vec<f32> = (0..5000).map(|i| i as f32 / 7.0 - 300.0).collect();
        let x = near_ties(&Tensor::from_f32([5, 1000], &values).unwrap());
        let x = x.as_f32().unwrap();
        let left: Vec<f32> = x.iter().copied().filter(|&v| v != 0.0).collect();
        assert_eq!(left.len(), 5);
        for value in left {
            let square = f64::from(value) * f64::from(value);
            let down = f64::from(square as f32);
            let unit = f64::from((square as f32).next_up()) - down;
            let apart = ((square - down).abs() / unit - 0.5).abs();
            assert!(apart < 1.0 / 8192.0, "{value}: {apart}");
        }
        assert!(near_tie(f32::NAN) > 0.0 && near_tie(f32::INFINITY) < 2.0);
        assert!((near_tie(-3.0) - 3.0).abs() < 0.1);
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
