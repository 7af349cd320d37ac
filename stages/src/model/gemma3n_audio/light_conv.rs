//! Light convolution of a conformer block (`Gemma3nAudioConformerLightConv1d`): a gated linear
//! layer, a causal depthwise convolution over time and another linear layer.
//!
//! mlx-vlm pads `[B,D,S]` between two transposes; here time stays the middle axis. Only zeros are
//! placed there.

use super::Model;
use crate::graph::{GraphError, Op, ValueId};

const TIME: usize = 1;

impl Model<'_> {
    /// `x` `[B,S,D]`, padded frames set to zero by `valid` `[B,S]` BOOL, plus the layer's result.
    pub(super) fn light_conv(
        &mut self,
        name: &str,
        path: &str,
        x: ValueId,
        valid: ValueId,
    ) -> Result<ValueId, GraphError> {
        let (hidden, eps) = (self.config.hidden, self.config.rms_norm_eps);
        let b = &mut self.builder;
        b.enter_stage(name);
        let factor = b.expand_dims(valid, &[2])?;
        let factor = b.astype(factor, b.dtype(x))?;
        let x = b.binary(Op::Multiply, x, factor)?;
        self.mark(
            name,
            "masked_input",
            x,
            "Padded frames times 0, others times 1.",
        )?;
        let weight = format!("{path}.pre_layer_norm.weight");
        let normed = self.rms_norm(x, Some(&weight), eps)?;
        self.mark(name, "pre_norm", normed, "Normalised, not clipped.")?;
        let doubled = self.linear(&format!("{path}.linear_start"), normed, 2 * hidden)?;
        self.mark(
            name,
            "linear_start",
            doubled,
            "Projected to twice the width.",
        )?;
        let gated = self.builder.glu(doubled)?;
        self.mark(name, "gate", gated, "First half · sigmoid(second half).")?;
        let convolved = self.depthwise(path, gated)?;
        self.mark(
            name,
            "depthwise",
            convolved,
            "Convolved over time, before the clip.",
        )?;
        let clipped = self.clip(convolved)?;
        let weight = format!("{path}.conv_norm.weight");
        let normed = self.rms_norm(clipped, Some(&weight), eps)?;
        self.mark(name, "conv_norm", normed, "Clipped and normalised.")?;
        let active = self.builder.silu(normed)?;
        self.mark(name, "silu", active, "x · sigmoid(x).")?;
        let projected = self.linear(&format!("{path}.linear_end"), active, hidden)?;
        self.mark(
            name,
            "linear_end",
            projected,
            "Projected, before the residual sum.",
        )?;
        let b = &mut self.builder;
        let sum = b.binary(Op::Add, projected, x)?;
        b.boundary(name, sum, "The result plus the masked input.")
    }

    /// Each channel's own convolution over the frames so far: `nn.Conv1d` in as many groups as
    /// channels, zeros before the first frame only.
    fn depthwise(&mut self, path: &str, x: ValueId) -> Result<ValueId, GraphError> {
        let (hidden, kernel) = (self.config.hidden, self.config.conformer.kernel);
        let name = format!("{path}.depthwise_conv1d.weight");
        let weight = self.weight(&name, &[hidden, kernel, 1])?;
        let b = &mut self.builder;
        let padded = b.pad(x, &[(TIME, kernel - 1, 0)], 0.0)?;
        let dtype = b.dtype(padded).promote(b.dtype(weight));
        let dtype = dtype.unwrap_or(b.dtype(padded));
        let (padded, weight) = (b.astype(padded, dtype)?, b.astype(weight, dtype)?);
        let op = Op::Convolution {
            strides: vec![1],
            low: vec![0],
            high: vec![0],
            kernel_dilation: vec![1],
            input_dilation: vec![1],
            groups: hidden,
            flip: false,
        };
        b.apply(op, &[padded, weight])
    }
}
