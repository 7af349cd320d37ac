//! Reports made from values, for tests.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::Path;

use reports::Grid;
use reports::measure::{Values, compare};
use reports::policy::Selects;
use reports::verdict::{Outcome, Sides, Verdict};
use reports::wire::{Boundary, BoundaryId, Report};

/// A boundary: its name, its grid, the reference's values, the step's, the candidate's.
pub type Made<'a> = (&'a str, Grid, &'a [f32], Option<&'a [f32]>, &'a [f32]);

/// The report of a run with these boundaries, none of which has parents.
pub fn report(boundaries: &[Made<'_>]) -> Report {
    let mut report: Report =
        serde_json::from_str(include_str!("../data/report-example.json")).unwrap();
    report.boundaries = boundaries.iter().map(boundary).collect();
    report.conclude();
    report
}

fn boundary(&(name, grid, reference, local, inherited): &Made<'_>) -> Boundary {
    let outcome = |candidate: &[f32]| {
        let (a, b) = (Values::F32(reference), Values::F32(candidate));
        Outcome::Measured(Box::new(compare(a, b, &[reference.len()], grid).unwrap()))
    };
    let id = BoundaryId {
        name: name.to_owned(),
        stage: "s".to_owned(),
        shape: vec![reference.len()],
        grid,
        parents: vec![],
        guarded_by: vec![],
    };
    let (local, inherited) = (local.map(outcome), outcome(inherited));
    let sides = Sides {
        local: local.as_ref(),
        inherited: &inherited,
        interp: None,
        parents: Verdict::BitExact,
    };
    Boundary::judged(id, sides)
}

/// Patterns of tests: a name, which also selects what lies below it, or `**`.
pub fn selects(pattern: &str) -> Selects {
    let pattern = pattern.to_owned();
    Box::new(move |name| {
        let rest = name.strip_prefix(&pattern);
        pattern == "**" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
    })
}

/// Demands that a committed schema is this one.
pub fn committed(file: &str, schema: &schemars::Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("schema")
        .join(file);
    let now = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("QUALIFY_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        now == committed,
        "schema/{file} is stale: run with QUALIFY_BLESS=1"
    );
}
