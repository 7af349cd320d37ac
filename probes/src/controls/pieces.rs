//! What mutations are put together from.

use stages::{
    DType,
    graph::{Builder, GraphError, Op, ReduceKind, ValueId},
};

type Built = Result<ValueId, GraphError>;

/// `x` in the opposite order along an axis.
pub(super) fn reversed(b: &mut Builder, x: ValueId, axis: usize) -> Built {
    let shape = b.shape(x).clone();
    let extent = shape[axis];
    let last = extent.saturating_sub(1) as f64;
    let indices = b.arange(last, -1.0, extent, DType::I32);
    gathered(b, x, axis, indices)
}

/// `x` with the elements of each run of `each` along an axis in the opposite order.
pub(super) fn reversed_in_runs(b: &mut Builder, x: ValueId, axis: usize, each: usize) -> Built {
    let extent = b.shape(x)[axis];
    // run·each + (each − 1) − place, out of the runs' and the places' ranges.
    let starts = b.arange((each - 1) as f64, each as f64, extent / each, DType::F32);
    let starts = b.reshape(starts, [extent / each, 1])?;
    let places = b.arange(0.0, 1.0, each, DType::F32);
    let indices = b.binary(Op::Subtract, starts, places)?;
    let indices = b.reshape(indices, [extent])?;
    let indices = b.astype(indices, DType::I32)?;
    gathered(b, x, axis, indices)
}

/// `x` at these indices along an axis.
fn gathered(b: &mut Builder, x: ValueId, axis: usize, indices: ValueId) -> Built {
    let shape = b.shape(x).clone();
    let extent = shape[axis];
    let mut dims = vec![1; shape.rank()];
    dims[axis] = extent;
    let indices = b.reshape(indices, dims)?;
    let indices = b.broadcast_to(indices, &shape)?;
    b.apply(Op::GatherAxis { axis }, &[x, indices])
}

/// `x` one place later along an axis, zeros (false) in the first.
pub(super) fn late(b: &mut Builder, x: ValueId, axis: usize) -> Built {
    let extent = b.shape(x)[axis];
    let kept = b.slice(x, axis, 0..extent.saturating_sub(1), 1)?;
    b.pad(kept, &[(axis, 1, 0)], 0.0)
}

/// `x` one place earlier along an axis, zeros (false) in the last.
pub(super) fn early(b: &mut Builder, x: ValueId, axis: usize) -> Built {
    let extent = b.shape(x)[axis];
    let kept = b.slice(x, axis, 1..extent, 1)?;
    b.pad(kept, &[(axis, 0, 1)], 0.0)
}

/// `x` with one element, by its row-major position, replaced by the next value towards zero; of
/// BOOL negated, of integers one more.
pub(super) fn flipped(b: &mut Builder, x: ValueId, element: usize) -> Built {
    let (shape, dtype) = (b.shape(x).clone(), b.dtype(x));
    let other = match dtype {
        DType::Bool => b.apply(Op::LogicalNot, &[x])?,
        DType::I32 => {
            let wide = b.astype(x, DType::F32)?;
            let more = b.binary_scalar(Op::Add, wide, 1.0)?;
            b.astype(more, DType::I32)?
        }
        // x − x/2ᵖ lies within half an ULP of the value one ULP below x, and never on a tie.
        DType::BF16 => b.binary_scalar(Op::Multiply, x, 1.0 - 1.0 / 256.0)?,
        _ => b.binary_scalar(Op::Multiply, x, 1.0 - 1.0 / f64::from(1 << 24))?,
    };
    let places = b.arange(0.0, 1.0, shape.elements(), DType::I32);
    let places = b.reshape(places, shape)?;
    let place = b.scalar(element as f64, DType::I32);
    let from = b.binary(Op::GreaterEqual, places, place)?;
    let upto = b.binary(Op::GreaterEqual, place, places)?;
    let there = b.binary(Op::LogicalAnd, from, upto)?;
    b.select(there, other, x)
}

/// A sum whose terms and partial sums are BF16, back in the dtype it had.
pub(super) fn narrow(b: &mut Builder, op: Op, x: ValueId) -> Built {
    let dtype = b.dtype(x);
    let x = b.astype(x, DType::BF16)?;
    let result = b.apply(op, &[x])?;
    b.astype(result, dtype)
}

