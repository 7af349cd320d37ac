//! Whether operands and result fit an operation.

use stages::{DType, Shape};

use super::{Fault, kernel};
use crate::program::{Combine, Elem, IndexMap, Op, ValueInfo};

/// Checks an operation on operands of these kinds for a result of that kind.
pub(super) fn check(op: &Op, operands: &[&ValueInfo], result: &ValueInfo) -> Result<(), Fault> {
    if let Op::Map { kernel, maps } = op {
        return check_map(kernel, maps, operands, result);
    }
    if matches!(
        op,
        Op::Dot { .. }
            | Op::RoundedDot { .. }
            | Op::PackedRoundedDot { .. }
            | Op::PackedDot { .. }
            | Op::DirectConvolution { .. }
            | Op::Reduce { .. }
            | Op::PrefixScan { .. }
    ) {
        let given = computed_in(op, operands);
        let all = operands.iter().enumerate();
        for (operand, info) in all {
            expect(operand, info, given)?;
        }
        if result.elem != given {
            return Err(Fault::Result {
                declared: result.elem,
                given,
            });
        }
    }
    if op.is_movement() {
        let given = operands.first().ok_or(Fault::Operands)?.elem;
        if result.elem != given {
            return Err(Fault::Result {
                declared: result.elem,
                given,
            });
        }
    }
    let given = match (op, operands) {
        (Op::Fill { bits }, []) => return element(*bits, result),
        (Op::Reduce { axes, combine }, [x]) => reduced(axes, *combine, &x.shape)?,
        (
            Op::PrefixScan {
                axis, round_each, ..
            },
            [x],
        ) => {
            axis_of("the axis", *axis, x)?;
            round_each_of(*round_each)?;
            x.shape.dims().to_vec()
        }
        (Op::Dot { .. }, [lhs, rhs]) => dot(&lhs.shape, &rhs.shape)?,
        (Op::RoundedDot { grid }, [lhs, rhs]) => {
            round_each_of(Some(*grid))?;
            dot(&lhs.shape, &rhs.shape)?
        }
        (Op::PackedRoundedDot { grid }, [lhs, rhs]) => {
            round_each_of(Some(*grid))?;
            packed_rounded_dot(&lhs.shape, &rhs.shape)?
        }
        (Op::PackedDot { .. }, [lhs, rhs]) => packed_dot(&lhs.shape, &rhs.shape)?,
        (
            Op::DirectConvolution {
                strides, dilation, ..
            },
            [x, w],
        ) => direct_convolution(strides, dilation, &x.shape, &w.shape)?,
        (
            Op::Patches {
                kernel,
                strides,
                dilation,
            },
            [x],
        ) => patches(kernel, strides, dilation, &x.shape)?,
        (Op::Reshape, [x]) => {
            if x.shape.elements() != result.shape.elements() {
                return Err(Fault::Shape {
                    declared: result.shape.clone(),
                    given: x.shape.clone(),
                });
            }
            return Ok(());
        }
        (Op::Transpose { axes }, [x]) => transposed(axes, &x.shape)?,
        (
            Op::Slice {
                start,
                stop,
                strides,
            },
            [x],
        ) => sliced(start, stop, strides, &x.shape)?,
        (Op::Pad { low, high, bits }, [x]) => {
            element(*bits, result)?;
            padded(low, high, &x.shape)?
        }
        (Op::Concatenate { axis }, [_, ..]) => concatenated(*axis, operands)?,
        (Op::Broadcast { map }, [x]) => return index_map(0, map, &x.shape, &result.shape),
        (Op::Gather { axis }, [x, indices]) => gathered(*axis, x, indices)?,
        (Op::Barrier, [x]) => x.shape.dims().to_vec(),
        _ => return Err(Fault::Operands),
    };
    if given != result.shape.dims() {
        return Err(Fault::Shape {
            declared: result.shape.clone(),
            given: given.into(),
        });
    }
    Ok(())
}

/// What an operation that adds or combines works in: I32 for the sum of such, else F32.
fn computed_in(op: &Op, operands: &[&ValueInfo]) -> Elem {
    let exact = matches!(
        op,
        Op::Reduce {
            combine: Combine::Sum {
                round_each: None,
                ..
            },
            ..
        }
    );
    match operands {
        [x] if exact && x.elem == Elem::I32 => Elem::I32,
        _ => Elem::F32,
    }
}

fn expect(operand: usize, info: &ValueInfo, elem: Elem) -> Result<(), Fault> {
    if info.elem == elem {
        return Ok(());
    }
    Err(Fault::Operand {
        operand,
        actual: info.elem,
    })
}

fn axis_of(what: &'static str, axis: usize, info: &ValueInfo) -> Result<(), Fault> {
    let rank = info.shape.rank();
    if axis < rank {
        Ok(())
    } else {
        Err(Fault::Axes { what, rank })
    }
}

