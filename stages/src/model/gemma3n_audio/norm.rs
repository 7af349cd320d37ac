//! `Gemma3nRMSNorm`: x over its root mean square, everything inside in F32.

use super::Model;
use crate::{
    DType,
    graph::{GraphError, Op, ValueId},
};

/// The epsilon of norms that take none from the configuration (the class's default).
pub(super) const DEFAULT_EPS: f64 = 1e-6;

impl Model<'_> {
    /// `x` `[.., D]` normalised along its last axis, times the checkpoint's `weight` `[D]` if
    /// there is one, in x's dtype.
    pub(super) fn rms_norm(
        &mut self,
        x: ValueId,
        weight: Option<&str>,
        eps: f64,
    ) -> Result<ValueId, GraphError> {
        let b = &mut self.builder;
        let (dtype, shape) = (b.dtype(x), b.shape(x));
        let axis = shape.rank().saturating_sub(1);
        let width = shape.dims().last().copied().unwrap_or(1);
        let x = b.astype(x, DType::F32)?;
        let square = b.apply(Op::Square, &[x])?;
        let mean = b.mean(square, axis)?;
        let shifted = b.binary_scalar(Op::Add, mean, eps)?;
        let inverse = b.apply(Op::Sqrt { reciprocal: true }, &[shifted])?;
        let mut result = b.binary(Op::Multiply, x, inverse)?;
        if let Some(name) = weight {
            let weight = self.weight(name, &[width])?;
            let b = &mut self.builder;
            // `self.weight + self.scale_shift`, which is 0: a weight of -0 becomes +0.
            let weight = b.binary_scalar(Op::Add, weight, 0.0)?;
            result = b.binary(Op::Multiply, result, weight)?;
        }
        self.builder.astype(result, dtype)
    }

    /// `mx.clip` to the configured bounds, arrays in the dtype of the conformer's constants.
    pub(super) fn clip(&mut self, x: ValueId) -> Result<ValueId, GraphError> {
        let bound = self.config.conformer.gradient_clipping;
        let dtype = self.profile.conformer_constants();
        let b = &mut self.builder;
        let (low, high) = (b.scalar(-bound, dtype), b.scalar(bound, dtype));
        b.clip(x, low, high)
    }

    /// `nn.Linear` without bias, of the checkpoint's `name.weight` `[outputs, inputs]`.
    pub(super) fn linear(
        &mut self,
        name: &str,
        x: ValueId,
        outputs: usize,
    ) -> Result<ValueId, GraphError> {
        let inputs = self.builder.shape(x).dims().last().copied().unwrap_or(1);
        let weight = self.weight(&format!("{name}.weight"), &[outputs, inputs])?;
        self.builder.linear(x, weight)
    }
}
