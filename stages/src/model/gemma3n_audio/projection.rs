//! The encoder's tokens in the text model's space (`Gemma3nMultimodalEmbedder`), tokens of
//! padding replaced by the embedding of the last token of the vocabulary.

use super::{Model, pooling::Pooled};
use crate::{
    config::{AudioConfig, Quantization},
    graph::{Builder, GraphError, Quantized, ValueId},
};

const NAME: &str = "projection";
const PATH: &str = "embed_audio";
const TIME: usize = 1;

impl Model<'_> {
    /// `[B,soft_tokens,H]`: tokens projected, then padding up to that number.
    pub(super) fn project(&mut self, pooled: &Pooled) -> Result<ValueId, GraphError> {
        let AudioConfig {
            soft_tokens,
            text_hidden,
            ..
        } = *self.config;
        self.builder.enter_stage(NAME);
        let tokens = self.embed("soft", pooled.tokens)?;
        let row = self.padding_row()?;
        self.mark(
            NAME,
            "hard_embedding",
            row,
            "The embedding that stands for padding.",
        )?;
        let row = self.embed("hard", row)?;

        let b = &mut self.builder;
        b.enter_stage("audio_tokens");
        let condition = b.expand_dims(pooled.padding, &[2])?;
        let chosen = b.select(condition, row, tokens)?;
        let [clips, count] = [0, 1].map(|axis| b.shape(chosen)[axis]);
        let rest = [clips, soft_tokens - count, text_hidden].into();
        let rest = b.broadcast_to(row, &rest)?;
        let all = b.concatenate(&[chosen, rest], TIME)?;
        let about = "What the text model reads: padding replaced, then padding to the full number.";
        b.boundary("audio_tokens", all, about)
    }

    /// Norm, projection and norm without weight of `x` `[..,D]`.
    fn embed(&mut self, kind: &str, x: ValueId) -> Result<ValueId, GraphError> {
        let eps = self.config.rms_norm_eps;
        let outputs = self.config.text_hidden;
        let weight = format!("{PATH}.{kind}_embedding_norm.weight");
        let normed = self.rms_norm(x, Some(&weight), eps)?;
        self.mark(NAME, &format!("{kind}_norm"), normed, "Normalised.")?;
        let projected = self.projection(normed, outputs)?;
        let about = "Projected to the text model's width.";
        self.mark(NAME, &format!("{kind}_linear"), projected, about)?;
        let normed = self.rms_norm(projected, None, eps)?;
        let about = "Normalised, without a weight.";
        self.mark(NAME, &format!("{kind}_post_norm"), normed, about)
    }

    /// `embed_audio.embedding_projection`: `nn.Linear`, or `nn.QuantizedLinear` of a checkpoint in
    /// which it is quantised.
    fn projection(&mut self, x: ValueId, outputs: usize) -> Result<ValueId, GraphError> {
        let path = format!("{PATH}.embedding_projection");
        match self.config.quantization {
            Some(quantization) if self.config.quantized.projection => {
                let extents = [outputs, self.config.hidden];
                let matrix = self.quantized(&path, extents, quantization)?;
                self.builder.quantized_linear(x, matrix)
            }
            _ => self.linear(&path, x, outputs),
        }
    }

    /// The row of the embedding table that the last token of the vocabulary looks up, `[1,1,D]`:
    /// of `nn.Embedding`, or of `nn.QuantizedEmbedding`, which looks up words, scales and biases
    /// and dequantises what it found.
    fn padding_row(&mut self) -> Result<ValueId, GraphError> {
        let (hidden, vocab) = (self.config.hidden, self.config.vocab.clone());
        let path = format!("{PATH}.embedding");
        let row = |b: &mut Builder, table: ValueId| {
            let row = b.slice(table, 0, vocab.padding..vocab.padding + 1, 1)?;
            let width = b.shape(row)[1];
            b.reshape(row, [1, 1, width])
        };
        match self.config.quantization {
            Some(quantization) if self.config.quantized.embedding => {
                let extents = [vocab.size, hidden];
                let mut table = self.quantized(&path, extents, quantization)?;
                let b = &mut self.builder;
                for part in [&mut table.words, &mut table.scales, &mut table.biases] {
                    *part = row(b, *part)?;
                }
                b.dequantize(table)
            }
            _ => {
                let table = self.weight(&format!("{path}.weight"), &[vocab.size, hidden])?;
                row(&mut self.builder, table)
            }
        }
    }

    /// A quantised matrix `[rows, columns]` of the checkpoint; scales and biases in the profile's
    /// dtype for weights.
    fn quantized(
        &mut self,
        path: &str,
        [rows, columns]: [usize; 2],
        Quantization { group_size, bits }: Quantization,
    ) -> Result<Quantized, GraphError> {
        let groups = [rows, columns / group_size];
        let words = [rows, columns * bits / 32];
        Ok(Quantized {
            words: self.words(&format!("{path}.weight"), &words),
            scales: self.weight(&format!("{path}.scales"), &groups)?,
            biases: self.weight(&format!("{path}.biases"), &groups)?,
            group_size,
            bits,
        })
    }
}
