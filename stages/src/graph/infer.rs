//! Shape, dtype and view of what a primitive gives, or why it cannot be applied.

use super::{Op, ReduceKind, ValueInfo, View};
use crate::{DType, Shape};

/// The most elements of a value: MLX counts many of them in 32 bits.
pub const MAX_ELEMENTS: usize = 1 << 31;

/// Why a primitive cannot be applied to its operands.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// Wrong number of operands.
    #[error("apply {op}: it takes {expected} operands, not {actual}")]
    Arity {
        /// The primitive.
        op: &'static str,
        /// Operands it takes.
        expected: usize,
        /// Operands given.
        actual: usize,
    },
    /// Shapes that do not fit.
    #[error("apply {op} to {shapes}: {reason}")]
    Shape {
        /// The primitive.
        op: &'static str,
        /// The operands' shapes.
        shapes: String,
        /// What does not fit.
        reason: String,
    },
    /// Dtypes that do not fit.
    #[error("apply {op} to {dtypes}: {reason}")]
    DType {
        /// The primitive.
        op: &'static str,
        /// The operands' dtypes.
        dtypes: String,
        /// What does not fit.
        reason: String,
    },
    /// A result beyond what any side computes.
    #[error("apply {op}: its result {shape} has more than {MAX_ELEMENTS} elements")]
    TooLarge {
        /// The primitive.
        op: &'static str,
        /// The result's shape.
        shape: Shape,
    },
    /// Two boundaries of one name.
    #[error("register boundary {0}: a boundary of that name exists")]
    DuplicateBoundary(super::BoundaryId),
}

struct Apply<'a> {
    op: &'a Op,
    inputs: &'a [&'a ValueInfo],
}

impl Apply<'_> {
    fn shape_error(&self, reason: impl Into<String>) -> GraphError {
        let shapes: Vec<_> = self.inputs.iter().map(|i| i.shape.to_string()).collect();
        GraphError::Shape {
            op: self.op.name(),
            shapes: shapes.join(" and "),
            reason: reason.into(),
        }
    }

    fn dtype_error(&self, reason: impl Into<String>) -> GraphError {
        let dtypes: Vec<_> = self.inputs.iter().map(|i| i.dtype.to_string()).collect();
        GraphError::DType {
            op: self.op.name(),
            dtypes: dtypes.join(" and "),
            reason: reason.into(),
        }
    }

    fn require(&self, holds: bool, reason: &str) -> Result<(), GraphError> {
        if holds {
            Ok(())
        } else {
            Err(self.shape_error(reason))
        }
    }

    fn require_float(&self, input: usize) -> Result<(), GraphError> {
        if self.inputs[input].dtype.is_float() {
            Ok(())
        } else {
            Err(self.dtype_error("it takes floating-point values"))
        }
    }

    fn require_bool(&self, input: usize) -> Result<(), GraphError> {
        if self.inputs[input].dtype == DType::Bool {
            Ok(())
        } else {
            Err(self.dtype_error("it takes BOOL"))
        }
    }

    fn require_words(&self, input: usize) -> Result<(), GraphError> {
        if self.inputs[input].dtype == DType::U32 {
            Ok(())
        } else {
            Err(self.dtype_error("it takes U32"))
        }
    }

    fn require_same(&self, a: usize, b: usize) -> Result<(), GraphError> {
        self.require(
            self.inputs[a].shape == self.inputs[b].shape,
            "shapes must be equal",
        )?;
        if self.inputs[a].dtype != self.inputs[b].dtype {
            return Err(self.dtype_error("dtypes must be equal"));
        }
        Ok(())
    }

    fn axis(&self, axis: usize, rank: usize) -> Result<(), GraphError> {
        self.require(
            axis < rank,
            &format!("axis {axis} is not below rank {rank}"),
        )
    }

    /// Axes strictly ascending and below `rank`.
    fn axes(&self, axes: &[usize], rank: usize) -> Result<(), GraphError> {
        axes.iter().try_for_each(|&axis| self.axis(axis, rank))?;
        self.require(axes.windows(2).all(|w| w[0] < w[1]), "axes must ascend")
    }

    fn elementwise_view(&self) -> View {
        let views: Vec<&View> = self.inputs.iter().map(|i| &i.view).collect();
        View::elementwise(&self.inputs[0].shape, &views)
    }
}

