//! A checkpoint's `preprocessor_config.json`: on which side clips are padded.

use std::{io, path::Path};

use serde_json::Value;

use super::{AudioConfig, ConfigError, keys::Keys, read_limited};
use crate::audio::PaddingSide;

/// `padding_side` of `preprocessor_config.json` in `dir`: right, transformers' default, where the
/// file or the key is absent.
///
/// # Errors
/// When the file is not JSON, names another side, or makes features of another size than the
/// encoder reads.
pub fn padding_side(dir: &Path, audio: &AudioConfig) -> Result<PaddingSide, ConfigError> {
    match read_limited(&dir.join("preprocessor_config.json")) {
        Ok(text) => parse(&text, audio),
        Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(PaddingSide::Right)
        }
        Err(error) => Err(error),
    }
}

pub(super) fn parse(text: &[u8], audio: &AudioConfig) -> Result<PaddingSide, ConfigError> {
    let json: Value = serde_json::from_slice(text).map_err(|source| ConfigError::Json {
        file: "preprocessor_config.json".into(),
        source,
    })?;
    let keys = Keys::root(&json)?;
    if keys.has("feature_size") {
        let size = keys.integer("feature_size", 1..=usize::MAX)?;
        if size != audio.features {
            return Err(ConfigError::Conflict {
                first: "preprocessor feature_size".into(),
                first_value: size.to_string(),
                second: "audio_config.input_feat_size".into(),
                second_value: audio.features.to_string(),
            });
        }
    }
    if !keys.has("padding_side") {
        return Ok(PaddingSide::Right);
    }
    let side = keys.string("padding_side")?;
    side.parse().map_err(|_| ConfigError::Unsupported {
        key: "preprocessor padding_side".into(),
        value: format!("{side:?}"),
        supported: "\"left\" and \"right\"".into(),
    })
}
