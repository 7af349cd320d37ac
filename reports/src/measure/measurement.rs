//! The result of a comparison, in typed values.

use super::heat::Heat;
use super::partial::{Partial, Side};
use super::ulp::UlpStats;
use super::worst::Offender;
use crate::grid::Grid;

/// Everything measured about one boundary and one pair of sides.
///
/// A pair of elements is in exactly one of these classes:
///
/// | pair | differing | abs, rms, rel | ULP | counted in |
/// |---|---|---|---|---|
/// | equal bits, both finite | no | yes, 0 | 0 | |
/// | equal infinities; two NaNs, whatever payload | no | no | 0 | |
/// | finite, different bits | yes | yes | yes | |
/// | +0 and −0 | yes | yes, 0 | 0 | `neg_zero` |
/// | NaN and a number | yes | no | no | `nan` |
/// | an infinity and any other number | yes | no | no | `inf` |
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The grid the boundary declares.
    pub grid: Grid,
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// Number of pairs compared, never 0.
    pub elements: u64,
    /// Pairs whose bits differ; two NaNs are equal, −0 and +0 are not.
    pub differing: u64,
    /// Pairs of a NaN and a number.
    pub nan: u64,
    /// Pairs of an infinity and any other number, of the other infinity too.
    pub inf: u64,
    /// Pairs of two zeros with different signs.
    pub neg_zero: u64,
    /// Pairs of two finite numbers.
    pub finite_pairs: u64,
    /// Largest |a − b| over finite pairs, a rounded binary64 difference; `None` without any.
    pub max_abs: Option<f64>,
    /// Where `max_abs` is, first in index order; `None` when it is 0.
    pub max_abs_at: Option<Element>,
    /// √(Σ(a − b)² / `finite_pairs`), summed in binary64 in a fixed order; `None` without any.
    pub rms: Option<f64>,
    /// Largest |a − b| / |reference| over finite pairs with a reference other than 0.
    pub max_rel: Option<f64>,
    /// Elements whose reference is 0, which have no relative error.
    pub zero_reference: u64,
    /// How many values of the reference lie on which grid.
    pub reference_on_grid: OnGrid,
    /// How many values of the candidate lie on which grid.
    pub candidate_on_grid: OnGrid,
    /// Distances in steps of the declared grid, or why there are none.
    pub ulp: Result<UlpStats, NoUlp>,
    /// Distances in steps of binary32; `None` for integers and booleans, and where no pair has one.
    pub ulp_f32: Option<UlpStats>,
    /// Up to [`WORST`](super::WORST) differing elements: NaN disagreements first, then those of
    /// infinities, then by |a − b| falling; ties in index order.
    pub worst: Vec<Element>,
    /// Where the sides differ most; `None` where they do not, or no map was asked for.
    pub heat: Option<Heat>,
    /// Whether all values of the reference are equal (±0 are).
    pub reference_constant: bool,
    /// Values of the reference that are neither NaN nor infinite.
    pub reference_finite: u64,
}

impl Measurement {
    /// Whether every pair has the same bits (NaNs of any payload being the same).
    #[must_use]
    pub const fn is_bit_exact(&self) -> bool {
        self.differing == 0
    }

    /// Whether some value of either side is not on the declared grid.
    #[must_use]
    pub const fn is_off_grid(&self) -> bool {
        matches!(self.ulp, Err(NoUlp::OffGrid { .. }))
    }

    /// Whether the reference holds a NaN or an infinity.
    #[must_use]
    pub const fn is_non_finite(&self) -> bool {
        self.reference_finite < self.elements
    }

    /// Whether equality would prove nothing: a float boundary of at least two elements whose
    /// reference is all equal or has nothing finite.
    #[must_use]
    pub const fn is_vacuous(&self) -> bool {
        self.grid.is_float()
            && self.elements >= 2
            && (self.reference_constant || self.reference_finite == 0)
    }
}

/// How many values of one side are representable in which float format.
///
/// A NaN is on every grid. Integers count as the number they stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnGrid {
    /// Values BF16 can represent.
    pub bf16: u64,
    /// Values F16 can represent.
    pub f16: u64,
    /// Values F32 can represent: all, for floats.
    pub f32: u64,
}

/// One element of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Coordinate, one index for each axis of the shape.
    pub index: Vec<usize>,
    /// The reference's value.
    pub reference: Value,
    /// The candidate's value.
    pub candidate: Value,
}

/// A value of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A float, widened to binary32.
    Float(f32),
    /// An integer, or a boolean's byte.
    Int(i32),
}