const fn arity(op: &Op) -> Option<usize> {
    Some(match op {
        Op::Input { .. } | Op::Weight { .. } | Op::Constant { .. } | Op::Arange { .. } => 0,
        Op::Add
        | Op::Subtract
        | Op::Multiply
        | Op::Divide
        | Op::Maximum
        | Op::Minimum
        | Op::Power
        | Op::LogAddExp
        | Op::GreaterEqual
        | Op::LogicalAnd
        | Op::BitwiseBinary { .. }
        | Op::Matmul
        | Op::Convolution { .. }
        | Op::Pad { .. }
        | Op::GatherAxis { .. } => 2,
        Op::Select | Op::AddMM { .. } => 3,
        Op::QuantizedMatmul { .. } => 4,
        Op::Concatenate { .. } => return None,
        _ => 1,
    })
}

/// Shape, dtype and view of `op` applied to operands of these kinds. Sources (`Input`, `Weight`,
/// `Constant`, `Arange`) have none to infer from: their kind is declared where they are made.
///
/// # Errors
/// When the operands do not fit the primitive, or its result has more than [`MAX_ELEMENTS`].
pub fn infer(op: &Op, inputs: &[&ValueInfo]) -> Result<ValueInfo, GraphError> {
    let info = unbounded(op, inputs)?;
    match info.shape.checked_elements() {
        Some(..=MAX_ELEMENTS) => Ok(info),
        _ => Err(GraphError::TooLarge {
            op: op.name(),
            shape: info.shape,
        }),
    }
}

fn unbounded(op: &Op, inputs: &[&ValueInfo]) -> Result<ValueInfo, GraphError> {
    let apply = Apply { op, inputs };
    let (expected, actual) = (arity(op).unwrap_or(inputs.len().max(1)), inputs.len());
    if expected != actual {
        return Err(GraphError::Arity {
            op: op.name(),
            expected,
            actual,
        });
    }
    let of = |shape: Shape, dtype: DType, view: View| Ok(ValueInfo { shape, dtype, view });
    match op {
        Op::Input { .. } | Op::Weight { .. } | Op::Constant { .. } | Op::Arange { .. } => {
            Err(apply.shape_error("a source is declared, not inferred"))
        }
        Op::Full { shape } => {
            apply.require(inputs[0].shape.rank() == 0, "it takes a scalar")?;
            of(shape.clone(), inputs[0].dtype, View::Contiguous)
        }
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Power | Op::LogAddExp => {
            apply.require_float(0)?;
            apply.require_same(0, 1)?;
            of(
                inputs[0].shape.clone(),
                inputs[0].dtype,
                apply.elementwise_view(),
            )
        }
        Op::Maximum | Op::Minimum => {
            apply.require_same(0, 1)?;
            of(
                inputs[0].shape.clone(),
                inputs[0].dtype,
                apply.elementwise_view(),
            )
        }
        Op::GreaterEqual => {
            apply.require_same(0, 1)?;
            of(
                inputs[0].shape.clone(),
                DType::Bool,
                apply.elementwise_view(),
            )
        }
        Op::LogicalAnd => {
            apply.require_bool(0)?;
            apply.require_same(0, 1)?;
            of(
                inputs[0].shape.clone(),
                DType::Bool,
                apply.elementwise_view(),
            )
        }
        Op::BitwiseBinary { .. } => {
            apply.require_words(0)?;
            apply.require_same(0, 1)?;
            of(
                inputs[0].shape.clone(),
                DType::U32,
                apply.elementwise_view(),
            )
        }
        Op::LogicalNot => {
            apply.require_bool(0)?;
            of(
                inputs[0].shape.clone(),
                DType::Bool,
                apply.elementwise_view(),
            )
        }
        Op::Negative
        | Op::Square
        | Op::Sqrt { .. }
        | Op::Sigmoid
        | Op::Tanh
        | Op::Exp
        | Op::Log
        | Op::Sin
        | Op::Cos => {
            apply.require_float(0)?;
            of(
                inputs[0].shape.clone(),
                inputs[0].dtype,
                apply.elementwise_view(),
            )
        }
        Op::AsType { dtype } => of(inputs[0].shape.clone(), *dtype, apply.elementwise_view()),
        Op::Select => {
            apply.require_bool(0)?;
            apply.require(inputs[0].shape == inputs[1].shape, "shapes must be equal")?;
            apply.require_same(1, 2)?;
            of(
                inputs[1].shape.clone(),
                inputs[1].dtype,
                apply.elementwise_view(),
            )
        }
        Op::Reduce { kind, axes } => {
            apply.axes(axes, inputs[0].shape.rank())?;
            if *kind == ReduceKind::Sum && inputs[0].dtype != DType::I32 {
                apply.require_float(0)?;
            }
            let mut dims = inputs[0].shape.dims().to_vec();
            for &axis in axes {
                apply.require(dims[axis] > 0, "a reduced axis must not be empty")?;
                dims[axis] = 1;
            }
            of(dims.into(), inputs[0].dtype, View::Contiguous)
        }
        Op::Scan { axis, .. } => {
            apply.require_float(0)?;
            apply.axis(*axis, inputs[0].shape.rank())?;
            of(inputs[0].shape.clone(), inputs[0].dtype, View::Contiguous)
        }
        Op::Softmax { .. } => {
            apply.require_float(0)?;
            apply.require(inputs[0].shape.rank() > 0, "it takes at least one axis")?;
            let view = inputs[0].view.of_row_results(&inputs[0].shape);
            of(inputs[0].shape.clone(), inputs[0].dtype, view)
        }

        Op::Matmul => matmul(&apply, 0, 1),
        Op::AddMM { .. } => {
            let product = matmul(&apply, 1, 2)?;
            apply.require(
                product.shape == inputs[0].shape,
                "c must have the product's shape",
            )?;
            Ok(product)
        }
        Op::QuantizedMatmul {
            group_size,
            bits,
            transpose,
        } => quantized_matmul(&apply, *group_size, *bits, *transpose),
        Op::Convolution { .. } => convolution(&apply),
        _ => movement(&apply),
    }
}

