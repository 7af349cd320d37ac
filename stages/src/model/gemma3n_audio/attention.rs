//! Attention of a conformer block (`Gemma3nAudioConformerAttention`, `Gemma3nAudioAttention`):
//! local, in chunks of queries, with relative positions.
//!
//! A chunk of W queries sees `past + W + future` keys; which of them a query may use follows from
//! their distance and from the keys' validity.

use super::{Model, chunks::Chunks, norm::DEFAULT_EPS};
use crate::graph::{GraphError, Op, ValueId};

/// What a masked logit becomes.
const INVALID_LOGIT: f64 = -1e9;

impl Model<'_> {
    /// `x` `[B,S,D]` plus the attention's result; `valid` `[B,S]` BOOL.
    pub(super) fn attention(
        &mut self,
        name: &str,
        path: &str,
        x: ValueId,
        valid: ValueId,
    ) -> Result<ValueId, GraphError> {
        let hidden = self.config.hidden;
        self.builder.enter_stage(name);
        let clipped = self.clip(x)?;
        let weight = format!("{path}.pre_attn_norm.weight");
        let normed = self.rms_norm(clipped, Some(&weight), DEFAULT_EPS)?;
        self.mark(name, "pre_norm", normed, "The clipped input, normalised.")?;
        let context = self.context(name, &format!("{path}.attn"), normed, valid)?;
        let b = &mut self.builder;
        let dims = b.shape(x).dims().to_vec();
        let joined = b.reshape(context, dims)?;
        let projected = self.linear(&format!("{path}.post"), joined, hidden)?;
        self.mark(
            name,
            "post",
            projected,
            "Heads projected together, before the clip.",
        )?;
        let clipped = self.clip(projected)?;
        let weight = format!("{path}.post_norm.weight");
        let normed = self.rms_norm(clipped, Some(&weight), DEFAULT_EPS)?;
        self.mark(name, "post_norm", normed, "Clipped and normalised.")?;
        let b = &mut self.builder;
        let sum = b.binary(Op::Add, x, normed)?;
        b.boundary(name, sum, "The unclipped input plus the result.")
    }

    /// What each head reads out of the values, `[B,S,N,H]`.
    fn context(
        &mut self,
        name: &str,
        path: &str,
        x: ValueId,
        valid: ValueId,
    ) -> Result<ValueId, GraphError> {
        let chunks = Chunks::of(&self.config.conformer, self.builder.shape(x).dims()[1]);
        let query = self.heads(name, "query", &format!("{path}.q_proj"), x)?;
        let key = self.heads(name, "key", &format!("{path}.k_proj"), x)?;
        let value = self.heads(name, "value", &format!("{path}.v_proj"), x)?;
        let query = self.scaled_query(name, path, query)?;

        let b = &mut self.builder;
        let queries = chunks.of_queries(b, query)?;
        let keys = chunks.of_keys(b, key)?;
        let values = chunks.of_keys(b, value)?;
        let valid = chunks.of_keys(b, valid)?;
        let valid = b.expand_dims(valid, &[1, 3])?;
        let reachable = chunks.reachable(b)?;
        let usable = b.binary(Op::LogicalAnd, valid, reachable)?;

        let queries = b.transpose(queries, &[0, 3, 1, 2, 4])?;
        let keys = b.transpose(keys, &[0, 3, 1, 4, 2])?;
        let content = b.matmul(queries, keys)?;
        self.mark(name, "content_logits", content, "Queries times keys.")?;
        let positional = self.relative_logits(name, path, &chunks, queries)?;
        let b = &mut self.builder;
        let logits = b.binary(Op::Add, content, positional)?;
        self.mark(name, "logits", logits, "Content plus position.")?;

        let capped = self.soft_cap(logits)?;
        self.mark(name, "softcap", capped, "tanh(logits / cap) · cap.")?;
        let b = &mut self.builder;
        let invalid = b.scalar(INVALID_LOGIT, b.dtype(capped));
        let masked = b.select(usable, capped, invalid)?;
        self.mark(name, "masked", masked, "-1e9 where the key cannot be used.")?;
        let b = &mut self.builder;
        let wide = b.astype(masked, crate::DType::F32)?;
        let shares = b.apply(Op::Softmax { precise: false }, &[wide])?;
        let shares = b.astype(shares, b.dtype(values))?;
        let about = "Softmax in F32, cast back; uniform where no key can be used.";
        self.mark(name, "probabilities", shares, about)?;
        let context = chunks.weighted(&mut self.builder, shares, values)?;
        self.mark(
            name,
            "context",
            context,
            "Values weighted and summed, a head each.",
        )
    }

    /// A projection split into heads, `[B,S,N,H]`.
    fn heads(
        &mut self,
        name: &str,
        what: &str,
        path: &str,
        x: ValueId,
    ) -> Result<ValueId, GraphError> {
        let (hidden, heads) = (self.config.hidden, self.config.conformer.heads);
        let projected = self.linear(path, x, hidden)?;
        let dims = self.builder.shape(x).dims();
        let split = [dims[0], dims[1], heads, hidden / heads];
        let split = self.builder.reshape(projected, split)?;
        self.mark(name, what, split, "Projected and split into heads.")
    }

    /// `query * q_scale * softplus(per_dim_scale)`, from the left. The constant `q_scale` is
    /// `H^-0.5 / log(2)`, computed in F32, so that a scale of 0 means `H^-0.5`.
    fn scaled_query(
        &mut self,
        name: &str,
        path: &str,
        query: ValueId,
    ) -> Result<ValueId, GraphError> {
        let per_head = self.config.hidden / self.config.conformer.heads;
        let weight = self.weight(&format!("{path}.per_dim_scale"), &[per_head])?;
        let b = &mut self.builder;
        let scale = b.binary_scalar(Op::LogAddExp, weight, 0.0)?;
        self.mark(name, "query_scale", scale, "log(1 + exp(per_dim_scale)).")?;

        let b = &mut self.builder;
        let two = b.scalar(2.0, crate::DType::F32);
        let log = b.apply(Op::Log, &[two])?;
        let one = b.scalar(1.0, crate::DType::F32);
        let inverse = b.binary(Op::Divide, one, log)?;
        let root = (per_head as f64).powf(-0.5);
        let factor = b.binary_scalar(Op::Multiply, inverse, root)?;
        let factor = b.astype(factor, self.profile.conformer_constants())?;
        let scaled = b.binary(Op::Multiply, query, factor)?;
        let scale = b.reshape(scale, [1, 1, 1, per_head])?;
        let scaled = b.binary(Op::Multiply, scaled, scale)?;
        self.mark(
            name,
            "query_scaled",
            scaled,
            "query · q_scale · query_scale.",
        )
    }

    fn soft_cap(&mut self, logits: ValueId) -> Result<ValueId, GraphError> {
        let cap = self.config.conformer.logit_cap;
        let b = &mut self.builder;
        let cap = b.scalar(cap, self.profile.conformer_constants());
        let small = b.binary(Op::Divide, logits, cap)?;
        let bent = b.apply(Op::Tanh, &[small])?;
        b.binary(Op::Multiply, bent, cap)
    }
}
