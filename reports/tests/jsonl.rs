//! A run as JSON lines.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod sample;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reports::events::{Event, Phase, Sink};
use reports::jsonl::{JsonLines, write};
use reports::wire::Boundary;
use sample::{hostile, mixed};
use serde_json::Value;

/// A stream that remembers what it had got at each flush.
#[derive(Clone, Default)]
struct Flushed(Arc<Mutex<(Vec<u8>, Vec<usize>)>>);

impl Write for Flushed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut held = self.0.lock().unwrap();
        let length = held.0.len();
        held.1.push(length);
        Ok(())
    }
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_event_is_a_line_that_is_flushed_as_it_happens() {
    let report = mixed();
    let stream = Flushed::default();
    let mut sink = JsonLines::new(
        stream.clone(),
        &report.tool,
        &report.created,
        &report.command,
    );
    let phase = Phase::Compile;
    let at = Some(Arc::from("production"));
    let seconds = Duration::from_millis(1500);
    let mut events = vec![
        Event::PhaseStarted {
            phase,
            total: Some(3),
        },
        Event::PhaseProgress { phase, done: 1, at },
        Event::PhaseFinished {
            phase,
            elapsed: seconds,
            cached: true,
        },
    ];
    let judged = report.boundaries.iter().cloned();
    events.extend(judged.map(|b| Event::BoundaryJudged(Arc::new(b))));
    events.push(Event::RunFinished(Arc::new(report.clone())));
    for (done, event) in events.iter().enumerate() {
        sink.event(event);
        let held = stream.0.lock().unwrap();
        assert_eq!(lines(&held.0).len(), done + 2);
        assert_eq!(held.1.len(), done + 2);
        assert_eq!(held.1.last(), Some(&held.0.len()));
    }
    sink.finish().unwrap();
    let lines = lines(&stream.0.lock().unwrap().0);
    assert_eq!(lines[0]["event"], "started");
    assert_eq!(lines[0]["command"][0], "qualify");
    assert_eq!(
        (&lines[1]["phase"], &lines[1]["total"]),
        (&"compile".into(), &3.into())
    );
    assert_eq!(lines[2]["at"], "production");
    assert_eq!(
        (&lines[3]["seconds"], &lines[3]["cached"]),
        (&1.5.into(), &true.into())
    );
    for (line, b) in lines[4..].iter().zip(&report.boundaries) {
        assert_eq!(line["event"], "boundary");
        let read: Boundary = serde_json::from_value(line["boundary"].clone()).unwrap();
        // Of NaNs the bits are kept, not the numbers.
        assert_eq!((&read.name, read.verdict), (&b.name, b.verdict));
    }
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["event"], &last["exit_code"]),
        (&"finished".into(), &1.into())
    );
    assert_eq!(
        (&last["boundaries"], &last["verdicts"]["diverged"]),
        (&7.into(), &4.into())
    );
    assert_eq!(
        last["first_divergence"]["local"],
        "sscp_conv_0.norm.cumulative_sum"
    );
    assert_eq!(last["fingerprint"]["mlx"]["version"], "0.32.2");
}

#[test]
fn a_stored_report_gives_the_same_lines_without_phases() {
    let report = hostile();
    let mut out = Vec::new();
    write(&mut out, &report).unwrap();
    let lines = lines(&out);
    assert_eq!(lines.len(), report.boundaries.len() + 2);
    for (line, b) in lines[1..].iter().zip(&report.boundaries) {
        assert_eq!(line["boundary"]["name"], b.name.as_str());
    }
}

/// A stream that fails with one kind of error.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_success_and_a_full_disk_is_not() {
    assert!(write(Broken(io::ErrorKind::BrokenPipe), &mixed()).is_ok());
    assert!(write(Broken(io::ErrorKind::StorageFull), &mixed()).is_err());
}
