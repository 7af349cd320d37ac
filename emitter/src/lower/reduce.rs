//! `Reduce`: the order in which MLX's CPU backend combines elements.

use stages::{
    DType, Shape,
    graph::{ReduceKind, View},
};

use super::{LowerError, call::Call, memory};
use crate::program::{Combine, Order, Value};

/// The order of one reduction: `inner` axes first, each from the start value, then their results
/// along `outer`; within both lexicographic, the last axis fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    outer: Vec<usize>,
    inner: Vec<usize>,
}

/// The plan for axes of a view (MLX 0.32.2, `get_reduction_plan` and `reduction_op`, CPU), or
/// `None` where the view does not say enough. Axes of extent 1 take no part.
///
/// Axes that follow one another in memory become one run. If the innermost run is contiguous, it
/// is combined on its own for each index of the other runs; else there is one pass over all.
pub(super) fn plan(shape: &Shape, view: &View, axes: &[usize]) -> Option<Plan> {
    let long: Vec<usize> = axes.iter().copied().filter(|&a| shape[a] != 1).collect();
    let one_pass = |inner: Vec<usize>| {
        Some(Plan {
            outer: Vec::new(),
            inner,
        })
    };
    // One run is one pass, whatever its stride.
    if long.len() <= 1 {
        return one_pass(long);
    }
    let strides = memory::strides(shape, view)?;
    let mut by_stride = long.clone();
    by_stride.sort_by_key(|&axis| std::cmp::Reverse(strides[axis]));
    // Everything, in the order it lies in memory.
    if axes.len() == shape.rank() {
        return one_pass(by_stride);
    }
    let runs = if memory::is_row_major(shape, view) {
        // An axis joins the run before it only if the axis before it is in it, an axis of
        // extent 1 included, which begins a run of its own.
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for (i, &axis) in axes.iter().enumerate() {
            let follows = i > 0 && axes[i - 1] + 1 == axis && shape[axis] > 1;
            match runs.last_mut() {
                Some(run) if follows => run.push(axis),
                _ => runs.push(vec![axis]),
            }
        }
        for run in &mut runs {
            run.retain(|&axis| shape[axis] != 1);
        }
        runs.retain(|run| !run.is_empty());
        runs
    } else {
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for &axis in &by_stride {
            let previous = runs.last_mut().and_then(|run| Some((*run.last()?, run)));
            match previous {
                Some((last, run)) if strides[last] == shape[axis] * strides[axis] => run.push(axis),
                _ => runs.push(vec![axis]),
            }
        }
        runs
    };
    let innermost = runs.last()?;
    let contiguous = innermost.last().is_some_and(|&axis| strides[axis] == 1);
    if runs.len() == 1 || !contiguous {
        return one_pass(runs.concat());
    }
    let (inner, outer) = runs.split_last()?;
    Some(Plan {
        outer: outer.concat(),
        inner: inner.clone(),
    })
}

/// Sums round after every addition of BF16 values; those of I32, `Max` and `Min` are exact.
pub(super) fn lower(
    call: &mut Call<'_, '_>,
    kind: ReduceKind,
    axes: &[usize],
) -> Result<Value, LowerError> {
    let operand = call.kind(0)?;
    let dtype = operand.dtype;
    let stated = match kind {
        ReduceKind::Sum => matches!(dtype, DType::F32 | DType::BF16 | DType::I32),
        ReduceKind::Max | ReduceKind::Min => matches!(dtype, DType::F32 | DType::BF16),
    };
    if !stated {
        return Err(call.unsupported(format!("reductions of {dtype} are not stated")));
    }
    let input = call.value(0)?;
    let result = call.result.shape.clone();
    if axes.iter().all(|&axis| operand.shape[axis] == 1) {
        // MLX adds no primitive for these.
        return Ok(call.reshape(input, result));
    }
    let value = match kind {
        ReduceKind::Max => call.reduce(input, axes.to_vec(), Combine::Max, dtype)?,
        ReduceKind::Min => call.reduce(input, axes.to_vec(), Combine::Min, dtype)?,
        ReduceKind::Sum if dtype == DType::I32 => {
            let combine = Combine::Sum {
                order: Order::Sequential,
                round_each: None,
            };
            call.reduce(input, axes.to_vec(), combine, dtype)?
        }
        ReduceKind::Sum if call.forms.native() => {
            let sum = call.sum(input, axes.to_vec(), dtype)?;
            call.rounded(sum)?
        }
        ReduceKind::Sum => {
            let Some(plan) = plan(&operand.shape, &operand.view, axes) else {
                return Err(call.unsupported(format!(
                    "the order of a sum over axes {axes:?} of a strided view is not known"
                )));
            };
            sum(call, input, &plan)?
        }
    };
    Ok(call.reshape(value, result))
}