impl Value {
    /// The bits: of the binary32, or of the integer in two's complement.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Float(value) => value.to_bits(),
            Self::Int(value) => value.cast_unsigned(),
        }
    }
}

/// Why a boundary has no distances on its declared grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoUlp {
    /// Values of a side are not representable in the grid.
    OffGrid {
        /// The declared grid.
        grid: Grid,
        /// Elements of each side.
        elements: u64,
        /// Values of the reference off the grid.
        reference: u64,
        /// Values of the candidate off the grid.
        candidate: u64,
    },
    /// The grid is one of integers or booleans.
    NotFloat(Grid),
    /// Every pair is a NaN or an infinity against another value.
    NoPair,
}

impl std::fmt::Display for NoUlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::NoPair => f.write_str("no pair of values has a distance"),
            Self::NotFloat(grid) => write!(f, "{grid} values have no ULP"),
            Self::OffGrid {
                grid,
                elements,
                reference,
                candidate,
            } => {
                let side = |f: &mut std::fmt::Formatter<'_>, off: u64, name: &str| {
                    write!(f, "{off} of {elements} values are not {grid} ({name})")
                };
                match (reference, candidate) {
                    (r, c) if r == c => side(f, r, "reference and candidate"),
                    (r, 0) => side(f, r, "reference"),
                    (0, c) => side(f, c, "candidate"),
                    (r, c) => {
                        side(f, r, "reference")?;
                        f.write_str(", ")?;
                        side(f, c, "candidate")
                    }
                }
            }
        }
    }
}

impl Partial {
    /// The totals of a whole boundary as its measurement.
    pub(super) fn into_measurement(self, shape: &[usize], grid: Grid) -> Measurement {
        let on_grid = |s: Side| OnGrid {
            bf16: s.bf16,
            f16: s.f16,
            f32: s.f32,
        };
        let element = |o: Offender| {
            let value = |bits: u32| match grid.is_float() {
                true => Value::Float(f32::from_bits(bits)),
                false => Value::Int(bits.cast_signed()),
            };
            Element {
                index: coordinate(o.index, shape),
                reference: value(o.reference),
                candidate: value(o.candidate),
            }
        };
        let finite = self.finite_pairs > 0;
        Measurement {
            grid,
            shape: shape.to_vec(),
            elements: self.elements,
            differing: self.differing,
            nan: self.nan,
            inf: self.inf,
            neg_zero: self.neg_zero,
            finite_pairs: self.finite_pairs,
            max_abs: finite.then_some(self.max_abs),
            max_abs_at: self.max_abs_at.map(element),
            rms: finite.then(|| (self.square_sum / self.finite_pairs as f64).sqrt()),
            max_rel: (self.relative_pairs > 0).then_some(self.max_rel),
            zero_reference: self.reference.zero,
            reference_on_grid: on_grid(self.reference),
            candidate_on_grid: on_grid(self.candidate),
            ulp: self.ulp(grid),
            ulp_f32: grid
                .is_float()
                .then(|| self.gaps.stats(Grid::F32, self.gap_pairs(), 0)),
            reference_constant: !self.varies,
            reference_finite: self.elements - self.reference.nonfinite,
            worst: self.worst.into_sorted().into_iter().map(element).collect(),
            heat: None,
        }
    }

    /// Pairs that have a distance.
    fn gap_pairs(&self) -> u64 {
        self.elements - self.nan - self.inf
    }

    fn ulp(&self, grid: Grid) -> Result<UlpStats, NoUlp> {
        let (on, totals, shift): (fn(&Side) -> u64, _, _) = match grid {
            Grid::F32 => (|s| s.f32, &self.gaps, 0),
            Grid::Bf16 => (|s| s.bf16, &self.gaps, 16),
            Grid::F16 => (|s| s.f16, &self.gaps_f16, 0),
            Grid::I32 | Grid::Bool => return Err(NoUlp::NotFloat(grid)),
        };
        let elements = self.elements;
        let (reference, candidate) = (
            elements - on(&self.reference),
            elements - on(&self.candidate),
        );
        if reference + candidate > 0 {
            return Err(NoUlp::OffGrid {
                grid,
                elements,
                reference,
                candidate,
            });
        }
        if self.gap_pairs() == 0 {
            return Err(NoUlp::NoPair);
        }
        Ok(totals.stats(grid, self.gap_pairs(), shift))
    }
}

/// The coordinate of a row-major index.
fn coordinate(index: u64, shape: &[usize]) -> Vec<usize> {
    let mut rest = index;
    let mut axes: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let at = rest % extent as u64;
            rest /= extent as u64;
            at as usize
        })
        .collect();
    axes.reverse();
    axes
}
