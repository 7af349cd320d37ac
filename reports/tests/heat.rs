//! Maps of where two tensors differ, against the definition.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use proptest::prelude::*;
use reports::Grid;
use reports::measure::{Heat, Level, Values, compare, compare_and_map, ulp::distance};
use reports::verdict::Outcome;
use reports::wire::{self, Measured};

fn map(a: &[f32], b: &[f32], shape: &[usize], grid: Grid) -> Option<Heat> {
    compare_and_map(Values::F32(a), Values::F32(b), shape, grid)
        .unwrap()
        .heat
}

fn on_wire(a: &[f32], b: &[f32], shape: &[usize], grid: Grid) -> wire::Heat {
    let m = compare_and_map(Values::F32(a), Values::F32(b), shape, grid).unwrap();
    Measured::new(&Outcome::Measured(Box::new(m))).heat.unwrap()
}

/// The digits by the definition, an element at a time.
fn digits(a: &[f32], b: &[f32], shape: &[usize], grid: Grid) -> String {
    let width = *shape.last().unwrap_or(&1);
    let outer = &shape[..shape.len().saturating_sub(1)];
    let height = outer.iter().copied().max().unwrap_or(1);
    let axis = outer.iter().position(|&extent| extent == height);
    let inner: usize = axis.map_or(1, |axis| outer[axis + 1..].iter().product());
    let (tall, wide) = (height.div_ceil(32), width.div_ceil(32));
    let columns = width.div_ceil(wide);
    let mut cells = vec![-1_i64; height.div_ceil(tall) * columns];
    for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
        let same = x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
        let level = match distance(x.to_bits(), y.to_bits(), grid) {
            _ if same => -1,
            None => 35,
            Some(0) => 0,
            Some(steps) => i64::from(steps.ilog2()) + 1,
        };
        let cell = i / width / inner % height / tall * columns + i % width / wide;
        cells[cell] = cells[cell].max(level);
    }
    let digit = |&level: &i64| match u32::try_from(level) {
        Ok(level) => char::from_digit(level, 36).unwrap(),
        Err(_) => '.',
    };
    cells.iter().map(digit).collect()
}

#[test]
fn where_nothing_differs_there_is_no_map_and_compare_makes_none() {
    let (a, b) = ([1.0, f32::NAN, 3.0], [1.0, f32::NAN, 4.0]);
    assert_eq!(map(&a, &a, &[3], Grid::F32), None);
    let m = compare(Values::F32(&a), Values::F32(&b), &[3], Grid::F32).unwrap();
    assert_eq!(m.heat, None);
}

#[test]
fn a_map_says_which_axes_and_how_many_elements_a_cell_covers() {
    let shape = [2, 100, 3, 40];
    let a = vec![1.0; 24_000];
    let mut b = a.clone();
    b[0] = 1.0_f32.next_up();
    // Batch 1, frame 99, the last of all.
    b[23_999] = f32::NAN;
    // Batch 0, frame 50, part 1, channel 7: 4 steps.
    b[(50 * 3 + 1) * 40 + 7] = f32::from_bits(1.0_f32.to_bits() + 4);
    let heat = on_wire(&a, &b, &shape, Grid::F32);
    assert_eq!((heat.row_axis, heat.column_axis), (Some(1), Some(3)));
    assert_eq!((heat.rows_per_cell, heat.columns_per_cell), (4, 2));
    assert_eq!((heat.rows, heat.columns), (25, 20));
    assert_eq!(heat.elements_per_cell, 2 * 4 * 3 * 2);
    let cell = |row: usize, column: usize| heat.cells.as_bytes()[row * 20 + column];
    assert_eq!((cell(0, 0), cell(24, 19), cell(12, 3)), (b'1', b'z', b'3'));
    assert_eq!(heat.cells.bytes().filter(|&c| c == b'.').count(), 500 - 3);
}

#[test]
fn steps_are_of_the_declared_grid_unless_a_value_is_off_it() {
    let (a, b) = ([1.0, 2.0], [1.0078125, 2.0]);
    let heat = on_wire(&a, &b, &[2], Grid::Bf16);
    assert_eq!((heat.grid, &*heat.cells), (Grid::Bf16, "1."));
    let heat = on_wire(&a, &b, &[2], Grid::F16);
    // 2⁻⁷ is 8 steps of F16 above 1.
    assert_eq!((heat.grid, &*heat.cells), (Grid::F16, "4."));
    let heat = on_wire(&a, &[1.0078125, 2.0_f32.next_up()], &[2], Grid::Bf16);
    assert_eq!((heat.grid, &*heat.cells), (Grid::F32, "h1"));
}

#[test]
fn integers_are_mapped_by_their_difference() {
    let (a, b) = ([0, 5, i32::MIN], [0, 7, i32::MAX]);
    let m = compare_and_map(Values::I32(&a), Values::I32(&b), &[3, 1], Grid::I32).unwrap();
    let heat = m.heat.unwrap();
    let digits: String = heat.cells.iter().map(|level| level.digit()).collect();
    assert_eq!((digits.as_str(), heat.row_axis), (".2w", Some(0)));
    let m = compare_and_map(
        Values::Bool(&[0, 1]),
        Values::Bool(&[1, 1]),
        &[2],
        Grid::Bool,
    );
    let cells = m.unwrap().heat.unwrap().cells;
    assert_eq!((cells[0].digit(), cells[1]), ('1', Level::SAME));
}

#[test]
fn runs_of_threads_join() {
    // More than one run of 2²⁰ elements, so that several maps are joined.
    let shape = [3, 1000, 1000];
    let a = vec![1.0; 3_000_000];
    let mut b = a.clone();
    for i in (0..b.len()).step_by(77_777) {
        b[i] = f32::from_bits(1.0_f32.to_bits() + i as u32 % 1000);
    }
    let heat = on_wire(&a, &b, &shape, Grid::F32);
    assert_eq!(heat.cells, digits(&a, &b, &shape, Grid::F32));
}

proptest! {
    #[test]
    fn a_map_is_as_the_definition_says(
        shape in proptest::collection::vec(1..40_usize, 0..4),
        grid in proptest::sample::select(vec![Grid::F32, Grid::Bf16, Grid::F16]),
        seed: u32,
        rare in 1..400_u32,
    ) {
        let n: usize = shape.iter().product();
        let (mut state, mut a, mut b) = (seed, Vec::new(), Vec::new());
        for _ in 0..n {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = if state >> 28 == 0 { state << 24 } else { state };
            // Values of at most 7 significant bits between 2⁻⁸ and 2⁷ are on every grid.
            let exponent = (119 + x % 16) << 23;
            let x = (x & 0x8000_0000) | exponent | (x >> 7 & 0x007e_0000);
            a.push(f32::from_bits(x));
            let special = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::from_bits(x ^ 0x0002_0000)];
            let other = special[state as usize / 64 % special.len()];
            b.push(if (state >> 8).is_multiple_of(rare) { other } else { f32::from_bits(x) });
        }
        match map(&a, &b, &shape, grid) {
            None => prop_assert!(a.iter().zip(&b).all(|(x, y)| x.to_bits() == y.to_bits())),
            Some(heat) => {
                let found: String = heat.cells.iter().map(|level| level.digit()).collect();
                prop_assert_eq!(found, digits(&a, &b, &shape, grid));
            }
        }
    }
}
