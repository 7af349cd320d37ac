//! Bounds of an error, each a largest value that still holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Grid;

/// Bounds, all of which have to hold. At least one is given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bounds {
    /// Elements with different bits.
    pub differing: Option<u64>,
    /// Distances on a grid.
    pub ulp: Option<UlpBound>,
    /// How many distances are over a number of ULP.
    pub over: Option<OverBound>,
    /// Largest |a − b|; finite, not negative.
    pub abs: Option<f64>,
    /// Root of the mean of (a − b)²; finite, not negative.
    pub rms: Option<f64>,
}

/// The largest distance of any pair, in steps of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UlpBound {
    /// The grid.
    pub grid: FloatGrid,
    /// The largest distance.
    pub max: u64,
}

/// At most so many pairs are further apart than so many steps of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverBound {
    /// The grid.
    pub grid: FloatGrid,
    /// The distance that does not count yet. Where it is one less than a power of two, the
    /// histogram of a report tells the count; elsewhere the captures may have to.
    pub ulp: u64,
    /// How many pairs may be further apart.
    pub count: u64,
}

/// A grid that has ULPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FloatGrid {
    /// IEEE binary32.
    F32,
    /// The upper half of binary32.
    Bf16,
    /// IEEE binary16.
    F16,
}

impl FloatGrid {
    /// The same among all grids.
    #[must_use]
    pub const fn grid(self) -> Grid {
        match self {
            Self::F32 => Grid::F32,
            Self::Bf16 => Grid::Bf16,
            Self::F16 => Grid::F16,
        }
    }

    /// A grid, if it is one of floats.
    #[must_use]
    pub const fn of(grid: Grid) -> Option<Self> {
        match grid {
            Grid::F32 => Some(Self::F32),
            Grid::Bf16 => Some(Self::Bf16),
            Grid::F16 => Some(Self::F16),
            Grid::I32 | Grid::Bool => None,
        }
    }

    /// The name used in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }
}

impl Bounds {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            self.differing.map(|n| format!("≤ {n} differing")),
            self.ulp
                .map(|UlpBound { grid, max }| format!("≤ {max} {} ULP", grid.grid())),
            self.over.map(|OverBound { grid, ulp, count }| {
                format!("≤ {count} over {ulp} {} ULP", grid.grid())
            }),
            self.abs.map(|abs| format!("|a − b| ≤ {abs:e}")),
            self.rms.map(|rms| format!("rms ≤ {rms:e}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}