fn matmul(apply: &Apply<'_>, a: usize, b: usize) -> Result<ValueInfo, GraphError> {
    let (lhs, rhs) = (apply.inputs[a], apply.inputs[b]);
    apply.require_float(a)?;
    if lhs.dtype != rhs.dtype {
        return Err(apply.dtype_error("dtypes must be equal"));
    }
    let (l, r) = (lhs.shape.dims(), rhs.shape.dims());
    apply.require(
        l.len() >= 2 && l.len() == r.len(),
        "ranks must be equal and at least 2",
    )?;
    let batch = l.len() - 2;
    apply.require(l[..batch] == r[..batch], "leading axes must be equal")?;
    apply.require(l[batch + 1] == r[batch], "inner extents must be equal")?;
    let mut dims = l.to_vec();
    dims[batch + 1] = r[batch + 1];
    Ok(ValueInfo {
        shape: dims.into(),
        dtype: lhs.dtype,
        view: View::Contiguous,
    })
}

/// MLX's sizes (`quantized.cpp`, CPU) but for elements that do not fill a word evenly. It divides
/// by the number of x's elements, so there must be some.
fn quantized_matmul(
    apply: &Apply<'_>,
    group_size: usize,
    bits: usize,
    transpose: bool,
) -> Result<ValueInfo, GraphError> {
    let x = apply.inputs[0];
    apply.require_float(0)?;
    apply.require(
        matches!(group_size, 32 | 64 | 128) && matches!(bits, 2 | 4 | 8),
        "groups are of 32, 64 or 128 elements, elements of 2, 4 or 8 bits",
    )?;
    let matrix = [1, 2, 3].map(|i| apply.inputs[i]);
    let shapes = matrix.map(|part| (&part.shape, part.dtype));
    let [rows, columns] = quantized_extents(apply.op.name(), shapes, group_size, bits)?;
    if matrix[1].dtype != x.dtype {
        return Err(apply.dtype_error("x must have the scales' dtype"));
    }
    apply.require(matrix[0].shape.rank() == 2, "words must be a matrix")?;
    let (inner, outer) = if transpose {
        (columns, rows)
    } else {
        (rows, columns)
    };
    apply.require(
        x.shape.dims().last() == Some(&inner),
        &format!("x must have {inner} columns"),
    )?;
    apply.require(x.shape.elements() > 0, "x must not be empty")?;
    let mut dims = x.shape.dims().to_vec();
    if let Some(last) = dims.last_mut() {
        *last = outer;
    }
    Ok(ValueInfo {
        shape: dims.into(),
        dtype: x.dtype,
        view: View::Contiguous,
    })
}

/// The last two extents of the quantised matrix that words, scales and biases are.
pub(super) fn quantized_extents(
    op: &'static str,
    parts: [(&Shape, DType); 3],
    group_size: usize,
    bits: usize,
) -> Result<[usize; 2], GraphError> {
    let [words, scales, biases] = parts;
    let columns = columns(words.0.dims(), scales.0.dims(), group_size, bits);
    let Some(extents) = columns.filter(|_| scales.0 == biases.0) else {
        return Err(GraphError::Shape {
            op,
            shapes: parts.map(|part| part.0.to_string()).join(" and "),
            reason: format!("they are no matrix of {bits} bits in groups of {group_size}"),
        });
    };
    if words.1 != DType::U32 || !scales.1.is_float() || scales.1 != biases.1 {
        return Err(GraphError::DType {
            op,
            dtypes: parts.map(|part| part.1.to_string()).join(" and "),
            reason: "they must be U32 and twice the same float".into(),
        });
    }
    Ok(extents)
}

