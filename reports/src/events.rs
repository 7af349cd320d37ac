//! The one stream of events a run emits, and what may listen to it.
//!
//! Order: phases start, progress and finish (several may be open at once); a boundary is judged
//! once, in graph order; [`Event::RunFinished`] comes last, and only from a run that compared.

use std::sync::Arc;
use std::time::Duration;

use crate::wire::{Boundary, Report};

/// Part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Modules are compiled.
    Compile,
    /// The reference computes its boundaries.
    Reference,
    /// The candidate computes its boundaries.
    Candidate,
    /// The emitted graph is interpreted.
    Interp,
    /// Boundaries are compared and judged.
    Compare,
    /// Cases of the catalogue of operations run on all sides.
    Cases,
}

impl Phase {
    /// The name, as in the report's `timing`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Reference => "reference",
            Self::Candidate => "candidate",
            Self::Interp => "interp",
            Self::Compare => "compare",
            Self::Cases => "cases",
        }
    }

    /// What its units of work are.
    #[must_use]
    pub const fn units(self) -> &'static str {
        match self {
            Self::Compile => "modules",
            Self::Candidate => "programs",
            Self::Cases => "cases",
            Self::Reference | Self::Interp | Self::Compare => "boundaries",
        }
    }
}

/// Something that happened in a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// A phase has begun.
    PhaseStarted {
        /// Which.
        phase: Phase,
        /// Into how many units of work it falls, where that is known.
        total: Option<u64>,
    },
    /// A phase got further.
    PhaseProgress {
        /// Which.
        phase: Phase,
        /// Units of work done since it began.
        done: u64,
        /// The boundary or module it is at now; none behind the last.
        at: Option<Arc<str>>,
    },
    /// A phase has ended.
    PhaseFinished {
        /// Which.
        phase: Phase,
        /// How long it took.
        elapsed: Duration,
        /// Whether its result came from a cache.
        cached: bool,
    },
    /// A boundary was judged.
    BoundaryJudged(Arc<Boundary>),
    /// Everything was judged.
    RunFinished(Arc<Report>),
}

/// A consumer of events. None knows of another; none can stop the run.
pub trait Sink {
    /// Takes in the next event.
    fn event(&mut self, event: &Event);
}

/// Hands every event to each sink in turn.
impl<S: Sink + ?Sized> Sink for Vec<Box<S>> {
    fn event(&mut self, event: &Event) {
        for sink in self {
            sink.event(event);
        }
    }
}