/// A sum in the plan's order. Axes of extent 1 may stay; the caller reshapes.
fn sum(call: &mut Call<'_, '_>, input: Value, plan: &Plan) -> Result<Value, LowerError> {
    let dtype = call.result.dtype;
    let rank = call.dims(input).len();
    let order: Vec<usize> = plan.outer.iter().chain(&plan.inner).copied().collect();
    if order.is_sorted() {
        let partial = call.sum(input, plan.inner.clone(), dtype)?;
        if plan.outer.is_empty() {
            return Ok(partial);
        }
        let renumbered = plan
            .outer
            .iter()
            .map(|&axis| axis - plan.inner.iter().filter(|&&inner| inner < axis).count())
            .collect();
        return call.sum(partial, renumbered, dtype);
    }
    let kept: Vec<usize> = (0..rank).filter(|axis| !order.contains(axis)).collect();
    let (kept_len, outer_len) = (kept.len(), plan.outer.len());
    let moved = call.transpose(input, [kept, order].concat());
    let inner = (kept_len + outer_len..rank).collect();
    let partial = call.sum(moved, inner, dtype)?;
    if outer_len == 0 {
        return Ok(partial);
    }
    call.sum(partial, (kept_len..kept_len + outer_len).collect(), dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(shape: &[usize], view: &View, axes: &[usize]) -> Option<(Vec<usize>, Vec<usize>)> {
        plan(&Shape::from(shape), view, axes).map(|plan| (plan.outer, plan.inner))
    }

    #[test]
    fn adjacent_axes_are_one_run_and_others_are_summed_in_two_levels() {
        let shape = [2, 3, 4, 5];
        let of = |axes: &[usize]| plan_of(&shape, &View::Contiguous, axes).unwrap();
        assert_eq!(of(&[3]), (vec![], vec![3]));
        assert_eq!(of(&[2, 3]), (vec![], vec![2, 3]));
        assert_eq!(of(&[1, 2]), (vec![], vec![1, 2]));
        assert_eq!(of(&[0, 1, 2, 3]), (vec![], vec![0, 1, 2, 3]));
        assert_eq!(of(&[1, 3]), (vec![1], vec![3]));
        assert_eq!(of(&[0, 2, 3]), (vec![0], vec![2, 3]));
        assert_eq!(of(&[0, 2]), (vec![], vec![0, 2]));
    }

    #[test]
    fn an_axis_of_extent_one_between_two_axes_splits_their_run() {
        let of = |axes: &[usize]| plan_of(&[2, 5, 1, 7], &View::Contiguous, axes).unwrap();
        assert_eq!(of(&[1, 2, 3]), (vec![1], vec![3]));
        assert_eq!(of(&[2, 3]), (vec![], vec![3]));
        assert_eq!(of(&[1, 3]), (vec![1], vec![3]));
    }

    #[test]
    fn a_transposed_view_is_summed_in_the_order_of_its_memory() {
        let view = View::Permuted(vec![1, 0]);
        assert_eq!(plan_of(&[3, 4], &view, &[1]), Some((vec![], vec![1])));
        assert_eq!(plan_of(&[3, 4], &view, &[0, 1]), Some((vec![], vec![1, 0])));
        // Memory order: axis 0, axis 2, axis 1.
        let view = View::Permuted(vec![0, 2, 1]);
        assert_eq!(
            plan_of(&[2, 3, 4], &view, &[1, 2]),
            Some((vec![], vec![2, 1]))
        );
        assert_eq!(
            plan_of(&[2, 3, 4], &view, &[0, 1]),
            Some((vec![0], vec![1]))
        );
        assert_eq!(
            plan_of(&[2, 3, 4], &view, &[0, 2]),
            Some((vec![], vec![0, 2]))
        );
    }

    #[test]
    fn a_strided_view_fixes_the_order_along_one_axis_only() {
        assert_eq!(
            plan_of(&[3, 4], &View::Strided, &[1]),
            Some((vec![], vec![1]))
        );
        assert_eq!(plan_of(&[3, 4], &View::Strided, &[0, 1]), None);
    }
}
