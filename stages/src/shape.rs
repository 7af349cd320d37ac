//! The extents of a tensor, outermost axis first.

use serde::{Deserialize, Serialize};

/// Extents of a tensor in row-major order; a scalar has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// A shape from its extents.
    pub fn new(dims: impl Into<Vec<usize>>) -> Self {
        Shape(dims.into())
    }

    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Shape(Vec::new())
    }

    /// The extents.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// How many axes there are.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// How many elements there are, or `None` where the product overflows.
    pub fn checked_elements(&self) -> Option<usize> {
        self.0.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }

    /// How many elements there are. Shapes of values in a graph were checked when it was built.
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// The common shape of two operands by NumPy's rule: aligned at the last axis, extent 1
    /// stretches. `None` where they do not fit.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let extent = |s: &Shape, axis: usize| {
            (axis + s.rank())
                .checked_sub(rank)
                .map_or(1, |own| s.0[own])
        };
        (0..rank)
            .map(|axis| match (extent(self, axis), extent(other, axis)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(Shape)
    }

    /// Row-major strides in elements.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.rank()];
        for axis in (1..self.rank()).rev() {
            strides[axis - 1] = strides[axis] * self.0[axis];
        }
        strides
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Shape(dims.to_vec())
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Shape(dims.to_vec())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Shape(dims)
    }
}

impl std::ops::Index<usize> for Shape {
    type Output = usize;
    fn index(&self, axis: usize) -> &usize {
        &self.0[axis]
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.pad(&format!("[{}]", text.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn broadcasting_aligns_at_the_last_axis() {
        let a = Shape::from([2, 1, 4]);
        assert_eq!(
            a.broadcast(&Shape::from([3, 1])),
            Some(Shape::from([2, 3, 4]))
        );
        assert_eq!(a.broadcast(&Shape::scalar()), Some(a.clone()));
        assert_eq!(a.broadcast(&Shape::from([3])), None);
    }

    #[test]
    fn strides_are_row_major() {
        assert_eq!(Shape::from([2, 3, 4]).strides(), [12, 4, 1]);
    }
}
