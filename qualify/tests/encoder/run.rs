//! A run of the command on the whole encoder.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use reports::wire::{Report, read_report};
use stages::{
    Profile,
    audio::PaddingSide,
    model::gemma3n_audio::{BUCKETS, Frames},
};
use tempfile::TempDir;

use crate::{
    clips::{Clip, frames},
    faults,
};

/// What is run.
#[derive(Clone, Debug)]
pub struct Run {
    pub fixture: &'static str,
    pub seed: u64,
    pub profile: Profile,
    pub clips: Vec<Clip>,
    pub padding: PaddingSide,
    pub device: &'static str,
    /// Whether the interpreter runs: `on`, or `auto` where it may take too long.
    pub interp: &'static str,
}

/// What came of it.
pub struct Outcome {
    pub run: Run,
    /// None where the command could not do its work.
    pub report: Option<Report>,
    /// What is not as it must be.
    pub faults: Vec<String>,
}

impl Run {
    /// The fixture `tiny` on these clips, with the interpreter.
    pub fn tiny(profile: Profile, clips: &[Clip]) -> Run {
        Run {
            fixture: "tiny",
            seed: 0,
            profile,
            clips: clips.to_vec(),
            padding: PaddingSide::Right,
            device: "local-task",
            interp: "on",
        }
    }

    /// The bucket that `--bucket auto` must choose.
    pub fn bucket(&self) -> Frames {
        Frames::bucket_of(frames(&self.clips)).unwrap()
    }

    /// Runs the command and looks at its exit code and report.
    pub fn outcome(&self) -> Outcome {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let tests = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_qualify"));
        command
            .arg("run")
            .args(["--fixture", self.fixture])
            .args(["--seed", &self.seed.to_string()])
            .args(["--profile", self.profile.name()])
            .args(["--padding", &self.padding.to_string()])
            .args(["--device", self.device])
            .args(["--interp", self.interp])
            .args(["--report", "report.json"])
            .current_dir(folder.path())
            .env("QUALIFY_CACHE", tests.join("encoder-cache"))
            .env(
                "QUALIFY_FIXTURES",
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures"),
            )
            .stdin(Stdio::null());
        for (i, clip) in self.clips.iter().enumerate() {
            let name = format!("{i}.wav");
            clip.write(&folder.path().join(&name));
            command.args(["--audio", &name]);
        }
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let file = folder.path().join("report.json");
        let report = fs::exists(&file)
            .unwrap()
            .then(|| read_report(&file).unwrap());
        let mut faults = report
            .as_ref()
            .map_or_else(Vec::new, |report| faults::of(self, report));
        if output.status.code() != Some(0) {
            faults.push(format!("exit code {:?}: {stderr}", output.status.code()));
        }
        if stderr.contains("panicked at") {
            faults.push(stderr);
        }
        Outcome {
            run: self.clone(),
            report,
            faults,
        }
    }

    /// Demands that all is as it must be.
    #[track_caller]
    pub fn succeeds(&self) {
        let faults = self.outcome().faults;
        assert!(faults.is_empty(), "{self:?}\n{}", faults.join("\n"));
    }

    /// The same in the bucket a test is about.
    #[track_caller]
    pub fn succeeds_in(&self, bucket: usize) {
        assert!(BUCKETS.contains(&bucket));
        assert_eq!(self.bucket(), Frames::Bucket(bucket));
        self.succeeds();
    }
}
