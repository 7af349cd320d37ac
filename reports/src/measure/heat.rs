//! Where in a tensor its two sides differ most: a map of at most [`SIDE`] × [`SIDE`] cells.
//!
//! The tensor is seen as a table. Its columns are the last axis, its rows the longest of the
//! others, the first of equals (frames, in a model of sound); the rest is folded into the cells.

use rayon::prelude::*;

use super::float::{self, Floats, RUN};
use super::pair::{GROUP, differ};
use super::simd;
use super::ulp::{bin, bin_start};
use crate::grid::{Grid, INFINITY, MAGNITUDE};

/// The most cells a map has along either side.
pub const SIDE: usize = 32;

/// The largest distance in each cell of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heat {
    /// What distances are steps of: the declared grid, or F32 where a value is off it. For integers
    /// and booleans the distance is the difference.
    pub grid: Grid,
    /// The axis the rows are along; `None` for fewer than two axes.
    pub row_axis: Option<usize>,
    /// The axis the columns are along; `None` for a scalar.
    pub column_axis: Option<usize>,
    /// Indices of the row axis in a cell; the last row may have fewer.
    pub rows_per_cell: usize,
    /// Indices of the column axis in a cell; the last column may have fewer.
    pub columns_per_cell: usize,
    /// Elements in a full cell.
    pub elements_per_cell: u64,
    /// Columns of the map.
    pub columns: usize,
    /// The cells, row by row.
    pub cells: Vec<Level>,
}

/// The largest distance in a cell, ordered from the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// No bit differs.
    pub const SAME: Self = Self(0);
    /// A number stands against a NaN, or an infinity against another value: no distance.
    pub const NONE: Self = Self(u8::MAX);

    /// That of a pair whose bits differ.
    #[inline(always)]
    const fn of(distance: u32) -> Self {
        Self(1 + bin(distance) as u8)
    }

    /// The smallest distance of its bin, 0 where only the signs of zeros differ; `None` for
    /// [`SAME`](Self::SAME) and [`NONE`](Self::NONE).
    #[must_use]
    pub const fn at_least(self) -> Option<u64> {
        match self {
            Self::SAME | Self::NONE => None,
            Self(level) => Some(bin_start(level as usize - 1)),
        }
    }

    /// One character: `.` where no bit differs, `z` where there is no distance, else the number of
    /// the distance's bin in base 36: `0` for 0, `1` for 1, `2` for 2 and 3, `3` for 4 to 7, …
    #[must_use]
    pub const fn digit(self) -> char {
        match self {
            Self::SAME => '.',
            Self::NONE => 'z',
            Self(level) => {
                let bin = level - 1;
                (if bin < 10 {
                    b'0' + bin
                } else {
                    b'a' + bin - 10
                }) as char
            }
        }
    }
}

/// How a tensor is seen as a table.
#[derive(Debug, Clone, Copy)]
struct Frame {
    row_axis: Option<usize>,
    column_axis: Option<usize>,
    /// Extent of the row axis, and how far apart its indices are, in lines of columns.
    height: usize,
    stride: usize,
    /// Extent of the column axis.
    width: usize,
    rows_per_cell: usize,
    columns_per_cell: usize,
}

impl Frame {
    fn of(shape: &[usize]) -> Self {
        let column_axis = shape.len().checked_sub(1);
        let outer = &shape[..column_axis.unwrap_or(0)];
        // The first of the longest: `max_by_key` gives the last.
        let row_axis = (0..outer.len()).rev().max_by_key(|&axis| outer[axis]);
        let height = row_axis.map_or(1, |axis| outer[axis]);
        let stride = row_axis.map_or(1, |axis| outer[axis + 1..].iter().product());
        let width = shape.last().copied().unwrap_or(1);
        Self {
            row_axis,
            column_axis,
            height,
            stride,
            width,
            rows_per_cell: height.div_ceil(SIDE),
            columns_per_cell: width.div_ceil(SIDE),
        }
    }

    const fn columns(&self) -> usize {
        self.width.div_ceil(self.columns_per_cell)
    }

    const fn cells(&self) -> usize {
        self.height.div_ceil(self.rows_per_cell) * self.columns()
    }

    /// Calls `each` with every stretch of `from..to` that lies in one cell: the cell, the stretch.
    #[inline(always)]
    fn stretches(&self, from: usize, to: usize, mut each: impl FnMut(usize, usize, usize)) {
        let columns = self.columns();
        let (mut at, mut line, mut column) = (from, from / self.width, from % self.width);
        while at < to {
            let row = line / self.stride % self.height / self.rows_per_cell * columns;
            while at < to && column < self.width {
                let cell = column / self.columns_per_cell;
                let end = self.width.min((cell + 1) * self.columns_per_cell);
                let next = to.min(at + end - column);
                each(row + cell, at, next);
                column += next - at;
                at = next;
            }
            (line, column) = (line + 1, 0);
        }
    }

    fn heat(&self, grid: Grid, elements: u64, cells: Vec<Level>) -> Heat {
        let folded = elements / (self.height as u64 * self.width as u64);
        Heat {
            grid,
            row_axis: self.row_axis,
            column_axis: self.column_axis,
            rows_per_cell: self.rows_per_cell,
            columns_per_cell: self.columns_per_cell,
            elements_per_cell: folded * self.rows_per_cell as u64 * self.columns_per_cell as u64,
            columns: self.columns(),
            cells,
        }
    }
}

