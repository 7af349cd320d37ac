//! Group norm with statistics over all frames so far (`Gemma3nCumulativeGroupNorm`, one group,
//! a scale and no bias).
//!
//! Everything inside is F32. The mean of frame t covers frames 0..=t; the variance sums, over the
//! same frames, squared deviations from the mean *of their own time*, so it is not the variance
//! of the frames so far. Padded frames count: neither mlx-vlm nor transformers gives a mask here.
//!
//! Left out: without a mask mlx-vlm multiplies values, squares and result by a mask of ones. 1·x
//! has x's bits for every x (a NaN's payload aside), so no value changes. The number of elements,
//! for which it sums that mask, is stated as the constant each frame's sum is: exact in F32,
//! because the configuration keeps bins times channels at or below 2^24.

use super::Model;
use crate::{
    DType,
    graph::{GraphError, Op, ValueId},
};

/// Bins and channels.
const FEATURES: [usize; 2] = [2, 3];
const TIME: usize = 1;

impl Model<'_> {
    /// `x` `[B,T,F,C]` normalised and scaled by the checkpoint's `weight` `[C]`, in x's dtype.
    /// Statistics are boundaries `[B,T,1,1]` below `name`; so is the result, as `name`.
    pub(super) fn cumulative_norm(
        &mut self,
        name: &str,
        weight: &str,
        x: ValueId,
    ) -> Result<ValueId, GraphError> {
        let b = &mut self.builder;
        let dtype = b.dtype(x);
        let dims = b.shape(x).dims().to_vec();
        let [clips, frames, bins, channels] = dims[..] else {
            return Err(GraphError::Shape {
                op: "cumulative_norm",
                shapes: b.shape(x).to_string(),
                reason: "it takes clips, frames, bins and channels".into(),
            });
        };
        let x = b.astype(x, DType::F32)?;

        let sum = b.sum(x, &FEATURES)?;
        b.boundary(
            format!("{name}.sum_at_time"),
            sum,
            "Sum over the bins and channels of a frame.",
        )?;
        let cumulative = b.cumsum(sum, TIME)?;
        b.boundary(
            format!("{name}.cumulative_sum"),
            cumulative,
            "Sum over all frames so far.",
        )?;
        let of_frame = b.full([clips, frames, 1, 1], (bins * channels) as f64, DType::F32)?;
        let count = b.cumsum(of_frame, TIME)?;
        let count = b.binary_scalar(Op::Maximum, count, 1.0)?;
        let mean = b.binary(Op::Divide, cumulative, count)?;
        b.boundary(format!("{name}.mean"), mean, "Mean over all frames so far.")?;

        let deviation = b.binary(Op::Subtract, x, mean)?;
        // (x - mean) ** 2 is Power, which rounds otherwise than Square.
        let squared = b.binary_scalar(Op::Power, deviation, 2.0)?;
        let sum = b.sum(squared, &FEATURES)?;
        b.boundary(
            format!("{name}.squared_at_time"),
            sum,
            "Sum of a frame's squared deviations from the mean at its time.",
        )?;
        let cumulative = b.cumsum(sum, TIME)?;
        b.boundary(
            format!("{name}.cumulative_squared"),
            cumulative,
            "Squared deviations summed over all frames so far, each from its own mean.",
        )?;
        let variance = b.binary(Op::Divide, cumulative, count)?;
        b.boundary(
            format!("{name}.variance"),
            variance,
            "Squared deviations per element of all frames so far.",
        )?;
        let shifted = b.binary_scalar(Op::Add, variance, self.config.group_norm_eps)?;
        let inverse = b.apply(Op::Sqrt { reciprocal: true }, &[shifted])?;
        b.boundary(
            format!("{name}.inverse_stddev"),
            inverse,
            "One over the square root of the variance plus epsilon.",
        )?;

        let normed = b.binary(Op::Multiply, deviation, inverse)?;
        let scale = self.weight(weight, &[channels])?;
        let b = &mut self.builder;
        let scale = b.astype(scale, DType::F32)?;
        let scale = b.reshape(scale, [1, 1, 1, channels])?;
        let scaled = b.binary(Op::Multiply, normed, scale)?;
        let result = b.astype(scaled, dtype)?;
        b.boundary(
            name,
            result,
            "Normalised, scaled per channel and cast back, before the ReLU.",
        )
    }
}
