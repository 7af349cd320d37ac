//! Relative positions (`Gemma3nAudioRelativePositionEmbedding`): a timing signal for each
//! distance, projected, and its products with the queries.

use super::{Model, chunks::Chunks};
use crate::{
    DType,
    graph::{GraphError, Op, ValueId},
};

/// The longest over the shortest period of the timing signal.
const MAX_TIMESCALE: f64 = 1e4;

impl Model<'_> {
    /// The positional part of the logits, `[B,N,U,W,C]`, of `queries` `[B,N,U,W,H]`.
    pub(super) fn relative_logits(
        &mut self,
        name: &str,
        path: &str,
        chunks: &Chunks,
        queries: ValueId,
    ) -> Result<ValueId, GraphError> {
        let (hidden, heads) = (self.config.hidden, self.config.conformer.heads);
        let (span, per_head) = (chunks.span(), hidden / heads);
        let dtype = self.builder.dtype(queries);
        let signal = self.timing_signal(chunks, dtype)?;
        let about = "Sine and cosine of each distance at each timescale.";
        self.mark(name, "position_signal", signal, about)?;
        let path = format!("{path}.relative_position_embedding.pos_proj");
        let projected = self.linear(&path, signal, hidden)?;
        let b = &mut self.builder;
        let split = b.reshape(projected, [1, span, heads, per_head])?;
        let keys = b.apply(Op::Squeeze { axes: vec![0] }, &[split])?;
        let about = "The timing signal projected and split into heads.";
        self.mark(name, "relative_key", keys, about)?;

        let b = &mut self.builder;
        let keys = b.transpose(keys, &[1, 2, 0])?;
        let dims = b.shape(queries).dims().to_vec();
        let rows = b.reshape(queries, [dims[0], dims[1], dims[2] * dims[3], dims[4]])?;
        let product = b.matmul(rows, keys)?;
        let split = [&dims[..4], &[span]].concat();
        let by_distance = b.reshape(product, split)?;
        let by_slot = chunks.relative_shift(b, by_distance)?;
        let about = "Queries times relative keys, moved from distances to slots.";
        self.mark(name, "relative_shift", by_slot, about)
    }

    /// `[1,F,D]`: distances `past ..= -future` at D/2 timescales, sines first, computed in F32.
    fn timing_signal(&mut self, chunks: &Chunks, dtype: DType) -> Result<ValueId, GraphError> {
        let timescales = self.config.hidden / 2;
        let step = MAX_TIMESCALE.ln() / timescales.saturating_sub(1).max(1) as f64;
        let b = &mut self.builder;
        // mlx-vlm makes these positions as int32 and casts them.
        let distance = b.arange(chunks.past as f64, -1.0, chunks.span(), DType::I32);
        let distance = b.expand_dims(distance, &[0])?;
        let distance = b.astype(distance, DType::F32)?;
        let distance = b.expand_dims(distance, &[2])?;
        let index = b.arange(0.0, 1.0, timescales, DType::I32);
        // `mx.arange(n) * -increment`: integers with a Python float meet in F32.
        let index = b.astype(index, DType::F32)?;
        let exponent = b.binary_scalar(Op::Multiply, index, -step)?;
        let rate = b.apply(Op::Exp, &[exponent])?;
        let rate = b.binary_scalar(Op::Multiply, rate, 1.0)?;
        let rate = b.expand_dims(rate, &[0, 1])?;
        let phase = b.binary(Op::Multiply, distance, rate)?;
        let sine = b.apply(Op::Sin, &[phase])?;
        let cosine = b.apply(Op::Cos, &[phase])?;
        let signal = b.concatenate(&[sine, cosine], 2)?;
        b.astype(signal, dtype)
    }
}
