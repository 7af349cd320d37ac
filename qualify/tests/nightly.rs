//! `scripts/nightly` and the shards below it, from outside: green where all is, and by no means
//! where something could not run.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

const JOB: &str = "tiny-bf16-mlx-cpu-local-task";
const QUICK: &str = "--quick --stage lengths --stage sscp_conv_1.norm.mean";

/// An empty folder to run in.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &Path, line: &str) -> Command {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(program);
        command
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env("QUALIFY", env!("CARGO_BIN_EXE_qualify"))
            .env(
                "QUALIFY_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("nightly"),
            )
            .env("QUALIFY_FIXTURES", own.join("../fixtures"))
            .stdin(Stdio::null());
        command
    }

    fn night(&self, line: &str) -> Command {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        self.command(&own.join("../scripts/nightly"), &format!("{QUICK} {line}"))
    }

    fn qualify(&self, line: &str) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_qualify")), line)
    }

    /// A program that is `qualify`, but for the subcommand `what`, in place of which it does this.
    fn instead(&self, what: &str, action: &str) -> PathBuf {
        let file = self.path("instead");
        let qualify = env!("CARGO_BIN_EXE_qualify");
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = {what} ]; then {action}; fi\nexec '{qualify}' \"$@\"\n"
        );
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// Runs a night that is to end like this. Gives its summary.
    #[track_caller]
    fn ends(&self, mut night: Command, out: &str, code: i32) -> String {
        let output = night.arg("--out").arg(self.path(out)).output().unwrap();
        let summary = self.text(&format!("{out}/summary.md"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{summary}{said}");
        assert_eq!(
            self.text(&format!("{out}/exit_code")).trim(),
            code.to_string()
        );
        assert!(!said.contains("panicked"), "{said}");
        summary
    }
}

#[track_caller]
fn exits(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn a_night_is_green_and_accepted_and_the_next_is_compared_with_it() {
    let place = Place::new();
    let summary = place.ends(place.night(""), "unknown", 3);
    assert!(summary.contains("| diff | 3 | **inconclusive** | nothing was accepted yet"));
    let summary = place.ends(place.night("--accepted accepted --accept"), "first", 0);
    assert!(
        summary.contains("nothing was accepted yet; this is the first"),
        "{summary}"
    );
    let summary = place.ends(place.night("--accepted accepted"), "second", 0);
    assert!(summary.contains("| diff | 0 | green |"), "{summary}");
    assert_eq!(summary.matches("| green |").count(), 9, "{summary}");
    for file in [
        "doctor.json".to_owned(),
        "ops.json".to_owned(),
        "jobs.json".to_owned(),
        "controls-tiny-bf16.json".to_owned(),
        format!("reports/{JOB}.json"),
        format!("judge/{JOB}.json"),
        format!("pages/{JOB}.html"),
        format!("pages/{JOB}.xml"),
        format!("diff/{JOB}.json"),
    ] {
        assert!(place.path("second").join(&file).is_file(), "{file}");
    }

    // Another machine's reports say nothing about this one's.
    let file = format!("accepted/reports/{JOB}.json");
    let mut report = place.json(&file);
    report["fingerprint"]["mlx"]["version"] = "0.0.0".into();
    fs::write(place.path(&file), report.to_string()).unwrap();
    let summary = place.ends(place.night("--accepted accepted"), "other", 3);
    assert!(summary.contains(&format!("| diff | 3 | **inconclusive** | {JOB} (3)")));
    let night = place.night("--accepted accepted --across fingerprint");
    place.ends(night, "across", 0);

    // A job that was accepted and is not run any more.
    let kept = place.path("accepted/reports");
    fs::copy(kept.join(format!("{JOB}.json")), kept.join("gone.json")).unwrap();
    let night = place.night("--accepted accepted --across fingerprint --accept");
    let summary = place.ends(night, "lost", 3);
    assert!(summary.contains("| lost | 3 |"), "{summary}");
    assert!(
        kept.join("gone.json").is_file(),
        "accepted though not green"
    );
    fs::remove_file(kept.join(format!("{JOB}.json"))).unwrap();
    let summary = place.ends(place.night("--accepted accepted"), "new", 3);
    assert!(summary.contains(&format!("| diff | 3 | **inconclusive** | {JOB} (3)")));
}

#[test]
fn a_mistake_in_the_graph_is_red_and_worse_than_what_was_accepted() {
    let place = Place::new();
    place.ends(place.night("--accepted accepted --accept"), "first", 0);
    let mistake = "sscp_conv_1.norm.mean/only-operand-0@Divide.1";
    let qualify = env!("CARGO_BIN_EXE_qualify");
    let planted = place.instead("run", &format!("exec '{qualify}' \"$@\" --plant {mistake}"));
    let mut night = place.night("--accepted accepted --accept");
    night.env("QUALIFY", planted);
    let summary = place.ends(night, "second", 1);
    for step in ["run", "merge", "judge", "diff"] {
        assert!(
            summary.contains(&format!("| {step} | 1 | **red** |")),
            "{summary}"
        );
    }
    let accepted = place.json(&format!("accepted/reports/{JOB}.json"));
    assert_eq!(accepted["verdict"], "bit_exact");
}

#[test]
fn what_could_not_run_is_never_green() {
    let place = Place::new();
    // Fixtures without the one that is asked for.
    let fixtures = place.path("fixtures");
    fs::create_dir(&fixtures).unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    symlink(own.join("audio"), fixtures.join("audio")).unwrap();
    let mut night = place.night("--accepted none --accept");
    night.env("QUALIFY_FIXTURES", &fixtures);
    let summary = place.ends(night, "no-fixture", 4);
    assert!(
        summary.contains("| plan | 5 | **could not run** |"),
        "{summary}"
    );
    assert!(summary.contains("| judge | 4 | **could not run** | there are no jobs"));

    // Libraries that are not there.
    let mut night = place.night("--accepted none --accept");
    night.env("QUALIFY_NATIVE", "/nowhere");
    let summary = place.ends(night, "libraries", 4);
    for step in ["doctor", "ops", "run", "merge", "judge", "render"] {
        assert!(
            summary.contains(&format!("| {step} | 4 | **could not run** |")),
            "{summary}"
        );
    }
    let job = &place.json("libraries/jobs.json")["jobs"][0];
    assert_eq!(
        (&job["outcome"], &job["exit_code"]),
        (&"could_not_run".into(), &4.into())
    );

    // A step that is killed, each in turn.
    for step in ["doctor", "controls", "judge"] {
        let mut night = place.night("--accepted none --accept");
        night.env("QUALIFY", place.instead(step, "kill -9 $$"));
        let summary = place.ends(night, &format!("killed-{step}"), 4);
        assert!(summary.contains("**could not run**"), "{summary}");
    }
    assert!(!place.path("none").exists());
}

#[test]
fn an_interrupt_ends_what_is_running_and_says_so() {
    let place = Place::new();
    let mut night = place.night("--out out");
    night.env(
        "QUALIFY",
        place.instead("ops", "touch began; exec sleep 60"),
    );
    let mut night = night
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !place.path("began").exists() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "ops did not begin"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let id = night.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().unwrap();
    let status = night.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(143), None));
    assert!(began.elapsed() < Duration::from_secs(30));
    let summary = place.text("out/summary.md");
    assert!(
        summary.starts_with("# Nightly: exit code 143\n"),
        "{summary}"
    );
    assert!(summary.contains("Interrupted"), "{summary}");
}

