//! `qualify repro`: the folder runs with the compiler and the runner of the wheels, nothing of
//! qualify, and shows what qualify saw.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

const REPO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn qualify(place: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_qualify"))
        .args(line.split_whitespace())
        .current_dir(place)
        .env(
            "QUALIFY_CACHE",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/repro"),
        )
        .env("QUALIFY_FIXTURES", format!("{REPO}/fixtures"))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where the wheels are: the manifest's folder.
fn native() -> PathBuf {
    let native = runtime::Native::locate().unwrap();
    let compiler = native.iree.path.parent().unwrap().to_owned();
    compiler.ancestors().nth(4).unwrap().to_owned()
}

/// Runs the folder's script. Gives how many bytes differ from the expected ones.
fn run(folder: &Path) -> usize {
    let native = native();
    let output = Command::new(folder.join("run.sh"))
        .env(
            "IREE_COMPILE",
            native.join("iree/iree/compiler/_mlir_libs/iree-compile"),
        )
        .env(
            "IREE_RUN_MODULE",
            native.join("iree-runtime/iree/_runtime_libs/iree-run-module"),
        )
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains("the same bits as qualify observed"), "{said}");
    let line = said
        .lines()
        .find_map(|l| l.strip_prefix("bytes that differ from what is expected: "));
    line.unwrap().trim().parse().unwrap()
}

fn bytes_that_differ(folder: &Path) -> usize {
    let [expected, observed] =
        ["expected.bin", "observed.bin"].map(|name| fs::read(folder.join(name)).unwrap());
    assert_eq!(expected.len(), observed.len());
    expected
        .iter()
        .zip(&observed)
        .filter(|(a, b)| a != b)
        .count()
}

#[test]
fn the_wheels_show_the_same_difference() {
    let place = TempDir::new().unwrap();
    let output = qualify(
        place.path(),
        "repro --boundary sscp_conv_0.norm.squared_at_time --contract native --out folder",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let folder = place.path().join("folder");
    let differing = run(&folder);
    assert!(differing > 0);
    assert_eq!(differing, bytes_that_differ(&folder));
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(readme.contains("qualify repro --boundary"), "{readme}");
    assert!(
        readme.contains("| `input0.bin` | 1x576x64x8xf32 |"),
        "{readme}"
    );
}

#[test]
fn a_step_is_cut_down_to_a_few_elements_that_still_differ() {
    let place = TempDir::new().unwrap();
    let output = qualify(
        place.path(),
        "repro --boundary sscp_conv_0.norm.squared_at_time --contract native --shrink --out small",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let folder = place.path().join("small");
    assert!(run(&folder) > 0);
    let input = fs::metadata(folder.join("input0.bin")).unwrap().len();
    // A sum of one or two terms has one order only.
    assert!((3 * 4..=64 * 4).contains(&input), "{input} bytes");
    assert!(text(&output.stdout).contains("axis 1 of sscp_conv_0.convolution: 576 cut to 1"));
}

#[test]
fn weights_in_bf16_and_masks_are_handed_over_as_they_are() {
    let place = TempDir::new().unwrap();
    for (i, boundary) in ["conformer.0.feed_forward_start.linear_1", "audio_tokens"]
        .into_iter()
        .enumerate()
    {
        let line = format!("repro --boundary {boundary} --out exact{i}");
        let output = qualify(place.path(), &line);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(run(&place.path().join(format!("exact{i}"))), 0);
    }
}

#[test]
fn nothing_is_written_where_nothing_differs_or_something_is_in_the_way() {
    let place = TempDir::new().unwrap();
    let folder = place.path().join("folder");
    let code = |line: &str| qualify(place.path(), line).status.code();
    let boundary = "--boundary sscp_conv_0.norm.mean";
    assert_eq!(
        code(&format!("repro {boundary} --shrink --out folder")),
        Some(3)
    );
    assert!(!folder.exists());
    assert_eq!(code("repro --boundary sscp_conv_9 --out folder"), Some(2));
    assert_eq!(
        code("repro --boundary conformer.0.attention.* --out folder"),
        Some(2)
    );
    assert_eq!(
        code(&format!("repro {boundary} --stage mel_cast --out folder")),
        Some(2)
    );
    assert_eq!(
        code(&format!("repro {boundary} --out none/folder")),
        Some(4)
    );
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("mine"), "").unwrap();
    assert_eq!(code(&format!("repro {boundary} --out folder")), Some(4));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    // An empty folder is as good as none.
    fs::remove_file(folder.join("mine")).unwrap();
    assert_eq!(code(&format!("repro {boundary} --out folder")), Some(0));
    assert!(folder.join("run.sh").exists());
    let left = fs::read_dir(place.path()).unwrap();
    assert_eq!(left.count(), 1);
}