fn axes_of(what: &'static str, entries: usize, shape: &Shape) -> Result<(), Fault> {
    let rank = shape.rank();
    if entries == rank {
        Ok(())
    } else {
        Err(Fault::Axes { what, rank })
    }
}

fn check_map(
    kernel: &crate::kernel::Kernel,
    maps: &[IndexMap],
    operands: &[&ValueInfo],
    result: &ValueInfo,
) -> Result<(), Fault> {
    if maps.len() != operands.len() {
        return Err(Fault::Operands);
    }
    for (operand, (info, map)) in operands.iter().zip(maps).enumerate() {
        index_map(operand, map, &info.shape, &result.shape)?;
    }
    let elems: Vec<Elem> = operands.iter().map(|info| info.elem).collect();
    let given = kernel::kernel(kernel, &elems, result.shape.rank())?;
    if given == result.elem {
        return Ok(());
    }
    Err(Fault::Result {
        declared: result.elem,
        given,
    })
}

fn index_map(operand: usize, map: &IndexMap, from: &Shape, to: &Shape) -> Result<(), Fault> {
    if map.0.len() != from.rank() {
        return Err(Fault::MapRank { operand });
    }
    for (axis, follows) in map.0.iter().enumerate() {
        let extent = match follows {
            Some(result) => to.dims().get(*result).copied(),
            None => Some(1),
        };
        if extent != Some(from[axis]) {
            return Err(Fault::Map { operand, axis });
        }
    }
    Ok(())
}

/// Whether these bits are an element of the value's storage and on its grid.
fn element(bits: u32, info: &ValueInfo) -> Result<(), Fault> {
    let fits = match (info.elem, info.grid) {
        (Elem::F32 | Elem::Bf16, grid) => on_grid(bits, grid),
        (Elem::I32, _) => true,
        (Elem::Bool, _) => bits <= 1,
    };
    if fits {
        Ok(())
    } else {
        Err(Fault::Element(bits))
    }
}

/// Whether an F32 of these bits lies on a grid.
pub(crate) fn on_grid(bits: u32, grid: DType) -> bool {
    match grid {
        DType::BF16 => bits & 0xFFFF == 0,
        DType::F16 => {
            let x = f32::from_bits(bits);
            x.is_nan() || half::f16::from_f32(x).to_f32().to_bits() == bits
        }
        _ => true,
    }
}

fn round_each_of(grid: Option<DType>) -> Result<(), Fault> {
    match grid {
        None | Some(DType::F32 | DType::BF16) => Ok(()),
        Some(other) => Err(Fault::RoundEach(other)),
    }
}

fn reduced(axes: &[usize], combine: Combine, shape: &Shape) -> Result<Vec<usize>, Fault> {
    if !axes.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Fault::Order);
    }
    let rank = shape.rank();
    if axes.iter().any(|&axis| axis >= rank) {
        let what = "a reduced axis";
        return Err(Fault::Axes { what, rank });
    }
    if let Combine::Sum { round_each, .. } = combine {
        round_each_of(round_each)?;
    }
    let kept = (0..rank).filter(|axis| !axes.contains(axis));
    Ok(kept.map(|axis| shape[axis]).collect())
}

fn dot(lhs: &Shape, rhs: &Shape) -> Result<Vec<usize>, Fault> {
    let rank = lhs.rank();
    let misfit = |operand, shape: &Shape| Fault::Fit {
        operand,
        shape: shape.clone(),
    };
    if rank < 2 {
        return Err(misfit(0, lhs));
    }
    let batch = rank - 2;
    let fits = rhs.rank() == rank
        && rhs.dims()[..batch] == lhs.dims()[..batch]
        && rhs[rank - 1] == lhs[rank - 1];
    if !fits {
        return Err(misfit(1, rhs));
    }
    let mut dims = lhs.dims().to_vec();
    dims[rank - 1] = rhs[batch];
    Ok(dims)
}

fn packed_dot(lhs: &Shape, rhs: &Shape) -> Result<Vec<usize>, Fault> {
    for (operand, shape) in [lhs, rhs].into_iter().enumerate() {
        if shape.rank() != 4 || shape[3] != 1 || shape[1] != lhs[1] || shape[2] == 0 {
            let shape = shape.clone();
            return Err(Fault::Fit { operand, shape });
        }
    }
    Ok(vec![lhs[0], rhs[0], lhs[2], rhs[2]])
}

fn packed_rounded_dot(lhs: &Shape, rhs: &Shape) -> Result<Vec<usize>, Fault> {
    let misfit = |operand, shape: &Shape| Fault::Fit {
        operand,
        shape: shape.clone(),
    };
    let &[m, k] = lhs.dims() else {
        return Err(misfit(0, lhs));
    };
    match *rhs.dims() {
        [tiles, inner, t] if inner == k && t > 0 => Ok(vec![m, tiles, t]),
        _ => Err(misfit(1, rhs)),
    }
}

