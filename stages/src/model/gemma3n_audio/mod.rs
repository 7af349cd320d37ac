//! The Gemma 3n audio encoder, as mlx-vlm 0.7.10 `models/gemma3n/audio.py` computes it, up to the
//! input projection of its conformer.

mod cumulative_norm;
mod sscp;

use super::ModelError;
use crate::{
    DType, Graph, Profile,
    config::AudioConfig,
    graph::{Builder, GraphError, ValueId},
};

/// What every part of the encoder is written with.
struct Model<'a> {
    builder: Builder,
    config: &'a AudioConfig,
    profile: Profile,
}

impl Model<'_> {
    /// A checkpoint tensor in the profile's dtype for weights. The checkpoint holds BF16; widening
    /// it to F32 is exact.
    fn weight(&mut self, name: &str, shape: &[usize]) -> Result<ValueId, GraphError> {
        let weight = self.builder.weight(name, shape, DType::BF16);
        self.builder.astype(weight, self.profile.weights())
    }
}

/// The encoder on a batch of `clips` clips of `frames` frames each, with every boundary.
///
/// Input `mel`: log-mel features `[clips, frames, features]` F32. Weights are named canonically
/// (see [`crate::checkpoint`]).
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
///
/// # Errors
/// When clips or frames are not within the encoder's bounds
/// ([`AudioConfig::check_batch`]); nothing is built then.
pub fn audio_encoder(
    config: &AudioConfig,
    profile: Profile,
    clips: usize,
    frames: usize,
) -> Result<Graph, ModelError> {
    config.check_batch(clips, frames)?;
    let mut model = Model {
        builder: Builder::new(),
        config,
        profile,
    };
    let mel = model
        .builder
        .input("mel", [clips, frames, config.features], DType::F32);
    model.subsample(mel)?;
    Ok(model.builder.finish())
}

#[cfg(test)]
mod tests;
