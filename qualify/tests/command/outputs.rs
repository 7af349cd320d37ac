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

#[test]
fn an_input_is_never_written_over() {
    let place = Place::new();
    let fixtures = fixtures::data_dir().unwrap();
    let clip = fs::read(fixtures.join("audio/jfk.wav")).unwrap();
    place.put("clip.wav", &clip);
    place.put("d/reference.safetensors", b"mine");
    for name in ["config.json", "model.safetensors"] {
        place.put(
            &format!("ck/{name}"),
            &fs::read(fixtures.join("tiny").join(name)).unwrap(),
        );
    }
    let checkpoint = "--checkpoint ck --audio clip.wav";
    for line in [
        format!("run {checkpoint} --report clip.wav"),
        format!("run {checkpoint} --report ck/config.json"),
        format!("capture {checkpoint} --side mlx --out ck/model.safetensors"),
        format!("capture {checkpoint} --side mlx --out ./clip.wav"),
        "run --reference recorded:d/reference.safetensors --captures d".to_owned(),
    ] {
        place
            .run(&line)
            .exits(2)
            .says("it is an input of this run")
            .does_no_work();
    }
    assert_eq!(fs::read(place.path("clip.wav")).unwrap(), clip);
    assert_eq!(
        fs::read(place.path("d/reference.safetensors")).unwrap(),
        b"mine"
    );
}

#[test]
fn a_report_may_lie_among_the_captures_but_not_on_one() {
    compiled("--stage mel_cast");
    let place = Place::new();
    for report in ["c", "c/reference.safetensors"] {
        place
            .run(&format!("--stage mel_cast --captures c --report {report}"))
            .exits(2)
            .says("captures go there")
            .does_no_work();
    }
    place
        .run("--stage mel_cast --captures c --report c/report.json")
        .exits(0);
    assert!(place.path("c/report.json").is_file());
}

#[test]
fn what_is_no_file_is_written_to_and_not_replaced() {
    compiled("--stage mel_cast");
    let place = Place::new();
    place
        .run("--stage mel_cast --report /dev/full")
        .exits(4)
        .says("No space left");
    place
        .run("capture --stage mel_cast --side mlx --out /dev/null")
        .exits(4)
        .says("a device");
    for device in ["/dev/full", "/dev/null"] {
        assert!(!fs::metadata(device).unwrap().is_file(), "{device}");
    }
}

#[test]
fn a_report_on_standard_output_is_alone_there() {
    compiled("--stage mel_cast");
    let place = Place::new();
    for stdout in ["-", "/dev/stdout"] {
        let line = format!("--stage mel_cast --report {stdout}");
        let ended = place.run(&line).exits(0);
        let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(report["schema_version"], 1);
        ended.says("1 of 1 boundary bit-exact").says("max ULP");
        // Where standard output is a file, it is added to.
        place.put("out", b"before\n");
        let file = fs::File::options().append(true).open(place.path("out"));
        let mut command = place.command(&line);
        let output = command.stdout(file.unwrap()).output().unwrap();
        place.ended(&line, output).exits(0);
        let text = fs::read_to_string(place.path("out")).unwrap();
        assert!(text.starts_with("before\n{") && text.ends_with("}\n"));
    }
    assert_eq!(place.holds(), ["out"]);
}

#[test]
fn a_link_is_followed_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    compiled("--stage mel_cast");
    let place = Place::new();
    place.put("real.json", b"old");
    let real = place.path("real.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("real.json", place.path("link.json")).unwrap();
    place.run("--stage mel_cast --report link.json").exits(0);
    assert!(
        fs::symlink_metadata(place.path("link.json"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        fs::read_to_string(&real)
            .unwrap()
            .contains("schema_version")
    );
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
