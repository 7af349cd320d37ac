//! The memory order MLX would give a value, because some of its schedules depend on it.

use crate::Shape;

/// In which order a value's elements lie in the reference's memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Row-major, without gaps.
    Contiguous,
    /// Without gaps, the axes in this order from outermost to innermost stride.
    Permuted(Vec<usize>),
    /// With gaps or repetitions (a slice or a broadcast), or not known.
    Strided,
}

impl View {
    /// The view after `Transpose{axes}` (result axis `i` is operand axis `axes[i]`).
    pub fn transposed(&self, axes: &[usize]) -> View {
        let order: Vec<usize> = match self {
            View::Contiguous => (0..axes.len()).collect(),
            View::Permuted(order) => order.clone(),
            View::Strided => return View::Strided,
        };
        let moved: Vec<usize> = order
            .iter()
            .filter_map(|axis| axes.iter().position(|a| a == axis))
            .collect();
        if moved.iter().enumerate().all(|(i, &axis)| i == axis) {
            View::Contiguous
        } else {
            View::Permuted(moved)
        }
    }
}

impl View {
    /// The view of elementwise results, whose operands have these views (MLX 0.32.2,
    /// `set_unary_output_data`, `get_binary_op_type`, `get_ternary_op_type`).
    ///
    /// One operand passes its order on; of several, only one that MLX calls row- or
    /// column-contiguous and all share. Strided operands are read element by element, but for a
    /// repeated scalar, which lets the others pass their order on: only beside row-major ones is
    /// the result the same.
    pub fn elementwise(shape: &Shape, operands: &[&View]) -> View {
        let Some((&first, others)) = operands.split_first() else {
            return View::Contiguous;
        };
        if others.iter().all(|other| *other == first) {
            let passed_on = match first {
                View::Permuted(order) => {
                    let long = order.iter().filter(|&&axis| shape[axis] != 1);
                    others.is_empty() || long.rev().is_sorted()
                }
                View::Contiguous | View::Strided => true,
            };
            return if passed_on {
                first.clone()
            } else {
                View::Contiguous
            };
        }
        let any_strided = operands.contains(&&View::Strided);
        let any_permuted = operands
            .iter()
            .any(|view| matches!(view, View::Permuted(_)));
        // With axes of extent 1, orders of different names can be contiguous in the same way.
        let ambiguous = any_strided || shape.dims().contains(&1);
        if any_permuted && ambiguous {
            View::Strided
        } else {
            View::Contiguous
        }
    }

    /// The view after a reshape (MLX 0.32.2, `prepare_reshape`). Where it need not copy, the
    /// result lies as its operand does but keeps marks that no longer fit it, on which later
    /// functions of several operands depend: its order counts as not known.
    pub fn reshaped(&self, from: &Shape, to: &Shape) -> View {
        let View::Permuted(order) = self else {
            return self.clone();
        };
        if from == to {
            return self.clone();
        }
        // Runs of axes that follow one another in memory, as (extent, stride).
        let strides = View::strides(from, order);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (&extent, &stride) in from.dims().iter().zip(&strides) {
            match runs.last_mut() {
                _ if extent == 1 => {}
                Some(run) if run.1 == extent * stride => *run = (run.0 * extent, stride),
                _ => runs.push((extent, stride)),
            }
        }
        let row_major = runs.len() <= 1;
        let mut runs = runs.into_iter().map(|run| run.0).peekable();
        let fits = to
            .dims()
            .iter()
            .filter(|&&extent| extent != 1)
            .all(|&extent| {
                let Some(run) = runs.peek_mut().filter(|run| run.is_multiple_of(extent)) else {
                    return false;
                };
                *run /= extent;
                runs.next_if_eq(&1);
                true
            });
        if fits && !row_major {
            View::Strided
        } else {
            View::Contiguous
        }
    }

    /// Strides of axes that lie in this order without gaps.
    fn strides(shape: &Shape, order: &[usize]) -> Vec<usize> {
        let mut strides = vec![1; shape.rank()];
        let mut next = 1;
        for &axis in order.iter().rev() {
            strides[axis] = next;
            next *= shape[axis];
        }
        strides
    }

    /// The view of the results of a function of each row, which MLX writes in the operand's order
    /// if elements of a row are neighbours in memory (MLX 0.32.2, `Softmax`, CPU).
    pub fn of_row_results(&self, shape: &Shape) -> View {
        match self {
            View::Permuted(order) if View::strides(shape, order).last() != Some(&1) => {
                View::Contiguous
            }
            view => view.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::View;

    #[test]
    fn transposing_twice_is_contiguous_again() {
        let once = View::Contiguous.transposed(&[1, 2, 0]);
        assert_eq!(once, View::Permuted(vec![2, 0, 1]));
        assert_eq!(once.transposed(&[2, 0, 1]), View::Contiguous);
    }

    #[test]
    fn a_reshape_that_copies_is_contiguous_and_another_not_known() {
        let view = View::Permuted(vec![1, 2, 0]);
        let shape = [4, 2, 3].into();
        let to = |dims: &[usize]| view.reshaped(&shape, &dims.into());
        assert_eq!(to(&[4, 2, 3]), view);
        assert_eq!(to(&[4, 6]), View::Strided);
        assert_eq!(to(&[2, 2, 1, 6]), View::Strided);
        assert_eq!(to(&[8, 3]), View::Contiguous);
        assert_eq!(to(&[24]), View::Contiguous);
        assert_eq!(
            View::Contiguous.reshaped(&shape, &[24].into()),
            View::Contiguous
        );
        let units = View::Permuted(vec![1, 0]);
        assert_eq!(
            units.reshaped(&[6, 1].into(), &[2, 3].into()),
            View::Contiguous
        );
    }

    #[test]
    fn elementwise_results_keep_orders_only_where_mlx_does() {
        let shape = [4, 2, 3].into();
        let of = |views: &[&View]| View::elementwise(&shape, views);
        let rotated = View::Permuted(vec![1, 2, 0]);
        let reversed = View::Permuted(vec![2, 1, 0]);
        assert_eq!(of(&[&rotated]), rotated);
        assert_eq!(of(&[&rotated, &rotated]), View::Contiguous);
        assert_eq!(of(&[&reversed, &reversed]), reversed);
        assert_eq!(of(&[&reversed, &View::Contiguous]), View::Contiguous);
        assert_eq!(of(&[&View::Strided, &View::Contiguous]), View::Contiguous);
        assert_eq!(of(&[&View::Strided, &reversed]), View::Strided);
        assert_eq!(of(&[&View::Strided]), View::Strided);
    }
}
