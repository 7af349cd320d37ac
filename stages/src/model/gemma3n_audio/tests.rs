use std::collections::HashMap;

use super::*;
use crate::{
    BoundaryId, Shape,
    checkpoint::expected_tensors,
    config::tests::{parse, small},
    graph::Op,
};

fn config() -> AudioConfig {
    parse(&small()).unwrap()
}

fn graph(profile: Profile, clips: usize, frames: usize) -> Graph {
    audio_encoder(&config(), profile, clips, Frames::Exact(frames)).unwrap()
}

#[test]
fn boundaries_stand_in_evaluation_order_with_their_shapes_and_stages() {
    let graph = graph(Profile::Bf16, 2, 10);
    let lines: Vec<String> = graph
        .boundaries()
        .iter()
        .map(|b| {
            let info = graph.info(b.value);
            format!("{} {} {} {}", b.stage, b.id, info.dtype, info.shape)
        })
        .collect();
    let mut expected = vec!["mel_cast mel_cast BF16 [2,10,128]".to_owned()];
    for (stage, frames, bins, channels) in [("sscp_conv_0", 5, 64, 8), ("sscp_conv_1", 3, 32, 4)] {
        let full = format!("[2,{frames},{bins},{channels}]");
        expected.push(format!("{stage} {stage}.convolution BF16 {full}"));
        for inner in [
            "sum_at_time",
            "cumulative_sum",
            "mean",
            "squared_at_time",
            "cumulative_squared",
            "variance",
            "inverse_stddev",
        ] {
            expected.push(format!("{stage} {stage}.norm.{inner} F32 [2,{frames},1,1]"));
        }
        expected.push(format!("{stage} {stage}.norm BF16 {full}"));
        expected.push(format!("{stage} {stage} BF16 {full}"));
    }
    expected.push("input_projection input_projection BF16 [2,3,20]".to_owned());
    let feed_forward = [
        ("pre_norm", "[2,3,20]"),
        ("linear_1", "[2,3,80]"),
        ("silu", "[2,3,80]"),
        ("linear_2", "[2,3,20]"),
        ("post_norm", "[2,3,20]"),
        ("", "[2,3,20]"),
    ];
    let attention = [
        ("pre_norm", "[2,3,20]"),
        ("query", "[2,3,5,4]"),
        ("key", "[2,3,5,4]"),
        ("value", "[2,3,5,4]"),
        ("query_scale", "[4]"),
        ("query_scaled", "[2,3,5,4]"),
        ("content_logits", "[2,5,1,12,24]"),
        ("position_signal", "[1,13,20]"),
        ("relative_key", "[13,5,4]"),
        ("relative_shift", "[2,5,1,12,24]"),
        ("logits", "[2,5,1,12,24]"),
        ("softcap", "[2,5,1,12,24]"),
        ("masked", "[2,5,1,12,24]"),
        ("probabilities", "[2,5,1,12,24]"),
        ("context", "[2,3,5,4]"),
        ("post", "[2,3,20]"),
        ("post_norm", "[2,3,20]"),
        ("", "[2,3,20]"),
    ];
    let light_conv = [
        ("masked_input", "[2,3,20]"),
        ("pre_norm", "[2,3,20]"),
        ("linear_start", "[2,3,40]"),
        ("gate", "[2,3,20]"),
        ("depthwise", "[2,3,20]"),
        ("conv_norm", "[2,3,20]"),
        ("silu", "[2,3,20]"),
        ("linear_end", "[2,3,20]"),
        ("", "[2,3,20]"),
    ];
    let parts: [(&str, &[(&str, &str)]); 4] = [
        ("feed_forward_start", &feed_forward),
        ("attention", &attention),
        ("light_conv", &light_conv),
        ("feed_forward_end", &feed_forward),
    ];
    for (part, boundaries) in parts {
        let stage = format!("conformer.0.{part}");
        for (name, shape) in boundaries {
            let dot = if name.is_empty() { "" } else { "." };
            expected.push(format!("{stage} {stage}{dot}{name} BF16 {shape}"));
        }
    }
    for line in [
        "conformer.0 conformer.0 BF16 [2,3,20]",
        "mask mask BOOL [2,1]",
        "pooling pooling BF16 [2,1,20]",
        "lengths lengths I32 [2]",
        "projection projection.soft_norm BF16 [2,1,20]",
        "projection projection.soft_linear BF16 [2,1,12]",
        "projection projection.soft_post_norm BF16 [2,1,12]",
        "projection projection.hard_embedding BF16 [1,1,20]",
        "projection projection.hard_norm BF16 [1,1,20]",
        "projection projection.hard_linear BF16 [1,1,12]",
        "projection projection.hard_post_norm BF16 [1,1,12]",
        "audio_tokens audio_tokens BF16 [2,188,12]",
    ] {
        expected.push(line.to_owned());
    }
    assert_eq!(lines, expected);
    assert!(graph.boundaries().iter().all(|b| b.about.ends_with('.')));
    let values = graph.boundaries().iter().map(|b| b.value);
    assert!(values.is_sorted());
}

