//! How a checkpoint's weights are quantised: `quantization` of MLX's `config.json`, which
//! `quantization_config` repeats for transformers.

use serde_json::Value;

use super::{ConfigError, keys::Keys};

/// Affine quantisation as MLX writes it. Which tensors are quantised is said by the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// Elements that share a scale and a bias.
    pub group_size: usize,
    /// Bits of an element.
    pub bits: usize,
}

/// What is supported: what mlx-vlm 0.7.10 makes of the published models.
const SUPPORTED: Quantization = Quantization {
    group_size: 64,
    bits: 4,
};

const KEYS: [&str; 2] = ["quantization", "quantization_config"];
const EMBEDDER: &str = "embed_audio";

/// The quantisation of a configuration, if it has one.
///
/// # Errors
/// When it is malformed, other than groups of 64 elements of 4 bits in mode `affine`, or says
/// anything of its own about a module of `embed_audio`.
pub(super) fn quantization(root: &Keys<'_>) -> Result<Option<Quantization>, ConfigError> {
    let mut found = None;
    for key in KEYS {
        if !root.has(key) || root.get(key)?.1.is_null() {
            continue;
        }
        found = Some(supported(&root.object(key)?)?);
    }
    Ok(found)
}

fn supported(keys: &Keys<'_>) -> Result<Quantization, ConfigError> {
    // transformers' name for other kinds than MLX's, which have other keys.
    if keys.has("quant_method") {
        let (key, value) = keys.get("quant_method")?;
        return Err(unsupported(key, value, "MLX's mode \"affine\""));
    }
    for (key, value) in keys.entries() {
        let module = key.strip_prefix("model.").unwrap_or(key);
        let below = module.strip_prefix(EMBEDDER);
        if below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
            return Err(unsupported(
                keys.path(key),
                value,
                "the same for every quantised module of embed_audio",
            ));
        }
    }
    if keys.has("mode") {
        let (key, value) = keys.get("mode")?;
        if value != "affine" {
            return Err(unsupported(key, value, "\"affine\""));
        }
    }
    let only = |name: &str, supported: usize| {
        let actual = keys.integer(name, 1..=usize::MAX)?;
        if actual == supported {
            Ok(actual)
        } else {
            let value = Value::from(actual);
            Err(unsupported(keys.path(name), &value, &supported.to_string()))
        }
    };
    Ok(Quantization {
        group_size: only("group_size", SUPPORTED.group_size)?,
        bits: only("bits", SUPPORTED.bits)?,
    })
}

fn unsupported(key: String, value: &Value, supported: &str) -> ConfigError {
    ConfigError::Unsupported {
        key,
        value: value.to_string(),
        supported: supported.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::tests::{parse, small};

    fn with(value: &Value) -> Result<Option<Quantization>, ConfigError> {
        let mut json = small();
        json["quantization"] = value.clone();
        parse(&json).map(|config| config.quantization)
    }

    #[test]
    fn either_key_will_do_and_the_mode_is_affine_unless_said_otherwise() {
        assert_eq!(parse(&small()).unwrap().quantization, None);
        assert_eq!(with(&Value::Null).unwrap(), None);
        let plain = json!({"group_size": 64, "bits": 4});
        assert_eq!(with(&plain).unwrap(), Some(SUPPORTED));
        let named = json!({"group_size": 64, "bits": 4, "mode": "affine"});
        assert_eq!(with(&named).unwrap(), Some(SUPPORTED));
        let mut json = small();
        json["quantization_config"] = plain;
        assert_eq!(parse(&json).unwrap().quantization, Some(SUPPORTED));
        json["quantization"] = named;
        assert_eq!(parse(&json).unwrap().quantization, Some(SUPPORTED));
    }

    #[test]
    fn anything_else_is_an_error_that_says_what_is_supported() {
        let message = |value| with(&value).unwrap_err().to_string();
        assert_eq!(
            message(json!({"group_size": 32, "bits": 4})),
            "use quantization.group_size: 32 is not supported, only 64"
        );
        assert_eq!(
            message(json!({"group_size": 64, "bits": 8})),
            "use quantization.bits: 8 is not supported, only 4"
        );
        assert_eq!(
            message(json!({"group_size": 32, "bits": 4, "mode": "mxfp4"})),
            "use quantization.mode: \"mxfp4\" is not supported, only \"affine\""
        );
        assert_eq!(
            message(json!({"bits": 4})),
            "find key quantization.group_size in the configuration"
        );
        assert_eq!(
            message(json!(4)),
            "use quantization: it is a number, not an object"
        );
        let mut json = small();
        json["quantization_config"] = json!({"quant_method": "bitsandbytes"});
        assert_eq!(
            parse(&json).unwrap_err().to_string(),
            "use quantization_config.quant_method: \"bitsandbytes\" is not supported, only MLX's \
             mode \"affine\""
        );
        json["quantization"] = json!({"group_size": 64, "bits": 4});
        assert!(parse(&json).is_err());
    }

    #[test]
    fn what_is_said_of_single_modules_counts_where_it_is_the_embedders() {
        let saying =
            |module: &str, value: Value| with(&json!({"group_size": 64, "bits": 4, module: value}));
        let other = json!({"group_size": 32, "bits": 8});
        for module in [
            "language_model.model.layers.0.mlp.up_proj",
            "audio_tower.conformer.0.attention.post",
            "embed_audio_2.embedding",
        ] {
            assert_eq!(saying(module, other.clone()).unwrap(), Some(SUPPORTED));
            assert_eq!(saying(module, json!(false)).unwrap(), Some(SUPPORTED));
        }
        for module in [
            "embed_audio",
            "embed_audio.embedding",
            "model.embed_audio.embedding_projection",
        ] {
            assert!(saying(module, json!(false)).is_err());
            assert!(saying(module, other.clone()).is_err());
        }
        assert_eq!(
            saying("embed_audio.embedding", json!(false))
                .unwrap_err()
                .to_string(),
            "use quantization.embed_audio.embedding: false is not supported, only the same for \
             every quantised module of embed_audio"
        );
    }
}
