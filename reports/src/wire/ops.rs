//! What `qualify ops` found out, as JSON.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::io::{MAX_REPORT_BYTES, ReadError, WriteError, read_json, write_json};
use super::measured::Bits;
use super::report::{SCHEMA_VERSION, Tool};
use crate::verdict::{Cause, ExitCode};

/// The catalogue of operations, or part of it, on all sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ops {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What wrote it.
    pub tool: Tool,
    /// When, in UTC, RFC 3339.
    pub created: String,
    /// The command line.
    pub command: Vec<String>,
    /// What it ran on; IREE's flags are those with FMA.
    pub fingerprint: Fingerprint,
    /// What IREE compiled for.
    pub targets: Vec<OpsTarget>,
    /// `short` or `full`: how many values functions were tried on.
    pub size: String,
    /// Which cases were selected.
    pub selection: Selection,
    /// Every case, in the catalogue's order.
    pub cases: Vec<OpCase>,
    /// How many came out how.
    pub summary: OpsSummary,
    /// What changed against an earlier run; null without one.
    pub baseline: Option<Baseline>,
    /// The exit code.
    pub exit_code: u8,
}

/// A target of the compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpsTarget {
    /// `fma` or `no-fma`.
    pub name: String,
    /// The compiler's flags.
    pub flags: Vec<String>,
}

/// Which cases were selected: of any of the families that match any of the patterns; no families
/// or no patterns stand for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Selection {
    /// Families by name.
    pub families: Vec<String>,
    /// Patterns over `Primitive` or `Primitive.DTYPE`.
    pub ops: Vec<String>,
}

/// One primitive on one set of operands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpCase {
    /// Its name, unique in the catalogue.
    pub name: String,
    /// The family it belongs to.
    pub family: String,
    /// The primitive, or what is put together from several.
    pub primitive: String,
    /// The dtype it computes in.
    pub dtype: String,
    /// Extents of the result, outermost first.
    pub shape: Vec<usize>,
    /// Elements of the result.
    pub elements: u64,
    /// Digest of the level-one graph and the operands' bits.
    pub case_sha256: String,
    /// Digest of the text that is compiled; null where none is emitted.
    pub text_sha256: Option<String>,
    /// MLX.
    pub mlx: OpSide,
    /// The interpreter; null where the program states no order.
    pub interp: Option<OpSide>,
    /// IREE, for each target the program may be compiled for.
    pub iree: Vec<OpTarget>,
    /// Whose arithmetic differs; null where none does, or a side failed.
    pub cause: Option<Cause>,
    /// The first differing elements, five at most.
    pub first: Vec<OpElement>,
}

/// What a side made of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpSide {
    /// Digest of shape and bits, all NaNs being one; null where it failed.
    pub sha256: Option<String>,
    /// Elements whose bits are not MLX's, for MLX itself 0; null where a side failed.
    pub differing: Option<u64>,
    /// Why it failed; null where it did not.
    pub error: Option<String>,
}

/// What IREE made of a case, compiled for a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpTarget {
    /// `fma` or `no-fma`.
    pub target: String,
    /// What came of it.
    #[serde(flatten)]
    pub side: OpSide,
}

/// An element that a side has otherwise than MLX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpElement {
    /// Its row-major position.
    pub element: u64,
    /// The bits at that position of those inputs that have as many elements.
    pub operands: Vec<Bits>,
    /// MLX's bits.
    pub mlx: Bits,
    /// The interpreter's; null where it gave none.
    pub interp: Option<Bits>,
    /// IREE's, for each target where it gave any.
    pub iree: Vec<OpBits>,
}

/// A target's bits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpBits {
    /// `fma` or `no-fma`.
    pub target: String,
    /// The bits.
    pub bits: Bits,
}

/// How many cases came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpsSummary {
    /// Cases.
    pub cases: u64,
    /// Elements of all.
    pub elements: u64,
    /// Cases in which all sides have MLX's bits.
    pub equal: u64,
    /// Cases in which a side has others.
    pub differing: u64,
    /// Cases in which no side has others, and one failed.
    pub failed: u64,
}

