//! Runs the command in a folder of its own.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex, OnceLock},
};

use serde_json::Value;
use tempfile::TempDir;

/// Where the command is run: an empty folder, but for a link `fixtures` to those of the
/// repository.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        let place = Place(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        fs::create_dir(place.path("")).unwrap();
        fs::create_dir(place.temporary()).unwrap();
        symlink(fixtures, place.path("fixtures")).unwrap();
        place
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("work").join(name)
    }

    /// The temporary files there are.
    pub fn temporaries(&self) -> Vec<String> {
        below(&self.temporary())
    }

    fn temporary(&self) -> PathBuf {
        self.0.path().join("temporary")
    }

    /// Writes a file in it.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Copies the checkpoint of the fixture `tiny` to a folder in it.
    pub fn put_checkpoint(&self, name: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/tiny");
        fs::create_dir(self.path(name)).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = self.path(name).join(entry.file_name());
            fs::copy(entry.path(), to).unwrap();
        }
    }

    /// Everything below it but the fixtures, sorted; folders end with a slash.
    pub fn holds(&self) -> Vec<String> {
        let mut names = below(&self.path(""));
        names.retain(|name| name != "fixtures");
        names
    }

    /// A JSON file in it.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// The command with these arguments, which have no spaces in them.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_qualify"));
        command
            .args(line.split_whitespace())
            .current_dir(self.path(""))
            .env("TMPDIR", self.temporary())
            .env("QUALIFY_CACHE", shared_cache())
            .env_remove("QUALIFY_FIXTURES")
            .env_remove("QUALIFY_STORE")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("GITHUB_STEP_SUMMARY")
            .env("COLUMNS", "200")
            .stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub fn run(&self, line: &str) -> Ended {
        self.run_with(line, &[])
    }

    /// The same where there are no native libraries: nothing of MLX or IREE can be opened.
    pub fn run_without_libraries(&self, line: &str) -> Ended {
        self.run_with(line, &[("QUALIFY_NATIVE", Path::new("/nowhere"))])
    }

    /// The same with environment variables set.
    pub fn run_with(&self, line: &str, variables: &[(&str, &Path)]) -> Ended {
        let mut command = self.command(line);
        command.envs(variables.iter().copied());
        self.ended(line, command.output().unwrap())
    }

    /// What came of a run in this place, which has left no temporary file.
    pub fn ended(&self, line: &str, output: Output) -> Ended {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ended = Ended {
            line: line.to_owned(),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        let left = below(&self.temporary());
        assert!(left.is_empty(), "{left:?} is left of {ended}");
        ended
    }

    /// The temporary files that a run was meant to keep, which are then removed.
    pub fn take_kept(&self) -> Vec<String> {
        let names = below(&self.temporary());
        names
            .iter()
            .map(|name| {
                let path = self.temporary().join(name);
                let text = fs::read_to_string(&path).unwrap();
                fs::remove_file(path).unwrap();
                text
            })
            .collect()
    }
}

fn below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            names.extend(
                below(&entry.path())
                    .iter()
                    .map(|inner| format!("{name}/{inner}")),
            );
            names.push(format!("{name}/"));
        } else {
            names.push(name);
        }
    }
    names.sort();
    names
}

/// What came of a run.
pub struct Ended {
    line: String,
    code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended {
            line,
            code,
            stdout,
            stderr,
        } = self;
        write!(f, "qualify {line}\n→ {code:?}\n{stdout}\n{stderr}")
    }
}

impl Ended {
    /// Demands an exit code, and that nothing panicked.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "{self}");
        assert!(!self.stderr.contains("panicked at"), "{self}");
        self
    }

    /// Demands this text on stderr.
    #[track_caller]
    pub fn says(self, text: &str) -> Ended {
        assert!(self.stderr.contains(text), "{text:?} is not said by {self}");
        self
    }

    /// Demands this text on stdout.
    #[track_caller]
    pub fn prints(self, text: &str) -> Ended {
        let printed = self.stdout.contains(text);
        assert!(printed, "{text:?} is not printed by {self}");
        self
    }

    /// Demands that it compared nothing.
    #[track_caller]
    pub fn does_no_work(self) -> Ended {
        let phases = ["reference ", "compile ", "candidate ", "interp "];
        let worked = phases
            .iter()
            .any(|phase| self.stderr.lines().any(|line| line.starts_with(phase)));
        assert!(!worked, "{self}");
        assert!(self.stdout.is_empty(), "{self}");
        self
    }
}

/// The cache that the tests share, also with earlier runs of them.
pub fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("qualify-cache")
}

/// Makes sure, once, that the modules of a run are in the shared cache, so that tests that run at
/// once do not all compile them.
#[track_caller]
pub fn compiled(line: &str) {
    static DONE: OnceLock<Mutex<HashMap<String, Arc<OnceLock<()>>>>> = OnceLock::new();
    let done = DONE.get_or_init(Mutex::default);
    let once = Arc::clone(done.lock().unwrap().entry(line.to_owned()).or_default());
    once.get_or_init(|| {
        Place::new().run(&format!("run {line}"));
    });
}
