//! Mistakes in the audio encoder are noticed: every control of the fixture `tiny` is caught, or it
//! is known why not.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{collections::BTreeMap, path::Path};

use emitter::Contract;
use fixtures::Fixture;
use oracle::{Captures, MlxSide, iree::IreeSide};
use probes::controls::{Candidate, Guarded, Inputs, OTHERS, Scene, counterpart, padded, reason};
use reports::measure::{Values, count_differing};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::{
    Boundary, BoundaryId, DType, Graph, Profile, Tensor,
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
        Bench::of("tiny", profile, batch, false)
    }

    /// With every primitive's result a boundary where `ops` says so.
    fn of(fixture: &str, profile: Profile, batch: &Batch, ops: bool) -> Bench {
        let fixture = Fixture::named(fixture, 0).unwrap();
        let frames = Frames::bucket_of(batch.frames()).unwrap();
        let inputs = batch.inputs(frames).unwrap();
        let config = fixture.checkpoint.config();
        let graph = audio_encoder(config, profile, batch.clips(), frames).unwrap();
        let graph = if ops { graph.with_every_op() } else { graph };
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
        self.apply_on(Candidate::Interp, kind, stage, wanted)
    }

    fn apply_on(
        &self,
        candidate: Candidate<'_>,
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
        let is_it = |b: &&Boundary| b.stage == stage || b.id.as_str() == stage;
        let boundaries: Vec<&Boundary> = all.filter(is_it).collect();
        scene
            .apply(&boundaries, candidate, wanted, &compare)
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
                Inputs::WideProfile | Inputs::Shaken { .. } | Inputs::NearTies => &wide,
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

/// What came of the controls of a stage that `wanted` takes, by boundary and name.
fn outcomes(guarded: Vec<Guarded>) -> BTreeMap<(String, String), (bool, bool)> {
    let mut found = BTreeMap::new();
    for guarded in guarded {
        assert_eq!(guarded.differing, 0, "{}", guarded.boundary.id);
        for tried in guarded.tried.into_iter().filter(|tried| !tried.refused) {
            let key = (guarded.boundary.id.to_string(), tried.name);
            found.insert(key, (tried.changed, tried.differing > 0));
        }
    }
    found
}

fn device() -> IreeSide {
    let store = Store::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("controls")).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap()
}

/// How many controls of a stage or boundary that `wanted` takes are caught. Compiled or
/// interpreted, a mistake shows or does not; what the compiler refuses is left out.
fn compiled(of: &str, wanted: &dyn Fn(&BoundaryId, &str) -> bool) -> usize {
    let bench = Bench::new(Profile::Bf16, &speech());
    let side = device();
    let found = |candidate| outcomes(bench.apply_on(candidate, Inputs::Own, of, wanted));
    let (interp, iree) = (found(Candidate::Interp), found(Candidate::Iree(&side)));
    for (name, outcome) in &iree {
        assert_eq!(interp.get(name), Some(outcome), "{name:?}");
        assert_eq!(outcome.0, outcome.1, "{name:?}");
    }
    iree.values().filter(|(_, differs)| *differs).count()
}

#[test]
fn mistakes_in_compiled_attention_are_noticed() {
    // In every boundary of the stage, some kinds.
    let few = |_: &BoundaryId, name: &str| {
        let rules = [
            "one-ulp",
            "only-operand-1@Select",
            "no-relative",
            "constant",
        ];
        rules.iter().any(|rule| name.starts_with(rule))
    };
    let caught = compiled("conformer.0.attention", &few);
    assert!(caught >= 20, "{caught}");
}

#[test]
fn a_mistake_that_is_not_compiled_leaves_the_others() {
    // For some processors the compiler refuses the halves, whose weight is not packed.
    let some = |_: &BoundaryId, name: &str| name == "one-ulp" || name == "halves@Matmul.1";
    let caught = compiled("conformer.0.attention.key", &some);
    assert!(caught >= 1, "{caught}");
}

#[test]
#[ignore = "compiles some hundreds of steps"]
fn all_mistakes_in_compiled_attention_are_noticed() {
    let caught = compiled("conformer.0.attention", &|_, _| true);
    assert!(caught > 150, "{caught}");
}

