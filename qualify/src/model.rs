//! The model a run is about: its tensors, its inputs, its graph and the selected boundaries.

use std::path::PathBuf;

use emitter::Contract;
use fixtures::{Fixture, FixtureError};
use stages::{
    Boundary, BoundaryId, Checkpoint, Graph, Profile, audio::PaddingSide,
    model::gemma3n_audio::audio_encoder, registry::select,
};

use stages::{
    ConfigError,
    model::{ModelError, gemma3n_audio::Frames},
};

use crate::{
    cli::{ModelArgs, NOTHING_TO_RUN_ON, Padding},
    failure::{Failure, Kind, OrFail, said},
    inputs::Inputs,
};

/// The fixture of a run that names none.
const DEFAULT_FIXTURE: &str = "tiny";

/// A model, ready to be cut.
#[derive(Debug)]
pub struct Model {
    /// The audio tensors and the configuration.
    pub checkpoint: Checkpoint,
    /// What it is run on.
    pub inputs: Inputs,
    /// Which dtypes it runs in.
    pub profile: Profile,
    /// Which arithmetic the emitted graph reproduces.
    pub contract: Contract,
    /// Level one, for these clips and frames.
    pub graph: Graph,
    /// Positions of the selected boundaries among the graph's.
    selected: Vec<usize>,
}

impl Model {
    /// Opens what the command line names.
    ///
    /// # Errors
    /// When a file is missing or malformed, or a selector selects nothing.
    pub fn open(args: &ModelArgs) -> Result<Model, Failure> {
        let (checkpoint, clip) = match &args.checkpoint {
            Some(dir) => {
                let opened = Checkpoint::open(dir).or_fail(Kind::Input);
                (opened.map_err(|failure| failure.about(dir))?, None)
            }
            None => {
                let name = args.fixture.as_deref().unwrap_or(DEFAULT_FIXTURE);
                let fixture = Fixture::named(name, args.seed.unwrap_or(0)).map_err(|error| {
                    let kind = match error {
                        FixtureError::Unknown { .. } => Kind::Usage,
                        _ => Kind::Input,
                    };
                    Failure::caused(kind, &error)
                })?;
                (fixture.checkpoint, Some(fixture.audio))
            }
        };
        let padding = match args.padding {
            Padding::Left => PaddingSide::Left,
            Padding::Right => PaddingSide::Right,
            Padding::Auto => checkpoint.padding_side(),
        };
        let clips: Vec<PathBuf> = match (&args.audio[..], clip) {
            ([], Some(own)) => vec![own],
            (given, _) => given.to_vec(),
        };
        let inputs = match &args.mel {
            Some(file) => Inputs::features(file, args.bucket)?,
            None if clips.is_empty() => return Err(Failure::usage(NOTHING_TO_RUN_ON)),
            None => Inputs::recordings(&clips, padding, args.truncate, args.bucket)?,
        };
        let graph = audio_encoder(
            checkpoint.config(),
            args.profile,
            inputs.clips,
            inputs.frames,
        )
        .map_err(|error| {
            let failure = Failure::caused(Kind::Input, &error);
            match (error, inputs.frames) {
                (ModelError::Config(ConfigError::Tokens { .. }), Frames::Bucket(_)) => failure
                    .hinting("that is the bucket: --bucket exact takes the batch's own frames"),
                _ => failure,
            }
        })?;
        let graph = if args.ops {
            graph.with_every_op()
        } else {
            graph
        };
        let selected = {
            let chosen = select(&graph, &args.stages).map_err(|error| {
                let primitive = error.selector.contains('/') && !args.ops;
                let hint = if primitive {
                    "; single primitives are there with --ops"
                } else {
                    ""
                };
                Failure::new(Kind::Usage, format!("{}{hint}", said(&error)))
            })?;
            let position = |b: &&Boundary| graph.boundaries().iter().position(|o| o.id == b.id);
            chosen.iter().filter_map(position).collect()
        };
        let (profile, contract) = (args.profile, args.contract);
        Ok(Model {
            checkpoint,
            inputs,
            profile,
            contract,
            graph,
            selected,
        })
    }

    /// The boundary of exactly that name.
    ///
    /// # Errors
    /// When there is none; the message says which there are that begin like it.
    pub fn named(&self, name: &str) -> Result<&Boundary, Failure> {
        if let Some(boundary) = self.graph.boundary(&BoundaryId::new(name)) {
            return Ok(boundary);
        }
        let message = match select(&self.graph, &[name.to_owned()]) {
            Ok(several) => {
                let names: Vec<&str> = several.iter().take(3).map(|b| b.id.as_str()).collect();
                format!(
                    "{name} is no boundary; it selects {}: {}, …",
                    several.len(),
                    names.join(", ")
                )
            }
            Err(error) => return Err(Failure::caused(Kind::Usage, &error)),
        };
        Err(Failure::usage(message))
    }

    /// The selected boundaries, in evaluation order.
    pub fn selected(&self) -> Vec<&Boundary> {
        self.selected
            .iter()
            .map(|&i| &self.graph.boundaries()[i])
            .collect()
    }
}
