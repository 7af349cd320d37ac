//! What is run each time.

use reports::{verdict::Verdict, wire::Report};
use stages::{Profile, audio::PaddingSide};

use crate::{clips::Clip, faults, run::Run};

/// 65 frames: the last token sees one frame beyond its own.
fn short() -> Clip {
    Clip::of_frames(65)
}

fn seeds_in(bucket: usize, clip: Clip) {
    for seed in 0..3 {
        let run = Run::tiny(Profile::Bf16, &[clip]);
        Run { seed, ..run }.succeeds_in(bucket);
    }
}

#[test]
fn bf16_on_the_whole_recording() {
    seeds_in(1152, Clip::ALL);
}

#[test]
fn bf16_on_a_short_clip_on_both_devices() {
    seeds_in(96, short());
    let run = Run::tiny(Profile::Bf16, &[short()]);
    let device = "local-sync";
    Run { device, ..run }.succeeds_in(96);
    one_frame_is_equal_but_its_sums_are_vacuous();
}

/// Behind the only frame the sum of all frames so far stays what it is.
fn one_frame_is_equal_but_its_sums_are_vacuous() {
    let run = Run::tiny(Profile::Bf16, &[Clip::of_frames(1)]);
    let report = run.outcome().report.unwrap();
    assert_eq!((report.verdict, report.exit_code), (Verdict::Vacuous, 3));
    assert_eq!(report.inputs.frames, [1]);
    let mut vacuous = Vec::new();
    for boundary in &report.boundaries {
        let local = boundary.local.as_ref().unwrap().differing;
        assert_eq!([boundary.inherited.differing, local], [Some(0); 2]);
        if boundary.verdict != Verdict::BitExact {
            assert_eq!(boundary.verdict, Verdict::Vacuous);
            vacuous.push(boundary.name.as_str());
        }
    }
    let sums = [0, 1].map(|i| format!("sscp_conv_{i}.norm.cumulative_sum"));
    assert_eq!(vacuous, sums);
}

#[test]
fn mixed_on_a_short_clip() {
    Run::tiny(Profile::Mixed, &[short()]).succeeds_in(96);
}

#[test]
fn f32_on_a_short_clip_and_a_report_with_a_fault() {
    let run = Run::tiny(Profile::F32, &[short()]);
    run.succeeds_in(96);
    let report = run.outcome().report.unwrap();
    let faults: [fn(&mut Report); 8] = [
        |report| report.boundaries[70].inherited.differing = Some(1),
        |report| report.boundaries[71].local.as_mut().unwrap().differing = Some(1),
        |report| report.boundaries[72].interp.as_mut().unwrap().differing = 1,
        |report| report.boundaries[73].interp = None,
        |report| report.boundaries[74].verdict = Verdict::Inconclusive,
        |report| drop(report.boundaries.pop()),
        |report| report.non_interference.chained = None,
        |report| report.inputs.frames = vec![64],
    ];
    for make in faults {
        let mut faulty = report.clone();
        make(&mut faulty);
        assert_eq!(faults::of(&run, &faulty).len(), 1);
    }
}

#[test]
fn three_clips_of_different_lengths() {
    let piece = |from, samples| Clip { from, samples };
    let clips = [short(), piece(40_000, 6_000), piece(60_000, 2_500)];
    for padding in [PaddingSide::Left, PaddingSide::Right] {
        let run = Run::tiny(Profile::Bf16, &clips);
        Run { padding, ..run }.succeeds_in(96);
    }
}

/// Two blocks of the published width, generated weights.
#[test]
fn published_dimensions() {
    Run {
        fixture: "encoder-real-2",
        interp: "auto",
        ..Run::tiny(Profile::Bf16, &[short()])
    }
    .succeeds_in(96);
}
