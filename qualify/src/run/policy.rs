//! A run under a policy.

use oracle::Captures;
use reports::{
    Grid,
    policy::{Part, Policy, Resolved, count_over},
};
use stages::BoundaryId;

use super::{Sides, values};
use crate::{
    cli::{RunArgs, Side},
    failure::{Failure, Kind, OrFail},
    judge::compile,
    model::Model,
};

/// Finds out, before anything is run, what a policy says of the selected boundaries.
///
/// # Errors
/// When one of its entries decides nothing.
pub fn resolve<'p>(
    policy: &'p Policy,
    model: &Model,
    args: &RunArgs,
) -> Result<Resolved<'p>, Failure> {
    let has_local = !matches!(args.candidate, Side::Recorded(_));
    let selected = model.selected();
    let boundaries: Vec<(&str, bool)> = selected
        .iter()
        .map(|boundary| (boundary.id.as_str(), has_local))
        .collect();
    Resolved::new(policy, &boundaries, &compile).or_fail(Kind::Input)
}

/// How many pairs of a boundary are more than so many steps of a grid apart.
pub fn count(sides: &Sides, name: &str, part: Part, grid: Grid, ulp: u64) -> Option<u64> {
    let id = BoundaryId::new(name);
    let candidate: &Captures = match part {
        Part::Local => sides.candidate.local.as_ref()?,
        Part::Inherited => &sides.candidate.inherited,
    };
    let (reference, candidate) = (sides.reference.get(&id)?, candidate.get(&id)?);
    count_over(values(reference), values(candidate), grid, ulp)
}
