//! A recording and the same boundaries from the live `mlx` side.

use std::{collections::BTreeMap, fs};

use fixtures::data_dir;
use oracle::{Captures, MlxSide};
use sha2::{Digest, Sha256};
use stages::{
    Boundary, BoundaryId, Checkpoint, DType, Profile, Tensor,
    audio::MEL_BINS,
    model::gemma3n_audio::{Frames, audio_encoder},
};

/// What was recorded and what is computed now, from the recording's own inputs.
pub struct Pair {
    pub recorded: Captures,
    pub live: Captures,
}

impl Pair {
    /// Reads a recording made with the checkpoint `fixture` and computes all its boundaries.
    pub fn new(recording: &str, fixture: &str, profile: Profile) -> Pair {
        let data = data_dir().unwrap();
        let path = data
            .join("recorded")
            .join(format!("{recording}.safetensors"));
        let (recorded, notes) = Captures::load(&path).unwrap();
        let folder = data.join(fixture);
        let digest: String = Sha256::digest(fs::read(folder.join("model.safetensors")).unwrap())
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(
            notes["checkpoint_sha256"], digest,
            "{recording}: recorded from other weights"
        );
        assert_eq!(notes["profile"], profile.to_string());
        if let Some(mlx) = notes.get("mlx") {
            assert_eq!(mlx, oracle::mlx::VERSION);
        }

        let input = |name: &str| {
            let id = BoundaryId::new(format!("input.{name}"));
            recorded.get(&id).unwrap().clone()
        };
        let (mel, mask) = (input("mel"), input("mask"));
        assert_eq!((mel.dtype(), mask.dtype()), (DType::F32, DType::Bool));
        let &[clips, frames, MEL_BINS] = mel.shape().dims() else {
            panic!("mel is {}", mel.shape())
        };
        let checkpoint = Checkpoint::open(&folder).unwrap();
        let frames = Frames::Exact(frames);
        let graph = audio_encoder(checkpoint.config(), profile, clips, frames).unwrap();
        let wanted: Vec<&Boundary> = graph.boundaries().iter().collect();
        let weights = |name: &str| checkpoint.tensor(name).cloned();
        let inputs = BTreeMap::from([("mel".to_owned(), mel), ("mask".to_owned(), mask)]);
        let live = MlxSide::new()
            .unwrap()
            .capture(&graph, &weights, &inputs, &wanted, &mut |_| ())
            .unwrap();
        Pair { recorded, live }
    }

    /// Name, recorded and live values of all boundaries in the recording.
    pub fn boundaries(&self) -> impl Iterator<Item = (&BoundaryId, &Tensor, &Tensor)> {
        let all = self.recorded.iter();
        all.filter(|(id, _)| !id.as_str().starts_with("input."))
            .map(|(id, theirs)| {
                let ours = self.live.get(id);
                let ours = ours.unwrap_or_else(|| panic!("{id} is no boundary"));
                assert_eq!(theirs.dtype(), ours.dtype(), "{id}");
                assert_eq!(theirs.shape(), ours.shape(), "{id}");
                (id, theirs, ours)
            })
    }

    /// The boundaries that the recording lacks.
    pub fn not_recorded(&self) -> impl Iterator<Item = &BoundaryId> {
        let all = self.live.iter().map(|(id, _)| id);
        all.filter(|id| self.recorded.get(id).is_none())
    }
}
