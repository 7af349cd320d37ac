//! The sides against each other at real size: `sscp-real`, 11 s of speech, production form.
//!
//! `cargo bench -p oracle --bench sides`: for every profile the median of interleaved rounds of
//! MLX and of IREE on each device, and their ratio, all in one run; then what compiling takes.

use std::{
    collections::BTreeMap,
    error::Error,
    time::{Duration, Instant},
};

use emitter::{Contract, Cut, emit::emit, program::Source};
use fixtures::Fixture;
use oracle::{MlxSide, interp, iree::IreeSide, supply::Supply};
use runtime::{DeviceKind, Native, Toolchain};
use stages::{
    Boundary, Profile,
    audio::{LogMel, Overlong, PaddingSide, Waveform},
    model::gemma3n_audio::{Batch, Frames, audio_encoder},
};

const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let fixture = Fixture::named("sscp-real", 0)?;
    let wave = Waveform::read(&fixture.audio)?;
    let features = LogMel::new().extract(&[&wave], PaddingSide::Right, Overlong::Reject)?;
    let frames = Frames::Exact(features.frames);
    let inputs = Batch::of(&features)?.inputs(frames)?;
    let weights = |name: &str| fixture.checkpoint.tensor(name).cloned();
    let supply = |source: &Source| match source {
        Source::Input(name) => inputs.get(name).cloned(),
        Source::Weight(name) => weights(name),
        Source::Boundary(_) => None,
    };
    let nothing = |_: &Source| None;
    let mlx = MlxSide::new()?;
    // No store: every module is compiled anew.
    let toolchain = Toolchain::new(&Native::locate()?, None);
    let kinds = [DeviceKind::LocalTask, DeviceKind::LocalSync];
    let devices = kinds
        .into_iter()
        .map(|kind| IreeSide::open(kind, None, toolchain.clone()))
        .collect::<Result<Vec<_>, _>>()?;

    println!(
        "| profile | MLX | interp | IREE local-task | ratio | IREE local-sync | ratio | compile |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for profile in Profile::ALL {
        let graph = audio_encoder(fixture.checkpoint.config(), profile, 1, frames)?;
        let last: Vec<&Boundary> = graph.boundaries().last().into_iter().collect();
        let production = emit(&graph, &Cut::production(&graph, &last), Contract::MlxCpu)?;
        let units = devices
            .iter()
            .map(|device| device.build("production", vec![production.laid_out.clone()]))
            .collect::<Result<Vec<_>, _>>()?;
        for (device, unit) in devices.iter().zip(&units) {
            device.make_resident(unit, &supply)?;
        }
        let mut reference = Vec::new();
        let mut candidate = vec![Vec::new(); devices.len()];
        for _ in 0..ROUNDS {
            let started = Instant::now();
            mlx.capture(&graph, &weights, &inputs, &last, &mut |_| ())?;
            reference.push(started.elapsed());
            for (i, (device, unit)) in devices.iter().zip(&units).enumerate() {
                let started = Instant::now();
                device.call(unit, 0, &supply, &nothing)?;
                candidate[i].push(started.elapsed());
            }
        }
        let started = Instant::now();
        interp::run(&production.stated, &supply)?;
        let interp = started.elapsed();
        let (mlx, task, sync) = (
            median(&mut reference),
            median(&mut candidate[0]),
            median(&mut candidate[1]),
        );
        let ratio = |time: Duration| mlx.as_secs_f64() / time.as_secs_f64();
        println!(
            "| {profile} | {:.0} ms | {:.0} ms | {:.1} ms | {:.1}× | {:.1} ms | {:.1}× | {:.2} s |",
            millis(mlx),
            millis(interp),
            millis(task),
            ratio(task),
            millis(sync),
            ratio(sync),
            units[0].elapsed.as_secs_f64(),
        );
    }
    if std::env::args().any(|arg| arg == "--steps") {
        steps(&fixture, frames, &devices[0], &supply)?;
    }
    Ok(())
}

/// Where the time goes: every boundary's step alone, `bf16`, on MLX's values for its parents.
fn steps(
    fixture: &Fixture,
    frames: Frames,
    device: &IreeSide,
    supply: &dyn Supply,
) -> Result<(), Box<dyn Error>> {
    let graph = audio_encoder(fixture.checkpoint.config(), Profile::Bf16, 1, frames)?;
    let all: Vec<&Boundary> = graph.boundaries().iter().collect();
    let tapped = emit(&graph, &Cut::tapped(&graph, &all), Contract::MlxCpu)?;
    let unit = device.build("tapped", vec![tapped.laid_out])?;
    let values = device.call(&unit, 0, supply, &|_: &Source| None)?;
    let given: BTreeMap<&str, _> = all.iter().map(|b| b.id.as_str()).zip(values).collect();
    let on_device = |source: &Source| match source {
        Source::Boundary(name) => given.get(name.as_str()).cloned(),
        _ => None,
    };
    println!("\n| step | time |\n|---|---:|");
    for boundary in all {
        let step = emit(&graph, &Cut::step(&graph, boundary), Contract::MlxCpu)?;
        let unit = device.build("step", vec![step.laid_out])?;
        device.make_resident(&unit, supply)?;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            device.call(&unit, 0, supply, &on_device)?;
            times.push(started.elapsed());
        }
        println!(
            "| {} | {:.2} ms |",
            boundary.id,
            median(&mut times).as_secs_f64() * 1e3
        );
    }
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
