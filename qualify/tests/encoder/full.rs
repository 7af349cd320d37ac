//! What takes long: many weights, every bucket at its edges, more clips, published dimensions.

use std::{fs, path::Path};

use stages::{
    Profile,
    audio::PaddingSide::{Left, Right},
    model::gemma3n_audio::BUCKETS,
};

use crate::{
    clips::Clip,
    run::Run,
    table::{Group, markdown},
};

fn group(what: &'static str, runs: impl IntoIterator<Item = Run>) -> Group {
    let outcomes = runs.into_iter().map(|run| run.outcome()).collect();
    Group { what, outcomes }
}

/// The recording with other weights.
fn seeds(profile: Profile) -> impl Iterator<Item = Run> {
    (0..20).map(move |seed| Run {
        seed,
        ..Run::tiny(profile, &[Clip::ALL])
    })
}

/// A bucket's own length and the one before it plus one, padded on alternating sides. Sums over
/// fewer than five frames are one value, which is all that a bucket repeats: vacuous.
fn edges() -> impl Iterator<Item = Run> {
    let before = [4].into_iter().chain(BUCKETS);
    let pairs = before.zip(BUCKETS).enumerate();
    pairs.flat_map(|(i, (before, bucket))| {
        let sides = if i % 2 == 0 {
            [Right, Left]
        } else {
            [Left, Right]
        };
        let lengths = [before + 1, bucket];
        lengths
            .into_iter()
            .zip(sides)
            .map(move |(frames, padding)| Run {
                padding,
                seed: i as u64,
                ..Run::tiny(Profile::Bf16, &[Clip::of_frames(frames)])
            })
    })
}

fn four_clips(profile: Profile, frames: usize) -> impl Iterator<Item = Run> {
    let piece = |from, samples| Clip { from, samples };
    let clips = [
        piece(40_000, 6_000),
        Clip::of_frames(frames),
        piece(100_000, 1_000),
        piece(60_000, 12_345),
    ];
    // On the left a clip shorter than 673 samples may begin behind the last frame's first.
    [Left, Right].into_iter().map(move |padding| Run {
        padding,
        ..Run::tiny(profile, &clips)
    })
}

fn published(fixture: &'static str, profile: Profile, clip: Clip) -> [Run; 1] {
    let run = Run::tiny(profile, &[clip]);
    let interp = "auto";
    [Run {
        fixture,
        interp,
        ..run
    }]
}

/// Writes what was run and found to `target/encoder-report.md`.
#[test]
#[ignore = "takes a quarter of an hour"]
fn many_weights_every_bucket_and_published_dimensions() {
    let mut groups = Vec::new();
    for profile in Profile::ALL {
        groups.push(group("`tiny`, 11 s, seeds 0 to 19", seeds(profile)));
    }
    groups.push(group("`tiny`, at the edges of every bucket", edges()));
    for profile in Profile::ALL {
        let what = "`tiny`, four clips, padded left and right";
        groups.push(group(what, four_clips(profile, 193)));
    }
    groups.push(group(
        "`tiny`, four clips up to 11 s, padded left and right",
        four_clips(Profile::Bf16, 1097),
    ));
    for profile in Profile::ALL {
        let fixture = "tiny-4bit";
        let run = Run::tiny(profile, &[Clip::of_frames(193)]);
        groups.push(group("`tiny-4bit`, 2 s", [Run { fixture, ..run }]));
    }
    for profile in Profile::ALL {
        let runs = published("encoder-real-2", profile, Clip::of_frames(193));
        groups.push(group("`encoder-real-2`, 2 s", runs));
    }
    let runs = published("encoder-real-2", Profile::Bf16, Clip::ALL);
    groups.push(group("`encoder-real-2`, 11 s", runs));
    let runs = published("encoder-real", Profile::Bf16, Clip::of_frames(65));
    groups.push(group("`encoder-real`, 0.7 s", runs));

    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("encoder-report.md");
    fs::write(file, markdown(&groups)).unwrap();
    for outcome in groups.iter().flat_map(|group| &group.outcomes) {
        let (run, faults) = (&outcome.run, &outcome.faults);
        assert!(faults.is_empty(), "{run:?}\n{}", faults.join("\n"));
    }
}
