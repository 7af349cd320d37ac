//! What is known of the order of a sum, and what it is worth.

/// How strongly an order of additions is known. The levels are ordered.
///
/// A value inside its own interval or set is *not excluded*, which is no explanation: the sets of
/// neighbouring outputs may be reached by different orders only. So [`Evidence::explains`] is
/// true from E3 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// E0: nothing is known, or a value lies outside its interval or set.
    #[default]
    Nothing,
    /// E1: every value lies inside the interval of all orders.
    Interval,
    /// E2: every value is reachable by some order of its own terms.
    Reachable,
    /// E3: one schedule gives all outputs of the boundary.
    Schedule,
    /// E4: the order was revealed on the production kernel and gives all outputs.
    Revealed,
}

impl Evidence {
    /// The level's name: `E0` to `E4`.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Nothing => "E0",
            Evidence::Interval => "E1",
            Evidence::Reachable => "E2",
            Evidence::Schedule => "E3",
            Evidence::Revealed => "E4",
        }
    }

    /// Whether a difference is explained by it.
    pub const fn explains(self) -> bool {
        matches!(self, Evidence::Schedule | Evidence::Revealed)
    }

    /// The level that the findings about all elements amount to.
    pub const fn of(findings: Findings) -> Evidence {
        let Findings {
            inside,
            reachable,
            schedule,
            complete,
            revealed,
        } = findings;
        // A single output is explained by any order that reaches it.
        match (schedule && complete, inside, reachable) {
            (true, ..) if revealed => Evidence::Revealed,
            (true, ..) => Evidence::Schedule,
            (_, _, Some(true)) => Evidence::Reachable,
            (_, Some(true), None) => Evidence::Interval,
            _ => Evidence::Nothing,
        }
    }
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What was found out about all elements of a boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Whether all lie inside their intervals, if that is known.
    pub inside: Option<bool>,
    /// Whether all are reachable, if that is known.
    pub reachable: Option<bool>,
    /// Whether one schedule gives them all.
    pub schedule: bool,
    /// Whether they are all outputs of the boundary, and more than one.
    pub complete: bool,
    /// Whether that schedule was revealed on the production kernel.
    pub revealed: bool,
}
