//! Telling how a run goes: to its sink, and to whoever ends it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use reports::events::{Event, Phase, Sink};

use crate::interrupt;

/// Tells the sink of a run, from whichever thread.
pub struct Events<'a>(Mutex<&'a mut (dyn Sink + Send)>);

impl<'a> Events<'a> {
    /// Events for this sink.
    pub fn new(sink: &'a mut (dyn Sink + Send)) -> Events<'a> {
        Events(Mutex::new(sink))
    }

    /// Hands an event on.
    pub fn send(&self, event: &Event) {
        interrupt::note(event);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .event(event);
    }

    /// Begins a phase, which does these in order: boundaries or modules.
    pub fn begin(&self, phase: Phase, names: impl IntoIterator<Item = Arc<str>>) -> Course<'_, 'a> {
        let names: Vec<Arc<str>> = names.into_iter().collect();
        let total = Some(names.len() as u64);
        self.send(&Event::PhaseStarted { phase, total });
        let course = Course {
            events: self,
            phase,
            names,
            done: 0,
            started: Instant::now(),
        };
        course.tell();
        course
    }
}

/// A phase under way.
pub struct Course<'e, 'a> {
    events: &'e Events<'a>,
    phase: Phase,
    names: Vec<Arc<str>>,
    done: usize,
    started: Instant,
}

impl Course<'_, '_> {
    /// The next one is done.
    pub fn step(&mut self) {
        self.done += 1;
        self.tell();
    }

    /// All are done, or came from a cache.
    pub fn end(self, cached: bool) -> Duration {
        let elapsed = self.started.elapsed();
        self.events.send(&Event::PhaseFinished {
            phase: self.phase,
            elapsed,
            cached,
        });
        elapsed
    }

    fn tell(&self) {
        self.events.send(&Event::PhaseProgress {
            phase: self.phase,
            done: self.done as u64,
            at: self.names.get(self.done).cloned(),
        });
    }
}
