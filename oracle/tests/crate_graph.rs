//! What each crate of the workspace may depend on: the layers of `docs/design.md`.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{collections::BTreeSet, process::Command};

/// Names of everything a crate is built from, itself included.
fn dependencies(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ])
        .args(["--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

const MLX: [&str; 2] = ["mlx-rs", "mlx-sys"];
const IREE: [&str; 2] = ["eerie", "eerie-sys"];
const OURS: [&str; 7] = [
    "stages", "emitter", "runtime", "oracle", "probes", "reports", "fixtures",
];

fn check(package: &str, ours: &[&str], native: &[&str]) {
    let found = dependencies(package);
    for name in OURS.into_iter().filter(|&name| name != package) {
        let allowed = ours.contains(&name);
        assert!(
            allowed || !found.contains(name),
            "{package} depends on {name}"
        );
    }
    for name in MLX.into_iter().chain(IREE) {
        let allowed = native.contains(&name);
        assert!(allowed || !found.contains(name), "{package} links {name}");
    }
}

#[test]
fn nothing_below_the_oracle_links_mlx() {
    check("stages", &[], &[]);
    check("emitter", &["stages"], &[]);
    check("runtime", &["stages", "emitter"], &IREE);
    check("fixtures", &["stages"], &[]);
    assert!(dependencies("oracle").contains("mlx-sys"));
}

#[test]
fn reports_know_no_backend() {
    check("reports", &[], &[]);
}

#[test]
fn the_oracle_does_not_know_how_results_are_judged() {
    check(
        "oracle",
        &["stages", "emitter", "runtime"],
        &["mlx-rs", "mlx-sys", "eerie", "eerie-sys"],
    );
}
