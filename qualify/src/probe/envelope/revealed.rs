//! The order that the operation of a boundary itself was seen to add in.

use probes::{
    envelope::{Pattern, Schedule, Start},
    ops::{OpError, Site},
    order::{Fused, Tree},
};

use crate::probe::order::reveal::{Answer, Host};

/// What one side's operation told.
#[derive(Clone, Debug)]
pub struct Told {
    /// The side.
    pub side: &'static str,
    /// Its schedule, or why there is none; completes "failed to …".
    pub schedule: Result<Schedule, String>,
}

/// Asks a side's operation, at the boundary's shapes.
pub fn told(host: &Host<'_>, site: &Result<Site, OpError>, start: Start) -> Told {
    let schedule = match site {
        Err(error) => Err(error.to_string()),
        // Rows of a boundary's operation are its own: there is no other form to compare with.
        Ok(site) if site.of().is_some() => {
            Err("state a schedule: what is added are no terms of the step".to_owned())
        }
        Ok(site) => match host.ask(site, || Ok(site.clone())) {
            Err(error) => Err(error.to_string()),
            Ok(answer) => schedule(&answer, start),
        },
    };
    let side = host.name();
    Told { side, schedule }
}

fn schedule(answer: &Answer, start: Start) -> Result<Schedule, String> {
    if let Err(error) = &answer.replay {
        return Err(error.clone());
    }
    let tree = &answer.revealed.tree;
    if tree.fan_in() > 2 {
        return Err("state a schedule: more than two operands are added at once".to_owned());
    }
    let fused = answer.fused.as_ref();
    let fused = match fused.filter(|fused| fused.count() > 0) {
        None => false,
        Some(fused) if all(tree, fused) => true,
        Some(fused) => return Err(format!("state a schedule: {fused} are fused")),
    };
    Ok(Schedule {
        pattern: Pattern::Tree(tree.clone()),
        rounding: answer.rounding,
        fused,
        start,
    })
}

/// Whether every product is fused that could be: of two that are added to each other, the second.
fn all(tree: &Tree, fused: &Fused) -> bool {
    let n = tree.leaves();
    tree.merges().all(|parts| {
        let alone = |part: usize| part < n;
        match *parts {
            [a, b] if alone(a) && alone(b) => fused.contains(b),
            [a, b] => [a, b]
                .into_iter()
                .filter(|&part| alone(part))
                .all(|part| fused.contains(part)),
            _ => false,
        }
    })
}
