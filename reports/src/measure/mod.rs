//! What differs between two tensors of one boundary.
//!
//! [`compare`] reads both tensors once, block by block, on the threads of the current rayon pool;
//! [`compare_and_map`] once more where they differ, to say where.
//! Narrow floats are widened to binary32 inside a block, never copied whole. All counts are exact;
//! the sum of squares is added in an order fixed by the element index alone, so that a
//! measurement has the same bits on any number of threads and with any instruction set.
//!
//! ```
//! use reports::{Grid, measure::{Values, compare}};
//! let m = compare(Values::F32(&[1.0, 2.0]), Values::F32(&[1.0, 2.5]), &[2], Grid::F32)?;
//! assert_eq!((m.differing, m.max_abs, m.max_rel), (1, Some(0.5), Some(0.25)));
//! assert_eq!(m.worst[0].index, [1]);
//! # Ok::<(), reports::measure::MeasureError>(())
//! ```

mod float;
mod heat;
mod integer;
mod measurement;
mod pair;
mod partial;
mod side;
mod simd;
pub mod ulp;
mod worst;

pub use heat::{Heat, Level, SIDE};
pub use measurement::{Element, Measurement, NoUlp, OnGrid, Value};
pub use ulp::{Histogram, UlpStats};
pub use worst::WORST;

use half::{bf16, f16};

use crate::grid::Grid;
use float::Floats;

/// The elements of a tensor, row-major.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// binary32.
    F32(&'a [f32]),
    /// bfloat16.
    Bf16(&'a [bf16]),
    /// binary16.
    F16(&'a [f16]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// Booleans, one byte each. Compared as bytes: 2 is not 1.
    Bool(&'a [u8]),
}

impl Values<'_> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::Bf16(v) => v.len(),
            Self::F16(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::Bool(v) => v.len(),
        }
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The grid these values have by their dtype.
    #[must_use]
    pub const fn dtype(&self) -> Grid {
        match self {
            Self::F32(_) => Grid::F32,
            Self::Bf16(_) => Grid::Bf16,
            Self::F16(_) => Grid::F16,
            Self::I32(_) => Grid::I32,
            Self::Bool(_) => Grid::Bool,
        }
    }
}

/// Why two tensors cannot be compared. Completes "failed to compare: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The sides have different numbers of elements.
    #[error("the reference has {reference} elements, the candidate {candidate}")]
    Length {
        /// Elements of the reference.
        reference: usize,
        /// Elements of the candidate.
        candidate: usize,
    },
    /// The shape does not hold as many elements as there are.
    #[error("shape {shape:?} does not hold {elements} elements")]
    Shape {
        /// The shape given.
        shape: Vec<usize>,
        /// Elements of each side.
        elements: usize,
    },
    /// There is nothing to compare, which must not pass for equality.
    #[error("there are no elements to compare")]
    Empty,
    /// Floats against integers, integers against booleans, or a grid of another kind.
    #[error("{reference} values against {candidate} values on the {grid} grid")]
    Kind {
        /// Dtype of the reference.
        reference: Grid,
        /// Dtype of the candidate.
        candidate: Grid,
        /// The declared grid.
        grid: Grid,
    },
}

/// Two sides of the same kind.
enum Sides<'a> {
    Float(Floats<'a>, Floats<'a>),
    I32(&'a [i32], &'a [i32]),
    Bool(&'a [u8], &'a [u8]),
}

impl<'a> Sides<'a> {
    fn pair(a: Values<'a>, b: Values<'a>) -> Result<Option<Self>, MeasureError> {
        if a.len() != b.len() {
            return Err(MeasureError::Length {
                reference: a.len(),
                candidate: b.len(),
            });
        }
        if a.is_empty() {
            return Err(MeasureError::Empty);
        }
        Ok(match (a, b) {
            (Values::I32(a), Values::I32(b)) => Some(Self::I32(a, b)),
            (Values::Bool(a), Values::Bool(b)) => Some(Self::Bool(a, b)),
            _ => floats(a).zip(floats(b)).map(|(a, b)| Self::Float(a, b)),
        })
    }

