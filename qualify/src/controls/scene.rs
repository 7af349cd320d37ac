//! The settings that controls are tried in.

use std::collections::BTreeMap;

use emitter::Contract;
use oracle::{Captures, MlxSide};
use probes::controls::{Inputs as On, Scene, counterpart, padded};
use stages::{
    Boundary, BoundaryId, Checkpoint, Graph, Profile, Tensor,
    audio::PaddingSide,
    model::gemma3n_audio::{Frames, audio_encoder},
};

use crate::{
    cli::ControlsArgs,
    engine::Engine,
    failure::{Failure, Kind, OrFail},
    model::Model,
};

/// A model, inputs and the reference's captures.
pub struct Setting<'a> {
    kind: On,
    graph: Graph,
    contract: Contract,
    checkpoint: &'a Checkpoint,
    inputs: BTreeMap<String, Tensor>,
    reference: Captures,
    mlx: &'a MlxSide,
}

impl<'a> Setting<'a> {
    /// The run's own.
    ///
    /// # Errors
    /// When MLX was not opened.
    pub fn own(
        model: &'a Model,
        engine: &'a Engine,
        reference: Captures,
    ) -> Result<Setting<'a>, Failure> {
        let mlx = engine.mlx.as_ref();
        let closed = || Failure::new(Kind::Environment, "use MLX: it was not opened");
        Ok(Setting {
            kind: On::Own,
            graph: model.graph.clone(),
            contract: model.contract,
            checkpoint: &model.checkpoint,
            inputs: model.inputs.tensors.clone(),
            reference,
            mlx: mlx.ok_or_else(closed)?,
        })
    }

    /// The same model on other inputs, for controls of these boundaries.
    ///
    /// # Errors
    /// When MLX does not run it.
    pub fn on(
        &self,
        kind: On,
        args: &ControlsArgs,
        model: &Model,
        boundaries: &[&BoundaryId],
    ) -> Result<Setting<'a>, Failure> {
        let (clips, frames) = (model.inputs.clips, model.inputs.frames);
        let (profile, clips, frames, inputs) = match kind {
            On::LeftPadded | On::RightPadded => {
                let side = match kind {
                    On::LeftPadded => PaddingSide::Left,
                    _ => PaddingSide::Right,
                };
                let no_input = |name: &str| {
                    let message = format!("find the model input {name}");
                    Failure::new(Kind::Input, message)
                };
                let input = |name: &str| self.inputs.get(name).ok_or_else(|| no_input(name));
                let batch = padded(input("mel")?, input("mask")?, side).or_fail(Kind::Input)?;
                let frames = match frames {
                    Frames::Exact(_) => Frames::Exact(batch.frames()),
                    Frames::Bucket(_) => {
                        Frames::bucket_of(batch.frames()).unwrap_or(Frames::Exact(batch.frames()))
                    }
                };
                let inputs = batch.inputs(frames).or_fail(Kind::Input)?;
                (model.profile, batch.clips(), frames, inputs)
            }
            On::WideProfile | On::Shaken { .. } | On::NearTies => {
                (Profile::F32, clips, frames, self.inputs.clone())
            }
            On::Own | On::OtherWeights | On::Magnified => {
                (model.profile, clips, frames, self.inputs.clone())
            }
        };
        let graph = audio_encoder(self.checkpoint.config(), profile, clips, frames);
        let graph = graph.or_fail(Kind::Input)?;
        let graph = if args.model.ops {
            graph.with_every_op()
        } else {
            graph
        };
        let reference = match kind {
            On::Own | On::OtherWeights | On::Magnified => self.reference.clone(),
            On::LeftPadded
            | On::RightPadded
            | On::WideProfile
            | On::Shaken { .. }
            | On::NearTies => {
                let mut wanted: Vec<&Boundary> = Vec::new();
                let there = boundaries.iter();
                let there = there.filter_map(|id| counterpart(&self.graph, &graph, id));
                for boundary in there {
                    wanted.extend(graph.parents(boundary));
                    wanted.push(boundary);
                }
                let weights = self.weights();
                let captures = self
                    .mlx
                    .capture(&graph, &weights, &inputs, &wanted, &mut |_| {});
                captures.or_fail(Kind::Environment)?
            }
        };
        Ok(Setting {
            kind,
            graph,
            contract: self.contract,
            checkpoint: self.checkpoint,
            inputs,
            reference,
            mlx: self.mlx,
        })
    }

    /// Its graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The checkpoint's tensors by name.
    pub fn weights(&self) -> impl Fn(&str) -> Option<Tensor> + Sync + 'a {
        let checkpoint = self.checkpoint;
        move |name: &str| checkpoint.tensor(name).cloned()
    }

    /// As controls take it.
    pub fn scene<'s>(&'s self, weights: &'s (dyn Fn(&str) -> Option<Tensor> + Sync)) -> Scene<'s> {
        Scene {
            kind: self.kind,
            graph: &self.graph,
            contract: self.contract,
            weights,
            inputs: &self.inputs,
            reference: &self.reference,
            mlx: self.mlx,
        }
    }
}
