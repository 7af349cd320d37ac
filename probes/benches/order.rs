//! `reveal` against the published FPRev on the same operations of MLX on CPU, in one run.
//!
//! `cargo bench -p probes --bench order`: medians of interleaved rounds, from a function that
//! adds to its tree. The last column compares processor time, which other processes disturb less.
//! FPRev runs in a Python process that stays open, so that starting it does not count. `FPREV`
//! names the folder with FPRev's fprev.py and the Python package graphviz, `FPREV_PYTHON` a Python
//! with mlx 0.32.2; see docs/benchmarks/probes.md.

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::Instant,
};

use oracle::MlxSide;
use probes::{
    ops::{Site, mlx::OnMlx},
    order::{Tree, check_rows, reveal},
};
use stages::DType::F32;

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let peers = format!("{root}/target/peers");
    let given =
        |name: &str, default: &str| env::var(name).unwrap_or_else(|_| format!("{peers}/{default}"));
    let mut peer = Command::new(given("FPREV_PYTHON", "environment/bin/python"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/fprev_mlx.py"))
        .env("PYTHONPATH", given("FPREV", "fprev"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut questions = peer.stdin.take().ok_or("no way to FPRev")?;
    let mut answers = BufReader::new(peer.stdout.take().ok_or("no way from FPRev")?).lines();
    let side = MlxSide::new()?;
    println!(
        "| op | n | FPRev | calls | qualify | vectors | checks | calls | ratio | of CPU time |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for op in ["sum", "matmul"] {
        for n in [64, 256, 1024, 4096, 8192] {
            let site = match op {
                "sum" => Site::sum(((1 << 18) / n).clamp(1, 64), n, F32)?,
                _ => Site::product(8, n, 8, F32)?,
            };
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            let (mut their_work, mut our_work) = (Vec::new(), Vec::new());
            let (mut calls, mut found) = (0, None);
            for _ in 0..ROUNDS {
                writeln!(questions, "{op} {n}")?;
                questions.flush()?;
                let line = answers.next().ok_or("FPRev ended")??;
                let mut parts = line.split(' ');
                theirs.push(parts.next().ok_or("no time")?.parse::<f64>()?);
                their_work.push(parts.next().ok_or("no processor time")?.parse::<f64>()?);
                calls = parts.next().ok_or("no calls")?.parse::<usize>()?;
                let (started, worked) = (Instant::now(), processor()?);
                let mut op = OnMlx::new(&side, &site);
                check_rows(&mut op)?;
                let revealed = reveal(&mut op)?;
                ours.push(started.elapsed().as_secs_f64());
                our_work.push(processor()? - worked);
                if revealed.tree != Tree::sequential(n) {
                    return Err("another tree than MLX's".into());
                }
                found = Some(revealed);
            }
            let (theirs, ours) = (median(&mut theirs), median(&mut ours));
            let work = median(&mut their_work) / median(&mut our_work);
            let found = found.ok_or("nothing found")?;
            println!(
                "| {op} | {n} | {:.1} ms | {calls} | {:.2} ms | {} | {} | {} | {:.1}× | {work:.1}× |",
                1e3 * theirs,
                1e3 * ours,
                found.vectors,
                found.checks,
                found.vectors.div_ceil(site.rows()),
                theirs / ours
            );
        }
    }
    drop(questions);
    peer.wait()?;
    Ok(())
}

/// Processor time of all threads of this process so far, in seconds.
fn processor() -> Result<f64, Box<dyn Error>> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += text.split(' ').next().unwrap_or("0").parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
