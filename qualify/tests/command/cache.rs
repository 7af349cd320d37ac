//! The cache: unusable, left out, damaged, read only, written by many, shared.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;

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

#[test]
fn runs_that_begin_at_once_on_an_empty_cache_all_succeed() {
    let first = Place::new();
    let cache = first.path("cache");
    let line = "--stage mel_cast";
    let runs = [(); 8].map(|()| {
        let place = Place::new();
        let run = place
            .command(line)
            .env("QUALIFY_CACHE", &cache)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        (place, run.unwrap())
    });
    for (place, run) in runs {
        place.ended(line, run.wait_with_output().unwrap()).exits(0);
    }
    assert_eq!(files(&cache).len(), 5);
}

/// The same command, started by another.
fn under(wrapper: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(wrapper[0]);
    outer.args(&wrapper[1..]);
    outer.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer.current_dir(command.get_current_dir().unwrap());
    outer
}

/// The same command without the right to write where the mode forbids it, which root has.
fn humble(command: &Command) -> Command {
    let without = ["--bounding-set=-dac_override", "--inh-caps=-dac_override"];
    let root = nix::unistd::geteuid().is_root();
    let wrapper = ["setpriv", without[0], without[1]];
    under(if root { &wrapper } else { &wrapper[..1] }, command)
}

/// A limit to the size of files fails in the middle of a write as a full disk does.
#[test]
fn a_result_that_does_not_fit_into_the_cache_ends_the_run_and_harms_no_entry() {
    let place = Place::new();
    let cache = place.path("cache");
    let line = "--stage mel_cast";
    let mut command = place.command(line);
    command.env("QUALIFY_CACHE", &cache);
    place.ended(line, command.output().unwrap()).exits(0);
    fs::remove_dir_all(cache.join("reference")).unwrap();
    let modules = files(&cache);
    // Units of 512 bytes, or of 1024 where the shell is another: the captures are larger by far.
    let limited = [
        "sh",
        "-c",
        "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"",
    ];
    let output = under(&limited, &command).output().unwrap();
    place
        .ended(line, output)
        .exits(4)
        .says(&format!(
            "failed to write to the cache at {}",
            cache.display()
        ))
        .says("File too large")
        .says("set QUALIFY_CACHE to a folder that can be written, or use --no-cache");
    assert_eq!(files(&cache), modules);
}

#[test]
fn of_a_cache_that_can_only_be_read_what_is_there_is_used() {
    let place = Place::new();
    let cache = place.path("cache");
    let run = |line: &str| {
        let mut command = place.command(line);
        place.ended(
            line,
            humble(command.env("QUALIFY_CACHE", &cache))
                .output()
                .unwrap(),
        )
    };
    let line = "--stage mel_cast --report r.json";
    run(line).exits(0);
    let allow = |mode| {
        for folder in ["", "reference", "partial", "module"] {
            fs::set_permissions(cache.join(folder), Permissions::from_mode(mode)).unwrap();
        }
    };
    allow(0o555);
    run(line).exits(0);
    let cached = place.json("r.json")["timing"]["cached"].clone();
    assert_eq!(cached, json!(["reference", "compile"]));
    run("--stage sscp_conv_0.convolution")
        .exits(4)
        .says(&format!(
            "failed to write to the cache at {}",
            cache.display()
        ))
        .says("which lacks a result of this run")
        .says("set QUALIFY_CACHE to a folder that can be written, or use --no-cache")
        .does_no_work();
    allow(0o755);
}

#[test]
fn machines_that_share_a_store_compute_the_reference_once() {
    let place = Place::new();
    let store = place.path("store");
    let url = format!("file://{}", store.display());
    let line = "--stage mel_cast --report r.json";
    let run = |cache: &str, url: &str| {
        let cache = place.path(cache);
        let variables = [
            ("QUALIFY_CACHE", &*cache),
            ("QUALIFY_STORE", Path::new(url)),
        ];
        place.run_with(line, &variables)
    };
    let boundaries = || place.json("r.json")["boundaries"].clone();
    // Nothing is mounted there yet: said once, and no hindrance.
    let early = run("early", &url).exits(0);
    assert_eq!(early.stderr.matches("is not used: failed to").count(), 1);
    assert!(!store.exists());
    let right = boundaries();

    fs::create_dir(&store).unwrap();
    run("one", &url).exits(0);
    let objects = files(&store);
    assert_eq!(objects.len(), 1);
    run("two", &url).exits(0);
    assert_eq!(
        place.json("r.json")["timing"]["cached"],
        json!(["reference"])
    );
    assert_eq!(boundaries(), right);

    // What was tampered with is not believed, and is replaced.
    let whole = fs::read(&objects[0]).unwrap();
    let mut tampered = whole.clone();
    tampered[whole.len() / 2] ^= 4;
    fs::write(&objects[0], tampered).unwrap();
    run("three", &url)
        .exits(0)
        .says("is damaged and will be replaced");
    assert_eq!(place.json("r.json")["timing"]["cached"], json!([]));
    assert_eq!(boundaries(), right);
    assert!(fs::read(&objects[0]).unwrap() == whole);

    for no_store in ["store", "https://example.com/cache"] {
        run("one", no_store)
            .exits(4)
            .says("s3://BUCKET/PREFIX or file:///FOLDER")
            .says("unset QUALIFY_STORE")
            .does_no_work();
    }
}
