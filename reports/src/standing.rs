//! How far a run has got, in words: the last ones of a run that is ended from outside.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::events::{Event, Phase, Sink};

/// The phases that have begun, in that order. Displayed as part of a sentence:
/// `compile finished in 8.9 s; reference 37 of 155 boundaries, at conformer.0.attention.query`.
#[derive(Debug, Default)]
pub struct Standing(Vec<(Phase, State)>);

#[derive(Debug)]
enum State {
    Open {
        done: u64,
        total: Option<u64>,
        at: Option<Arc<str>>,
    },
    Finished {
        elapsed: Duration,
        cached: bool,
    },
}

impl Standing {
    /// Of a run that has not begun.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether no phase has begun.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn set(&mut self, phase: Phase, state: State) {
        match self.0.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, known)) => *known = state,
            None => self.0.push((phase, state)),
        }
    }
}

impl Sink for Standing {
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { phase, total } => self.set(
                *phase,
                State::Open {
                    done: 0,
                    total: *total,
                    at: None,
                },
            ),
            Event::PhaseProgress {
                phase,
                done: now,
                at: place,
            } => {
                for (known, state) in &mut self.0 {
                    if let State::Open { done, at, .. } = state
                        && known == phase
                    {
                        (*done, *at) = (*now, place.clone());
                    }
                }
            }
            Event::PhaseFinished {
                phase,
                elapsed,
                cached,
            } => self.set(
                *phase,
                State::Finished {
                    elapsed: *elapsed,
                    cached: *cached,
                },
            ),
            Event::BoundaryJudged(_) | Event::RunFinished(_) => {}
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (phase, state)) in self.0.iter().enumerate() {
            let gap = if i == 0 { "" } else { "; " };
            let (name, units) = (phase.name(), phase.units());
            write!(f, "{gap}{name} ")?;
            match state {
                State::Finished { elapsed, cached } => {
                    let cached = if *cached { " (cached)" } else { "" };
                    write!(f, "finished in {:.1} s{cached}", elapsed.as_secs_f64())?;
                }
                State::Open { done, total, at } => {
                    match total {
                        Some(total) => write!(f, "{done} of {total} {units}")?,
                        None => write!(f, "{done} {units}")?,
                    }
                    if let Some(at) = at {
                        write!(f, ", at {at}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_what_is_finished_and_where_it_is() {
        let mut standing = Standing::new();
        assert!(standing.is_empty());
        let (compile, reference) = (Phase::Compile, Phase::Reference);
        let progress = |done, at: Option<&str>| Event::PhaseProgress {
            phase: reference,
            done,
            at: at.map(Into::into),
        };
        for (phase, total) in [(compile, 3), (reference, 155)] {
            let total = Some(total);
            standing.event(&Event::PhaseStarted { phase, total });
        }
        assert_eq!(
            standing.to_string(),
            "compile 0 of 3 modules; reference 0 of 155 boundaries"
        );
        standing.event(&progress(37, Some("conformer.0.attention.query")));
        standing.event(&Event::PhaseFinished {
            phase: compile,
            elapsed: Duration::from_millis(8_910),
            cached: false,
        });
        assert_eq!(
            standing.to_string(),
            "compile finished in 8.9 s; \
             reference 37 of 155 boundaries, at conformer.0.attention.query"
        );
        standing.event(&progress(155, None));
        assert!(standing.to_string().ends_with("155 of 155 boundaries"));
        standing.event(&Event::PhaseFinished {
            phase: reference,
            elapsed: Duration::from_millis(20),
            cached: true,
        });
        assert!(standing.to_string().ends_with("in 0.0 s (cached)"));
    }
}