fn columns(
    words: &[usize],
    scales: &[usize],
    group_size: usize,
    bits: usize,
) -> Option<[usize; 2]> {
    let ([lead @ .., rows, packed], [scaled @ .., of, groups]) = (words, scales) else {
        return None;
    };
    let columns = packed.checked_mul(32usize.checked_div(bits)?)?;
    let fits = 32 % bits == 0
        && group_size > 0
        && lead == scaled
        && rows == of
        && groups.checked_mul(group_size) == Some(columns);
    fits.then_some([*rows, columns])
}

fn convolution(apply: &Apply<'_>) -> Result<ValueInfo, GraphError> {
    let Op::Convolution {
        strides,
        low,
        high,
        kernel_dilation,
        input_dilation,
        groups,
        ..
    } = apply.op
    else {
        return Err(apply.shape_error("not a convolution"));
    };
    let (x, w) = (apply.inputs[0], apply.inputs[1]);
    apply.require_float(0)?;
    if x.dtype != w.dtype {
        return Err(apply.dtype_error("dtypes must be equal"));
    }
    let (x, w) = (x.shape.dims(), w.shape.dims());
    apply.require(
        x.len() >= 3 && x.len() == w.len(),
        "ranks must be equal and at least 3",
    )?;
    let spatial = x.len() - 2;
    let forms = [strides, low, high, kernel_dilation, input_dilation];
    apply.require(
        forms.iter().all(|form| form.len() == spatial),
        "arguments must name every spatial axis",
    )?;
    apply.require(
        strides
            .iter()
            .chain(kernel_dilation)
            .chain(input_dilation)
            .all(|&n| n > 0),
        "strides and dilations must be positive",
    )?;
    apply.require(
        *groups > 0
            && w[0].is_multiple_of(*groups)
            && w[spatial + 1].checked_mul(*groups) == Some(x[spatial + 1]),
        "channels must fit the groups",
    )?;
    let mut dims = vec![x[0]];
    for axis in 0..spatial {
        let dilated = |n: usize, by: usize| n.checked_sub(1).map(|m| m * by + 1);
        let extent = dilated(x[axis + 1], input_dilation[axis])
            .and_then(|n| n.checked_add(low[axis])?.checked_add(high[axis]));
        let kernel = dilated(w[axis + 1], kernel_dilation[axis]);
        match extent.zip(kernel).and_then(|(n, k)| n.checked_sub(k)) {
            Some(room) => dims.push(room / strides[axis] + 1),
            None => return Err(apply.shape_error("the kernel does not fit the input")),
        }
    }
    dims.push(w[0]);
    Ok(ValueInfo {
        shape: dims.into(),
        dtype: apply.inputs[0].dtype,
        view: View::Contiguous,
    })
}

