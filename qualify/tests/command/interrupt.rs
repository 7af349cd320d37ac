//! Runs that are ended from outside.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    process::Stdio,
    thread::sleep,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::harness::{Ended, Place};

/// When a signal is sent.
enum When<'a> {
    /// So long after the run has begun to mind signals.
    After(f64),
    /// As soon as a line of stderr begins like this.
    Said(&'a str),
    /// So long after that.
    SaidAnd(&'a str, f64),
}

/// Starts a run, sends a signal as a terminal does, to the whole group of processes, and waits for
/// the end.
fn interrupted(place: &Place, line: &str, signal: Signal, when: When<'_>) -> Ended {
    let mut run = place
        .command(line)
        .env("QUALIFY_CACHE", place.path("cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(run.stderr.take().unwrap());
    let mut said = String::new();
    match when {
        When::After(seconds) => {
            wait_until_it_minds(run.id());
            sleep(Duration::from_secs_f64(seconds));
        }
        When::Said(start) | When::SaidAnd(start, _) => {
            let mut last = 0;
            while !said[last..].starts_with(start) {
                last = said.len();
                assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{said}");
            }
        }
    }
    if let When::SaidAnd(_, seconds) = when {
        sleep(Duration::from_secs_f64(seconds));
    }
    // It may have ended by itself, and is waited for below.
    killpg(Pid::from_raw(run.id().try_into().unwrap()), signal).unwrap();
    stderr.read_to_string(&mut said).unwrap();
    let mut output = run.wait_with_output().unwrap();
    output.stderr = said.into_bytes();
    place.ended(line, output)
}

/// Before that, a signal ends it as it does any process.
fn wait_until_it_minds(process: u32) {
    let interrupt = 1_u64 << (Signal::SIGINT as u32 - 1);
    let minds = || {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        u64::from_str_radix(blocked.unwrap().trim(), 16).unwrap() & interrupt != 0
    };
    while !minds() {
        sleep(Duration::from_millis(1));
    }
}

/// A run that compiles for seconds.
const LONG: &str = "--stage sscp_conv_* --no-cache --report r.json --captures c";

#[test]
fn an_interrupted_run_leaves_nothing() {
    for after in [0.0, 0.5, 1.0] {
        let place = Place::new();
        let ended = interrupted(&place, LONG, Signal::SIGINT, When::After(after)).exits(130);
        let last = ended.stderr.lines().last().unwrap();
        assert!(last.starts_with("interrupted: "), "{ended}");
        assert!(place.holds().is_empty(), "{:?}", place.holds());
    }
}

#[test]
fn the_last_words_say_what_was_finished_and_where_the_run_was() {
    let place = Place::new();
    let ended = interrupted(&place, LONG, Signal::SIGINT, When::Said("reference ")).exits(130);
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.starts_with("interrupted: "), "{ended}");
    assert!(last.contains("reference finished in "), "{ended}");
    assert!(last.contains(" of 3 modules, at "), "{ended}");
}

/// The interpreter is at a boundary for milliseconds, so the signal is sent at several moments
/// until one of them is right.
#[test]
fn the_last_words_name_the_boundary_that_was_being_computed() {
    let line = "--fixture sscp-real --stage sscp_conv_* --candidate interp --report r.json";
    let named = (0..40).any(|moment| {
        let place = Place::new();
        let when = When::SaidAnd("candidate ", f64::from(moment % 20) * 0.01);
        let ended = interrupted(&place, line, Signal::SIGTERM, when);
        let last = ended.stderr.lines().last().unwrap();
        if !last.starts_with("terminated: ") {
            return false;
        }
        assert!(last.contains("; candidate finished in "), "{ended}");
        assert!(!place.path("r.json").exists());
        last.contains("; interp ") && last.contains(" of 20 boundaries, at sscp_conv_")
    });
    assert!(named);
}

#[test]
fn an_interrupted_run_leaves_only_whole_entries_in_the_cache() {
    let place = Place::new();
    let line = "--stage sscp_conv_* --report r.json";
    interrupted(&place, line, Signal::SIGINT, When::After(0.8)).exits(130);
    let holds = place.holds();
    assert!(
        holds.iter().all(|name| name.starts_with("cache/")),
        "{holds:?}"
    );
    assert!(!holds.iter().any(|name| name.contains(".tmp")), "{holds:?}");
}

#[test]
fn a_terminated_run_leaves_nothing_either() {
    let place = Place::new();
    interrupted(&place, LONG, Signal::SIGTERM, When::After(0.5))
        .exits(143)
        .says("terminated: ");
    assert!(place.holds().is_empty());
}

/// A process that is killed cannot tidy up, so the next one does, and only then.
#[test]
fn temporary_files_of_a_killed_run_go_when_the_next_one_starts() {
    let place = Place::new();
    let mut run = place
        .command("--stage sscp_conv_* --no-cache")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    wait_until_it_minds(run.id());
    let left = || place.temporaries().len();
    while left() == 0 {
        sleep(Duration::from_millis(1));
    }
    let next = || place.command("stages").output().unwrap();
    assert!(next().status.success());
    assert!(left() > 0, "a folder in use was removed");
    killpg(Pid::from_raw(run.id().try_into().unwrap()), Signal::SIGKILL).unwrap();
    run.wait().unwrap();
    assert!(left() > 0, "nothing was left to remove");
    place.ended("stages", next()).exits(0);
}
