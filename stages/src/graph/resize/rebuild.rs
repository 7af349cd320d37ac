//! The step built anew: alone, or on a window.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{Boundary, Class, Graph, Op, ResizeError, ValueId, ValueInfo, View};
use crate::{
    Shape, Tensor, TensorError,
    graph::{Builder, Node},
};

/// The backward slice from a boundary to the nearest registered ones, as a graph of its own.
pub(super) fn alone(graph: &Graph, boundary: &Boundary) -> Result<Graph, ResizeError> {
    let given: HashMap<ValueId, &Boundary> = graph
        .boundaries()
        .iter()
        .filter(|b| b.value != boundary.value)
        .map(|b| (b.value, b))
        .collect();
    let mut needed = HashSet::new();
    let mut stack = vec![boundary.value];
    while let Some(value) = stack.pop() {
        if needed.insert(value) && !given.contains_key(&value) {
            stack.extend(&graph.node(value).inputs);
        }
    }
    let mut builder = Builder::new();
    let mut known: HashMap<ValueId, ValueId> = HashMap::new();
    for (value, node) in graph.nodes().filter(|(value, _)| needed.contains(value)) {
        let built = match given.get(&value) {
            Some(given) => {
                let ValueInfo { shape, dtype, .. } = node.info.clone();
                let view = View::Contiguous;
                builder.given(given.id.as_str(), ValueInfo { shape, dtype, view })
            }
            None => add(
                &mut builder,
                node,
                node.op.clone(),
                node.info.shape.clone(),
                &known,
            )?,
        };
        known.insert(value, built);
    }
    finish(builder, boundary, &known)
}

/// The windows that a cut takes from inputs and weights: one for each axis.
type Windows = Vec<(String, Vec<Range<usize>>)>;

/// The graph with the class cut to a window, and the windows of its inputs and weights.
pub(super) fn cut(
    graph: &Graph,
    class: &Class,
    window: &Range<usize>,
) -> Result<(Graph, Windows), ResizeError> {
    let mut axes: HashMap<ValueId, Vec<usize>> = HashMap::new();
    for axis in &class.axes {
        axes.entry(axis.value).or_default().push(axis.axis);
    }
    let mut builder = Builder::new();
    let mut known = HashMap::new();
    let mut windows = Vec::new();
    for (value, node) in graph.nodes() {
        let cut = axes.get(&value).map_or(&[][..], Vec::as_slice);
        let mut dims = node.info.shape.dims().to_vec();
        cut.iter().for_each(|&axis| dims[axis] = window.len());
        if let Op::Input { name } | Op::Weight { name } = &node.op {
            let whole = node.info.shape.dims().iter().enumerate();
            let part = |(axis, &extent)| {
                if cut.contains(&axis) {
                    window.clone()
                } else {
                    0..extent
                }
            };
            windows.push((name.clone(), whole.map(part).collect()));
        }
        let shape = Shape::new(dims);
        let op = resized(node, cut, window, &shape);
        known.insert(value, add(&mut builder, node, op, shape, &known)?);
    }
    let boundary = graph.boundaries().first();
    let graph = match boundary {
        Some(boundary) => finish(builder, boundary, &known)?,
        None => builder.finish(),
    };
    Ok((graph, windows))
}

/// The primitive with its extents cut.
fn resized(node: &Node, cut: &[usize], window: &Range<usize>, shape: &Shape) -> Op {
    let extents = || shape.clone();
    match &node.op {
        Op::Full { .. } => Op::Full { shape: extents() },
        Op::Broadcast { .. } => Op::Broadcast { shape: extents() },
        Op::Reshape { .. } => Op::Reshape { shape: extents() },
        Op::Unflatten { axis, shape: inner } => Op::Unflatten {
            axis: *axis,
            shape: shape.dims()[*axis..*axis + inner.rank()].into(),
        },
        // A window into numbers that ascend is a range that starts later.
        Op::Arange { start, step, len } => Op::Arange {
            start: if cut.is_empty() {
                *start
            } else {
                start + window.start as f64 * step
            },
            step: *step,
            len: if cut.is_empty() { *len } else { window.len() },
        },
        Op::Slice {
            start,
            stop,
            strides,
        } => {
            let mut stop = stop.clone();
            cut.iter().for_each(|&axis| stop[axis] = window.len());
            Op::Slice {
                start: start.clone(),
                stop,
                strides: strides.clone(),
            }
        }
        op => op.clone(),
    }
}

fn add(
    builder: &mut Builder,
    node: &Node,
    op: Op,
    shape: Shape,
    known: &HashMap<ValueId, ValueId>,
) -> Result<ValueId, ResizeError> {
    let ValueInfo { dtype, view, .. } = &node.info;
    Ok(match &op {
        Op::Input { name } => {
            let (dtype, view) = (*dtype, view.clone());
            builder.given(name, ValueInfo { shape, dtype, view })
        }
        Op::Weight { name } => builder.weight(name, shape, *dtype),
        Op::Constant { value } => builder.scalar(*value, *dtype),
        Op::Arange { start, step, len } => builder.arange(*start, *step, *len, *dtype),
        _ => {
            // Evaluation order: operands were added before.
            let inputs = node.inputs.iter().filter_map(|x| known.get(x).copied());
            builder.apply(op, &inputs.collect::<Vec<_>>())?
        }
    })
}

fn finish(
    mut builder: Builder,
    boundary: &Boundary,
    known: &HashMap<ValueId, ValueId>,
) -> Result<Graph, ResizeError> {
    if let Some(&value) = known.get(&boundary.value) {
        builder.enter_stage(boundary.stage.clone());
        builder.boundary(boundary.id.as_str(), value, &boundary.about)?;
    }
    Ok(builder.finish())
}

/// The elements of a tensor within a window of each axis, row-major.
pub(super) fn part(tensor: &Tensor, windows: &[Range<usize>]) -> Result<Tensor, TensorError> {
    let size = tensor.dtype().size();
    let strides = tensor.shape().strides();
    let shape: Shape = windows
        .iter()
        .map(ExactSizeIterator::len)
        .collect::<Vec<_>>()
        .into();
    let Some((last, outer)) = windows.split_last() else {
        return Ok(tensor.clone());
    };
    let mut starts = vec![0];
    for (window, stride) in outer.iter().zip(&strides) {
        let along = |&at: &usize| window.clone().map(move |i| at + i * stride);
        starts = starts.iter().flat_map(along).collect();
    }
    let mut bytes = Vec::with_capacity(shape.elements() * size);
    for start in starts {
        let row = (start + last.start) * size..(start + last.end) * size;
        bytes.extend_from_slice(tensor.bytes().get(row).unwrap_or_default());
    }
    Tensor::from_bytes(tensor.dtype(), shape, &bytes)
}
