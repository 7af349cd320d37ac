//! Where the sides differ most, on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Grid;
use crate::measure;

/// The largest distance in each cell of a tensor, which is seen as a table: columns along its last
/// axis, rows along the longest other one, the rest folded into the cells. At most 32 × 32 cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Heat {
    /// What distances are steps of: the declared grid, or F32 where a value is off it. For integers
    /// and booleans the distance is the difference.
    pub grid: Grid,
    /// The axis the rows are along; null for fewer than two axes.
    pub row_axis: Option<usize>,
    /// The axis the columns are along; null for a scalar.
    pub column_axis: Option<usize>,
    /// Indices of the row axis in a cell; the last row may have fewer.
    pub rows_per_cell: usize,
    /// Indices of the column axis in a cell; the last column may have fewer.
    pub columns_per_cell: usize,
    /// Elements in a full cell.
    pub elements_per_cell: u64,
    /// Rows of cells.
    pub rows: usize,
    /// Columns of cells.
    pub columns: usize,
    /// A character for each cell, row after row: `.` where no bit differs; `z` where a NaN or an
    /// infinity stands against another value; else, in base 36, 0 for the distance 0 (zeros of
    /// different sign) and k for one from 2^(k−1) to 2^k − 1.
    pub cells: String,
}

impl Heat {
    pub(super) fn new(heat: &measure::Heat) -> Self {
        Self {
            grid: heat.grid,
            row_axis: heat.row_axis,
            column_axis: heat.column_axis,
            rows_per_cell: heat.rows_per_cell,
            columns_per_cell: heat.columns_per_cell,
            elements_per_cell: heat.elements_per_cell,
            rows: heat.cells.len() / heat.columns,
            columns: heat.columns,
            cells: heat.cells.iter().map(|level| level.digit()).collect(),
        }
    }
}
