use proptest::prelude::*;
use serde_json::{Value, json};

use super::{preprocessor::parse as parse_preprocessor, *};
use crate::audio::PaddingSide;

/// Small extents, no two of them equal where a mistake could hide.
pub(crate) fn small() -> Value {
    json!({
        "audio_soft_tokens_per_image": 188,
        "text_config": {"hidden_size": 12, "vocab_size": 270},
        "audio_config": {
            "vocab_size": 6, "vocab_offset": 264, "input_feat_size": 128, "hidden_size": 20,
            "rms_norm_eps": 1e-6, "gradient_clipping": 1e10,
            "conf_attention_chunk_size": 12, "conf_attention_context_left": 13,
            "conf_attention_context_right": 0, "conf_attention_logit_cap": 50.0,
            "conf_num_attention_heads": 5, "conf_num_hidden_layers": 1,
            "conf_conv_kernel_size": 5, "conf_reduction_factor": 4, "conf_residual_weight": 0.5,
            "sscp_conv_channel_size": [8, 4], "sscp_conv_group_norm_eps": 0.001,
            "sscp_conv_kernel_size": [[3, 3], [3, 3]],
            "sscp_conv_stride_size": [[2, 2], [2, 2]],
        },
    })
}

pub(crate) fn parse(json: &Value) -> Result<AudioConfig, ConfigError> {
    AudioConfig::parse(json.to_string().as_bytes())
}

fn message(change: impl FnOnce(&mut Value)) -> String {
    let mut json = small();
    change(&mut json);
    parse(&json).unwrap_err().to_string()
}

#[test]
fn extents_follow_from_the_configuration() {
    let config = parse(&small()).unwrap();
    assert_eq!((config.convs[0].bins, config.convs[1].bins), (64, 32));
    assert_eq!((config.convs[0].inputs, config.convs[1].inputs), (1, 8));
    assert_eq!(config.flattened(), 128);
    assert_eq!(config.subsampled_frames(2997), 750);
    assert_eq!(config.subsampled_frames(1), 1);
    assert_eq!(config.sha256().len(), 64);
}

#[test]
fn errors_name_the_key_and_say_what_it_may_be() {
    let audio =
        |key: &'static str, value: Value| message(move |json| json["audio_config"][key] = value);
    assert_eq!(
        message(|json| json["audio_config"] = json!([])),
        "use audio_config: it is an array, not an object"
    );
    assert_eq!(
        message(|json| {
            json["text_config"]
                .as_object_mut()
                .unwrap()
                .remove("hidden_size");
        }),
        "find key text_config.hidden_size in the configuration"
    );
    assert_eq!(
        audio("hidden_size", json!(0)),
        "use audio_config.hidden_size: 0 is not an integer in 1..=65536"
    );
    assert_eq!(
        audio("hidden_size", json!("20")),
        "use audio_config.hidden_size: it is a string, not an integer"
    );
    assert_eq!(
        audio("sscp_conv_kernel_size", json!([[3, 3], [5, 3]])),
        "use audio_config.sscp_conv_kernel_size[1]: [5, 3] is not supported, only [3, 3]"
    );
    assert_eq!(
        audio("sscp_conv_channel_size", json!([8])),
        "use audio_config.sscp_conv_channel_size: an array of 1 is not an array of 2"
    );
    assert_eq!(
        audio("conf_num_attention_heads", json!(3)),
        "use audio_config.conf_num_attention_heads: 3 is not a divisor of hidden_size 20"
    );
    assert_eq!(
        audio("sscp_conv_eps", json!(0.002)),
        "use audio_config.sscp_conv_group_norm_eps 0.001: audio_config.sscp_conv_eps says 0.002"
    );
}

#[test]
fn absurd_numbers_are_errors() {
    for value in [
        json!(1u64 << 63),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(null),
    ] {
        for key in [
            "hidden_size",
            "input_feat_size",
            "vocab_size",
            "conf_conv_kernel_size",
        ] {
            message(|json| json["audio_config"][key] = value.clone());
        }
    }
    for value in [json!(0.0), json!(-1e-3), json!(1e-60), json!(2.0)] {
        message(|json| json["audio_config"]["sscp_conv_group_norm_eps"] = value);
    }
    // More elements in a frame than F32 counts.
    message(|json| {
        json["audio_config"]["input_feat_size"] = json!(4096);
        json["audio_config"]["sscp_conv_channel_size"] = json!([16384, 4]);
    });
    assert!(AudioConfig::parse(&[b'['; 4096]).is_err());
    assert!(AudioConfig::parse(b"\xff\xfe").is_err());
}

#[test]
fn either_name_of_the_group_norm_eps_will_do() {
    let mut json = small();
    let audio = json["audio_config"].as_object_mut().unwrap();
    let eps = audio.remove("sscp_conv_group_norm_eps").unwrap();
    assert!(parse(&json).is_err());
    json["audio_config"]["sscp_conv_eps"] = eps;
    assert_eq!(parse(&json).unwrap().group_norm_eps, 1e-3);
}

#[test]
fn a_batch_has_clips_and_frames_within_bounds() {
    let config = parse(&small()).unwrap();
    assert!(config.check_batch(1, 1).is_ok() && config.check_batch(3, MAX_FRAMES).is_ok());
    assert_eq!(
        config.check_batch(1, 2998).unwrap_err().to_string(),
        "encode 2998 frames: there must be 1 to 2997"
    );
    assert!(config.check_batch(1, 0).is_err() && config.check_batch(0, 1).is_err());
    assert!(config.check_batch(usize::MAX, 1).is_err());
}

#[test]
fn the_padding_side_is_right_unless_the_preprocessor_says_otherwise() {
    let config = parse(&small()).unwrap();
    let side = |text: &str| parse_preprocessor(text.as_bytes(), &config);
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        padding_side(dir.path(), &config).unwrap(),
        PaddingSide::Right
    );
    assert_eq!(side("{}").unwrap(), PaddingSide::Right);
    let left = r#"{"padding_side": "left", "feature_size": 128}"#;
    assert_eq!(side(left).unwrap(), PaddingSide::Left);
    std::fs::write(dir.path().join("preprocessor_config.json"), left).unwrap();
    assert_eq!(
        padding_side(dir.path(), &config).unwrap(),
        PaddingSide::Left
    );
    assert!(side(r#"{"padding_side": "centre"}"#).is_err());
    assert!(side(r#"{"padding_side": 1}"#).is_err());
    assert!(side(r#"{"feature_size": 80}"#).is_err());
    assert!(side("left").is_err());
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let error = AudioConfig::read(dir.path()).unwrap_err().to_string();
    assert!(
        error.starts_with("read ") && error.ends_with("config.json"),
        "{error}"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(Value::from)
    })
}

proptest! {
    #[test]
    fn no_value_of_any_key_panics(index in 0usize..19, value in any_json()) {
        let mut json = small();
        let audio = json["audio_config"].as_object_mut().unwrap();
        let key = audio.keys().nth(index % audio.len()).unwrap().clone();
        audio.insert(key, value);
        if let Ok(config) = parse(&json) {
            // What passes is safe to compute with.
            let _tensors = crate::checkpoint::expected_tensors(&config);
        }
    }

    #[test]
    fn no_quantisation_panics(value in any_json(), mode in any_json(), module in ".{0,20}") {
        for value in [
            value.clone(),
            serde_json::json!({"group_size": value, "bits": 4}),
            serde_json::json!({"group_size": 64, "bits": 4, "mode": mode, module: value}),
        ] {
            let mut json = small();
            json["quantization"] = value;
            let _ = parse(&json);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = AudioConfig::parse(&bytes);
    }
}
