//! The report of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::boundary::Boundary;
use super::fingerprint::Fingerprint;
use crate::verdict::{ExitCode, FirstDivergence, Verdict, run_verdict};

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What wrote it.
    pub tool: Tool,
    /// When, in UTC, RFC 3339.
    pub created: String,
    /// The command line.
    pub command: Vec<String>,
    /// What it ran on.
    pub fingerprint: Fingerprint,
    /// What was run.
    pub model: Model,
    /// On which inputs.
    pub inputs: Inputs,
    /// The mistake that was made in the candidate's graph on purpose: `boundary/mutation`.
    #[serde(default)]
    pub planted: Option<String>,
    /// Every judged boundary, in graph order.
    pub boundaries: Vec<Boundary>,
    /// The first boundaries worse than `order_explained`.
    pub first_divergence: FirstDivergence,
    /// The negative controls that were applied.
    pub controls: Vec<Control>,
    /// Whether tapping and chaining left the bits alone.
    pub non_interference: NonInterference,
    /// Whether the sides repeat themselves; null where they were run once.
    #[serde(default)]
    pub repeat: Option<Repeat>,
    /// How long the phases took.
    pub timing: Timing,
    /// What was loosened.
    pub policy: Policy,
    /// The worst verdict; at least inconclusive where tapping or chaining changed the bits.
    pub verdict: Verdict,
    /// The exit code of the run.
    pub exit_code: u8,
}

impl Report {
    /// Sets what follows from the boundaries: first divergence, verdict and exit code.
    pub fn conclude(&mut self) {
        let boundaries = &self.boundaries;
        self.first_divergence = FirstDivergence::among(boundaries.iter().map(|b| {
            let local = b.local.as_ref().map(|local| local.verdict);
            (b.name.as_str(), local, b.inherited.verdict)
        }));
        self.verdict = run_verdict(boundaries.iter().map(|b| b.verdict));
        // What was judged is then not what ships.
        if self.non_interference.is_broken() || self.planted.is_some() {
            self.verdict = self.verdict.max(Verdict::Inconclusive);
        }
        self.exit_code = ExitCode::from_verdict(self.verdict).code();
    }

    /// The boundary of this name.
    #[must_use]
    pub fn boundary(&self, name: &str) -> Option<&Boundary> {
        self.boundaries
            .iter()
            .find(|boundary| boundary.name == name)
    }
}

/// The program that wrote a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `qualify`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from.
    pub commit: String,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Kind, such as `gemma3n-audio`.
    pub kind: String,
    /// Digest of the tensors used.
    pub checkpoint_sha256: String,
    /// Digest of the configuration.
    pub config_sha256: String,
    /// Which dtypes the model ran in.
    pub profile: String,
    /// Which arithmetic the graph reproduces.
    pub contract: String,
    /// Frames of the bucket.
    pub bucket: usize,
    /// Number of clips.
    pub clips: usize,
    /// The tensors used that hold a NaN or an infinity.
    #[serde(default)]
    pub non_finite: Vec<NonFinite>,
}

/// A tensor of a checkpoint that does not hold numbers only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NonFinite {
    /// Its name.
    pub tensor: String,
    /// How many NaNs.
    pub nan: u64,
    /// How many infinities.
    pub infinite: u64,
}

/// The inputs of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inputs {
    /// Digest of each clip.
    pub audio_sha256: Vec<String>,
    /// True frames of each clip.
    pub frames: Vec<usize>,
    /// Which side is padded.
    pub padding: String,
}

/// A negative control: a mutation of the graph that the run must notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// The boundary in whose step it was done, and what was done there: `boundary/mutation`.
    pub name: String,
    /// The stage it was done in.
    pub stage: String,
    /// One sentence about it.
    #[serde(default)]
    pub about: String,
    /// What came of it.
    pub outcome: ControlOutcome,
    /// The boundaries that noticed.
    pub caught_by: Vec<String>,
    /// For a vacuous one, the fixture or the inputs on which it is caught.
    pub fixture: Option<String>,
    /// For a vacuous one, why no inputs would catch it.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What came of a negative control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlOutcome {
    /// A boundary diverged.
    Caught,
    /// Outputs changed and no boundary diverged.
    Missed,
    /// It changed no output on this fixture.
    Vacuous,
}

/// Whether the production outputs are the same bits when observed; null where not checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NonInterference {
    /// With every selected boundary returned.
    pub tapped: Option<bool>,
    /// By chaining all steps on the candidate's own values.
    pub chained: Option<bool>,
}

impl NonInterference {
    /// Whether a form of the graph that was tried gave other bits.
    #[must_use]
    pub fn is_broken(self) -> bool {
        self.tapped == Some(false) || self.chained == Some(false)
    }
}

/// Whether the sides gave the same bits each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// How often each side was run. A reference from the cache counts as one run.
    pub runs: u32,
    /// The boundaries at which the reference's runs differ; null for a recording.
    pub reference: Option<Vec<String>>,
    /// The boundaries at which the candidate's runs differ; null for a recording.
    pub candidate: Option<Vec<String>>,
}

/// Seconds each phase took; null where it did not run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Compilation.
    pub compile_s: Option<f64>,
    /// The reference.
    pub reference_s: Option<f64>,
    /// The candidate.
    pub candidate_s: Option<f64>,
    /// The interpretation.
    pub interp_s: Option<f64>,
    /// The comparison.
    pub compare_s: Option<f64>,
    /// The phases answered from a cache.
    pub cached: Vec<String>,
}

/// The policy a verdict was reached under.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// The policy file; null without one.
    pub file: Option<String>,
    /// Its entries in effect that demand less than bit equality, in words:
    /// `audio_tokens (inherited): ≤ 1 BF16 ULP`.
    pub relaxed: Vec<String>,
}
