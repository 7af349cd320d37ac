//! The reference's captures, live from MLX or from the cache; and recorded ones of either side.

use std::{fmt::Write, path::Path, sync::Arc};

use emitter::Cut;
use oracle::{Captures, Notes, Recorded, RecordedError};
use runtime::{Key, KeyHasher, Store};
use stages::{Boundary, model::gemma3n_audio::Frames};

use crate::{
    engine::Engine,
    failure::{Failure, Kind, OrFail},
    fingerprint,
    model::Model,
};

/// The kind of these entries in the store.
pub const KIND: &str = "reference";

/// Captured values, and whether they came out of the cache.
#[derive(Debug)]
pub struct Reference {
    /// The boundaries' values.
    pub captures: Captures,
    /// Whether nothing was computed.
    pub cached: bool,
}

/// MLX's values of the wanted boundaries; `progress` is told after each.
///
/// # Errors
/// When MLX fails, or the cache cannot be used.
pub fn capture(
    model: &Model,
    engine: &Engine,
    wanted: &[&Boundary],
    progress: &mut dyn FnMut(),
) -> Result<Reference, Failure> {
    let key = engine
        .store
        .as_ref()
        .map(|store| (store, key(model, engine, wanted)));
    if let Some((store, key)) = &key
        && let Some(captures) = cached(store, key)?
    {
        return Ok(Reference {
            captures,
            cached: true,
        });
    }
    let captures = live(model, engine, wanted, progress)?;
    if let Some((store, key)) = &key {
        let bytes = captures
            .to_bytes(&Notes::new())
            .or_fail(Kind::Environment)?;
        store
            .put(KIND, key, &bytes)
            .map_err(|error| Failure::of_cache(&error))?;
    }
    Ok(Reference {
        captures,
        cached: false,
    })
}

/// MLX's values of the wanted boundaries, whatever the cache holds.
///
/// # Errors
/// When MLX fails.
pub fn live(
    model: &Model,
    engine: &Engine,
    wanted: &[&Boundary],
    progress: &mut dyn FnMut(),
) -> Result<Captures, Failure> {
    let Some(mlx) = &engine.mlx else {
        let message = "use MLX: it was not opened";
        return Err(Failure::new(Kind::Environment, message));
    };
    let weights = |name: &str| model.checkpoint.tensor(name).cloned();
    mlx.capture(
        &model.graph,
        &weights,
        &model.inputs.tensors,
        wanted,
        &mut |_| progress(),
    )
    .or_fail(Kind::Environment)
}

/// A recording's values of the wanted boundaries.
///
/// # Errors
/// When the file cannot be read, or lacks one of them.
pub fn recorded(model: &Model, file: &Path, wanted: &[&Boundary]) -> Result<Captures, Failure> {
    let recorded: Result<Captures, RecordedError> =
        Recorded::open(file).and_then(|recorded| recorded.capture(&model.graph, wanted));
    recorded.map_err(|error| {
        let failure = Failure::caused(Kind::Input, &error);
        match (error, model.inputs.frames) {
            // The likeliest mistake: others' recordings know no buckets.
            (RecordedError::Unfit { .. }, Frames::Bucket(frames)) => failure.hinting(&format!(
                "the graph is stated for a bucket of {frames} frames: recordings of other \
                 implementations need --bucket exact"
            )),
            _ => failure,
        }
    })
}

/// An entry that cannot be read as captures is as good as none.
fn cached(store: &Store, key: &Key) -> Result<Option<Captures>, Failure> {
    let entry = store.get(KIND, key);
    let Some(entry) = entry.map_err(|error| Failure::of_cache(&error))? else {
        return Ok(None);
    };
    let origin = store.root().join(KIND);
    let captures = Captures::from_shared(&origin, Arc::new(entry)).ok();
    Ok(captures.map(|(captures, _)| captures))
}

/// What the reference's values depend on.
fn key(model: &Model, engine: &Engine, wanted: &[&Boundary]) -> Key {
    let cut = Cut::tapped(&model.graph, wanted);
    let mut graph = String::new();
    for &value in &cut.nodes {
        let _ = writeln!(graph, "{value:?} {:?}", model.graph.node(value));
    }
    let outputs = format!("{:?}", cut.outputs);
    let weights = cut.weights(&model.graph);
    // A tensor that is missing is the reference's error to report.
    let digest = model
        .checkpoint
        .digest(weights.iter().copied())
        .unwrap_or_default();
    let mut hasher = KeyHasher::new()
        .part("graph", graph.as_bytes())
        .part("outputs", outputs.as_bytes())
        .part("weights", digest.as_bytes())
        .part("profile", model.profile.name().as_bytes())
        .part("library", engine.native.mlx.sha256.as_bytes())
        .part("device", b"cpu")
        .part("libm", oracle::libm::digest().as_bytes())
        .part(
            "environment",
            format!("{:?}", fingerprint::mlx_environment()).as_bytes(),
        );
    for (name, tensor) in &model.inputs.tensors {
        let kind = format!("{name} {} {}", tensor.dtype(), tensor.shape());
        hasher = hasher
            .part("input", kind.as_bytes())
            .part("values", tensor.bytes());
    }
    hasher.finish()
}
