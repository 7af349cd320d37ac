//! Checkpoints that cannot be used.

use std::fs;

use serde_json::{Value, json};

use crate::{harness::Place, tensors};

const CONV: &str = "model.audio_tower.subsample_conv_projection.conv_0.conv.weight";
const NORM: &str = "model.audio_tower.subsample_conv_projection.conv_0.norm.weight";

/// A copy of the checkpoint of the fixture `tiny` in a place of its own.
struct Copy(Place);

impl Copy {
    fn new() -> Copy {
        let place = Place::new();
        place.put_checkpoint("model");
        Copy(place)
    }

    fn weights(&self) -> Vec<u8> {
        fs::read(self.0.path("model/model.safetensors")).unwrap()
    }

    fn put_weights(&self, bytes: &[u8]) {
        self.0.put("model/model.safetensors", bytes);
    }

    /// Changes the header of the weights, whose values stay as they are.
    fn edit(&self, change: impl FnOnce(&mut serde_json::Map<String, Value>)) {
        let bytes = self.weights();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        change(header.as_object_mut().unwrap());
        self.put_weights(&tensors::raw(&header.to_string(), &bytes[8 + length..]));
    }

    #[track_caller]
    fn refused(&self, because: &[&str]) {
        let holds = self.0.holds();
        let line = "--checkpoint model --audio fixtures/audio/jfk.wav --report r.json --captures c";
        let mut ended = self.0.run(line).exits(5).says("qualify: failed to ");
        for text in because {
            ended = ended.says(text);
        }
        ended.does_no_work();
        assert_eq!(self.0.holds(), holds);
    }
}

#[test]
fn a_folder_without_a_checkpoint_is_refused() {
    let place = Place::new();
    place.put("file", b"");
    for (dir, because) in [
        ("nowhere", "read nowhere/config.json: No such file"),
        ("file", "read file/config.json: Not a directory"),
        ("fixtures", "read fixtures/config.json: No such file"),
    ] {
        place
            .run(&format!(
                "--checkpoint {dir} --audio fixtures/audio/jfk.wav"
            ))
            .exits(5)
            .says(because)
            .does_no_work();
    }
}

#[test]
fn a_configuration_that_is_missing_or_malformed_is_refused() {
    let copy = Copy::new();
    let config = fs::read_to_string(copy.0.path("model/config.json")).unwrap();
    copy.0.put("model/config.json", &config.as_bytes()[..100]);
    copy.refused(&["config.json", "not JSON"]);
    copy.0.put("model/config.json", b"{}");
    copy.refused(&["audio_config"]);
    copy.0.put("model/config.json", b"\xff\xfe\0");
    copy.refused(&["config.json"]);
    let wide = config.replace("\"input_feat_size\": 128", "\"input_feat_size\": 1e99");
    assert_ne!(wide, config);
    copy.0.put("model/config.json", wide.as_bytes());
    copy.refused(&["audio_config.input_feat_size"]);
    fs::remove_file(copy.0.path("model/config.json")).unwrap();
    copy.refused(&["config.json", "No such file"]);
}

#[test]
fn a_preprocessor_that_is_malformed_is_refused() {
    let copy = Copy::new();
    copy.0.put("model/preprocessor_config.json", b"{");
    copy.refused(&["preprocessor_config.json"]);
}

#[test]
fn a_header_that_lies_is_not_believed() {
    let copy = Copy::new();
    let whole = copy.weights();
    let file = "model/model.safetensors";
    copy.put_weights(&[&u64::MAX.to_le_bytes(), &whole[8..]].concat());
    copy.refused(&[file, "the header claims 18446744073709551615 bytes"]);
    copy.put_weights(&[&99_000_000_u64.to_le_bytes(), &whole[8..]].concat());
    copy.refused(&[file, "the header claims 99000000 bytes, the file has"]);
    copy.put_weights(&whole[..5]);
    copy.refused(&[file, "too few for a header"]);
    copy.put_weights(b"");
    copy.refused(&[file, "the file has 0 bytes"]);
    copy.put_weights(&whole[..whole.len() - 2]);
    copy.refused(&[file, "tensor ", " ends at byte "]);
    copy.put_weights(&tensors::beyond_memory());
    copy.refused(&[file, "tensor t0 ends at byte"]);
    copy.put_weights(&tensors::raw("{\"a\":", &[]));
    copy.refused(&[file, "malformed"]);
}

