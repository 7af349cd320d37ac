//! The Gemma 3n audio encoder and its projection into the text model, as mlx-vlm 0.7.10 computes
//! them (`models/gemma3n/audio.py` and `gemma3n.py`).

mod attention;
mod batch;
mod bucket;
mod chunks;
mod conformer;
mod cumulative_norm;
mod feed_forward;
mod light_conv;
mod norm;
mod pooling;
mod position;
mod projection;
mod sscp;

pub use batch::{Batch, BatchError, MAX_BATCH};
pub use bucket::{BUCKETS, Frames};

use std::collections::HashMap;

use super::ModelError;
use crate::{
    DType, Graph, Profile,
    config::AudioConfig,
    graph::{Builder, GraphError, Op, ValueId},
};

/// What every part of the encoder is written with.
struct Model<'a> {
    builder: Builder,
    config: &'a AudioConfig,
    profile: Profile,
    /// The checkpoint tensors read so far.
    weights: HashMap<String, ValueId>,
}

impl Model<'_> {
    /// A checkpoint tensor in the profile's dtype for weights. The checkpoint holds BF16; widening
    /// it to F32 is exact.
    fn weight(&mut self, name: &str, shape: &[usize]) -> Result<ValueId, GraphError> {
        if let Some(&weight) = self.weights.get(name) {
            return Ok(weight);
        }
        let weight = self.builder.weight(name, shape, DType::BF16);
        let weight = self.builder.astype(weight, self.profile.weights())?;
        self.weights.insert(name.to_owned(), weight);
        Ok(weight)
    }

    /// A checkpoint tensor of packed words, the same in every profile.
    fn words(&mut self, name: &str, shape: &[usize]) -> ValueId {
        let builder = &mut self.builder;
        *self
            .weights
            .entry(name.to_owned())
            .or_insert_with(|| builder.weight(name, shape, DType::U32))
    }

    /// Registers the boundary `stage.name`.
    fn mark(
        &mut self,
        stage: &str,
        name: &str,
        value: ValueId,
        about: &str,
    ) -> Result<ValueId, GraphError> {
        self.builder
            .boundary(format!("{stage}.{name}"), value, about)
    }
}

/// The encoder on a batch of `clips` clips, with every boundary. B is `clips`, T the number of
/// frames, S = ⌈T/4⌉ frames behind the subsampling, K = ⌈S/4⌉ tokens, D the encoder's width.
///
/// Inputs: `mel`, log-mel features `[B,T,features]` F32; `mask` `[B,T]` BOOL, true for frames that
/// are not padding; in a bucket also `frames` `[1]` I32, how many frames are the batch's. Behind
/// those `mel` must be 0 and `mask` false; then everything computed of the batch's own frames has
/// the bits it has without a bucket. The exception are frames of padding whose attention has no
/// valid frame to read, in a chunk that reaches beyond the batch: their context differs, and they
/// are set to zero before another frame reads them. Weights are named canonically (see
/// [`crate::checkpoint`]).
///
/// | boundary | | shape |
/// |---|---|---|
/// | `mel_cast` | features in the profile's dtype | `[B,T,features]` |
/// | `sscp_conv_N.convolution` | before the norm | `[B,T',F',C]` |
/// | `sscp_conv_N.norm.sum_at_time`, `….cumulative_sum`, `….mean` | first moment | `[B,T',1,1]` |
/// | `sscp_conv_N.norm.squared_at_time`, `….cumulative_squared`, `….variance` | second | `[B,T',1,1]` |
/// | `sscp_conv_N.norm.inverse_stddev` | | `[B,T',1,1]` |
/// | `sscp_conv_N.norm` | before the ReLU | `[B,T',F',C]` |
/// | `sscp_conv_N` | the block's result | `[B,T',F',C]` |
/// | `input_projection` | what the conformer reads | `[B,S,D]` |
/// | `conformer.N.feed_forward_start`, `….attention`, `….light_conv`, `….feed_forward_end` | with what is below them | `[B,S,D]` |
/// | `conformer.N` | the block's result | `[B,S,D]` |
/// | `pooling`, `lengths`, `mask` | tokens, how many, which are padding | `[B,K,D]`, `[B]`, `[B,K]` |
/// | `projection.soft_…`, `projection.hard_…` | tokens and the padding embedding projected | `[B,K,H]`, `[1,1,H]` |
/// | `audio_tokens` | what the text model reads | `[B,soft tokens,H]` |
///
/// # Errors
/// When clips or frames are not within the encoder's bounds
/// ([`AudioConfig::check_batch`]); nothing is built then.
pub fn audio_encoder(
    config: &AudioConfig,
    profile: Profile,
    clips: usize,
    frames: Frames,
) -> Result<Graph, ModelError> {
    config.check_batch(clips, frames.count())?;
    let mut model = Model {
        builder: Builder::new(),
        config,
        profile,
        weights: HashMap::new(),
    };
    let shape = [clips, frames.count(), config.features];
    let b = &mut model.builder;
    let mel = b.input("mel", shape, DType::F32);
    let valid = b.input("mask", [clips, frames.count()], DType::Bool);
    let own = match frames {
        Frames::Exact(_) => None,
        Frames::Bucket(_) => Some(b.input("frames", [1], DType::I32)),
    };
    let mut x = model.subsample(mel, own)?;
    let padding = model.subsampled_padding(valid)?;
    let valid = model.builder.apply(Op::LogicalNot, &[padding])?;
    for i in 0..config.conformer.layers {
        x = model.conformer_block(i, x, valid)?;
    }
    let pooled = model.pool(x, padding)?;
    model.project(&pooled)?;
    Ok(model.builder.finish())
}

#[cfg(test)]
mod tests;
