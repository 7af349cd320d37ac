mod quantized;

use std::{fs, path::Path};

use half::bf16;
use proptest::prelude::*;
use safetensors::tensor::TensorView;
use tempfile::TempDir;

use super::*;
use crate::{
    DType, Shape,
    config::tests::{parse, small},
};

type Tensors = HashMap<String, Tensor>;

/// Every value different within a tensor, so that a wrong order shows.
fn counted(shape: Shape) -> Tensor {
    let values: Vec<bf16> = (0..shape.elements())
        .map(|i| bf16::from_bits(i as u16))
        .collect();
    Tensor::from_bf16(shape, &values).unwrap()
}

fn config() -> AudioConfig {
    parse(&small()).unwrap()
}

/// As transformers names and orders them.
fn transformers() -> Tensors {
    expected_tensors(&config())
        .iter()
        .map(|t| (format!("model.{}", t.name), counted(t.transformers_shape())))
        .collect()
}

fn save(path: &Path, tensors: &Tensors) {
    let views: BTreeMap<&String, TensorView<'_>> = tensors
        .iter()
        .map(|(name, tensor)| {
            let dims = tensor.shape().dims().to_vec();
            let dtype = stored_as(tensor.dtype());
            (name, TensorView::new(dtype, dims, tensor.bytes()).unwrap())
        })
        .collect();
    safetensors::serialize_to_file(views, None, path).unwrap();
}

fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), small().to_string()).unwrap();
    dir
}

fn saved(tensors: &Tensors) -> TempDir {
    let dir = folder();
    save(&dir.path().join("model.safetensors"), tensors);
    dir
}

fn message(tensors: &Tensors) -> String {
    let text = |e: CheckpointError| e.to_string();
    let from_file = text(Checkpoint::open(saved(tensors).path()).unwrap_err());
    let from_memory = text(Checkpoint::from_tensors(config(), tensors.clone()).unwrap_err());
    assert_eq!(from_file, from_memory);
    from_file
}

const CONV_1: &str = "audio_tower.subsample_conv_projection.conv_1.conv.weight";
const DEPTHWISE: &str = "audio_tower.conformer.0.lconv1d.depthwise_conv1d.weight";

#[test]
fn both_name_forms_and_axis_orders_give_one_checkpoint() {
    let theirs = transformers();
    let dir = saved(&theirs);
    let ours = Checkpoint::open(dir.path()).unwrap();
    assert_eq!(ours.tensors().len(), 31);
    let conv = ours.tensor(CONV_1).unwrap();
    assert_eq!(conv.shape(), &[4, 3, 3, 8].into());
    // [o, kT, kF, i] here is [o, i, kT, kF] there.
    let at = |o: usize, t: usize, f: usize, i: usize| ((o * 8 + i) * 3 + t) * 3 + f;
    let values = conv.as_bf16().unwrap();
    for (o, t, f, i) in [(0, 0, 0, 1), (3, 2, 1, 7), (2, 0, 2, 5)] {
        assert_eq!(
            usize::from(values[((o * 3 + t) * 3 + f) * 8 + i].to_bits()),
            at(o, t, f, i)
        );
    }
    assert_eq!(ours.tensor(DEPTHWISE).unwrap().shape(), &[20, 5, 1].into());

    let mlx: Tensors = ours
        .tensors()
        .map(|(name, tensor)| (name.to_owned(), tensor.clone()))
        .collect();
    let again = Checkpoint::open(saved(&mlx).path()).unwrap();
    assert_eq!(again.audio_tensors_sha256(), ours.audio_tensors_sha256());
    let memory = Checkpoint::from_tensors(config(), theirs).unwrap();
    assert_eq!(memory.audio_tensors_sha256(), ours.audio_tensors_sha256());
}

#[test]
fn an_order_the_shape_does_not_tell_follows_from_who_wrote_the_file() {
    let mut json = small();
    json["audio_config"]["sscp_conv_channel_size"] = serde_json::json!([3, 4]);
    let config = parse(&json).unwrap();
    let tensors = |prefix: &str| -> Tensors {
        expected_tensors(&config)
            .iter()
            .map(|t| {
                (
                    format!("{prefix}{}", t.name),
                    counted(t.transformers_shape()),
                )
            })
            .collect()
    };
    let second = |prefix: &str| {
        let checkpoint = Checkpoint::from_tensors(config.clone(), tensors(prefix)).unwrap();
        checkpoint.tensor(CONV_1).unwrap().as_bf16().unwrap()[1].to_bits()
    };
    assert_eq!(second("model."), 9);
    assert_eq!(second(""), 1);
    assert_eq!(Origin::guess(Some("mlx"), "model.a"), Origin::Mlx);
    assert_eq!(Origin::guess(Some("pt"), "a"), Origin::Transformers);
}

