//! Places that results cannot be written to.

use std::fs;

use crate::harness::{Place, compiled};

#[test]
fn a_report_that_cannot_be_written_is_found_out_before_any_work() {
    let place = Place::new();
    place.put("file", b"mine");
    for (report, because) in [
        ("nowhere/r.json", "No such file"),
        ("file/r.json", "Not a directory"),
        ("/proc/r.json", "/proc/r.json"),
        ("fixtures", "it is a folder"),
    ] {
        // An unusable recording tells whether anything was looked at.
        place
            .run(&format!("--report {report} --audio none.wav"))
            .exits(4)
            .says(&format!("qualify: failed to write {report}: "))
            .says(because)
            .does_no_work();
        assert_eq!(place.holds(), ["file"]);
    }
    assert_eq!(fs::read(place.path("file")).unwrap(), b"mine");
}

#[test]
fn captures_that_cannot_be_written_are_found_out_before_any_work() {
    let place = Place::new();
    place.put("file", b"mine");
    fs::create_dir_all(place.path("c/local.safetensors")).unwrap();
    let holds = place.holds();
    for (captures, named) in [
        ("file", "file"),
        ("file/c", "file/c"),
        ("file/c/d", "file/c/d"),
        ("/proc/c", "/proc/c"),
        ("c", "c/local.safetensors"),
    ] {
        place
            .run(&format!("--captures {captures} --audio none.wav"))
            .exits(4)
            .says(&format!("qualify: failed to write {named}: "))
            .does_no_work();
        assert_eq!(place.holds(), holds);
    }
}

#[test]
fn folders_for_captures_are_made() {
    compiled("--stage mel_cast");
    let place = Place::new();
    place.run("--stage mel_cast --captures a/b/c").exits(0);
    assert!(place.path("a/b/c/reference.safetensors").is_file());
    place.run("--stage mel_cast --captures a/b/c").exits(0);
    assert_eq!(place.holds().len(), 3 + 4);
}

#[test]
fn a_run_that_ends_early_makes_no_folder() {
    let place = Place::new();
    place.run("--captures c --audio none.wav").exits(5);
    assert!(place.holds().is_empty());
}