/// `[B, spatial'.., kernel.., C]`.
fn patches(
    kernel: &[usize],
    strides: &[usize],
    dilation: &[usize],
    shape: &Shape,
) -> Result<Vec<usize>, Fault> {
    let misfit = || Fault::Fit {
        operand: 0,
        shape: shape.clone(),
    };
    let spatial = kernel.len();
    let named = strides.len() == spatial && dilation.len() == spatial;
    let positive = [kernel, strides, dilation].concat().iter().all(|&n| n > 0);
    if spatial == 0 || shape.rank() != spatial + 2 || !named || !positive {
        return Err(misfit());
    }
    let mut dims = vec![shape[0]];
    for axis in 0..spatial {
        let reach = (kernel[axis] - 1).checked_mul(dilation[axis]);
        let room = reach.and_then(|reach| shape[axis + 1].checked_sub(reach + 1));
        dims.push(room.ok_or_else(misfit)? / strides[axis] + 1);
    }
    dims.extend(kernel);
    dims.push(shape[spatial + 1]);
    Ok(dims)
}

fn direct_convolution(
    strides: &[usize],
    dilation: &[usize],
    x: &Shape,
    w: &Shape,
) -> Result<Vec<usize>, Fault> {
    let misfit = Fault::Fit {
        operand: 1,
        shape: w.clone(),
    };
    if x.rank() != 4 || w.rank() != 4 || w[2] != x[3] {
        return Err(misfit);
    }
    let seen = patches(&w.dims()[..2], strides, dilation, x)?;
    Ok(vec![seen[0], seen[1], seen[2], w[3]])
}

fn transposed(axes: &[usize], shape: &Shape) -> Result<Vec<usize>, Fault> {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..shape.rank()) {
        let (what, rank) = ("the permutation", shape.rank());
        return Err(Fault::Axes { what, rank });
    }
    Ok(axes.iter().map(|&axis| shape[axis]).collect())
}

fn sliced(
    start: &[usize],
    stop: &[usize],
    strides: &[usize],
    shape: &Shape,
) -> Result<Vec<usize>, Fault> {
    axes_of("start", start.len(), shape)?;
    axes_of("stop", stop.len(), shape)?;
    axes_of("strides", strides.len(), shape)?;
    let extent = |axis: usize| {
        let (start, stop, stride, extent) = (start[axis], stop[axis], strides[axis], shape[axis]);
        if start <= stop && stop <= extent && stride > 0 {
            return Ok((stop - start).div_ceil(stride));
        }
        Err(Fault::Slice {
            axis,
            start,
            stop,
            stride,
            extent,
        })
    };
    (0..shape.rank()).map(extent).collect()
}

fn padded(low: &[usize], high: &[usize], shape: &Shape) -> Result<Vec<usize>, Fault> {
    axes_of("low", low.len(), shape)?;
    axes_of("high", high.len(), shape)?;
    let extent = |axis: usize| low[axis].checked_add(shape[axis])?.checked_add(high[axis]);
    (0..shape.rank())
        .map(|axis| extent(axis).ok_or(Fault::Large))
        .collect()
}

fn concatenated(axis: usize, operands: &[&ValueInfo]) -> Result<Vec<usize>, Fault> {
    axis_of("the axis", axis, operands[0])?;
    let mut dims = operands[0].shape.dims().to_vec();
    for (operand, info) in operands.iter().enumerate().skip(1) {
        expect(operand, info, operands[0].elem)?;
        let fits = info.shape.rank() == dims.len()
            && (0..dims.len()).all(|a| a == axis || info.shape[a] == dims[a]);
        if !fits {
            let shape = info.shape.clone();
            return Err(Fault::Fit { operand, shape });
        }
        dims[axis] = dims[axis]
            .checked_add(info.shape[axis])
            .ok_or(Fault::Large)?;
    }
    Ok(dims)
}

fn gathered(axis: usize, x: &ValueInfo, indices: &ValueInfo) -> Result<Vec<usize>, Fault> {
    axis_of("the axis", axis, x)?;
    expect(1, indices, Elem::I32)?;
    let (from, at) = (&x.shape, &indices.shape);
    let fits = at.rank() == from.rank() && (0..from.rank()).all(|a| a == axis || at[a] == from[a]);
    if !fits {
        let shape = at.clone();
        return Err(Fault::Fit { operand: 1, shape });
    }
    if from[axis] == 0 && at.elements() > 0 {
        return Err(Fault::Empty);
    }
    Ok(at.dims().to_vec())
}