#[test]
fn a_folder_in_use_and_a_word_not_known_are_refused_at_once() {
    let place = Place::new();
    fs::write(place.path("something"), "").unwrap();
    let said = exits(&mut place.night("--out ."), 4);
    assert!(said.contains("is not empty"), "{said}");
    exits(&mut place.night("--nonsense"), 2);
    exits(&mut place.night("--out"), 2);
    exits(&mut place.night("--accept"), 2);
}

#[test]
fn shards_run_apart_and_are_joined() {
    let place = Place::new();
    let plan = "plan --shards 2 --fixture tiny --profile bf16 --profile f32 --stage lengths";
    let output = place
        .qualify(&format!("{plan} --json plan.json --matrix -"))
        .output()
        .unwrap();
    let matrix: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(matrix["include"][1]["shard"], "2/2");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);

    let shard = |i: u32, out: &str, more: &str| {
        let line = format!("run --shard {i}/2 --plan plan.json --reports {out} {more}");
        exits(&mut place.qualify(&line), 0)
    };
    shard(1, "one", "");
    let said = exits(&mut place.qualify("merge one --plan plan.json"), 5);
    assert!(
        said.contains("shard 2 is missing, and with it tiny-"),
        "{said}"
    );
    shard(2, "two", "");
    let line = "merge one two --plan plan.json --json jobs.json --out all";
    exits(&mut place.qualify(line), 0);
    let merged = place.json("jobs.json");
    assert_eq!(merged["totals"]["qualified"], 2);
    assert!(place.path(&format!("all/{JOB}.json")).is_file());
    let said = exits(&mut place.qualify("merge one two one --plan plan.json"), 5);
    assert!(said.contains("shard 1 is there twice"), "{said}");
    shard(2, "other", "--threads 1");
    let said = exits(&mut place.qualify("merge one other --plan plan.json"), 5);
    assert!(
        said.contains("mixed options") && said.contains("mixed host.threads"),
        "{said}"
    );

    let with = |line: &str, code| exits(&mut place.qualify(line), code);
    let shard = "run --plan plan.json --reports x --shard";
    assert!(with(&format!("{shard} 1/3"), 2).contains("the plan has 2 shards"));
    with(&format!("{shard} 0/2"), 2);
    with(&format!("{shard} 1/2 --fixture tiny"), 2);
    with(&format!("{shard} 1/2 --report x.json"), 2);
    with("run --shard 1/2", 2);
    with("plan --shards 3 --fixture tiny", 0);
    with("plan --shards 4 --fixture tiny", 2);
    with("plan --fixture tiny --stage nothing_like_it", 2);
    with("merge . --plan plan.json", 5);
    fs::write(place.path("plan.json"), "{}").unwrap();
    with(&format!("{shard} 1/2"), 5);
}