fn movement(apply: &Apply<'_>) -> Result<ValueInfo, GraphError> {
    let x = apply.inputs[0];
    let dims = x.shape.dims();
    let rank = dims.len();
    let of = |dims: Vec<usize>, view: View| {
        Ok(ValueInfo {
            shape: dims.into(),
            dtype: x.dtype,
            view,
        })
    };
    match apply.op {
        Op::Broadcast { shape } => {
            apply.require(
                x.shape.broadcast(shape).as_ref() == Some(shape),
                &format!("it does not stretch to {shape}"),
            )?;
            of(
                shape.dims().to_vec(),
                if *shape == x.shape {
                    x.view.clone()
                } else {
                    View::Strided
                },
            )
        }
        Op::ExpandDims { axes } => {
            apply.axes(axes, rank + axes.len())?;
            let mut out = dims.to_vec();
            for &axis in axes {
                out.insert(axis, 1);
            }
            of(out, contiguous_or_strided(&x.view))
        }
        Op::Squeeze { axes } => {
            apply.axes(axes, rank)?;
            apply.require(
                axes.iter().all(|&a| dims[a] == 1),
                "squeezed axes must have extent 1",
            )?;
            let keep = |axis: &usize| !axes.contains(axis);
            of(
                (0..rank).filter(keep).map(|a| dims[a]).collect(),
                contiguous_or_strided(&x.view),
            )
        }
        Op::Transpose { axes } => {
            let mut sorted = axes.clone();
            sorted.sort_unstable();
            apply.require(
                sorted.iter().copied().eq(0..rank),
                "axes must be a permutation",
            )?;
            of(
                axes.iter().map(|&a| dims[a]).collect(),
                x.view.transposed(axes),
            )
        }
        Op::Reshape { shape } => {
            apply.require(
                shape.checked_elements() == Some(x.shape.elements()),
                &format!("{shape} has another number of elements"),
            )?;
            of(shape.dims().to_vec(), x.view.reshaped(&x.shape, shape))
        }
        Op::Flatten { start, end } => {
            apply.require(
                start <= end && *end < rank,
                "the axes must be a range of the rank",
            )?;
            let mut out = dims[..*start].to_vec();
            out.push(dims[*start..=*end].iter().product());
            out.extend(&dims[end + 1..]);
            let view = x.view.reshaped(&x.shape, &out.as_slice().into());
            of(out, view)
        }
        Op::Unflatten { axis, shape } => {
            apply.axis(*axis, rank)?;
            apply.require(
                shape.checked_elements() == Some(dims[*axis]),
                "the new extents must multiply to the old",
            )?;
            let mut out = dims[..*axis].to_vec();
            out.extend(shape.dims());
            out.extend(&dims[axis + 1..]);
            let view = x.view.reshaped(&x.shape, &out.as_slice().into());
            of(out, view)
        }
        Op::Slice {
            start,
            stop,
            strides,
        } => {
            apply.require(
                [start, stop, strides].iter().all(|form| form.len() == rank),
                "start, stop and strides must name every axis",
            )?;
            let mut out = Vec::with_capacity(rank);
            for axis in 0..rank {
                apply.require(
                    strides[axis] > 0 && start[axis] <= stop[axis] && stop[axis] <= dims[axis],
                    &format!("the slice leaves axis {axis}"),
                )?;
                out.push((stop[axis] - start[axis]).div_ceil(strides[axis]));
            }
            let view = if out == dims {
                x.view.clone()
            } else {
                View::Strided
            };
            of(out, view)
        }
        Op::Pad { axes, low, high } => {
            apply.axes(axes, rank)?;
            apply.require(
                low.len() == axes.len() && high.len() == axes.len(),
                "low and high must name every padded axis",
            )?;
            apply.require(
                apply.inputs[1].shape.rank() == 0,
                "the filling must be a scalar",
            )?;
            if apply.inputs[1].dtype != x.dtype {
                return Err(apply.dtype_error("dtypes must be equal"));
            }
            let mut out = dims.to_vec();
            for (i, &axis) in axes.iter().enumerate() {
                let padded = out[axis]
                    .checked_add(low[i])
                    .and_then(|n| n.checked_add(high[i]));
                out[axis] = padded.ok_or_else(|| apply.shape_error("the extent overflows"))?;
            }
            of(out, View::Contiguous)
        }
        Op::Concatenate { axis } => {
            apply.axis(*axis, rank)?;
            let mut out = dims.to_vec();
            for other in &apply.inputs[1..] {
                let fits = other.shape.rank() == rank
                    && (0..rank).all(|a| a == *axis || other.shape[a] == dims[a]);
                apply.require(fits, "extents must be equal but along the axis")?;
                if other.dtype != x.dtype {
                    return Err(apply.dtype_error("dtypes must be equal"));
                }
                out[*axis] += other.shape[*axis];
            }
            of(out, View::Contiguous)
        }
        Op::Split {
            indices,
            axis,
            part,
        } => {
            apply.axis(*axis, rank)?;
            let mut cuts = vec![0];
            cuts.extend(indices);
            cuts.push(dims[*axis]);
            apply.require(
                cuts.windows(2).all(|w| w[0] <= w[1]),
                "cuts must ascend within the axis",
            )?;
            apply.require(*part + 1 < cuts.len(), "there are fewer parts")?;
            let mut out = dims.to_vec();
            out[*axis] = cuts[part + 1] - cuts[*part];
            of(out, View::Strided)
        }
        Op::GatherAxis { axis } => {
            apply.axis(*axis, rank)?;
            let indices = apply.inputs[1];
            if !matches!(indices.dtype, DType::I32 | DType::U32) {
                return Err(apply.dtype_error("indices must be integers"));
            }
            let fits = indices.shape.rank() == rank
                && (0..rank).all(|a| a == *axis || indices.shape[a] == dims[a]);
            apply.require(
                fits,
                "indices must have the tensor's extents but along the axis",
            )?;
            of(indices.shape.dims().to_vec(), View::Contiguous)
        }
        _ => Err(apply.shape_error("not a movement")),
    }
}

/// Permuted orders name axes, which these ops renumber; nothing downstream needs the order then.
fn contiguous_or_strided(view: &View) -> View {
    if *view == View::Contiguous {
        View::Contiguous
    } else {
        View::Strided
    }
}
