//! Where a view's elements lie in the reference's memory.

use stages::{Shape, graph::View};

/// Strides in elements, where the view fixes them.
pub(super) fn strides(shape: &Shape, view: &View) -> Option<Vec<usize>> {
    let order: Vec<usize> = match view {
        View::Contiguous => return Some(shape.strides()),
        View::Permuted(order) => order.clone(),
        View::Strided => return None,
    };
    let mut strides = vec![1; shape.rank()];
    let mut next = 1;
    for &axis in order.iter().rev() {
        *strides.get_mut(axis)? = next;
        next *= shape.dims().get(axis)?;
    }
    Some(strides)
}

/// Whether elements lie in row-major order without gaps; axes of extent 1 do not count.
pub(super) fn is_row_major(shape: &Shape, view: &View) -> bool {
    match view {
        View::Contiguous => true,
        View::Strided => false,
        View::Permuted(order) => {
            let long: Vec<usize> = order
                .iter()
                .copied()
                .filter(|&axis| shape.dims().get(axis).is_some_and(|&n| n != 1))
                .collect();
            long.is_sorted()
        }
    }
}

/// Whether the last two axes are a transposed matrix to MLX's products (MLX 0.32.2,
/// `matmul_general`, CPU: a matrix that is neither plain nor transposed is copied and then plain).
/// `None` where the view does not say, which is so for a single column: an axis of extent 1 has
/// whatever stride the ops before gave it. A single row makes no difference to a product.
pub(super) fn is_transposed_matrix(shape: &Shape, view: &View) -> Option<bool> {
    let strides = strides(shape, view)?;
    let [.., rows, columns] = *shape.dims() else {
        return None;
    };
    let [.., row, column] = *strides.as_slice() else {
        return None;
    };
    if rows == 1 || columns == 1 {
        return (rows == 1).then_some(false);
    }
    let plain = row == columns && column == 1;
    Some(!plain && row == 1 && column == rows)
}
