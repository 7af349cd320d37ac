//! What compiling costs: the production module, the one with every boundary returned, all steps;
//! and the same out of the cache.

use std::time::Instant;

use emitter::{Contract, Cut, emit::emit, program::Program};
use oracle::iree::IreeSide;
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::{Boundary, Graph};

use crate::Result;

/// Prints the table.
pub fn table(graph: &Graph, last: &[&Boundary], contract: Contract) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path())?;
    let toolchain = Toolchain::new(&Native::locate()?, Some(store));
    let iree = IreeSide::open(DeviceKind::LocalTask, None, toolchain)?;
    let all: Vec<&Boundary> = graph.boundaries().iter().collect();
    let laid_out =
        |cut: Cut| Ok::<Program, Box<dyn std::error::Error>>(emit(graph, &cut, contract)?.laid_out);
    println!("| module | functions | emitted in | compiled in | from cache |");
    println!("|---|---:|---:|---:|---:|");
    for name in ["production", "tapped", "steps"] {
        let started = Instant::now();
        let programs = match name {
            "production" => vec![laid_out(Cut::production(graph, last))?],
            "tapped" => vec![laid_out(Cut::tapped(graph, &all))?],
            _ => all
                .iter()
                .map(|boundary| laid_out(Cut::step(graph, boundary)))
                .collect::<Result<Vec<_>>>()?,
        };
        let emitted = started.elapsed();
        let functions = programs.len();
        let cold = iree.build(name, programs.clone())?;
        let warm = iree.build(name, programs)?;
        println!(
            "| {name} | {functions} | {:.2} s | {:.1} s | {:.3} s |",
            emitted.as_secs_f64(),
            cold.elapsed.as_secs_f64(),
            warm.elapsed.as_secs_f64()
        );
    }
    Ok(())
}
