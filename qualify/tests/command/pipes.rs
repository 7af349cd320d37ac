//! Output that nobody reads, or that cannot be written.

use std::{fs::File, io::pipe, process::Stdio};

use crate::harness::{Place, compiled};

/// The writing end of a pipe whose reader is gone.
fn closed() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    compiled("--stage mel_cast");
    let place = Place::new();
    for line in [
        "stages",
        "--stage mel_cast",
        "--stage mel_cast --report -",
        "--help",
    ] {
        let output = place.command(line).stdout(closed()).output().unwrap();
        place.ended(line, output).exits(0);
    }
}

#[test]
fn an_exit_code_does_not_depend_on_whether_stderr_is_read() {
    compiled("--stage mel_cast");
    let place = Place::new();
    for (line, code) in [
        ("--stage mel_cast", 0),
        ("capture --side mlx --stage mel_cast --out f", 0),
        ("--audio none.wav", 5),
        ("--stage nothing", 2),
        ("--nothing", 2),
    ] {
        let output = place.command(line).stderr(closed()).output().unwrap();
        place.ended(line, output).exits(code);
    }
}

#[test]
fn results_that_cannot_be_written_are_a_failure() {
    compiled("--stage mel_cast");
    let place = Place::new();
    for line in ["stages", "--stage mel_cast"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = place.command(line).stdout(full).output().unwrap();
        let ended = place.ended(line, output).exits(4);
        ended.says("failed to write").says("No space left");
    }
}
