//! More of MLX's array API: functions that add several primitives, or one with a long argument
//! form.

use super::{Builder, GraphError, Op, ValueId};
use crate::{DType, Shape};

type Built = Result<ValueId, GraphError>;

impl Builder {
    /// `mx.where`: the condition is broadcast, the two choices promoted and broadcast.
    ///
    /// # Errors
    /// When shapes or dtypes do not meet.
    pub fn select(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Built {
        let (a, b) = (self.dtype(then), self.dtype(otherwise));
        let dtype = a.promote(b).ok_or_else(|| GraphError::DType {
            op: "Select",
            dtypes: format!("{a} and {b}"),
            reason: "the common dtype is not supported".into(),
        })?;
        let shapes = [condition, then, otherwise].map(|value| self.shape(value).clone());
        let shape = shapes[0]
            .broadcast(&shapes[1])
            .and_then(|shape| shape.broadcast(&shapes[2]))
            .ok_or_else(|| GraphError::Shape {
                op: "Select",
                shapes: format!("{}, {} and {}", shapes[0], shapes[1], shapes[2]),
                reason: "they do not broadcast".into(),
            })?;
        let mut operands = [condition, then, otherwise];
        for value in &mut operands[1..] {
            *value = self.astype(*value, dtype)?;
        }
        for value in &mut operands {
            *value = self.broadcast_to(*value, &shape)?;
        }
        self.apply(Op::Select, &operands)
    }

    /// `mx.clip` between two arrays: the larger of x and `low`, then the smaller of that and
    /// `high`.
    ///
    /// # Errors
    /// When dtypes or shapes do not meet.
    pub fn clip(&mut self, x: ValueId, low: ValueId, high: ValueId) -> Built {
        let raised = self.binary(Op::Maximum, x, low)?;
        self.binary(Op::Minimum, raised, high)
    }

    /// `mx.mean(x, axis, keepdims=True)`: the sum times one over the extent, that rounded to x's
    /// dtype.
    ///
    /// # Errors
    /// When the axis is not the operand's.
    pub fn mean(&mut self, x: ValueId, axis: usize) -> Built {
        let sum = self.sum(x, &[axis])?;
        let count = self.shape(x)[axis];
        self.binary_scalar(Op::Multiply, sum, 1.0 / count as f64)
    }

    /// `nn.silu`: `x * sigmoid(x)`.
    ///
    /// # Errors
    /// When x is not floating-point.
    pub fn silu(&mut self, x: ValueId) -> Built {
        let gate = self.apply(Op::Sigmoid, &[x])?;
        self.apply(Op::Multiply, &[x, gate])
    }

    /// `nn.glu` along the last axis: its first half times the sigmoid of its second.
    ///
    /// # Errors
    /// When the axis is of odd extent.
    pub fn glu(&mut self, x: ValueId) -> Built {
        let shape = self.shape(x);
        let axis = shape.rank().saturating_sub(1);
        let half = shape.dims().last().copied().unwrap_or(0) / 2;
        let part = |part| Op::Split {
            indices: vec![half],
            axis,
            part,
        };
        let a = self.apply(part(0), &[x])?;
        let b = self.apply(part(1), &[x])?;
        let gate = self.apply(Op::Sigmoid, &[b])?;
        self.apply(Op::Multiply, &[a, gate])
    }

    /// Every `step`-th index of `range` along one axis, the other axes whole.
    ///
    /// # Errors
    /// When the range leaves the axis.
    pub fn slice(
        &mut self,
        x: ValueId,
        axis: usize,
        range: std::ops::Range<usize>,
        step: usize,
    ) -> Built {
        let shape = self.shape(x);
        let mut start = vec![0; shape.rank()];
        let mut stop = shape.dims().to_vec();
        let mut strides = vec![1; shape.rank()];
        if axis >= shape.rank() {
            return Err(GraphError::Shape {
                op: "Slice",
                shapes: shape.to_string(),
                reason: format!("it has no axis {axis}"),
            });
        }
        (start[axis], stop[axis], strides[axis]) = (range.start, range.end, step);
        let op = Op::Slice {
            start,
            stop,
            strides,
        };
        self.apply(op, &[x])
    }

    /// `mx.expand_dims`.
    ///
    /// # Errors
    /// When the axes are not the result's.
    pub fn expand_dims(&mut self, x: ValueId, axes: &[usize]) -> Built {
        let axes = axes.to_vec();
        self.apply(Op::ExpandDims { axes }, &[x])
    }

    /// `mx.concatenate`, in the common dtype.
    ///
    /// # Errors
    /// When shapes or dtypes do not meet.
    pub fn concatenate(&mut self, parts: &[ValueId], axis: usize) -> Built {
        let mut common: Option<DType> = None;
        for &part in parts {
            let dtype = self.dtype(part);
            common = match common {
                None => Some(dtype),
                Some(other) => other.promote(dtype),
            };
        }
        let mut promoted = Vec::with_capacity(parts.len());
        for &part in parts {
            let dtype = common.unwrap_or(self.dtype(part));
            promoted.push(self.astype(part, dtype)?);
        }
        self.apply(Op::Concatenate { axis }, &promoted)
    }

    /// `mx.matmul` of two operands of equal rank: promotion, leading axes broadcast, the product.
    ///
    /// # Errors
    /// When shapes or dtypes do not meet.
    pub fn matmul(&mut self, a: ValueId, b: ValueId) -> Built {
        let (shape_a, shape_b) = (self.shape(a).clone(), self.shape(b).clone());
        let mismatch = || GraphError::Shape {
            op: "Matmul",
            shapes: format!("{shape_a} and {shape_b}"),
            reason: "the leading axes do not broadcast".into(),
        };
        let dtype = self.dtype(a).promote(self.dtype(b)).unwrap_or(DType::F32);
        let mut operands = [self.astype(a, dtype)?, self.astype(b, dtype)?];
        let lead = |shape: &Shape| shape.rank().checked_sub(2);
        let (Some(lead_a), Some(lead_b)) = (lead(&shape_a), lead(&shape_b)) else {
            return self.apply(Op::Matmul, &operands);
        };
        let batch = Shape::from(&shape_a.dims()[..lead_a])
            .broadcast(&Shape::from(&shape_b.dims()[..lead_b]))
            .ok_or_else(mismatch)?;
        for (value, (shape, lead)) in operands
            .iter_mut()
            .zip([(&shape_a, lead_a), (&shape_b, lead_b)])
        {
            let full = [batch.dims(), &shape.dims()[lead..]].concat();
            *value = self.broadcast_to(*value, &full.into())?;
        }
        self.apply(Op::Matmul, &operands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_between_dtypes_and_shapes_is_promoted_and_broadcast() {
        let mut b = Builder::new();
        let condition = b.input("c", [2, 3, 1], DType::Bool);
        let padding = b.input("p", [1, 1, 4], DType::BF16);
        let x = b.input("x", [2, 3, 4], DType::F32);
        let chosen = b.select(condition, padding, x).unwrap();
        assert_eq!(b.dtype(chosen), DType::F32);
        let names: Vec<_> = b.finish().nodes().map(|(_, n)| n.op.name()).collect();
        assert_eq!(names[3..], ["AsType", "Broadcast", "Broadcast", "Select"]);
    }

    #[test]
    fn a_product_broadcasts_leading_axes_only() {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3, 5, 4], DType::BF16);
        let y = b.input("y", [3, 4, 6], DType::BF16);
        let product = b.matmul(x, y).unwrap();
        assert_eq!(*b.shape(product), [2, 3, 5, 6].into());
        let z = b.input("z", [7, 4, 6], DType::BF16);
        let error = b.matmul(x, z).unwrap_err().to_string();
        assert!(error.contains("do not broadcast"), "{error}");
    }

    #[test]
    fn a_slice_names_every_axis() {
        let mut b = Builder::new();
        let x = b.input("x", [2, 9, 4], DType::F32);
        let every = b.slice(x, 1, 0..9, 4).unwrap();
        assert_eq!(*b.shape(every), [2, 3, 4].into());
        assert!(b.slice(x, 1, 0..10, 1).is_err());
        assert!(b.slice(x, 3, 0..1, 1).is_err());
    }
}
