//! The memory order MLX would give a value, because some of its schedules depend on it.

/// In which order a value's elements lie in the reference's memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Row-major, without gaps.
    Contiguous,
    /// Without gaps, the axes in this order from outermost to innermost stride.
    Permuted(Vec<usize>),
    /// With gaps or repetitions: a slice or a broadcast.
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

#[cfg(test)]
mod tests {
    use super::View;

    #[test]
    fn transposing_twice_is_contiguous_again() {
        let once = View::Contiguous.transposed(&[1, 2, 0]);
        assert_eq!(once, View::Permuted(vec![2, 0, 1]));
        assert_eq!(once.transposed(&[2, 0, 1]), View::Contiguous);
    }
}
