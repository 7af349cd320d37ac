//! What exactness costs: the steps of one conformer block and of everything around it, exact and
//! native, family by family.

use std::{collections::BTreeMap, time::Instant};

use emitter::{Contract, Cut, emit::emit, program::Source};
use oracle::{iree::IreeSide, supply::Supply};
use runtime::Buffer;
use stages::{Boundary, Graph};

use crate::{Result, median};

/// A family and how its boundaries' names end, the first match counts.
const FAMILIES: [(&str, &[&str]); 16] = [
    ("cast", &["mel_cast"]),
    ("convolution 3×3", &[".convolution"]),
    ("sum over a frame", &[".sum_at_time"]),
    ("powf and sum over a frame", &[".squared_at_time"]),
    ("prefix scan", &[".cumulative_sum", ".cumulative_squared"]),
    (
        "cumulative norm and ReLU",
        &[
            ".mean",
            ".variance",
            ".inverse_stddev",
            ".norm",
            "sscp_conv_0",
            "sscp_conv_1",
        ],
    ),
    (
        "linear",
        &[
            "input_projection",
            ".linear_1",
            ".linear_2",
            ".query",
            ".key",
            ".value",
            ".post",
            ".linear_start",
            ".linear_end",
            "_linear",
            ".relative_key",
        ],
    ),
    ("RMS norm", &["_norm"]),
    ("SiLU", &[".silu"]),
    ("GLU", &[".gate"]),
    ("depthwise convolution", &[".depthwise"]),
    ("softplus, scale", &[".query_scale", ".query_scaled"]),
    ("timing signal", &[".position_signal"]),
    (
        "attention products",
        &[".content_logits", ".relative_shift", ".context"],
    ),
    ("tanh soft cap, softmax", &[".softcap", ".probabilities"]),
    ("residual sums, masks, movement", &[""]),
];

/// The family a boundary's last step belongs to.
fn family(boundary: &str) -> Option<usize> {
    // A block's own boundary is its final norm.
    let is_block = boundary
        .strip_prefix("conformer.")
        .is_some_and(|block| block.bytes().all(|byte| byte.is_ascii_digit()));
    let name = if is_block { "block_norm" } else { boundary };
    FAMILIES
        .iter()
        .position(|(_, ends)| ends.iter().any(|end| name.ends_with(end)))
}

/// Prints the table.
pub fn table(graph: &Graph, iree: &IreeSide, supply: &dyn Supply, rounds: usize) -> Result<()> {
    let exact = times(graph, iree, supply, Contract::MlxCpu, rounds)?;
    let native = times(graph, iree, supply, Contract::Native, rounds)?;
    println!("| family | steps | exact | native | exact / native |");
    println!("|---|---:|---:|---:|---:|");
    let mut rows: Vec<(&str, usize, f64, f64)> = FAMILIES
        .iter()
        .map(|(name, _)| (*name, 0, 0.0, 0.0))
        .collect();
    for (boundary, exact, native) in exact
        .iter()
        .zip(&native)
        .map(|((name, exact), (_, native))| (name, exact, native))
    {
        if let Some(row) = family(boundary).and_then(|i| rows.get_mut(i)) {
            row.1 += 1;
            row.2 += exact;
            row.3 += native;
        }
    }
    rows.push(rows.iter().fold(("all", 0, 0.0, 0.0), |sum, row| {
        (sum.0, sum.1 + row.1, sum.2 + row.2, sum.3 + row.3)
    }));
    for (name, steps, exact, native) in rows {
        println!(
            "| {name} | {steps} | {:.2} ms | {:.2} ms | {:.2}× |",
            exact * 1e3,
            native * 1e3,
            exact / native
        );
    }
    Ok(())
}

/// Seconds of every boundary's step on the candidate's own values, by name.
pub fn times(
    graph: &Graph,
    iree: &IreeSide,
    supply: &dyn Supply,
    contract: Contract,
    rounds: usize,
) -> Result<Vec<(String, f64)>> {
    let all: Vec<&Boundary> = graph.boundaries().iter().collect();
    let mut programs = Vec::new();
    for boundary in &all {
        programs.push(emit(graph, &Cut::step(graph, boundary), contract)?.laid_out);
    }
    let unit = iree.build("steps", programs)?;
    iree.make_resident(&unit, supply)?;
    println!(
        "steps under {contract}: compiled in {:.2} s\n",
        unit.elapsed.as_secs_f64()
    );
    let mut known: BTreeMap<String, Buffer> = BTreeMap::new();
    let mut measured = Vec::new();
    for (i, boundary) in all.iter().enumerate() {
        let on_device = |source: &Source| match source {
            Source::Boundary(name) => known.get(name).cloned(),
            _ => None,
        };
        let mut times = Vec::new();
        let mut result = Vec::new();
        for _ in 0..rounds.max(1) {
            let started = Instant::now();
            result = iree.call(&unit, i, supply, &on_device)?;
            times.push(started.elapsed().as_secs_f64());
        }
        measured.push((boundary.id.to_string(), median(&mut times).0));
        if let Some(buffer) = result.into_iter().next() {
            known.insert(boundary.id.to_string(), buffer);
        }
    }
    Ok(measured)
}