#[test]
fn the_steps_between_boundaries_are_those_of_the_reference() {
    let graph = graph(Profile::Mixed, 1, 8);
    let parents = |name: &str| -> Vec<String> {
        let boundary = graph.boundary(&BoundaryId::new(name)).unwrap();
        let parents = graph.parents(boundary);
        parents.iter().map(|p| p.id.to_string()).collect()
    };
    assert!(parents("mel_cast").is_empty());
    assert_eq!(parents("sscp_conv_0.convolution"), ["mel_cast"]);
    assert_eq!(
        parents("sscp_conv_0.norm.mean"),
        ["sscp_conv_0.norm.cumulative_sum"]
    );
    assert_eq!(
        parents("sscp_conv_0.norm.squared_at_time"),
        ["sscp_conv_0.convolution", "sscp_conv_0.norm.mean"]
    );
    assert_eq!(
        parents("sscp_conv_1.norm"),
        [
            "sscp_conv_1.convolution",
            "sscp_conv_1.norm.mean",
            "sscp_conv_1.norm.inverse_stddev"
        ]
    );
    assert_eq!(parents("sscp_conv_1.convolution"), ["sscp_conv_0"]);
    assert_eq!(parents("input_projection"), ["sscp_conv_1"]);
}

#[test]
fn weights_are_the_checkpoints_in_every_profile() {
    let expected: HashMap<String, Shape> = expected_tensors(&config())
        .into_iter()
        .map(|tensor| (tensor.name, tensor.shape))
        .collect();
    for profile in Profile::ALL {
        let graph = graph(profile, 1, 4);
        let mut weights = 0;
        for (id, node) in graph.nodes() {
            if let Op::Weight { name } = &node.op {
                weights += 1;
                assert_eq!(expected.get(name), Some(&node.info.shape), "{name}");
                assert_eq!(node.info.dtype, DType::BF16);
                let widened = graph.nodes().any(|(_, user)| {
                    user.inputs == [id] && user.op == Op::AsType { dtype: DType::F32 }
                });
                let in_f32 = profile == Profile::F32 || name.contains("conv_0.norm");
                let plain = profile == Profile::Bf16 && name.ends_with("_proj.weight");
                assert!(widened || !in_f32, "{name}");
                assert!(!widened || !plain, "{name}");
            }
        }
        assert_eq!(weights, 5 + 22 + 4);
        let projected = graph
            .boundary(&BoundaryId::new("input_projection"))
            .unwrap();
        assert_eq!(graph.info(projected.value).dtype, profile.mel());
    }
}

#[test]
fn every_number_of_frames_up_to_the_longest_gives_a_graph() {
    for frames in [1, 2, 3, 4, 5, 188, 2997] {
        let graph = graph(Profile::F32, 1, frames);
        let projected = graph
            .boundary(&BoundaryId::new("input_projection"))
            .unwrap();
        assert_eq!(
            graph.info(projected.value).shape,
            [1, frames.div_ceil(4), 20].into()
        );
    }
}

#[test]
fn a_batch_out_of_bounds_is_an_error() {
    for (clips, frames) in [(0, 1), (1, 0), (1, 2998), (usize::MAX, 1)] {
        let error =
            audio_encoder(&config(), Profile::Bf16, clips, Frames::Exact(frames)).unwrap_err();
        assert!(matches!(error, ModelError::Config(_)), "{error}");
    }
}

#[test]
fn a_model_of_absurd_size_is_an_error() {
    let mut wide = small();
    let mut far = small();
    for (key, value) in [("hidden_size", 65536), ("conf_num_attention_heads", 65536)] {
        wide["audio_config"][key] = value.into();
    }
    for key in ["chunk_size", "context_left", "context_right"] {
        far["audio_config"][format!("conf_attention_{key}")] = 2997.into();
    }
    for (json, clips, frames) in [(wide, 1, 2997), (far, 4096, 2997)] {
        let config = parse(&json).unwrap();
        for frames in [Frames::Exact(frames), Frames::Bucket(frames)] {
            let error = audio_encoder(&config, Profile::F32, clips, frames).unwrap_err();
            assert!(
                matches!(error, ModelError::Graph(GraphError::TooLarge { .. })),
                "{error}"
            );
        }
    }
}

#[test]
fn quantised_modules_are_dequantised_where_they_are_read() {
    let mut json = small();
    json["quantization"] = serde_json::json!({"group_size": 64, "bits": 4});
    json["audio_config"]["hidden_size"] = serde_json::json!(320);
    let mut config = parse(&json).unwrap();
    config.quantized.projection = true;
    config.quantized.embedding = true;
    for profile in Profile::ALL {
        let graph = audio_encoder(&config, profile, 1, Frames::Exact(40)).unwrap();
        let count = |name: &str| graph.nodes().filter(|(_, n)| n.op.name() == name).count();
        assert_eq!(count("QuantizedMatmul"), 2);
        assert_eq!(count("BitwiseBinary"), 16);
        let expected = expected_tensors(&config);
        let weights = graph.nodes().filter_map(|(_, node)| match &node.op {
            Op::Weight { name } => Some((name, &node.info)),
            _ => None,
        });
        let mut read = 0;
        for (name, info) in weights {
            let tensor = expected.iter().find(|tensor| tensor.name == *name).unwrap();
            assert_eq!((tensor.dtype, &tensor.shape), (info.dtype, &info.shape));
            read += 1;
        }
        assert_eq!(read, expected.len(), "every tensor is read once");
    }
}