fn raise(cells: &mut [Level], cell: usize, level: Level) {
    if let Some(held) = cells.get_mut(cell) {
        *held = level.max(*held);
    }
}

/// The map of two tensors of floats of the same, non-zero length, which the shape holds; `grid` is
/// one that all their values are on.
pub(super) fn floats(a: Floats<'_>, b: Floats<'_>, shape: &[usize], grid: Grid) -> Heat {
    let frame = Frame::of(shape);
    let maps = (0..a.len().div_ceil(RUN)).into_par_iter().map(|run| {
        let mut cells = vec![Level::SAME; frame.cells()];
        float::blocks(a, b, run, |at, a, b| {
            for (group, (a, b)) in a.chunks(GROUP).zip(b.chunks(GROUP)).enumerate() {
                if !differ(a, b) {
                    continue;
                }
                let base = at + group * GROUP;
                frame.stretches(base, base + a.len(), |cell, from, to| {
                    let (from, to) = (from - base, to - base);
                    raise(
                        &mut cells,
                        cell,
                        simd::level(&a[from..to], &b[from..to], grid),
                    );
                });
            }
        });
        cells
    });
    let join = |mut cells: Vec<Level>, next: Vec<Level>| {
        for (cell, next) in cells.iter_mut().zip(next) {
            *cell = next.max(*cell);
        }
        cells
    };
    let cells = maps.reduce(|| vec![Level::SAME; frame.cells()], join);
    frame.heat(grid, a.len() as u64, cells)
}

/// The map of integers or booleans.
pub(super) fn integers(
    pairs: impl ExactSizeIterator<Item = (i32, i32)>,
    shape: &[usize],
    grid: Grid,
) -> Heat {
    let frame = Frame::of(shape);
    let mut cells = vec![Level::SAME; frame.cells()];
    let elements = pairs.len() as u64;
    for (index, (x, y)) in pairs.enumerate().filter(|(_, (x, y))| x != y) {
        let level = Level::of(x.abs_diff(y));
        frame.stretches(index, index + 1, |cell, _, _| {
            raise(&mut cells, cell, level)
        });
    }
    frame.heat(grid, elements, cells)
}

/// The largest level of pairs of binary32, with this distance between the bits of finite ones.
#[inline(always)]
pub(super) fn level(a: &[f32], b: &[f32], distance: impl Fn(u32, u32) -> u32) -> Level {
    let (mut largest, mut differing, mut none) = (0, 0, false);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x.to_bits(), y.to_bits());
        let (p, q) = (x & MAGNITUDE, y & MAGNITUDE);
        let finite = (p < INFINITY) & (q < INFINITY);
        let nans = (p > INFINITY) & (q > INFINITY);
        let gap = if finite { distance(x, y) } else { 0 };
        largest = if gap > largest { gap } else { largest };
        differing |= if finite { x ^ y } else { 0 };
        none |= !finite & !nans & (x != y);
    }
    match (none, differing) {
        (true, _) => Level::NONE,
        (false, 0) => Level::SAME,
        (false, _) => Level::of(largest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_the_longest_axis_before_the_last() {
        let frame = |shape: &[usize]| {
            let f = Frame::of(shape);
            (f.row_axis, f.column_axis, f.height, f.stride, f.width)
        };
        assert_eq!(frame(&[]), (None, None, 1, 1, 1));
        assert_eq!(frame(&[7]), (None, Some(0), 1, 1, 7));
        assert_eq!(frame(&[1, 549, 64, 128]), (Some(1), Some(3), 549, 64, 128));
        assert_eq!(frame(&[4, 4, 2]), (Some(0), Some(2), 4, 4, 2));
        assert_eq!(frame(&[1, 549, 1, 1]), (Some(1), Some(3), 549, 1, 1));
    }

    #[test]
    fn every_level_has_a_digit_of_its_own() {
        let digits: String = [
            Level::SAME,
            Level::of(0),
            Level::of(1),
            Level::of(3),
            Level::of(512),
        ]
        .into_iter()
        .chain([Level::of(u32::MAX), Level::NONE])
        .map(Level::digit)
        .collect();
        assert_eq!(digits, ".012awz");
        assert_eq!(Level::of(5).at_least(), Some(4));
        assert_eq!(Level::of(0).at_least(), Some(0));
        assert_eq!(
            (Level::SAME.at_least(), Level::NONE.at_least()),
            (None, None)
        );
    }

    proptest! {
        #[test]
        fn stretches_cover_every_element_once_in_its_own_cell(
            shape in proptest::collection::vec(1..50_usize, 0..4), cut in 0..1000_usize,
        ) {
            let elements: usize = shape.iter().product();
            let frame = Frame::of(&shape);
            prop_assert!(frame.cells() <= SIDE * SIDE);
            let cut = cut.min(elements);
            let mut next = 0;
            for (from, to) in [(0, cut), (cut, elements)] {
                frame.stretches(from, to, |cell, from, to| {
                    assert_eq!(from, next);
                    for index in from..to {
                        let row = index / frame.width / frame.stride % frame.height;
                        let column = index % frame.width;
                        let row = row / frame.rows_per_cell * frame.columns();
                        assert_eq!(cell, row + column / frame.columns_per_cell);
                        assert!(cell < frame.cells());
                    }
                    next = to;
                });
            }
            prop_assert_eq!(next, elements);
        }
    }
}