    const fn suit(&self, grid: Grid) -> bool {
        match self {
            Self::Float(..) => grid.is_float(),
            Self::I32(..) => matches!(grid, Grid::I32),
            Self::Bool(..) => matches!(grid, Grid::Bool),
        }
    }
}

fn floats(values: Values<'_>) -> Option<Floats<'_>> {
    match values {
        Values::F32(v) => Some(Floats::F32(v)),
        Values::Bf16(v) => Some(Floats::Bf16(v)),
        Values::F16(v) => Some(Floats::F16(v)),
        Values::I32(_) | Values::Bool(_) => None,
    }
}

/// Measures everything about a boundary, in one pass over both sides.
///
/// The float dtypes of the sides may differ from each other and from `grid`; both are compared as
/// binary32, which holds all of them exactly.
///
/// # Errors
/// When the sides differ in length or kind, are empty, or do not fit the shape or the grid.
pub fn compare(
    reference: Values<'_>,
    candidate: Values<'_>,
    shape: &[usize],
    grid: Grid,
) -> Result<Measurement, MeasureError> {
    let sides = Sides::pair(reference, candidate)?;
    let elements = reference.len();
    let held = shape
        .iter()
        .try_fold(1_usize, |n, &extent| n.checked_mul(extent));
    if held != Some(elements) {
        return Err(MeasureError::Shape {
            shape: shape.to_vec(),
            elements,
        });
    }
    let Some(sides) = sides.filter(|sides| sides.suit(grid)) else {
        let (reference, candidate) = (reference.dtype(), candidate.dtype());
        return Err(MeasureError::Kind {
            reference,
            candidate,
            grid,
        });
    };
    let partial = match sides {
        Sides::Float(a, b) => float::measure(a, b, grid == Grid::F16),
        Sides::I32(a, b) => integer::measure(a.iter().copied().zip(b.iter().copied())),
        Sides::Bool(a, b) => integer::measure(a.iter().zip(b).map(|(&x, &y)| (x.into(), y.into()))),
    };
    Ok(partial.into_measurement(shape, grid))
}

/// [`compare`], and a map of where the sides differ, if they do, by a second pass.
///
/// # Errors
/// As [`compare`].
pub fn compare_and_map(
    reference: Values<'_>,
    candidate: Values<'_>,
    shape: &[usize],
    grid: Grid,
) -> Result<Measurement, MeasureError> {
    let mut measurement = compare(reference, candidate, shape, grid)?;
    if measurement.is_bit_exact() {
        return Ok(measurement);
    }
    let sides = Sides::pair(reference, candidate)?;
    measurement.heat = sides.map(|sides| match sides {
        Sides::Float(a, b) => {
            let off_grid = measurement.is_off_grid();
            heat::floats(a, b, shape, if off_grid { Grid::F32 } else { grid })
        }
        Sides::I32(a, b) => heat::integers(a.iter().copied().zip(b.iter().copied()), shape, grid),
        Sides::Bool(a, b) => {
            let pairs = a.iter().zip(b).map(|(&x, &y)| (x.into(), y.into()));
            heat::integers(pairs, shape, grid)
        }
    });
    Ok(measurement)
}

/// How many elements have different bits: [`Measurement::differing`] alone, at reading speed.
///
/// # Errors
/// When the sides differ in length or kind, or are empty.
pub fn count_differing(reference: Values<'_>, candidate: Values<'_>) -> Result<u64, MeasureError> {
    let Some(sides) = Sides::pair(reference, candidate)? else {
        let (reference, candidate) = (reference.dtype(), candidate.dtype());
        return Err(MeasureError::Kind {
            reference,
            candidate,
            grid: reference,
        });
    };
    Ok(match sides {
        Sides::Float(a, b) => float::count_differing(a, b),
        Sides::I32(a, b) => a.iter().zip(b).filter(|(x, y)| x != y).count() as u64,
        Sides::Bool(a, b) => a.iter().zip(b).filter(|(x, y)| x != y).count() as u64,
    })
}
