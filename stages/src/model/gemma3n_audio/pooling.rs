//! From frames to tokens: which frames are valid, and every reduction-th of them.

use super::Model;
use crate::{
    DType,
    config::SscpConv,
    graph::{GraphError, Op, ValueId},
};

const TIME: usize = 1;

/// What is left of a batch behind the conformer.
pub(super) struct Pooled {
    /// `[B,K,D]`.
    pub(super) tokens: ValueId,
    /// `[B,K]` BOOL, true where there is only padding.
    pub(super) padding: ValueId,
}

impl Model<'_> {
    /// Which frames behind the subsampling are padding: `valid` `[B,T]` BOOL to `[B,S]`, frame j
    /// as the first of the frames it is made of, `4j`.
    ///
    /// mlx-vlm holds `4j` below T. It always is: S is T/4 rounded up. In a bucket the frames that
    /// are not the batch's are invalid, and so are those made of them only.
    pub(super) fn subsampled_padding(&mut self, valid: ValueId) -> Result<ValueId, GraphError> {
        let [clips, frames] = self.builder.shape(valid).dims()[..] else {
            return Err(GraphError::Shape {
                op: "mask",
                shapes: self.builder.shape(valid).to_string(),
                reason: "a mask is clips and frames".into(),
            });
        };
        let stride: usize = self
            .config
            .convs
            .iter()
            .map(|conv: &SscpConv| conv.stride[0])
            .product();
        let subsampled = self.config.subsampled_frames(frames);
        let b = &mut self.builder;
        let padding = b.apply(Op::LogicalNot, &[valid])?;
        let indices = b.arange(0.0, stride as f64, subsampled, DType::I32);
        let indices = b.expand_dims(indices, &[0])?;
        let indices = b.broadcast_to(indices, &[clips, subsampled].into())?;
        b.apply(Op::GatherAxis { axis: TIME }, &[padding, indices])
    }

    /// `x` `[B,S,D]` and `padding` `[B,S]` reduced to tokens.
    pub(super) fn pool(&mut self, x: ValueId, padding: ValueId) -> Result<Pooled, GraphError> {
        let step = self.config.conformer.reduction;
        let b = &mut self.builder;
        let frames = b.shape(x).dims()[TIME];
        b.enter_stage("pooling");
        let kept = b.slice(x, TIME, 0..frames, step)?;
        let padding = b.slice(padding, TIME, 0..frames, step)?;
        let condition = b.expand_dims(padding, &[2])?;
        let zero = b.scalar(0.0, b.dtype(kept));
        let tokens = b.select(condition, zero, kept)?;
        let about = "Every reduction-th frame, padded ones zero.";
        b.boundary("pooling", tokens, about)?;
        b.enter_stage("lengths");
        let valid = b.apply(Op::LogicalNot, &[padding])?;
        let ones = b.astype(valid, DType::I32)?;
        let length = b.sum(ones, &[TIME])?;
        let length = b.apply(Op::Squeeze { axes: vec![TIME] }, &[length])?;
        let about = "Tokens of a clip that are not padding.";
        b.boundary("lengths", length, about)?;
        b.enter_stage("mask");
        b.boundary("mask", padding, "True for tokens of padding only.")?;
        Ok(Pooled { tokens, padding })
    }
}