#[test]
fn mistakes_with_quantised_matrices_are_noticed() {
    for profile in Profile::ALL {
        let bench = Bench::of("tiny-4bit", profile, &speech(), false);
        let found = outcomes(bench.apply(Inputs::Own, "projection", &|_, _| true));
        let of = |boundary: &str, names: &[&str]| {
            for name in names {
                let key = (format!("projection.{boundary}"), (*name).to_owned());
                let caught = found.get(&key).copied();
                assert_eq!(caught, Some((true, true)), "{profile}: {key:?} {found:#?}");
            }
        };
        let product = ["half-groups", "scales-for-biases", "nibbles-reversed"];
        let product = product.map(|name| format!("{name}@QuantizedMatmul.1"));
        let product = product.each_ref().map(String::as_str);
        let row = BoundaryId::new("projection.hard_embedding");
        let row = bench.graph.boundary(&row).unwrap().value;
        let narrow = bench.graph.info(row).dtype == DType::BF16;
        for boundary in ["soft_linear", "hard_linear"] {
            let id = BoundaryId::new(format!("projection.{boundary}"));
            let value = bench.graph.boundary(&id).unwrap().value;
            let narrow = bench.graph.info(value).dtype == DType::BF16;
            of(boundary, &product);
            of(boundary, &["codes-transposed@Weight.1"]);
            of(
                boundary,
                if narrow {
                    &[
                        "unrounded-scaling@QuantizedMatmul.1",
                        "f32-accumulator@QuantizedMatmul.1",
                    ]
                } else {
                    &["bf16-accumulator@QuantizedMatmul.1"]
                },
            );
        }
        of(
            "hard_embedding",
            &[
                "scales-for-biases@Add.1",
                "swapped@Concatenate.1",
                "codes-transposed@Weight.1",
            ],
        );
        // Of few bits, so that no rounding is dropped; with more bits one is.
        if narrow {
            let is_it = |id: &BoundaryId, name: &str| {
                id.as_str() == "projection.hard_embedding" && name == "unrounded-scaling@Add.1"
            };
            let found = outcomes(bench.apply(Inputs::OtherWeights, "projection", &is_it));
            let outcome: Vec<_> = found.values().copied().collect();
            assert_eq!(outcome, [(true, true)]);
        }
    }
}

#[test]
fn a_square_in_the_place_of_a_power_is_noticed_where_it_is_alone_in_its_sum() {
    let batch = speech();
    let stage = "sscp_conv_1";
    let is_it = |id: &BoundaryId, name: &str| {
        id.as_str() == "sscp_conv_1.norm.squared_at_time" && name == "square-instead@Power.1"
    };
    let bench = Bench::of("sscp-real", Profile::F32, &batch, false);
    let found = outcomes(bench.apply(Inputs::NearTies, stage, &is_it));
    let outcome: Vec<_> = found.values().copied().collect();
    assert_eq!(outcome, [(true, true)]);
}

#[test]
fn single_primitives_are_found_again_in_another_profile() {
    let batch = speech();
    let [own, wide] = [Profile::Bf16, Profile::F32].map(|p| Bench::of("tiny", p, &batch, true));
    let of = |name: &str| {
        let id = BoundaryId::new(name);
        counterpart(&own.graph, &wide.graph, &id).map(|b| b.id.to_string())
    };
    let product = of("conformer.0.attention.query/1.Matmul");
    assert_eq!(
        product.as_deref(),
        Some("conformer.0.attention.query/2.Matmul")
    );
    let whole = of("conformer.0.attention.query");
    assert_eq!(whole.as_deref(), Some("conformer.0.attention.query"));
    assert_eq!(of("conformer.0.attention.query/9.Matmul"), None);
    // And their order shows there.
    let id = BoundaryId::new("conformer.0.attention.query/2.Matmul");
    let wanted = |other: &BoundaryId, name: &str| *other == id && name.ends_with("@Matmul.1");
    let found = outcomes(wide.apply(Inputs::WideProfile, "conformer.0.attention", &wanted));
    let outcome: Vec<_> = found.values().copied().collect();
    assert_eq!(outcome, [(true, true); 3], "{found:?}");
}