#[test]
fn audio_tensors_that_do_not_fit_are_errors_that_name_them() {
    let mut tensors = transformers();
    tensors.remove("model.embed_audio.embedding.weight");
    assert_eq!(
        message(&tensors),
        "find tensor embed_audio.embedding.weight"
    );
    tensors.remove("model.audio_tower.conformer.0.norm.weight");
    assert_eq!(
        message(&tensors),
        "find tensor audio_tower.conformer.0.norm.weight (1 more missing)"
    );

    let mut tensors = transformers();
    tensors.insert(
        "audio_tower.conformer.1.norm.weight".into(),
        counted([20].into()),
    );
    assert_eq!(
        message(&tensors),
        "place tensor audio_tower.conformer.1.norm.weight, which the configuration does not ask for"
    );

    let mut tensors = transformers();
    tensors.insert(format!("model.{CONV_1}"), counted([4, 3, 8, 3].into()));
    assert_eq!(
        message(&tensors),
        format!("use tensor {CONV_1}: its shape is [4,3,8,3], expected [4,3,3,8] or [4,8,3,3]")
    );

    let mut tensors = transformers();
    let widened = Tensor::from_f32([20], &[0.0; 20]).unwrap();
    tensors.insert(
        "model.embed_audio.hard_embedding_norm.weight".into(),
        widened,
    );
    assert_eq!(
        message(&tensors),
        "use tensor embed_audio.hard_embedding_norm.weight: its dtype is F32, expected BF16"
    );

    let mut tensors = transformers();
    tensors.insert(CONV_1.into(), counted([4, 3, 3, 8].into()));
    assert!(message(&tensors).starts_with(&format!("choose between two tensors named {CONV_1}")));
}

#[test]
fn weights_that_are_not_finite_are_counted_by_name() {
    let finite = |name: &str| {
        let shape = expected_tensors(&config())
            .into_iter()
            .find(|t| t.name == name)
            .unwrap()
            .shape;
        vec![bf16::ONE; shape.elements()]
    };
    let mut tensors: Tensors = expected_tensors(&config())
        .into_iter()
        .map(|t| {
            let tensor = Tensor::from_bf16(t.shape, &finite(&t.name)).unwrap();
            (t.name, tensor)
        })
        .collect();
    let open = |tensors: &Tensors| Checkpoint::from_tensors(config(), tensors.clone()).unwrap();
    assert_eq!(open(&tensors).non_finite(), []);

    let (norm, conv) = ("embed_audio.hard_embedding_norm.weight", CONV_1);
    let mut values = finite(conv);
    values[3] = bf16::NAN;
    values[288 - 1] = bf16::NEG_INFINITY;
    tensors.insert(
        conv.into(),
        Tensor::from_bf16([4, 3, 3, 8], &values).unwrap(),
    );
    let values = vec![bf16::INFINITY; 20];
    tensors.insert(norm.into(), Tensor::from_bf16([20], &values).unwrap());
    let found = |name: &str, nan, infinite| NonFinite {
        name: name.to_owned(),
        nan,
        infinite,
    };
    assert_eq!(
        open(&tensors).non_finite(),
        [found(conv, 1, 1), found(norm, 0, 20)]
    );
}

#[test]
fn tensors_elsewhere_are_ignored() {
    let mut tensors = transformers();
    tensors.insert(
        "model.language_model.norm.weight".into(),
        counted([7].into()),
    );
    tensors.insert("model.audio_tower_2.weight".into(), counted([7].into()));
    let checkpoint = Checkpoint::open(saved(&tensors).path()).unwrap();
    assert!(checkpoint.tensor("language_model.norm.weight").is_none());
}

#[test]
fn a_digest_depends_on_names_shapes_and_bytes_and_not_on_order() {
    let checkpoint = Checkpoint::from_tensors(config(), transformers()).unwrap();
    let digest = |names: &[&str]| checkpoint.digest(names.iter().copied()).unwrap();
    assert_eq!(
        digest(&[CONV_1, DEPTHWISE]),
        digest(&[DEPTHWISE, CONV_1, CONV_1])
    );
    assert_ne!(digest(&[CONV_1]), digest(&[DEPTHWISE]));
    assert_ne!(digest(&[CONV_1]), digest(&[]));
    let unknown = checkpoint.digest(["a"]).unwrap_err();
    assert_eq!(unknown.to_string(), "find tensor a among the audio tensors");

    let mut changed = transformers();
    let mut values = changed[&format!("model.{CONV_1}")]
        .as_bf16()
        .unwrap()
        .to_vec();
    values[0] = bf16::ONE;
    changed.insert(
        format!("model.{CONV_1}"),
        Tensor::from_bf16([4, 8, 3, 3], &values).unwrap(),
    );
    let changed = Checkpoint::from_tensors(config(), changed).unwrap();
    assert_ne!(changed.digest([CONV_1]).unwrap(), digest(&[CONV_1]));
    assert_eq!(changed.digest([DEPTHWISE]).unwrap(), digest(&[DEPTHWISE]));
}

