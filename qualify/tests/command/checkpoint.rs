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
        let ended = self.0.run_without_libraries(line).exits(5);
        let mut ended = ended.says("qualify: failed to ");
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

/// Where a configuration says what cannot be, or what the tensors do not.
#[test]
fn a_configuration_that_contradicts_itself_or_the_tensors_is_refused() {
    let copy = Copy::new();
    let whole = copy.0.json("model/config.json");
    let range = |key: &str, allowed: &str| format!("use audio_config.{key}: 0 is not {allowed}");
    let mut cases: Vec<(&str, &str, Value, String)> = [
        "hidden_size",
        "conf_num_attention_heads",
        "conf_attention_chunk_size",
        "conf_attention_context_left",
        "conf_conv_kernel_size",
        "conf_reduction_factor",
        "input_feat_size",
        "vocab_size",
    ]
    .map(|key| {
        (
            "audio_config",
            key,
            json!(0),
            range(key, "an integer in 1..="),
        )
    })
    .into();
    let tower = "audio_tower.";
    let shape = |tensor: &str, found: &str, expected: &str| {
        format!("use tensor {tower}{tensor}: its shape is {found}, expected {expected}")
    };
    let per_dim = "conformer.0.attention.attn.per_dim_scale";
    cases.extend([
        (
            "audio_config",
            "sscp_conv_channel_size",
            json!([8, 0]),
            "use audio_config.sscp_conv_channel_size[1]: 0 is not".to_owned(),
        ),
        (
            "text_config",
            "hidden_size",
            json!(0),
            "use text_config.hidden_size: 0 is not".to_owned(),
        ),
        (
            "text_config",
            "vocab_size",
            json!(264),
            "use text_config.vocab_size 264: audio_config.vocab_offset says that its last id is one of \
             264 to 271"
                .to_owned(),
        ),
        (
            "text_config",
            "vocab_size",
            json!(273),
            "use text_config.vocab_size 273: audio_config.vocab_offset says that its last id is one of \
             264 to 271"
                .to_owned(),
        ),
        (
            "audio_config",
            "conf_num_attention_heads",
            json!(5),
            "use audio_config.conf_num_attention_heads: 5 is not a divisor of hidden_size 64"
                .to_owned(),
        ),
        (
            "audio_config",
            "conf_num_attention_heads",
            json!(2),
            shape(per_dim, "[16]", "[32]"),
        ),
        (
            "audio_config",
            "hidden_size",
            json!(128),
            shape(
                "subsample_conv_projection.input_proj_linear.weight",
                "[64,128]",
                "[128,128]",
            ),
        ),
        (
            "audio_config",
            "conf_conv_kernel_size",
            json!(7),
            shape(
                "conformer.0.lconv1d.depthwise_conv1d.weight",
                "[64,1,5]",
                "",
            ),
        ),
        (
            "audio_config",
            "conf_num_hidden_layers",
            json!(3),
            "find tensor audio_tower.conformer.2.".to_owned(),
        ),
        (
            "audio_config",
            "conf_num_hidden_layers",
            json!(1),
            "place tensor audio_tower.conformer.1.".to_owned(),
        ),
        (
            "audio_config",
            "vocab_size",
            json!(9),
            "use tensor embed_audio.embedding.weight: its shape is [8,64], expected [9,64]"
                .to_owned(),
        ),
    ]);
    for (part, key, value, because) in cases {
        let mut config = whole.clone();
        config[part][key] = value;
        copy.0
            .put("model/config.json", config.to_string().as_bytes());
        copy.refused(&[&because]);
    }
    let mut config = whole;
    config["audio_soft_tokens_per_image"] = json!(71);
    copy.0
        .put("model/config.json", config.to_string().as_bytes());
    copy.refused(&[
        "encode 1152 frames: they are 72 tokens, and audio_soft_tokens_per_image is 71",
    ]);
}

/// Nothing of a checkpoint depends on these, so any will do, until memory does not.
#[test]
fn attention_over_other_chunks_is_another_model_and_an_absurd_one_is_refused() {
    let copy = Copy::new();
    let whole = copy.0.json("model/config.json");
    let with = |chunk: usize, left: usize, right: usize| {
        let mut config = whole.clone();
        let audio = &mut config["audio_config"];
        audio["conf_attention_chunk_size"] = json!(chunk);
        audio["conf_attention_context_left"] = json!(left);
        audio["conf_attention_context_right"] = json!(right);
        copy.0
            .put("model/config.json", config.to_string().as_bytes());
    };
    let line = "--checkpoint model --mel fixtures/recorded/encoder-jfk-bf16.safetensors";
    with(5, 7, 3);
    copy.0
        .run(&format!(
            "{line} --stage conformer.0.attention --candidate interp"
        ))
        .exits(0)
        .prints("18 of 18 boundaries bit-exact");
    with(2997, 2997, 2997);
    let holds = copy.0.holds();
    let clips = "--audio fixtures/audio/jfk.wav ".repeat(4);
    copy.0
        .run_without_libraries(&format!("--checkpoint model {clips} --report r.json"))
        .exits(4)
        .says("failed to hold 113 boundaries of every side: they take ")
        .says(" of memory are free; select fewer with --stage")
        .does_no_work();
    assert_eq!(copy.0.holds(), holds);
}

#[test]
fn a_model_of_absurd_size_is_refused() {
    let place = Place::new();
    let mut config = place.json("fixtures/tiny/config.json");
    config["audio_config"]["conf_num_attention_heads"] = json!(64);
    for key in ["chunk_size", "context_left", "context_right"] {
        config["audio_config"][format!("conf_attention_{key}")] = json!(2997);
    }
    place.put("far.json", config.to_string().as_bytes());
    place.run("fixture --config far.json --out far").exits(0);
    let clips = "--audio fixtures/audio/jfk.wav ".repeat(4);
    for command in ["stages", "--stage mel_cast", "capture --side mlx --out f"] {
        place
            .run_without_libraries(&format!("{command} --checkpoint far {clips}"))
            .exits(5)
            .says("failed to apply Matmul: its result [4,64,1,2997,")
            .says("] has more than 2147483648 elements")
            .does_no_work();
    }
    config["audio_config"]["hidden_size"] = json!(65536);
    place.put("wide.json", config.to_string().as_bytes());
    place
        .run("fixture --config wide.json --out wide")
        .exits(5)
        .says("failed to generate audio_tower.conformer.0.ffw_layer_start.ffw_layer_1.weight of ")
        .says("more than 2^31 elements");
    assert!(!place.path("wide").exists());
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