#[test]
fn offsets_that_lie_are_refused_by_the_tensors_name() {
    let copy = Copy::new();
    let whole = copy.weights();
    copy.edit(|header| {
        let start = header[CONV]["data_offsets"][0].as_u64().unwrap();
        let end = header[CONV]["data_offsets"][1].as_u64().unwrap();
        let other = header
            .iter()
            .find(|(_, tensor)| tensor["data_offsets"][0] == end);
        let other = other.unwrap().0.clone();
        let size = header[&other]["data_offsets"][1].as_u64().unwrap() - end;
        header[&other]["data_offsets"] = json!([start, start + size]);
    });
    copy.refused(&["model.safetensors", CONV, "overlap"]);
    copy.put_weights(&whole);
    copy.edit(|header| header[CONV]["data_offsets"] = json!([1_u64 << 40, (1_u64 << 40) + 144]));
    copy.refused(&["model.safetensors", CONV, "ends at byte 1099511627920"]);
    copy.put_weights(&whole);
    copy.edit(|header| header[CONV]["data_offsets"] = json!([8, 4]));
    copy.refused(&["model.safetensors", CONV, "has offsets 8..4"]);
    copy.put_weights(&whole);
    copy.edit(|header| header[CONV]["data_offsets"] = json!([-8, 4]));
    copy.refused(&["model.safetensors", "malformed"]);
}

#[test]
fn a_tensor_that_is_not_what_the_configuration_asks_for_is_named() {
    let copy = Copy::new();
    let whole = copy.weights();
    let name = |name: &str| name.strip_prefix("model.").unwrap().to_owned();
    copy.edit(|header| header[CONV]["dtype"] = json!("F16"));
    copy.refused(&[&name(CONV), "its dtype is F16, expected BF16"]);
    copy.put_weights(&whole);
    copy.edit(|header| header[CONV]["shape"] = json!([72]));
    copy.refused(&[&name(CONV), "its shape is [72], expected"]);
    copy.put_weights(&whole);
    copy.edit(|header| {
        let tensor = header.remove(NORM).unwrap();
        header.insert("model.vision_tower.x".to_owned(), tensor);
    });
    copy.refused(&["find tensor", &name(NORM)]);
    copy.put_weights(&whole);
    copy.edit(|header| {
        let (other, _) = header
            .iter()
            .find(|(name, _)| {
                name.starts_with("model.vision_tower.") || name.starts_with("model.language_model.")
            })
            .unwrap();
        let other = other.clone();
        let tensor = header.remove(&other).unwrap();
        header.insert("model.audio_tower.extra.weight".to_owned(), tensor);
    });
    copy.refused(&["audio_tower.extra.weight", "does not ask for"]);
}

#[test]
fn a_shard_that_is_missing_is_named_with_a_tensor_in_it() {
    let copy = Copy::new();
    fs::remove_file(copy.0.path("model/model.safetensors")).unwrap();
    copy.refused(&["model.safetensors.index.json"]);
    let index = |shard: &str| json!({"weight_map": {CONV: shard}}).to_string();
    let put = |text: &str| {
        copy.0
            .put("model/model.safetensors.index.json", text.as_bytes())
    };
    put(&index("model-00001-of-00002.safetensors"));
    copy.refused(&[
        "find shard model-00001-of-00002.safetensors, which holds audio_tower.",
        "in model",
    ]);
    put(&index("../../etc/passwd"));
    copy.refused(&["open shard \"../../etc/passwd\""]);
    put("{\"weight_map\": 3}");
    copy.refused(&["it is no shard index"]);
}
