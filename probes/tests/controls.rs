//! Mistakes in the audio encoder are noticed: every control of the fixture `tiny` is caught, or it
//! is known why not.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::collections::BTreeMap;

use emitter::Contract;
use fixtures::Fixture;
use oracle::{Captures, MlxSide};
use probes::controls::{Candidate, Guarded, Inputs, OTHERS, Scene, padded, reason};
use reports::measure::{Values, count_differing};
use stages::{
    Boundary, BoundaryId, Graph, Profile, Tensor,
    audio::{LogMel, Overlong, PaddingSide, Waveform},
    model::gemma3n_audio::{Batch, Frames, audio_encoder},
};

fn values(tensor: &Tensor) -> Values<'_> {
    if let Some(values) = tensor.as_f32() {
        Values::F32(values)
    } else if let Some(values) = tensor.as_bf16() {
        Values::Bf16(values)
    } else if let Some(values) = tensor.as_i32() {
        Values::I32(values)
    } else {
        Values::Bool(tensor.bytes())
    }
}

fn compare(reference: &Tensor, candidate: &Tensor) -> Result<u64, String> {
    count_differing(values(reference), values(candidate)).map_err(|error| error.to_string())
}

/// A model, its inputs and what MLX makes of them.
struct Bench {
    fixture: Fixture,
    graph: Graph,
    inputs: BTreeMap<String, Tensor>,
    reference: Captures,
    mlx: MlxSide,
}

impl Bench {
    fn new(profile: Profile, batch: &Batch) -> Bench {
        let fixture = Fixture::named("tiny", 0).unwrap();
        let frames = Frames::bucket_of(batch.frames()).unwrap();
        let inputs = batch.inputs(frames).unwrap();
        let config = fixture.checkpoint.config();
        let graph = audio_encoder(config, profile, batch.clips(), frames).unwrap();
        let mlx = MlxSide::new().unwrap();
        let weights = |name: &str| fixture.checkpoint.tensor(name).cloned();
        let all: Vec<&Boundary> = graph.boundaries().iter().collect();
        let reference = mlx
            .capture(&graph, &weights, &inputs, &all, &mut |_| {})
            .unwrap();
        Bench {
            fixture,
            graph,
            inputs,
            reference,
            mlx,
        }
    }

    fn apply(
        &self,
        kind: Inputs,
        stage: &str,
        wanted: &dyn Fn(&BoundaryId, &str) -> bool,
    ) -> Vec<Guarded> {
        let weights = |name: &str| self.fixture.checkpoint.tensor(name).cloned();
        let scene = Scene {
            kind,
            graph: &self.graph,
            contract: Contract::MlxCpu,
            weights: &weights,
            inputs: &self.inputs,
            reference: &self.reference,
            mlx: &self.mlx,
        };
        let all = self.graph.boundaries().iter();
        let boundaries: Vec<&Boundary> = all.filter(|b| b.stage == stage).collect();
        scene
            .apply(&boundaries, Candidate::Interp, wanted, &compare)
            .unwrap()
    }
}

/// 11 s of speech.
fn speech() -> Batch {
    let fixture = Fixture::named("tiny", 0).unwrap();
    let wave = Waveform::read(&fixture.audio).unwrap();
    let features = LogMel::new()
        .extract(&[&wave], PaddingSide::Right, Overlong::Reject)
        .unwrap();
    Batch::of(&features).unwrap()
}

#[derive(Debug, Default)]
struct Count {
    caught: usize,
    elsewhere: usize,
    explained: usize,
    open: Vec<String>,
}

/// Controls of all stages that `stages` takes, by stage.
fn controls(profile: Profile, stages: &dyn Fn(&str) -> bool) -> BTreeMap<String, Count> {
    let batch = speech();
    let own = Bench::new(profile, &batch);
    let inputs = batch.inputs(Frames::Exact(batch.frames())).unwrap();
    let short = |side| padded(&inputs["mel"], &inputs["mask"], side).unwrap();
    let left = Bench::new(profile, &short(PaddingSide::Left));
    let right = Bench::new(profile, &short(PaddingSide::Right));
    let wide = Bench::new(Profile::F32, &batch);
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut names: Vec<&str> = own.graph.boundaries().iter().map(|b| &*b.stage).collect();
    names.dedup();
    for stage in names.into_iter().filter(|stage| stages(stage)) {
        let mut open: BTreeMap<(String, String), &[Inputs]> = BTreeMap::new();
        let count = counts.entry(stage.to_owned()).or_default();
        for guarded in own.apply(Inputs::Own, stage, &|_, _| true) {
            assert_eq!(guarded.differing, 0, "{}", guarded.boundary.id);
            let caught = guarded.tried.iter().filter(|t| t.differing > 0).count();
            assert!(caught > 0, "{}", guarded.boundary.id);
            for tried in guarded.tried {
                let id = guarded.boundary.id.to_string();
                assert_eq!(tried.changed, tried.differing > 0, "{id}: {}", tried.name);
                if tried.changed {
                    count.caught += 1;
                } else {
                    open.insert((id, tried.name), tried.needs);
                }
            }
        }
        for kind in OTHERS {
            let wanted = |id: &BoundaryId, name: &str| {
                let key = (id.to_string(), name.to_owned());
                open.get(&key).is_some_and(|needs| needs.contains(&kind))
            };
            let bench = match kind {
                Inputs::LeftPadded => &left,
                Inputs::RightPadded => &right,
                Inputs::WideProfile | Inputs::Shaken { .. } => &wide,
                _ => &own,
            };
            let found = bench.apply(kind, stage, &wanted);
            for guarded in found {
                assert_eq!(guarded.differing, 0, "{kind} {}", guarded.boundary.id);
                for tried in guarded.tried {
                    assert_eq!(tried.changed, tried.differing > 0, "{}", tried.name);
                    if tried.changed {
                        let id = guarded.boundary.id.to_string();
                        open.remove(&(id, tried.name));
                        count.elsewhere += 1;
                    }
                }
            }
        }
        for (id, name) in open.into_keys() {
            match reason(&id, &name) {
                Some(_) => count.explained += 1,
                None => count.open.push(format!("{id} {name}")),
            }
        }
    }
    counts
}

fn check(counts: &BTreeMap<String, Count>) {
    for (stage, count) in counts {
        eprintln!(
            "{stage}: {} caught, {} on other inputs, {} explained, open {:#?}",
            count.caught, count.elsewhere, count.explained, count.open
        );
    }
    for (stage, count) in counts {
        assert!(count.caught + count.elsewhere >= 5, "{stage}: {count:?}");
        assert!(count.open.is_empty(), "{stage}: {:#?}", count.open);
    }
}

#[test]
fn mistakes_in_the_ends_of_the_encoder_and_one_block_are_noticed() {
    check(&controls(Profile::Bf16, &|stage| {
        !stage.starts_with("conformer.1")
    }));
}

#[test]
fn mistakes_in_one_block_are_noticed_in_the_other_profiles() {
    for profile in [Profile::Mixed, Profile::F32] {
        check(&controls(profile, &|stage| {
            stage.starts_with("conformer.0")
        }));
    }
}

#[test]
#[ignore = "long"]
fn mistakes_anywhere_in_the_encoder_are_noticed() {
    for profile in Profile::ALL {
        check(&controls(profile, &|_| true));
    }
}
