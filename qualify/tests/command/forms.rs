//! The other forms of a report: written by a run, and from a stored report.

use std::{fs, path::Path};

use serde_json::Value;

use crate::harness::{Place, compiled};

const STORED: &str = "../reports/tests/data/report-example.json";

/// A place with a stored report `r.json`.
fn with_report() -> Place {
    let place = Place::new();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join(STORED);
    place.put("r.json", &fs::read(stored).unwrap());
    place
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn a_run_writes_every_form_and_streams_its_events() {
    compiled("--stage mel_cast");
    let place = Place::new();
    place.put("step", b"mine\n");
    let line = "--stage mel_cast --jsonl - --csv f.csv --junit f.xml --markdown f.md \
                --html f.html --github";
    let step = place.path("step");
    let ended = place
        .run_with(line, &[("GITHUB_STEP_SUMMARY", &step)])
        .exits(0)
        .says("1 of 1 boundary bit-exact");
    let lines = lines(&ended.stdout);
    let events: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    assert_eq!((events.len(), events[0]), (lines.len(), "started"));
    assert!(events.contains(&"phase_started") && events.contains(&"phase_finished"));
    let judged: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"] == "boundary")
        .collect();
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0]["boundary"]["name"], "mel_cast");
    assert_eq!(lines[lines.len() - 1]["event"], "finished");
    assert_eq!(lines[lines.len() - 1]["exit_code"], 0);
    assert_eq!(lines[0]["command"][1], "run");
    assert_eq!(place.holds(), ["f.csv", "f.html", "f.md", "f.xml", "step"]);
    assert!(text(&place, "f.csv").contains("\nmel_cast,"));
    assert!(text(&place, "f.xml").contains("name=\"mel_cast\""));
    assert!(text(&place, "f.html").starts_with("<!doctype html>"));
    assert!(text(&place, "f.md").contains("1 of 1 boundary bit-exact"));
    let summary = format!("mine\n{}", text(&place, "f.md"));
    assert_eq!(text(&place, "step"), summary);
}

#[test]
fn a_form_that_cannot_be_written_is_found_out_before_any_work() {
    let place = Place::new();
    place.put("file", b"mine");
    for form in ["jsonl", "csv", "junit", "markdown", "html"] {
        place
            .run(&format!("--{form} nowhere/f --audio none.wav"))
            .exits(4)
            .says("qualify: failed to write nowhere/f: ")
            .does_no_work();
    }
    place
        .run("--github --audio none.wav")
        .exits(4)
        .says("GITHUB_STEP_SUMMARY is not set")
        .does_no_work();
    for line in [
        "--csv f --html f",
        "--report f --csv ./f",
        "--jsonl - --report -",
        "--captures f --html f",
        "--candidate recorded:file --html file",
    ] {
        place
            .run(&format!("{line} --audio none.wav"))
            .exits(2)
            .does_no_work();
    }
    // What stops a run before it begins leaves the lines of an earlier one.
    place.run("--jsonl file --audio none.wav").exits(5);
    assert_eq!(text(&place, "file"), "mine");
    assert_eq!(place.holds(), ["file"]);
}

#[test]
fn a_stored_report_is_put_in_every_form_without_a_run() {
    let place = with_report();
    let line =
        "render r.json --jsonl f.jsonl --csv f.csv --junit f.xml --markdown f.md --html f.html";
    let ended = place.run_without_libraries(line).exits(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    let lines = lines(&text(&place, "f.jsonl"));
    let events: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    assert_eq!(events, ["started", "boundary", "finished"]);
    for form in ["f.csv", "f.xml", "f.md", "f.html"] {
        assert!(text(&place, form).contains("cumulative_sum"), "{form}");
    }
}

#[test]
fn a_stored_report_is_shown_where_no_form_is_asked_for() {
    let place = with_report();
    place
        .run_without_libraries("render r.json")
        .exits(0)
        .prints("first divergence, local and inherited: sscp_conv_0.norm.cumulative_sum");
    place.put("step", b"");
    let step = place.path("step");
    let ended = place.run_with("render r.json --github", &[("GITHUB_STEP_SUMMARY", &step)]);
    ended
        .exits(0)
        .prints("::error title=sscp_conv_0.norm.cumulative_sum%3A diverged::local: 3 of 549");
    assert!(text(&place, "step").contains("First divergence"));
}

#[test]
fn what_is_no_report_is_refused_and_never_written_over() {
    let place = with_report();
    for (name, content) in [
        ("no.json", "{}"),
        ("half.json", &text(&place, "r.json")[..500]),
        ("deep.json", &"[".repeat(100_000)),
        ("v.json", "{\"schema_version\": 7}"),
    ] {
        place.put(name, content.as_bytes());
        place
            .run_without_libraries(&format!("render {name} --html f.html"))
            .exits(5)
            .says(name);
    }
    place.run("render none.json").exits(5);
    let before = text(&place, "r.json");
    place
        .run("render r.json --csv r.json")
        .exits(2)
        .says("it is an input of this run");
    assert_eq!(text(&place, "r.json"), before);
    assert!(!place.path("f.html").exists());
}
