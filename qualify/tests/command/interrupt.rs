//! Runs that are ended from outside.

use std::{fs, os::unix::process::CommandExt, process::Stdio, thread::sleep, time::Duration};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::harness::Place;

/// Starts a run that compiles for seconds, sends a signal as a terminal does, to the whole group
/// of processes, and waits for the end.
fn interrupted(
    place: &Place,
    line: &str,
    signal: Signal,
    after: Duration,
) -> crate::harness::Ended {
    let run = place
        .command(line)
        .env("QUALIFY_CACHE", place.path("cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    wait_until_it_minds(run.id());
    sleep(after);
    killpg(Pid::from_raw(run.id().try_into().unwrap()), signal).unwrap();
    place.ended(line, run.wait_with_output().unwrap())
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

#[test]
fn an_interrupted_run_leaves_nothing() {
    for after in [0.0, 0.5, 1.0] {
        let place = Place::new();
        let after = Duration::from_secs_f64(after);
        interrupted(
            &place,
            "--no-cache --report r.json --captures c",
            Signal::SIGINT,
            after,
        )
        .exits(130)
        .says("interrupted: nothing that was not complete has been written");
        assert!(place.holds().is_empty(), "{:?}", place.holds());
    }
}

#[test]
fn an_interrupted_run_leaves_only_whole_entries_in_the_cache() {
    let place = Place::new();
    let after = Duration::from_secs_f64(0.8);
    interrupted(&place, "--report r.json", Signal::SIGINT, after).exits(130);
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
    let after = Duration::from_secs_f64(0.5);
    interrupted(&place, "--no-cache --report r.json", Signal::SIGTERM, after)
        .exits(143)
        .says("terminated");
    assert!(place.holds().is_empty());
}
