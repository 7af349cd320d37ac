//! The cache: unusable, left out, damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::harness::{Place, compiled};

#[test]
fn a_cache_that_cannot_be_used_says_what_to_do() {
    let place = Place::new();
    place.put("file", b"mine");
    let below = place.path("file").join("cache");
    for folder in [&*below, &place.path("file"), Path::new("/proc/cache")] {
        place
            .run_with("--stage mel_cast", &[("QUALIFY_CACHE", folder)])
            .exits(4)
            .says(&format!(
                "failed to write to the cache at {}",
                folder.display()
            ))
            .says("set QUALIFY_CACHE to a folder that can be written, or use --no-cache")
            .does_no_work();
        assert_eq!(place.holds(), ["file"]);
    }
    let nothing = ["QUALIFY_CACHE", "XDG_CACHE_HOME", "HOME"].map(|name| (name, Path::new("")));
    place
        .run_with("--stage mel_cast", &nothing)
        .exits(4)
        .says("set QUALIFY_CACHE, XDG_CACHE_HOME or HOME; or use --no-cache")
        .does_no_work();
}

#[test]
fn a_run_needs_no_cache() {
    let place = Place::new();
    let nothing = ["QUALIFY_CACHE", "XDG_CACHE_HOME", "HOME"].map(|name| (name, Path::new("")));
    place
        .run_with("--stage mel_cast --no-cache --report r.json", &nothing)
        .exits(0);
    assert_eq!(place.holds(), ["r.json"]);
    assert_eq!(
        place.json("r.json")["timing"]["cached"],
        serde_json::json!([])
    );
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn damaged_entries_are_rebuilt() {
    let place = Place::new();
    let cache = place.path("cache");
    let line = "--stage mel_cast --report r.json";
    let run = || place.run_with(line, &[("QUALIFY_CACHE", &cache)]).exits(0);
    let cached = || place.json("r.json")["timing"]["cached"].clone();
    run();
    run();
    assert_eq!(cached(), serde_json::json!(["reference", "compile"]));
    let entries = files(&cache);
    let whole: Vec<Vec<u8>> = entries.iter().map(|path| fs::read(path).unwrap()).collect();
    // The probe's module, three of the run, and the reference's captures.
    assert_eq!(entries.len(), 5);

    for torn in [false, true] {
        for (path, bytes) in entries.iter().zip(&whole) {
            let middle = bytes.len() / 2;
            let mut damaged = bytes.clone();
            if torn {
                damaged.truncate(middle);
            } else {
                damaged[middle] ^= 1;
            }
            fs::write(path, damaged).unwrap();
        }
        run();
        assert_eq!(cached(), serde_json::json!([]));
        let rebuilt: Vec<Vec<u8>> = entries.iter().map(|path| fs::read(path).unwrap()).collect();
        assert!(rebuilt == whole);
        assert_eq!(files(&cache).len(), 5);
    }
    run();
    assert_eq!(cached(), serde_json::json!(["reference", "compile"]));
}

#[test]
fn the_same_module_is_compiled_once() {
    compiled("--stage mel_cast");
    let place = Place::new();
    place.run("--stage mel_cast --report r.json").exits(0);
    let cached = place.json("r.json")["timing"]["cached"].clone();
    assert_eq!(cached, serde_json::json!(["reference", "compile"]));
}
