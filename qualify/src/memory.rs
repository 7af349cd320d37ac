//! Whether the values a run holds fit into memory, found out before any are there.

use std::fs;

use crate::{
    failure::{Failure, Kind},
    model::Model,
    run,
};

/// Finds out whether the selected boundaries, and what their steps start from, fit into the memory
/// that is free, so many times over. Where the system does not say what is free, they do.
///
/// # Errors
/// When they do not.
pub fn check(model: &Model, copies: u64) -> Result<(), Failure> {
    let elements = |value| model.graph.info(value).shape.elements() as u64;
    let boundaries = run::with_parents(model);
    // Each element is four bytes wide on the device, whatever its dtype.
    let once: u64 = boundaries.iter().map(|b| 4 * elements(b.value)).sum();
    let needed = once.saturating_mul(copies);
    match free() {
        Some(free) if needed > free => Err(Failure::new(
            Kind::Environment,
            format!(
                "hold {} boundaries of every side: they take {}, and {} of memory are free; \
                 select fewer with --stage",
                boundaries.len(),
                gib(needed),
                gib(free),
            ),
        )),
        _ => Ok(()),
    }
}

/// Bytes that programs can still take, by the system's own estimate.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_is_free() {
        assert!(free().is_some_and(|free| free > 1 << 20));
        assert_eq!(gib(3 << 29), "1.5 GiB");
    }
}
