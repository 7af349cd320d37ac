//! Primitives that only move elements.

use super::{TruthError, amount::Amount};
use crate::Shape;

/// The position `base + Σ index·stride` for every index of `shape`, row-major.
pub(super) fn positions(shape: &Shape, base: usize, strides: &[usize]) -> Vec<usize> {
    let mut positions = vec![base];
    for (&extent, &stride) in shape.dims().iter().zip(strides) {
        let along = |&p: &usize| (0..extent).map(move |i| p + i * stride);
        positions = positions.iter().flat_map(along).collect();
    }
    positions
}

/// Elements of `x` at these positions.
fn read(x: &Amount, shape: Shape, at: &[usize]) -> Amount {
    Amount {
        values: at.iter().map(|&p| x.values[p]).collect(),
        spread: x
            .spread
            .as_ref()
            .map(|s| at.iter().map(|&p| s[p]).collect()),
        shape,
    }
}

pub(super) fn broadcast(x: &Amount, shape: Shape) -> Amount {
    let lead = shape.rank().saturating_sub(x.shape.rank());
    let own = x.shape.strides();
    let stride = |axis: usize| match axis.checked_sub(lead) {
        Some(a) if x.shape[a] != 1 => own[a],
        _ => 0,
    };
    let strides: Vec<usize> = (0..shape.rank()).map(stride).collect();
    let at = positions(&shape, 0, &strides);
    read(x, shape, &at)
}

pub(super) fn transpose(x: &Amount, axes: &[usize], shape: Shape) -> Amount {
    let own = x.shape.strides();
    let strides: Vec<usize> = axes.iter().map(|&axis| own[axis]).collect();
    let at = positions(&shape, 0, &strides);
    read(x, shape, &at)
}

pub(super) fn slice(x: &Amount, start: &[usize], strides: &[usize], shape: Shape) -> Amount {
    let own = x.shape.strides();
    let base = start.iter().zip(&own).map(|(s, o)| s * o).sum();
    let steps: Vec<usize> = strides.iter().zip(&own).map(|(s, o)| s * o).collect();
    let at = positions(&shape, base, &steps);
    read(x, shape, &at)
}

pub(super) fn part(x: &Amount, axis: usize, start: usize, shape: Shape) -> Amount {
    let own = x.shape.strides();
    let at = positions(&shape, start * own[axis], &own);
    read(x, shape, &at)
}

/// Writes each part's elements where they stand in the result, over what is there.
fn written(
    mut values: Vec<f64>,
    mut spreads: Option<Vec<f64>>,
    shape: Shape,
    parts: &[(&Amount, usize)],
) -> Amount {
    let strides = shape.strides();
    for (part, base) in parts {
        for (i, p) in positions(&part.shape, *base, &strides)
            .into_iter()
            .enumerate()
        {
            values[p] = part.values[i];
            if let (Some(all), Some(own)) = (&mut spreads, &part.spread) {
                all[p] = own[i];
            }
        }
    }
    Amount {
        shape,
        values: values.into(),
        spread: spreads.map(Into::into),
    }
}

pub(super) fn pad(
    x: &Amount,
    with: &Amount,
    axes: &[usize],
    low: &[usize],
    shape: Shape,
) -> Amount {
    let strides = shape.strides();
    let base = axes
        .iter()
        .zip(low)
        .map(|(&axis, &low)| low * strides[axis])
        .sum();
    let fill = with.values.first().copied().unwrap_or_default();
    let count = shape.elements();
    let spreads = x.spread.as_ref().map(|_| vec![with.spread_at(0); count]);
    written(vec![fill; count], spreads, shape, &[(x, base)])
}

pub(super) fn concatenate(parts: &[&Amount], axis: usize, shape: Shape) -> Amount {
    let stride = shape.strides()[axis];
    let mut start = 0;
    let mut placed = Vec::with_capacity(parts.len());
    for part in parts {
        placed.push((*part, start * stride));
        start += part.shape[axis];
    }
    let count = shape.elements();
    let all = parts.iter().all(|part| part.spread.is_some());
    let spreads = all.then(|| vec![0.0; count]);
    written(vec![0.0; count], spreads, shape, &placed)
}

pub(super) fn gather(
    x: &Amount,
    indices: &Amount,
    axis: usize,
    shape: Shape,
) -> Result<Amount, TruthError> {
    let own = x.shape.strides();
    let mut strides = own.clone();
    strides[axis] = 0;
    let extent = x.shape[axis];
    let mut at = positions(&shape, 0, &strides);
    for (p, &index) in at.iter_mut().zip(indices.values.iter()) {
        // MLX counts negative indices from the end.
        let wrapped = if index < 0.0 {
            index + extent as f64
        } else {
            index
        };
        if !(0.0..extent as f64).contains(&wrapped) {
            return Err(TruthError::Index {
                index,
                axis,
                shape: x.shape.clone(),
            });
        }
        *p += wrapped as usize * own[axis];
    }
    Ok(read(x, shape, &at))
}