/// What changed against an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// When that was.
    pub created: String,
    /// What ran then that is not what runs now.
    pub fingerprint: Vec<Difference>,
    /// Cases in which anything changed.
    pub changes: Vec<OpChange>,
    /// Cases that were not there.
    pub new: Vec<String>,
    /// Cases that were there and are not, of those that the selection would take.
    pub removed: Vec<String>,
    /// Cases that were equal and are not, and new ones that are not.
    pub worse: Vec<String>,
    /// Cases that were not equal and are.
    pub better: Vec<String>,
}

/// A part of the fingerprint that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Which, such as `mlx.version`.
    pub what: String,
    /// As it was.
    pub before: String,
    /// As it is.
    pub now: String,
}

/// What changed in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpChange {
    /// The case.
    pub name: String,
    /// What: `operands`, `text`, `mlx`, `interp`, `iree fma`, `iree no-fma`.
    pub changed: Vec<String>,
    /// Whether it was equal on all sides.
    pub was_equal: bool,
    /// Whether it is.
    pub is_equal: bool,
}

impl OpSide {
    /// Whether it ran and has MLX's bits.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.error.is_none() && self.differing == Some(0)
    }
}

impl OpCase {
    /// The sides that are compared with MLX, by name.
    pub fn compared(&self) -> impl Iterator<Item = (String, &OpSide)> {
        let interp = self.interp.iter().map(|side| ("interp".to_owned(), side));
        let iree = self.iree.iter();
        interp.chain(iree.map(|iree| (format!("iree {}", iree.target), &iree.side)))
    }

    /// Whether every side ran and has MLX's bits.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        let all = self.compared().all(|(_, side)| side.is_equal());
        self.mlx.error.is_none() && !self.iree.is_empty() && all
    }

    /// Whether a side has other bits than MLX.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.compared().any(|(_, side)| side.differing > Some(0))
    }

    /// Whose arithmetic differs, where all sides ran.
    #[must_use]
    pub fn blamed(&self) -> Option<Cause> {
        let interp = self.interp.as_ref()?;
        if self.compared().any(|(_, side)| side.differing.is_none()) {
            return None;
        }
        let backend = self.iree.iter();
        let backend = backend.filter(|iree| iree.side.sha256 != interp.sha256);
        Cause::from_interp(interp.differing?, backend.count() as u64)
    }
}

impl OpsSummary {
    /// Counts a case.
    pub fn count(&mut self, case: &OpCase) {
        self.cases += 1;
        self.elements += case.elements;
        let column = match (case.is_equal(), case.differs()) {
            (true, _) => &mut self.equal,
            (false, true) => &mut self.differing,
            (false, false) => &mut self.failed,
        };
        *column += 1;
    }
}

impl Ops {
    /// The exit code that follows. Without a baseline 1 where a case is not equal; with one where
    /// a case is worse. Else 0.
    #[must_use]
    pub fn conclusion(&self) -> ExitCode {
        let bad = match &self.baseline {
            Some(baseline) => !baseline.worse.is_empty(),
            None => self.summary.equal < self.summary.cases,
        };
        if bad {
            ExitCode::DIVERGED
        } else {
            ExitCode::QUALIFIED
        }
    }
}

/// Writes it as [`write_report`](super::write_report) writes a report.
///
/// # Errors
/// When the directory or the file cannot be written.
pub fn write_ops(path: &Path, ops: &Ops) -> Result<(), WriteError> {
    write_json(path, ops)
}

/// Reads what was found of this version.
///
/// # Errors
/// When the file cannot be read, is malformed, or is of another version.
pub fn read_ops(path: &Path) -> Result<Ops, ReadError> {
    read_json(path, MAX_REPORT_BYTES)
}

/// The JSON schema of [`Ops`], as committed.
#[must_use]
pub fn ops_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(Ops);
    schema.insert(
        "$id".to_owned(),
        format!("urn:qualify:ops:{SCHEMA_VERSION}").into(),
    );
    schema
}
