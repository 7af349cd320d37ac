//! The instrument can fail, and says whose fault it is: seeded faults of each kind, on real speech.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::collections::BTreeMap;

use emitter::{
    Contract, Cut,
    emit::{Emitted, emit},
    program::Source,
};
use fixtures::Fixture;
use oracle::{
    Captures, MlxSide, interp,
    iree::{self, IreeSide},
};
use reports::{
    measure::{Values, count_differing},
    verdict::Cause,
};
use runtime::{CompileOptions, DeviceKind, Native, Target, Toolchain};
use stages::{
    Boundary, BoundaryId, Graph, Profile, Tensor,
    audio::{LogMel, Overlong, PaddingSide, Waveform},
    config::AudioConfig,
    model::gemma3n_audio::{Batch, Frames, audio_encoder},
};

/// The reference, on the fixture's recording, and what is needed to run steps beside it.
struct Bench {
    fixture: Fixture,
    profile: Profile,
    inputs: BTreeMap<String, Tensor>,
    reference: Captures,
    iree: IreeSide,
}

impl Bench {
    fn new(profile: Profile) -> Bench {
        let fixture = Fixture::named("tiny", 0).unwrap();
        let wave = Waveform::read(&fixture.audio).unwrap();
        let features = LogMel::new()
            .extract(&[&wave], PaddingSide::Right, Overlong::Reject)
            .unwrap();
        let frames = Frames::Exact(features.frames);
        let inputs = Batch::of(&features).unwrap().inputs(frames).unwrap();
        let graph = audio_encoder(fixture.checkpoint.config(), profile, 1, frames).unwrap();
        let weights = |name: &str| fixture.checkpoint.tensor(name).cloned();
        let all: Vec<&Boundary> = graph
            .boundaries()
            .iter()
            .filter(|boundary| boundary.stage.starts_with("sscp_conv_"))
            .collect();
        let reference = MlxSide::new()
            .unwrap()
            .capture(&graph, &weights, &inputs, &all, &mut |_| ())
            .unwrap();
        let toolchain = Toolchain::new(&Native::locate().unwrap(), None);
        let iree = IreeSide::open(DeviceKind::LocalSync, None, toolchain).unwrap();
        Bench {
            fixture,
            profile,
            inputs,
            reference,
            iree,
        }
    }

    fn graph(&self, config: &AudioConfig) -> Graph {
        let frames = Frames::Exact(self.inputs["mel"].shape()[1]);
        audio_encoder(config, self.profile, 1, frames).unwrap()
    }

    /// The cause of what a step of `graph`, compiled for `target`, does on the reference's values.
    fn cause(&self, graph: &Graph, name: &str, target: Target) -> Option<Cause> {
        let id = BoundaryId::new(name);
        let cut = Cut::step(graph, graph.boundary(&id).unwrap());
        let Emitted { stated, laid_out } = emit(graph, &cut, Contract::MlxCpu).unwrap();
        let supply = |source: &Source| match source {
            Source::Input(name) => self.inputs.get(name).cloned(),
            Source::Weight(name) => self.fixture.checkpoint.tensor(name).cloned(),
            Source::Boundary(name) => self.reference.get(&BoundaryId::new(name.clone())).cloned(),
        };
        let options = CompileOptions::new(target);
        let unit = self
            .iree
            .build_as("step", vec![laid_out], &options)
            .unwrap();
        let results = self
            .iree
            .call(&unit, 0, &supply, &|_: &Source| None)
            .unwrap();
        let candidate = iree::tensor(&results[0]).unwrap();
        let interpreted = interp::run(&stated, &supply).unwrap().remove(0);
        let differing = |a: &Tensor, b: &Tensor| count_differing(values(a), values(b)).unwrap();
        let reference = self.reference.get(&id).unwrap();
        Cause::from_interp(
            differing(&interpreted, reference),
            differing(&interpreted, &candidate),
        )
    }
}

fn values(tensor: &Tensor) -> Values<'_> {
    match (tensor.as_f32(), tensor.as_bf16()) {
        (Some(values), _) => Values::F32(values),
        (_, Some(values)) => Values::Bf16(values),
        _ => panic!("{tensor:?} is no boundary of the encoder"),
    }
}

/// The configuration with another epsilon in its norms.
fn wrong_epsilon() -> AudioConfig {
    let file = fixtures::data_dir().unwrap().join("tiny/config.json");
    let text = std::fs::read_to_string(file).unwrap();
    let wrong = text.replace(
        "\"sscp_conv_group_norm_eps\": 0.001",
        "\"sscp_conv_group_norm_eps\": 0.002",
    );
    assert_ne!(text, wrong, "the fixture's epsilon is where it was");
    AudioConfig::parse(wrong.as_bytes()).unwrap()
}

#[test]
fn without_a_fault_there_is_no_cause() {
    let bench = Bench::new(Profile::F32);
    let graph = bench.graph(bench.fixture.checkpoint.config());
    assert_eq!(
        bench.cause(&graph, "sscp_conv_1.convolution", Target::NoFma),
        None
    );
    assert_eq!(
        bench.cause(&graph, "sscp_conv_1.norm.inverse_stddev", Target::NoFma),
        None
    );
}

#[test]
fn a_compiler_that_fuses_products_is_to_blame() {
    let bench = Bench::new(Profile::F32);
    let graph = bench.graph(bench.fixture.checkpoint.config());
    let cause = bench.cause(&graph, "sscp_conv_1.convolution", Target::HostAll);
    assert_eq!(cause, Some(Cause::Backend));
}

#[test]
fn a_graph_that_states_another_epsilon_is_to_blame() {
    let bench = Bench::new(Profile::Bf16);
    let graph = bench.graph(&wrong_epsilon());
    let cause = bench.cause(&graph, "sscp_conv_1.norm.inverse_stddev", Target::HostAll);
    assert_eq!(cause, Some(Cause::Contract));
    // Downstream of it, on the reference's own values, all is well.
    assert_eq!(bench.cause(&graph, "sscp_conv_1", Target::HostAll), None);
}