/// Two shards, an index, and what `change` makes of the index.
fn sharded(
    change: impl FnOnce(&mut serde_json::Value),
) -> (TempDir, Result<Checkpoint, CheckpointError>) {
    let dir = folder();
    let (mut first, mut second) = (Tensors::new(), Tensors::new());
    let mut map = serde_json::Map::new();
    for (name, tensor) in transformers() {
        let (shard, tensors) = match name.contains("audio_tower") {
            true => ("model-1.safetensors", &mut first),
            false => ("model-2.safetensors", &mut second),
        };
        map.insert(name.clone(), shard.into());
        tensors.insert(name, tensor);
    }
    map.insert(
        "model.language_model.norm.weight".into(),
        "model-3.safetensors".into(),
    );
    save(&dir.path().join("model-1.safetensors"), &first);
    save(&dir.path().join("model-2.safetensors"), &second);
    let mut index = serde_json::json!({"metadata": {"total_size": 1}, "weight_map": map});
    change(&mut index);
    fs::write(
        dir.path().join("model.safetensors.index.json"),
        index.to_string(),
    )
    .unwrap();
    let opened = Checkpoint::open(dir.path());
    (dir, opened)
}

const HARD_NORM: &str = "model.embed_audio.hard_embedding_norm.weight";

#[test]
fn shards_are_read_and_those_without_audio_need_not_be_there() {
    let (_dir, opened) = sharded(|_| {});
    let whole = Checkpoint::from_tensors(config(), transformers()).unwrap();
    assert_eq!(
        opened.unwrap().audio_tensors_sha256(),
        whole.audio_tensors_sha256()
    );
}

#[test]
fn a_shard_that_is_missing_or_lies_is_an_error() {
    let with = |shard: &'static str| {
        let (_dir, opened) = sharded(|index| index["weight_map"][HARD_NORM] = shard.into());
        opened.unwrap_err().to_string()
    };
    assert!(with("model-9.safetensors").starts_with(
        "find shard model-9.safetensors, which holds embed_audio.hard_embedding_norm.weight, in "
    ));
    assert_eq!(
        with("model-1.safetensors"),
        "find embed_audio.hard_embedding_norm.weight in shard model-1.safetensors, where the index puts it"
    );
    for path in ["../model-2.safetensors", "/etc/hostname", "", "a/../../b"] {
        assert_eq!(
            with(path),
            format!("open shard {path:?}: the path leaves the checkpoint's folder")
        );
    }
    let (_dir, opened) = sharded(|index| *index = serde_json::json!({"weight_map": []}));
    assert!(matches!(opened, Err(CheckpointError::Index { .. })));
}

#[test]
fn a_folder_without_weights_and_a_torn_file_are_errors() {
    let dir = folder();
    let error = Checkpoint::open(dir.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::NoWeights(_)), "{error}");

    let file = dir.path().join("model.safetensors");
    for bytes in [&b""[..], b"\x08\0\0\0\0\0\0\0", b"not a checkpoint"] {
        fs::write(&file, bytes).unwrap();
        let error = Checkpoint::open(dir.path()).unwrap_err();
        assert!(matches!(error, CheckpointError::Header { .. }), "{error}");
    }
    save(&file, &transformers());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let error = Checkpoint::open(dir.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::Header { .. }), "{error}");

    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let error = Checkpoint::open(dir.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::Read { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Opens or is an error; what opens can be hashed.
    #[test]
    fn no_damage_to_a_file_panics(damage in prop::collection::vec((0usize..5000, any::<u8>()), 1..4)) {
        let dir = saved(&transformers());
        let file = dir.path().join("model.safetensors");
        let mut bytes = fs::read(&file).unwrap();
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        fs::write(&file, bytes).unwrap();
        if let Ok(checkpoint) = Checkpoint::open(dir.path()) {
            checkpoint.audio_tensors_sha256();
        }
    }
}

#[test]
fn a_released_tensor_still_has_its_values() {
    let dir = saved(&transformers());
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let name = "audio_tower.conformer.0.attention.post.weight";
    let before = checkpoint.tensor(name).unwrap().bytes().to_vec();
    checkpoint.release(name);
    assert_eq!(checkpoint.tensor(name).unwrap().bytes(), before);
    checkpoint.release("no such tensor");
    let in_memory = Checkpoint::from_tensors(config(), transformers()).unwrap();
    in_memory.release(name);
    assert_eq!(in_memory.tensor(name).unwrap().bytes(), before);
}
