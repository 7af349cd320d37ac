//! What may differ: a policy file, and reports judged by it without running anything again.
//!
//! A policy is TOML:
//!
//! ```toml
//! schema_version = 1
//!
//! [[boundary]]
//! match = "conformer.*.attention"
//! demand = "order_explained"
//!
//! [[boundary]]
//! match = "audio_tokens"
//! of = "inherited"
//! differing = 40
//! ulp = { grid = "bf16", max = 2 }
//! over = { grid = "bf16", ulp = 1, count = 6 }
//! abs = 1e-3
//! rms = 1e-5
//! ```
//!
//! **Which entry decides.** The local and the inherited error of a boundary are ruled apart, each
//! by the *last* entry that matches the boundary and is of that error (`of`, both if not given).
//! Where there is none, equal bits are demanded. So an entry of the inherited error leaves the
//! local one under the entries before it. An entry that decides nothing is an error unless it is
//! `optional`: it would silently not apply.
//!
//! **What it decides.** Equal bits hold under every entry. A NaN against a number, or an infinity
//! against anything else, diverges under every entry. `order_explained` asks for evidence of level
//! E3 or E4; E1 and E2 explain nothing. Bounds hold all together or not at all; what cannot be
//! said from the report, such as ULPs of values off the grid, or a count that falls inside a bin
//! of the histogram, is `inconclusive`, never within policy. `vacuous` stays so unless the entry
//! says `accept_vacuous`; `inconclusive` stays so always.
//!
//! Which names a pattern selects is the caller's to say: [`Compile`].

mod bounds;
mod exact;
mod file;
mod judge;
mod measured;
mod remeasured;
mod suggest;

pub use bounds::{Bounds, FloatGrid, OverBound, UlpBound};
pub use exact::count_over;
pub use file::{MAX_POLICY_BYTES, PolicyError, policy_schema, read_policy};
pub use judge::{ApplyError, Compile, Resolved, Selects, apply, lift};
pub use measured::{Counter, uncounted, unruled};
pub use remeasured::disagreement;
pub use suggest::{Suggestion, suggest};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{Boundary, Measured, Ruled, Ruling};

/// The version of the format.
pub const POLICY_VERSION: u32 = 1;

/// A policy: what is demanded of which boundaries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// Later entries win.
    pub entries: Vec<Entry>,
}

/// An entry of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which boundaries it is about: the pattern as it was written.
    pub pattern: String,
    /// Which of their errors it is about.
    pub of: Of,
    /// What it demands.
    pub rule: Rule,
    /// Whether it may decide nothing.
    pub optional: bool,
}

/// What is demanded of one error of a boundary.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rule {
    /// The arithmetic.
    pub demand: Demand,
    /// Whether equality that proves nothing is enough.
    pub accept_vacuous: bool,
}

/// What the arithmetic has to give.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Demand {
    /// The same bits.
    #[default]
    BitExact,
    /// The same bits, or one stated order that gives all of them.
    OrderExplained,
    /// Errors within bounds.
    Within(Bounds),
}

/// Which errors of a boundary an entry is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// On the reference's own values for the parents.
    Local,
    /// From the model's inputs.
    Inherited,
    /// Both.
    #[default]
    Both,
}

impl Of {
    /// Whether it takes in an error.
    #[must_use]
    pub const fn covers(self, part: Part) -> bool {
        matches!(
            (self, part),
            (Self::Both, _) | (Self::Local, Part::Local) | (Self::Inherited, Part::Inherited)
        )
    }

    /// The name used in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Inherited => "inherited",
            Self::Both => "both",
        }
    }
}

/// One of the two errors of a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// On the reference's own values for the parents.
    Local,
    /// From the model's inputs.
    Inherited,
}

impl Part {
    /// The two there are.
    pub const EACH: [Self; 2] = [Self::Local, Self::Inherited];

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.of().name()
    }

    /// This one alone.
    #[must_use]
    pub const fn of(self) -> Of {
        match self {
            Self::Local => Of::Local,
            Self::Inherited => Of::Inherited,
        }
    }

    /// What was measured of it; the local error may not have been.
    #[must_use]
    pub const fn measured(self, boundary: &Boundary) -> Option<&Measured> {
        match self {
            Self::Local => boundary.local.as_ref(),
            Self::Inherited => Some(&boundary.inherited),
        }
    }

    /// What a policy says of it.
    #[must_use]
    pub const fn ruled(self, ruling: &Ruling) -> Option<&Ruled> {
        match self {
            Self::Local => ruling.local.as_ref(),
            Self::Inherited => Some(&ruling.inherited),
        }
    }

    /// What was measured of it, to be judged.
    pub(crate) const fn measured_mut(self, boundary: &mut Boundary) -> Option<&mut Measured> {
        match self {
            Self::Local => boundary.local.as_mut(),
            Self::Inherited => Some(&mut boundary.inherited),
        }
    }
}

impl Rule {
    /// Whether it demands less than bit equality that proves something.
    #[must_use]
    pub fn is_relaxed(&self) -> bool {
        *self != Self::default()
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.demand {
            Demand::BitExact => f.write_str("bit_exact")?,
            Demand::OrderExplained => f.write_str("order_explained")?,
            Demand::Within(bounds) => write!(f, "{bounds}")?,
        }
        if self.accept_vacuous {
            f.write_str(", or vacuous")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.pattern)?;
        if self.of != Of::Both {
            write!(f, " ({})", self.of.name())?;
        }
        write!(f, ": {}", self.rule)
    }
}
