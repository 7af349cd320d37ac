//! One conformer block (`Gemma3nAudioConformerBlock`).

use super::{Model, norm::DEFAULT_EPS};
use crate::graph::{GraphError, ValueId};

impl Model<'_> {
    /// `x` `[B,S,D]` through block `i`; `valid` `[B,S]` BOOL.
    pub(super) fn conformer_block(
        &mut self,
        i: usize,
        x: ValueId,
        valid: ValueId,
    ) -> Result<ValueId, GraphError> {
        let name = format!("conformer.{i}");
        let path = format!("audio_tower.conformer.{i}");
        let part =
            |stage: &str, module: &str| (format!("{name}.{stage}"), format!("{path}.{module}"));
        let (stage, module) = part("feed_forward_start", "ffw_layer_start");
        let x = self.feed_forward(&stage, &module, x)?;
        let (stage, module) = part("attention", "attention");
        let x = self.attention(&stage, &module, x, valid)?;
        let (stage, module) = part("light_conv", "lconv1d");
        let x = self.light_conv(&stage, &module, x, valid)?;
        let (stage, module) = part("feed_forward_end", "ffw_layer_end");
        let x = self.feed_forward(&stage, &module, x)?;
        self.builder.enter_stage(name.as_str());
        let clipped = self.clip(x)?;
        let weight = format!("{path}.norm.weight");
        let normed = self.rms_norm(clipped, Some(&weight), DEFAULT_EPS)?;
        let about = "The block's result, clipped and normalised.";
        self.builder.boundary(name, normed, about)
    }
}
