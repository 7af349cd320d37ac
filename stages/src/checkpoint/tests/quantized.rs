//! Checkpoints with quantised modules.

use serde_json::{Value, json};

use super::*;

const EMBEDDING: &str = "embed_audio.embedding";
const PROJECTION: &str = "embed_audio.embedding_projection";
const BOTH: QuantizedModules = QuantizedModules {
    embedding: true,
    projection: true,
};

/// Rows of five groups, no conformer blocks.
fn configuration(quantization: Value) -> Value {
    let mut json = small();
    json["audio_config"]["hidden_size"] = json!(320);
    json["audio_config"]["conf_num_hidden_layers"] = json!(0);
    json["quantization"] = quantization;
    json
}

fn usual() -> Value {
    configuration(json!({"group_size": 64, "bits": 4, "mode": "affine"}))
}

/// As mlx-vlm names and orders them.
fn tensors(quantized: QuantizedModules) -> Tensors {
    let config = parse(&usual()).unwrap();
    expected_tensors_with(&config, quantized)
        .into_iter()
        .map(|expected| {
            let tensor = if expected.dtype == DType::U32 {
                words(expected.shape)
            } else {
                counted(expected.shape)
            };
            (expected.name, tensor)
        })
        .collect()
}

fn words(shape: Shape) -> Tensor {
    let words: Vec<u32> = (0..shape.elements() as u32)
        .map(|i| i.wrapping_mul(0x9E37_79B1))
        .collect();
    Tensor::from_u32(shape, &words).unwrap()
}

fn open(json: &Value, tensors: &Tensors) -> Result<Checkpoint, CheckpointError> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), json.to_string()).unwrap();
    save(&dir.path().join("model.safetensors"), tensors);
    Checkpoint::open(dir.path())
}

fn changed(change: impl FnOnce(&mut Tensors)) -> String {
    let mut tensors = tensors(BOTH);
    change(&mut tensors);
    open(&usual(), &tensors).unwrap_err().to_string()
}

fn part(module: &str, part: &str) -> String {
    format!("{module}.{part}")
}

#[test]
fn the_scales_in_a_file_say_which_modules_are_quantised() {
    for (embedding, projection) in [(true, true), (false, true), (true, false), (false, false)] {
        let quantized = QuantizedModules {
            embedding,
            projection,
        };
        let checkpoint = open(&usual(), &tensors(quantized)).unwrap();
        assert_eq!(checkpoint.config().quantized, quantized);
        assert_eq!(quantized.has(EMBEDDING), embedding);
        assert_eq!(quantized.has(PROJECTION), projection);
        let weight = checkpoint.tensor(&part(PROJECTION, "weight")).unwrap();
        if projection {
            assert_eq!(weight.shape(), &[12, 40].into());
            assert_eq!(weight.as_u32().unwrap()[1], 0x9E37_79B1);
            let scales = checkpoint.tensor(&part(PROJECTION, "scales")).unwrap();
            assert_eq!(scales.shape(), &[12, 5].into());
        } else {
            assert_eq!(weight.shape(), &[12, 320].into());
            assert_eq!(weight.dtype(), DType::BF16);
        }
    }
}

#[test]
fn a_digest_depends_on_words() {
    let checkpoint = open(&usual(), &tensors(BOTH)).unwrap();
    let mut other = tensors(BOTH);
    let weight = part(EMBEDDING, "weight");
    let mut bytes = other[&weight].bytes().to_vec();
    bytes[77] ^= 1;
    let changed = Tensor::from_bytes(DType::U32, other[&weight].shape().clone(), &bytes).unwrap();
    other.insert(weight.clone(), changed);
    let other = open(&usual(), &other).unwrap();
    assert_ne!(
        checkpoint.digest([weight.as_str()]).unwrap(),
        other.digest([weight.as_str()]).unwrap()
    );
}

#[test]
fn parts_that_do_not_fit_are_errors_that_name_them() {
    assert_eq!(
        changed(|t| {
            t.remove(&part(EMBEDDING, "biases"));
        }),
        "find tensor embed_audio.embedding.biases"
    );
    assert_eq!(
        changed(|t| {
            t.remove(&part(EMBEDDING, "scales"));
        }),
        "use tensor embed_audio.embedding.weight: its dtype is U32, expected BF16"
    );
    assert_eq!(
        changed(|t| {
            t.insert(part(EMBEDDING, "weight"), counted([6, 320].into()));
            t.remove(&part(EMBEDDING, "scales"));
        }),
        "place tensor embed_audio.embedding.biases, which the configuration does not ask for"
    );
    assert_eq!(
        changed(|t| {
            t.insert(part(PROJECTION, "weight"), words([12, 39].into()));
        }),
        "use tensor embed_audio.embedding_projection.weight: its shape is [12,39], expected [12,40]"
    );
    assert_eq!(
        changed(|t| {
            t.insert(part(PROJECTION, "weight"), counted([12, 320].into()));
        }),
        "use tensor embed_audio.embedding_projection.weight: its dtype is BF16, expected U32"
    );
    assert_eq!(
        changed(|t| {
            let halves = Tensor::from_bytes(DType::F16, [12, 5].into(), &[0; 120]).unwrap();
            t.insert(part(PROJECTION, "scales"), halves);
        }),
        "use tensor embed_audio.embedding_projection.scales: its dtype is F16, expected BF16"
    );
    assert_eq!(
        changed(|t| {
            t.insert(part(PROJECTION, "scales"), counted([12, 10].into()));
        }),
        "use tensor embed_audio.embedding_projection.scales: its shape is [12,10], expected [12,5]"
    );
    assert_eq!(
        changed(|t| {
            let scales = counted([1].into());
            t.insert("audio_tower.conformer.0.scales".into(), scales);
        }),
        "place tensor audio_tower.conformer.0.scales, which the configuration does not ask for"
    );
}

#[test]
fn scales_without_a_word_in_the_configuration_are_left_over() {
    let mut parts = tensors(QuantizedModules::default());
    parts.insert(part(EMBEDDING, "scales"), counted([6, 5].into()));
    let error = open(&configuration(Value::Null), &parts).unwrap_err();
    assert_eq!(
        error.to_string(),
        "place tensor embed_audio.embedding.scales, which the configuration does not ask for"
    );
}

#[test]
fn what_the_configuration_asks_for_is_checked_before_the_weights_are_read() {
    let mxfp4 = configuration(json!({"group_size": 32, "bits": 4, "mode": "mxfp4"}));
    let error = open(&mxfp4, &tensors(BOTH)).unwrap_err();
    assert!(matches!(error, CheckpointError::Config(_)), "{error}");

    let mut odd = usual();
    odd["audio_config"]["hidden_size"] = json!(20);
    let error = open(&odd, &tensors(BOTH)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "use the quantised modules of embed_audio: groups of 64 do not divide hidden_size 20"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Opens or is an error; what opens can be hashed and looked through.
    #[test]
    fn no_damage_to_a_file_panics(damage in prop::collection::vec((0usize..3000, any::<u8>()), 1..4)) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.json"), usual().to_string()).unwrap();
        let file = dir.path().join("model.safetensors");
        save(&file, &tensors(BOTH));
        let mut bytes = fs::read(&file).unwrap();
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        fs::write(&file, bytes).unwrap();
        if let Ok(checkpoint) = Checkpoint::open(dir.path()) {
            checkpoint.audio_tensors_sha256();
            checkpoint.non_finite();
        }
    }
}
