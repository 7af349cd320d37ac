//! Which audio tensors a checkpoint must hold, derived from its configuration and from which of
//! its modules are quantised.

use crate::{
    DType, Shape,
    config::{AudioConfig, Quantization},
};

/// Which of the modules that MLX quantises are: their weight is U32 words then, with scales and
/// biases beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuantizedModules {
    /// `embed_audio.embedding`.
    pub embedding: bool,
    /// `embed_audio.embedding_projection`.
    pub projection: bool,
}

impl QuantizedModules {
    /// Those of which `holds` says that there is such a tensor: scales are what tells.
    pub(super) fn seen(holds: impl Fn(&str) -> bool) -> Self {
        let scaled = |module: &str| holds(&format!("{module}.{SCALES}"));
        QuantizedModules {
            embedding: scaled(EMBEDDING),
            projection: scaled(PROJECTION),
        }
    }

    /// Whether the module of that name is.
    pub fn has(self, module: &str) -> bool {
        match module {
            EMBEDDING => self.embedding,
            PROJECTION => self.projection,
            _ => false,
        }
    }
}

const EMBEDDING: &str = "embed_audio.embedding";
const PROJECTION: &str = "embed_audio.embedding_projection";
const SCALES: &str = "scales";
const BIASES: &str = "biases";

/// How a tensor's axes may be ordered in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One order only.
    Fixed,
    /// A convolution over time and frequency: `[out, kT, kF, in]` here and in MLX's files,
    /// `[out, in, kT, kF]` in transformers'.
    Conv2d,
    /// A depthwise convolution over time: `[channels, K, 1]` here and in MLX's files,
    /// `[channels, 1, K]` in transformers'.
    DepthwiseConv1d,
}

/// A tensor a checkpoint must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedTensor {
    /// Its name without the prefix `model.`.
    pub name: String,
    /// BF16, or U32 for the words of a quantised module.
    pub dtype: DType,
    /// Its shape in this project, which is MLX's.
    pub shape: Shape,
    /// How a file may order the axes.
    pub layout: Layout,
}

impl ExpectedTensor {
    /// Its shape in transformers' files.
    pub fn transformers_shape(&self) -> Shape {
        match (self.layout, self.shape.dims()) {
            (Layout::Conv2d, &[out, time, frequency, input]) => {
                [out, input, time, frequency].into()
            }
            (Layout::DepthwiseConv1d, &[channels, kernel, 1]) => [channels, 1, kernel].into(),
            _ => self.shape.clone(),
        }
    }
}

/// Every tensor below `audio_tower.` and `embed_audio.` (canonical names, in the order of the
/// computation): 5 of the subsampling, 22 of each conformer block and 4 of the embedder, 273 for
/// the published models. Each of the modules in [`AudioConfig::quantized`] adds two.
pub fn expected_tensors(config: &AudioConfig) -> Vec<ExpectedTensor> {
    expected_tensors_with(config, config.quantized)
}

/// [`expected_tensors`] where these modules are quantised, which adds two for each: 277 for the
/// published models in 4 bits. A configuration without [`AudioConfig::quantization`] has none.
///
/// A quantised matrix `[N, K]` is `weight` U32 `[N, K·bits/32]` and `scales` and `biases` BF16
/// `[N, K/group_size]`, rounded down where they do not divide K.
pub fn expected_tensors_with(
    config: &AudioConfig,
    quantized: QuantizedModules,
) -> Vec<ExpectedTensor> {
    let mut list = List(Vec::new());
    let hidden = config.hidden;
    for (i, conv) in config.convs.iter().enumerate() {
        let name = format!("audio_tower.subsample_conv_projection.conv_{i}");
        let [time, frequency] = conv.kernel;
        list.0.push(ExpectedTensor {
            name: format!("{name}.conv.weight"),
            dtype: DType::BF16,
            shape: [conv.channels, time, frequency, conv.inputs].into(),
            layout: Layout::Conv2d,
        });
        list.add(format!("{name}.norm.weight"), [conv.channels]);
    }
    list.add(
        "audio_tower.subsample_conv_projection.input_proj_linear.weight".into(),
        [hidden, config.flattened()],
    );
    for i in 0..config.conformer.layers {
        list.conformer_block(&format!("audio_tower.conformer.{i}"), config);
    }
    let quantized = |module| config.quantization.filter(|_| quantized.has(module));
    let extents = [config.vocab.size, hidden];
    list.matrix(EMBEDDING, extents, quantized(EMBEDDING));
    list.add("embed_audio.hard_embedding_norm.weight".into(), [hidden]);
    list.add("embed_audio.soft_embedding_norm.weight".into(), [hidden]);
    let extents = [config.text_hidden, hidden];
    list.matrix(PROJECTION, extents, quantized(PROJECTION));
    list.0
}

