//! The encoder at published dimensions: what the shipped module costs.
//!
//! `cargo bench -p oracle --bench encoder -- [--fixture NAME | --checkpoint DIR] [--frames T]… [--profile P] [--threads N]
//! [--contract mlx-cpu|native] [--exact] [--rounds N] [--steps] [--families] [--compile] [--dump DIR]`: compiles the
//! production module for a bucket (or, with `--exact`, for T frames), with seeded weights, and
//! prints one JSON object: compile time, median and least time of a call, the process's peak
//! memory. `--steps` also times every boundary's step on its own values; `--families` prints what
//! exactness costs, family by family; `--compile` only what compiling takes; `--save DIR` writes the
//! fixture as a checkpoint and ends (for `--checkpoint`); `--dump` writes the
//! module's text.

mod compile;
mod families;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use emitter::{
    Contract, Cut,
    emit::emit,
    mlir::{Function, print_module},
    program::Source,
};
use fixtures::Fixture;
use oracle::{iree::IreeSide, supply::Shipped};
use runtime::{DeviceKind, Native, Toolchain};
use safetensors::tensor::TensorView;
use stages::{
    Boundary, Checkpoint, Profile, Tensor,
    audio::{LogMel, MEL_BINS, Overlong, PaddingSide, Waveform},
    model::gemma3n_audio::{Batch, Frames, audio_encoder},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Args {
    fixture: String,
    checkpoint: Option<PathBuf>,
    frames: Vec<usize>,
    profile: Profile,
    contract: Contract,
    threads: usize,
    save: Option<PathBuf>,
    exact: bool,
    rounds: usize,
    steps: bool,
    families: bool,
    compile: bool,
    dump: Option<PathBuf>,
}

impl Args {
    fn read() -> Result<Args> {
        let mut args = Args {
            fixture: "encoder-real".to_owned(),
            checkpoint: None,
            frames: Vec::new(),
            profile: Profile::Bf16,
            contract: Contract::MlxCpu,
            threads: 2,
            save: None,
            exact: false,
            rounds: 5,
            steps: false,
            families: false,
            compile: false,
            dump: None,
        };
        let mut given = std::env::args().skip(1);
        while let Some(name) = given.next() {
            let mut value = || given.next().ok_or(format!("{name} needs a value"));
            match name.as_str() {
                "--fixture" => args.fixture = value()?,
                "--checkpoint" => args.checkpoint = Some(value()?.into()),
                "--frames" => args.frames.push(value()?.parse()?),
                "--profile" => args.profile = value()?.parse()?,
                "--contract" => args.contract = value()?.parse()?,
                "--threads" => args.threads = value()?.parse()?,
                "--rounds" => args.rounds = value()?.parse()?,
                "--save" => args.save = Some(value()?.into()),
                "--dump" => args.dump = Some(value()?.into()),
                "--exact" => args.exact = true,
                "--steps" => args.steps = true,
                "--families" => args.families = true,
                "--compile" => args.compile = true,
                "--bench" => {}
                other => return Err(format!("unknown argument {other}").into()),
            }
        }
        if args.frames.is_empty() {
            args.frames.push(1097);
        }
        Ok(args)
    }
}

fn main() -> Result<()> {
    let args = Args::read()?;
    let checkpoint = match &args.checkpoint {
        Some(dir) => Checkpoint::open(dir)?,
        None => Fixture::named(&args.fixture, 0)?.checkpoint,
    };
    if let Some(dir) = &args.save {
        return save(&checkpoint, &args.fixture, dir);
    }
    let recording = fixtures::data_dir()?.join("audio/jfk.wav");
    let toolchain = Toolchain::new(&Native::locate()?, None);
    let iree = IreeSide::open(DeviceKind::LocalTask, Some(args.threads), toolchain)?;
    for &frames in &args.frames {
        measure(&args, &checkpoint, &features(&recording, frames)?, &iree)?;
    }
    Ok(())
}

/// Writes a fixture's audio tensors as a checkpoint, which is then mapped and not generated.
fn save(checkpoint: &Checkpoint, fixture: &str, dir: &Path) -> Result<()> {
    fs::create_dir_all(dir)?;
    let config = fixtures::data_dir()?.join(fixture).join("config.json");
    fs::copy(config, dir.join("config.json"))?;
    let mut views = Vec::new();
    for (name, tensor) in checkpoint.tensors() {
        let dims = tensor.shape().dims().to_vec();
        let view = TensorView::new(safetensors::Dtype::BF16, dims, tensor.bytes())?;
        views.push((name, view));
    }
    let format = [("format".to_owned(), "mlx".to_owned())].into();
    let file = dir.join("model.safetensors");
    Ok(safetensors::serialize_to_file(views, Some(format), &file)?)
}

/// The recording's features, repeated or cut to that many frames.
fn features(recording: &Path, frames: usize) -> Result<Batch> {
    let wave = Waveform::read(recording)?;
    let features = LogMel::new().extract(&[&wave], PaddingSide::Right, Overlong::Reject)?;
    let mel: Vec<f32> = features
        .mel
        .iter()
        .copied()
        .cycle()
        .take(frames * MEL_BINS)
        .collect();
    let mel = Tensor::from_f32([1, frames, MEL_BINS], &mel)?;
    Ok(Batch::new(mel, vec![true; frames])?)
}

fn measure(args: &Args, checkpoint: &Checkpoint, batch: &Batch, iree: &IreeSide) -> Result<()> {
    let frames = batch.frames();
    let stated = match (args.exact, Frames::bucket_of(frames)) {
        (false, Some(bucket)) => bucket,
        _ => Frames::Exact(frames),
    };
    let inputs = batch.inputs(stated)?;
    let supply = Shipped {
        checkpoint,
        inputs: &inputs,
    };
    let graph = audio_encoder(checkpoint.config(), args.profile, 1, stated)?;
    let last: Vec<&Boundary> = graph
        .boundaries()
        .iter()
        .filter(|b| ["audio_tokens", "lengths", "mask"].contains(&b.id.as_str()))
        .collect();
    if args.compile {
        return compile::table(&graph, &last, args.contract);
    }
    let production = emit(&graph, &Cut::production(&graph, &last), args.contract)?;
    if let Some(dir) = &args.dump {
        let function = Function {
            name: "f0",
            program: &production.laid_out,
        };
        fs::write(
            dir.join(format!("production-{frames}.mlir")),
            print_module("production", &[function]),
        )?;
    }
    let nothing = |_: &Source| None;
    let unit = iree.build("production", vec![production.laid_out])?;
    let started = Instant::now();
    iree.make_resident(&unit, &supply)?;
    let prepared = started.elapsed();
    let mut times = Vec::new();
    for _ in 0..args.rounds.max(1) {
        let started = Instant::now();
        iree.call(&unit, 0, &supply, &nothing)?;
        times.push(started.elapsed().as_secs_f64());
    }
    let (median, least) = median(&mut times);
    println!(
        "{{\"frames\": {frames}, \"graph\": {}, \"profile\": \"{}\", \"contract\": \"{}\", \"threads\": {}, \"compile_s\": {:.2}, \"prepare_s\": {:.2}, \"seconds\": {median:.4}, \"min\": {least:.4}, \"peak_mib\": {}}}",
        stated.count(),
        args.profile,
        args.contract.name(),
        args.threads,
        unit.elapsed.as_secs_f64(),
        prepared.as_secs_f64(),
        peak()?,
    );
    if args.steps {
        for (name, time) in families::times(&graph, iree, &supply, args.contract, args.rounds)? {
            println!("{name} {:.3} ms", time * 1e3);
        }
    }
    if args.families {
        families::table(&graph, iree, &supply, args.rounds)?;
    }
    Ok(())
}

fn median(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

/// Most memory this process had resident, in MiB.
fn peak() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|text| text.split_whitespace().next());
    Ok(kib.ok_or("no VmHWM")?.parse::<u64>()? / 1024)
}
