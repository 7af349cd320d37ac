//! Half-step feed-forward layer of a conformer block (`Gemma3nAudioConformerFeedForward`).

use super::{Model, norm::DEFAULT_EPS};
use crate::graph::{GraphError, Op, ValueId};

/// Width of the hidden layer over the encoder's.
pub(crate) const EXPANSION: usize = 4;

impl Model<'_> {
    /// `x` `[B,S,D]` plus the layer's result times the residual weight. `name` is the boundary,
    /// `path` the checkpoint's module.
    pub(super) fn feed_forward(
        &mut self,
        name: &str,
        path: &str,
        x: ValueId,
    ) -> Result<ValueId, GraphError> {
        let hidden = self.config.hidden;
        self.builder.enter_stage(name);
        let clipped = self.clip(x)?;
        let weight = format!("{path}.pre_layer_norm.weight");
        let normed = self.rms_norm(clipped, Some(&weight), DEFAULT_EPS)?;
        self.mark(name, "pre_norm", normed, "The clipped input, normalised.")?;
        let wide = self.linear(&format!("{path}.ffw_layer_1"), normed, EXPANSION * hidden)?;
        self.mark(name, "linear_1", wide, "Projected to four times the width.")?;
        let active = self.builder.silu(wide)?;
        self.mark(name, "silu", active, "x · sigmoid(x).")?;
        let narrow = self.linear(&format!("{path}.ffw_layer_2"), active, hidden)?;
        self.mark(name, "linear_2", narrow, "Projected back, before the clip.")?;
        let clipped = self.clip(narrow)?;
        let weight = format!("{path}.post_layer_norm.weight");
        let normed = self.rms_norm(clipped, Some(&weight), DEFAULT_EPS)?;
        self.mark(name, "post_norm", normed, "Clipped and normalised.")?;
        let factor = self.config.conformer.residual_weight;
        let b = &mut self.builder;
        let factor = b.scalar(factor, self.profile.conformer_constants());
        let scaled = b.binary(Op::Multiply, normed, factor)?;
        let sum = b.binary(Op::Add, x, scaled)?;
        b.boundary(name, sum, "The unclipped input plus the weighted result.")
    }
}
