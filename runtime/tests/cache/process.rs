//! Another process that runs one test of this binary on a folder.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

const FOLDER: &str = "CACHE_TEST_FOLDER";

/// The folder that this process was started for, if it was.
pub fn given() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

/// This binary, for one test, on a folder; started by `wrapper` if that is not empty.
pub fn another(wrapper: &[&str], test: &str, folder: &Path) -> Command {
    let program = env::current_exe().unwrap();
    let mut line = wrapper.iter().map(|word| word.as_ref()).collect::<Vec<_>>();
    line.push(program.as_os_str());
    let mut command = Command::new(line[0]);
    command
        .args(&line[1..])
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder);
    command
}

/// Runs that process to its end, and demands that its test ran and passed.
#[track_caller]
pub fn passes(wrapper: &[&str], test: &str, folder: &Path) {
    let output = another(wrapper, test, folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("1 passed"), "{said}\n{complained}");
}
