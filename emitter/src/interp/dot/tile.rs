//! One tile of accumulators: [`TALL`] rows by [`WIDE`] columns, held in registers.

use stages::DType;

use crate::interp::wide::{Eight, Loop};

/// How a product is added to its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::interp) enum Step {
    /// The product is rounded, then the sum.
    Separate,
    /// Both at once.
    Fused,
    /// As `Separate`, each rounded to BF16 as well.
    Bf16,
}

impl Step {
    /// The step of a product in F32.
    pub(in crate::interp) const fn of(fused: bool) -> Step {
        if fused { Step::Fused } else { Step::Separate }
    }

    /// The step that rounds onto a grid.
    pub(in crate::interp) fn rounded(grid: DType) -> Step {
        match grid {
            DType::BF16 => Step::Bf16,
            _ => Step::Separate,
        }
    }
}

/// Rows of a tile.
pub(super) const TALL: usize = 6;

/// Columns of a tile: two vectors of eight.
pub(super) const WIDE: usize = 16;

/// How far along k a tile goes before the next one takes its turn with the same block of the
/// panel, which fills half of a first-level cache.
pub(super) const DEEP: usize = 256;

/// Products `left[k][row]·right[k][column]` added to the tile of `out` at its first row and at
/// `column`, ascending k.
pub(super) struct Sweep<'a> {
    pub(super) left: &'a [[f32; TALL]],
    pub(super) right: &'a [[f32; WIDE]],
    pub(super) step: Step,
    /// Rows of `stride` elements; there may be fewer than the tile has.
    pub(super) out: &'a mut [f32],
    pub(super) stride: usize,
    pub(super) column: usize,
}

impl Loop for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Eight>(self) {
        let width = WIDE.min(self.stride - self.column);
        let mut tile = [[0.0f32; WIDE]; TALL];
        for (row, out) in tile.iter_mut().zip(self.out.chunks(self.stride)) {
            row[..width].copy_from_slice(&out[self.column..self.column + width]);
        }
        let (left, right) = (self.left, self.right);
        match self.step {
            Step::Separate => accumulate::<V, Separate>(&mut tile, left, right),
            Step::Fused => accumulate::<V, Fused>(&mut tile, left, right),
            Step::Bf16 => accumulate::<V, Bf16>(&mut tile, left, right),
        }
        for (row, out) in tile.iter().zip(self.out.chunks_mut(self.stride)) {
            out[self.column..self.column + width].copy_from_slice(&row[..width]);
        }
    }
}

/// A [`Step`] as a type: closures are not sure to be inlined, and outside of [`Loop::run`] they
/// would be code for the baseline.
trait Adding {
    fn add<V: Eight>(acc: V, a: V, b: V) -> V;
}

struct Separate;
struct Fused;
struct Bf16;

impl Adding for Separate {
    #[inline(always)]
    fn add<V: Eight>(acc: V, a: V, b: V) -> V {
        acc.add(a.mul(b))
    }
}

impl Adding for Fused {
    #[inline(always)]
    fn add<V: Eight>(acc: V, a: V, b: V) -> V {
        a.mul_add(b, acc)
    }
}

impl Adding for Bf16 {
    #[inline(always)]
    fn add<V: Eight>(acc: V, a: V, b: V) -> V {
        acc.add(a.mul(b).round_bf16()).round_bf16()
    }
}

#[inline(always)]
fn accumulate<V: Eight, A: Adding>(
    tile: &mut [[f32; WIDE]; TALL],
    left: &[[f32; TALL]],
    right: &[[f32; WIDE]],
) {
    let mut acc = [[V::splat(0.0); 2]; TALL];
    for (acc, row) in acc.iter_mut().zip(tile.iter()) {
        *acc = load(row);
    }
    for (a, b) in left.iter().zip(right) {
        let b = load::<V>(b);
        for row in 0..TALL {
            let a = V::splat(a[row]);
            acc[row] = [A::add(acc[row][0], a, b[0]), A::add(acc[row][1], a, b[1])];
        }
    }
    for (acc, row) in acc.iter().zip(tile.iter_mut()) {
        let (halves, _) = row.as_chunks_mut::<8>();
        acc.iter()
            .zip(halves)
            .for_each(|(half, out)| half.store(out));
    }
}

/// A row's two vectors.
#[inline(always)]
fn load<V: Eight>(row: &[f32; WIDE]) -> [V; 2] {
    let (halves, _) = row.as_chunks::<8>();
    [V::load(&halves[0]), V::load(&halves[1])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::wide::{plainest, widest};

    #[test]
    fn every_form_of_the_loop_gives_the_same_bits() {
        let value = |i: usize| ((i * 7919 % 1009) as f32 - 500.0) * 1.37;
        let left: Vec<[f32; TALL]> = (0..50)
            .map(|k| std::array::from_fn(|i| value(k * TALL + i)))
            .collect();
        let right: Vec<[f32; WIDE]> = (0..50)
            .map(|k| std::array::from_fn(|i| 1.0 / value(k * WIDE + i)))
            .collect();
        for step in [Step::Separate, Step::Fused, Step::Bf16] {
            let (mut plain, mut wide) = (vec![0.5; 4 * 21], vec![0.5; 4 * 21]);
            let sweep = |out| Sweep {
                left: &left,
                right: &right,
                step,
                out,
                stride: 21,
                column: 16,
            };
            plainest(sweep(&mut plain));
            widest(sweep(&mut wide));
            assert_eq!(plain, wide);
            assert!(
                plain
                    .chunks(21)
                    .all(|row| row[..16] == [0.5; 16] && row[16] != 0.5)
            );
        }
    }
}
