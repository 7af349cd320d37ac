//! Native libraries that are missing, or not the pinned ones.

use std::{fs, os::unix::fs::symlink, path::Path};

use runtime::{IREE_VERSION, MLX_VERSION, Native};
use serde_json::json;

use crate::harness::{Place, compiled};

/// Writes a manifest to the folder `native` of a place.
fn manifest(place: &Place, iree: (&str, &Path), mlx: (&str, &Path)) {
    let installed = Native::locate().unwrap();
    let entry = |version: &str, library: &Path, like: &runtime::Library| {
        json!({
            "version": version,
            "revision": like.revision,
            "library": library,
            "bytes": fs::metadata(library).map_or(1, |file| file.len()),
            "sha256": like.sha256,
        })
    };
    let text = json!({
        "iree": entry(iree.0, iree.1, &installed.iree),
        "mlx": entry(mlx.0, mlx.1, &installed.mlx),
    });
    place.put("native/manifest.json", text.to_string().as_bytes());
}

fn run(place: &Place, line: &str) -> crate::harness::Ended {
    place.run_with(line, &[("QUALIFY_NATIVE", &place.path("native"))])
}

#[test]
fn a_folder_without_a_manifest_asks_for_setup() {
    let place = Place::new();
    fs::create_dir(place.path("native")).unwrap();
    run(&place, "--stage mel_cast")
        .exits(4)
        .says("failed to locate the native libraries: no native/manifest.json at or above")
        .says("run scripts/setup")
        .does_no_work();
    place.put("native/manifest.json", b"{}");
    run(&place, "--stage mel_cast")
        .exits(4)
        .says("failed to locate the native libraries: ")
        .says("malformed")
        .does_no_work();
}

#[test]
fn another_version_is_refused() {
    let place = Place::new();
    let native = Native::locate().unwrap();
    manifest(
        &place,
        ("3.12.0", &native.iree.path),
        (MLX_VERSION, &native.mlx.path),
    );
    run(&place, "--stage mel_cast")
        .exits(4)
        .says(
            "failed to locate the native libraries: IREE is 3.12.0, but this program needs 3.13.0",
        )
        .does_no_work();
    manifest(
        &place,
        (IREE_VERSION, &native.iree.path),
        ("0.31.0", &native.mlx.path),
    );
    run(&place, "--stage mel_cast")
        .exits(4)
        .says("MLX is 0.31.0")
        .does_no_work();
}

#[test]
fn a_compiler_that_is_not_there_is_named() {
    let place = Place::new();
    let native = Native::locate().unwrap();
    let absent = place.path("libIREECompiler.so");
    manifest(
        &place,
        (IREE_VERSION, &absent),
        (MLX_VERSION, &native.mlx.path),
    );
    run(&place, "--stage mel_cast --no-cache")
        .exits(4)
        .says("libIREECompiler.so is missing or was changed: delete it and run scripts/setup")
        .does_no_work();
}

#[test]
fn a_library_that_is_no_compiler_is_named() {
    let place = Place::new();
    let native = Native::locate().unwrap();
    manifest(
        &place,
        (IREE_VERSION, &native.mlx.path),
        (MLX_VERSION, &native.mlx.path),
    );
    run(&place, "--stage mel_cast --no-cache --report r.json")
        .exits(4)
        .says("load the IREE compiler from ")
        .says("libmlx.so")
        .does_no_work();
    assert_eq!(place.holds(), ["native/", "native/manifest.json"]);
}

/// The compiler finds its linker beside its library, and here there is none.
#[test]
fn a_module_that_does_not_compile_is_kept_for_whoever_looks_at_it() {
    compiled("--stage mel_cast");
    let place = Place::new();
    let native = Native::locate().unwrap();
    let alone = place.path("native/libIREECompiler.so");
    fs::create_dir(place.path("native")).unwrap();
    symlink(&native.iree.path, &alone).unwrap();
    manifest(
        &place,
        (IREE_VERSION, &alone),
        (MLX_VERSION, &native.mlx.path),
    );
    let holds = place.holds();
    // In the shared cache is the module of the probe, but not those of this stage.
    let line = "--stage mel_cast --stage sscp_conv_0.norm.variance --report r.json --captures c";
    let output = place
        .command(line)
        .env("QUALIFY_NATIVE", place.path("native"))
        .env("PATH", "")
        .output()
        .unwrap();
    let kept = place.take_kept();
    place
        .ended(line, output)
        .exits(4)
        .says("qualify: failed to compile module production; its text is in ")
        .says("failed to link executable");
    assert_eq!(kept.len(), 1);
    assert!(
        kept[0].starts_with("module @production"),
        "{}",
        &kept[0][..100]
    );
    assert!(kept[0].contains("\n// error: "));
    assert_eq!(place.holds(), holds);
}