struct List(Vec<ExpectedTensor>);

impl List {
    fn add(&mut self, name: String, shape: impl Into<Shape>) {
        self.add_as(DType::BF16, name, shape.into());
    }

    fn add_as(&mut self, dtype: DType, name: String, shape: Shape) {
        self.0.push(ExpectedTensor {
            name,
            dtype,
            shape,
            layout: Layout::Fixed,
        });
    }

    fn matrix(
        &mut self,
        module: &str,
        [rows, columns]: [usize; 2],
        quantized: Option<Quantization>,
    ) {
        let weight = format!("{module}.weight");
        let Some(Quantization { group_size, bits }) = quantized else {
            return self.add(weight, [rows, columns]);
        };
        let words = [rows, columns * bits / 32].into();
        self.add_as(DType::U32, weight, words);
        for part in [SCALES, BIASES] {
            self.add(format!("{module}.{part}"), [rows, columns / group_size]);
        }
    }

    fn conformer_block(&mut self, block: &str, config: &AudioConfig) {
        let d = config.hidden;
        self.feed_forward(&format!("{block}.ffw_layer_start"), d);

        let attention = format!("{block}.attention");
        self.add(format!("{attention}.pre_attn_norm.weight"), [d]);
        let per_head = d / config.conformer.heads;
        self.add(format!("{attention}.attn.per_dim_scale"), [per_head]);
        for projection in [
            "q_proj",
            "k_proj",
            "v_proj",
            "relative_position_embedding.pos_proj",
        ] {
            self.add(format!("{attention}.attn.{projection}.weight"), [d, d]);
        }
        self.add(format!("{attention}.post.weight"), [d, d]);
        self.add(format!("{attention}.post_norm.weight"), [d]);

        let lconv = format!("{block}.lconv1d");
        self.add(format!("{lconv}.pre_layer_norm.weight"), [d]);
        self.add(format!("{lconv}.linear_start.weight"), [2 * d, d]);
        self.0.push(ExpectedTensor {
            name: format!("{lconv}.depthwise_conv1d.weight"),
            dtype: DType::BF16,
            shape: [d, config.conformer.kernel, 1].into(),
            layout: Layout::DepthwiseConv1d,
        });
        self.add(format!("{lconv}.conv_norm.weight"), [d]);
        self.add(format!("{lconv}.linear_end.weight"), [d, d]);

        self.feed_forward(&format!("{block}.ffw_layer_end"), d);
        self.add(format!("{block}.norm.weight"), [d]);
    }

    fn feed_forward(&mut self, layer: &str, d: usize) {
        self.add(format!("{layer}.pre_layer_norm.weight"), [d]);
        self.add(format!("{layer}.ffw_layer_1.weight"), [4 * d, d]);
        self.add(format!("{layer}.ffw_layer_2.weight"), [d, 4 * d]);
        self.add(format!("{layer}.post_layer_norm.weight"), [d]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::tests::{parse, small};

    /// The published models: configuration as in `gemma-3n-E2B-it`, total from the tensor list.
    #[test]
    fn the_published_models_have_273_tensors_of_684694048_values() {
        let mut json = small();
        json["text_config"]["hidden_size"] = json!(2048);
        for (key, value) in [
            ("hidden_size", json!(1536)),
            ("vocab_size", json!(128)),
            ("conf_num_attention_heads", json!(8)),
            ("conf_num_hidden_layers", json!(12)),
            ("sscp_conv_channel_size", json!([128, 32])),
        ] {
            json["audio_config"][key] = value;
        }
        json["quantization"] = json!({"group_size": 64, "bits": 4});
        let config = parse(&json).unwrap();
        let tensors = expected_tensors(&config);
        assert_eq!(tensors.len(), 273);
        let values: usize = tensors.iter().map(|t| t.shape.elements()).sum();
        assert_eq!(values, 684_694_048);
        assert_eq!(tensors[2].transformers_shape(), [32, 128, 3, 3].into());
        assert_eq!(tensors[2].shape, [32, 3, 3, 128].into());

        let both = QuantizedModules {
            embedding: true,
            projection: true,
        };
        let tensors = expected_tensors_with(&config, both);
        assert_eq!(tensors.len(), 277);
        let projection = tensors[tensors.len() - 3..]
            .iter()
            .map(|t| (t.name.as_str(), t.dtype, t.shape.dims()));
        let name = |part: &str| format!("embed_audio.embedding_projection.{part}");
        let expected = [
            (name("weight"), DType::U32, [2048, 192]),
            (name("scales"), DType::BF16, [2048, 24]),
            (name("biases"), DType::BF16, [2048, 24]),
        ];
        assert!(
            projection.eq(expected.iter().map(|(name, dtype, dims)| (
                name.as_str(),
                *dtype,
                &dims[..]
            )))
        );
    }
}
