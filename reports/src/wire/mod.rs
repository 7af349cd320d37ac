//! The report as JSON: plain data with the keys of the format, `schema_version` 1.
//!
//! Rules of the format:
//! - a quantity that was not measured, or does not exist, is `null`, never 0;
//! - a NaN or infinity is one of the strings `"NaN"`, `"inf"`, `"-inf"`; its exact bits stand
//!   beside it;
//! - bits are `"0x"` and eight hexadecimal digits, of the value widened to binary32, or of the
//!   integer;
//! - keys of a histogram are the smallest distance of a bin: `"0"`, `"1"`, `"2"`, `"4"`, …; empty
//!   bins are left out;
//! - a reader ignores keys it does not know; within a version keys are only ever added.
//!
//! The schema is committed as `schema/report.schema.json`.

mod boundary;
mod check;
mod controls;
mod fingerprint;
mod heat;
mod io;
mod measured;
mod ops;
mod report;
mod ruling;
mod timestamp;

pub use boundary::{
    Boundary, BoundaryId, Evidence, EvidenceLevel, Flag, InterpCounts, Truth, TruthDistance,
};
pub use controls::{Controls, Guard, read_controls, write_controls};
pub use fingerprint::{Fingerprint, Gpu, Host, Iree, Mlx};
pub use heat::Heat;
pub use io::{
    MAX_REPORT_BYTES, ReadError, WriteError, is_stdout, read_report, read_report_within,
    write_json, write_report, write_text,
};
pub(crate) use io::{read_bytes, read_json};
pub use measured::{Bits, GridCounts, Measured, Number, OnGrid, Ulp, UlpF32, WorstElement};
pub use ops::{
    Baseline, Difference, OpBits, OpCase, OpChange, OpElement, OpSide, OpTarget, Ops, OpsSummary,
    OpsTarget, Selection, ops_schema, read_ops, write_ops,
};
pub use report::{
    Control, ControlOutcome, Inputs, Model, NonFinite, NonInterference, Policy, Repeat, Report,
    SCHEMA_VERSION, Timing, Tool,
};
pub use ruling::{Ruled, Ruling};
pub use timestamp::rfc3339;

/// The JSON schema of a [`Report`], as committed.
#[must_use]
pub fn schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(Report);
    schema.insert(
        "$id".to_owned(),
        format!("urn:qualify:report:{SCHEMA_VERSION}").into(),
    );
    schema
}