/// A reduction over one of its axes less, at index 0 of that axis.
pub(super) fn fewer_axes(
    b: &mut Builder,
    kind: ReduceKind,
    axes: &[usize],
    x: ValueId,
    less: usize,
) -> Built {
    let axes = axes.iter().copied().filter(|&axis| axis != less).collect();
    let result = b.apply(Op::Reduce { kind, axes }, &[x])?;
    b.slice(result, less, 0..1, 1)
}

/// A reduction over the axis `other` in the place of `axis`, at index 0 of `axis`.
pub(super) fn other_axis(
    b: &mut Builder,
    kind: ReduceKind,
    axes: &[usize],
    x: ValueId,
    (axis, other): (usize, usize),
) -> Built {
    let mut shape = b.shape(x).dims().to_vec();
    for &axis in axes {
        shape[axis] = 1;
    }
    let mut axes: Vec<usize> = axes
        .iter()
        .map(|&a| if a == axis { other } else { a })
        .collect();
    axes.sort_unstable();
    let result = b.apply(Op::Reduce { kind, axes }, &[x])?;
    let result = b.slice(result, axis, 0..1, 1)?;
    b.broadcast_to(result, &shape.into())
}

/// A contraction in two parts that are added: those of the first and of the second half of the
/// terms. Each part is F32, rounded to BF16 before the addition if `rounded`.
pub(super) fn halves(b: &mut Builder, op: &Op, inputs: &[ValueId], rounded: bool) -> Built {
    let [x, w] = inputs else {
        return Err(no_halves(op));
    };
    let dtype = b.dtype(*x);
    let (x, w) = (b.astype(*x, DType::F32)?, b.astype(*w, DType::F32)?);
    // Where the terms are in the operands: along one axis each.
    let (axes, extent) = match op {
        Op::Matmul => {
            let rank = b.shape(x).rank();
            let k = b.shape(x)[rank - 1];
            ([rank - 1, rank - 2], [k, k])
        }
        Op::Convolution {
            input_dilation,
            kernel_dilation,
            low,
            high,
            ..
        } if [input_dilation, kernel_dilation]
            .into_iter()
            .flatten()
            .all(|&n| n == 1)
            && [low, high].into_iter().flatten().all(|&n| n == 0) =>
        {
            ([1, 1], [b.shape(x)[1], b.shape(w)[1]])
        }
        _ => return Err(no_halves(op)),
    };
    let cut = extent[1] / 2;
    if cut == 0 {
        return Err(no_halves(op));
    }
    let rest = extent[1] - cut;
    // What is left of x's axis where the other half of the terms is not taken.
    let parts = [
        (0..extent[0] - rest, 0..cut),
        (cut..extent[0], cut..extent[1]),
    ];
    let mut sums = Vec::new();
    for (of_x, of_w) in parts {
        let x = b.slice(x, axes[0], of_x, 1)?;
        let w = b.slice(w, axes[1], of_w, 1)?;
        let part = b.apply(op.clone(), &[x, w])?;
        let part = if rounded {
            b.astype(part, DType::BF16)?
        } else {
            part
        };
        sums.push(b.astype(part, DType::F32)?);
    }
    let sum = b.apply(Op::Add, &sums)?;
    b.astype(sum, dtype)
}

fn no_halves(op: &Op) -> GraphError {
    GraphError::Shape {
        op: op.name(),
        shapes: String::new(),
        reason: "it has no two halves".to_owned(),
    }
}

/// A contraction with its terms in the opposite order.
pub(super) fn descending(b: &mut Builder, op: &Op, inputs: &[ValueId]) -> Built {
    let [x, w] = inputs else {
        return Err(no_halves(op));
    };
    let last = b.shape(*x).rank() - 1;
    let axis = match op {
        Op::Matmul => last - 1,
        Op::Convolution { groups: 1, .. } => last,
        _ => return Err(no_halves(op)),
    };
    let x = reversed(b, *x, last)?;
    let w = reversed(b, *w, axis)?;
    b.apply(op.clone(), &[x, w])
}
