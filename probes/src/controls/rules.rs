//! Which mutations there are of a step: rules over the primitives of level one.

use stages::{
    Tensor,
    graph::{Node, Op, ReduceKind},
};

use super::{
    mutation::{Mutation, is_wide},
    quantized::mistakes,
    step::Step,
};

/// Tensors of more elements are not put in another order: it would cost more than it shows.
const MOST_REORDERED: usize = 1 << 21;

/// From this magnitude on a constant is a bound or stands for infinity.
const HUGE: f64 = 1e6;

/// Below this magnitude a constant is an epsilon.
const TINY: f64 = 0.01;

/// A mutation and the step it makes.
#[derive(Clone, Debug)]
pub struct Mutated {
    /// The mutation.
    pub mutation: Mutation,
    /// Its name within the step.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// The mutated step.
    pub step: Step,
}

/// All mutations that fit a step, each making another graph. `value` is what the boundary holds:
/// the element that is flipped must not be zero.
pub fn mutations(step: &Step, value: &Tensor) -> Vec<Mutated> {
    let mut found: Vec<Mutated> = Vec::new();
    let mut all = vec![Mutation::Flip {
        element: tellable(value),
    }];
    for (at, node) in step.nodes() {
        of_node(step, at, node, &mut all);
        all.extend(mistakes(step, at, node));
    }
    let splits = step
        .nodes()
        .filter(|(_, n)| matches!(n.op, Op::Split { .. }));
    if splits.count() > 1 {
        all.push(Mutation::Parts);
    }
    all.extend(no_shift(step));
    for mutation in all {
        let Ok(mutated) = mutation.apply(step) else {
            continue;
        };
        if mutated != *step {
            found.push(Mutated {
                name: mutation.name(step),
                about: mutation.about(step),
                mutation,
                step: mutated,
            });
        }
    }
    found
}

/// The first element from the middle on that is a number other than zero.
fn tellable(value: &Tensor) -> usize {
    let count = value.shape().elements();
    let Some(values) = value.to_f32() else {
        return count / 2;
    };
    let odd = |i: &usize| values[*i].is_normal();
    let (first, second) = (0..count / 2, count / 2..count);
    second.chain(first).find(odd).unwrap_or(count / 2)
}

fn of_node(step: &Step, at: usize, node: &Node, all: &mut Vec<Mutation>) {
    let shape = &node.info.shape;
    let operand = |i: usize| node.inputs.get(i).map(|&v| step.graph().node(v));
    let number = |i: usize| step.constant(*node.inputs.get(i)?);
    let keep = |keep| Mutation::Operand { at, keep };
    let instead = |op, takes| Mutation::Instead { at, op, takes };
    match &node.op {
        Op::Input { .. } => {
            let last = shape.rank().saturating_sub(1);
            let mut axes = vec![1.min(last), last];
            axes.dedup();
            axes.retain(|&axis| axis < shape.rank() && shape[axis] > 1);
            all.extend(axes.iter().map(|&axis| Mutation::Late { at, axis }));
            all.extend(axes.first().map(|&axis| Mutation::Early { at, axis }));
            reversed(shape.elements(), at, axes.last().copied(), all);
        }
        Op::Weight { .. } => {
            for axis in (0..shape.rank()).filter(|&axis| shape[axis] > 1) {
                reversed(shape.elements(), at, Some(axis), all);
            }
        }
        Op::Constant { value } => {
            let value = match *value {
                0.0 => 1.0,
                v if !node.info.dtype.is_float() => v - 1.0,
                v if v.abs() >= HUGE => v.signum() / 64.0,
                v if v.abs() < TINY => v * 1024.0,
                v => v * (1.0 + 1.0 / 64.0),
            };
            all.push(Mutation::Constant { at, value });
        }
        Op::Arange { start, step, .. } => {
            let (start, step) = (*start, *step);
            let by = if step < 0.0 { -1.0 } else { 1.0 };
            all.push(Mutation::Range {
                at,
                start: start + by,
                step,
            });
            all.push(Mutation::Range {
                at,
                start: 0.0,
                step: 0.0,
            });
        }
        Op::Add => {
            if number(1) != Some(0.0) {
                all.push(keep(0));
            }
            if number(1).is_none() && number(0) != Some(0.0) {
                all.push(keep(1));
            }
        }
        Op::Multiply => {
            if number(1) != Some(1.0) {
                all.push(keep(0));
            }
            if number(1).is_none() {
                all.push(keep(1));
            }
            // The inverse of a power of two is exact.
            let inverse = number(1).map(|n| (1.0 / n).round());
            let inverse = inverse.filter(|n| n.log2().fract() != 0.0);
            if let Some(by) = inverse.filter(|&n| n > 1.0 && number(1) == Some(1.0 / n)) {
                all.push(Mutation::Division { at, by });
            }
        }
        Op::Subtract => all.extend([keep(0), Mutation::Swapped { at }]),
        Op::Divide => {
            all.push(keep(0));
            if number(0) != Some(1.0) {
                all.push(Mutation::Inverse { at });
            }
        }
        Op::Maximum => all.extend([keep(0), instead(Op::Minimum, 2)]),
        Op::Minimum => all.extend([keep(0), instead(Op::Maximum, 2)]),
        Op::Power => all.extend([keep(0), instead(Op::Square, 1)]),
        Op::LogAddExp => all.extend([keep(0), instead(Op::Maximum, 2)]),
        Op::GreaterEqual => all.push(Mutation::Swapped { at }),
        Op::LogicalAnd => all.extend([keep(0), keep(1)]),
        Op::BitwiseBinary { .. } if number(1) != Some(0.0) => all.push(keep(0)),
        Op::Select => all.extend([keep(1), keep(2)]),
        Op::LogicalNot | Op::Negative | Op::Square | Op::Exp | Op::Log => all.push(keep(0)),
        Op::AsType { dtype } => {
            let from = operand(0).map(|node| node.info.dtype);
            let floats = from.is_some_and(|from| from.is_float()) && dtype.is_float();
            if floats && !(is_wide(*dtype) && is_promoted(step, at)) {
                all.push(keep(0));
            }
        }
        Op::Sqrt { reciprocal } => {
            let reciprocal = !*reciprocal;
            all.extend([keep(0), instead(Op::Sqrt { reciprocal }, 1)]);
        }
        Op::Sigmoid => all.extend([keep(0), instead(Op::Tanh, 1)]),
        Op::Tanh => all.extend([keep(0), instead(Op::Sigmoid, 1)]),
        Op::Sin => all.push(instead(Op::Cos, 1)),
        Op::Cos => all.push(instead(Op::Sin, 1)),
        Op::Reduce { kind, axes } => {
            if let Some(x) = operand(0) {
                reduction(at, *kind, axes, x, all);
            }
        }
        Op::Scan {
            axis,
            reverse,
            inclusive,
        } => {
            let (axis, reverse, inclusive) = (*axis, *reverse, *inclusive);
            let scan = |reverse, inclusive| Op::Scan {
                axis,
                reverse,
                inclusive,
            };
            all.push(instead(scan(!reverse, inclusive), 1));
            all.push(instead(scan(reverse, !inclusive), 1));
            if is_wide(node.info.dtype) {
                all.push(Mutation::Narrow { at });
            }
        }
        Op::Softmax { precise } => {
            if is_wide(node.info.dtype) {
                all.push(Mutation::Narrow { at });
            } else {
                all.push(instead(Op::Softmax { precise: !precise }, 1));
            }
        }
        Op::Matmul | Op::Convolution { .. } => {
            all.extend([true, false].map(|rounded| Mutation::Halves { at, rounded }));
            let largest = [0, 1].map(|i| operand(i).map_or(0, |n| n.info.shape.elements()));
            let terms = operand(0).and_then(|n| n.info.shape.dims().last().copied());
            if terms > Some(1) && largest.into_iter().all(|n| n <= MOST_REORDERED) {
                all.push(Mutation::Descending { at });
            }
        }
        Op::Transpose { .. } => all.push(keep(0)),
        Op::Slice { .. } | Op::Pad { .. } => {
            if let Some(x) = operand(0) {
                window(at, &node.op, x, all);
            }
        }
        Op::Split {
            indices,
            axis,
            part,
        } => {
            let part = indices.len().saturating_sub(*part);
            let (indices, axis) = (indices.clone(), *axis);
            all.push(instead(
                Op::Split {
                    indices,
                    axis,
                    part,
                },
                1,
            ));
        }
        Op::Concatenate { .. } => all.push(Mutation::Swapped { at }),
        _ => {}
    }
}

fn reversed(elements: usize, at: usize, axis: Option<usize>, all: &mut Vec<Mutation>) {
    if let Some(axis) = axis.filter(|_| elements <= MOST_REORDERED) {
        all.push(Mutation::Reversed { at, axis });
    }
}

/// Whether everything that uses a widened value would widen it all the same, because of another
/// operand. Movement and additions of 0 are exact in any dtype.
fn is_promoted(step: &Step, at: usize) -> bool {
    let mut uses = step.nodes().filter(|(_, node)| {
        let mut inputs = node.inputs.iter();
        inputs.any(|input| input.index() == at)
    });
    let dtype = step.node(at).map(|node| node.info.dtype);
    uses.all(|(user, node)| {
        let others = node.inputs.iter().filter(|input| input.index() != at);
        let mut others = others.copied().peekable();
        let nothing = node.op == Op::Add
            && others
                .peek()
                .is_some_and(|&other| step.constant(other) == Some(0.0));
        if node.op.is_movement() || nothing {
            is_promoted(step, user)
        } else {
            others.any(|other| {
                let info = step.graph().info(other);
                Some(info.dtype) == dtype && step.constant(other).is_none()
            })
        }
    })
}

fn reduction(at: usize, kind: ReduceKind, axes: &[usize], x: &Node, all: &mut Vec<Mutation>) {
    let shape = &x.info.shape;
    let long: Vec<usize> = axes
        .iter()
        .copied()
        .filter(|&axis| shape[axis] > 1)
        .collect();
    if long.len() > 1 {
        all.extend(long.iter().map(|&axis| Mutation::FewerAxes { at, axis }));
        let other = (0..shape.rank()).find(|axis| !axes.contains(axis) && shape[*axis] > 1);
        if let Some(other) = other {
            let axis = long[0];
            all.push(Mutation::OtherAxis { at, axis, other });
        }
    }
    if let Some(&axis) = long.last() {
        all.extend([true, false].map(|last| Mutation::FewerTerms { at, axis, last }));
        if shape.elements() <= MOST_REORDERED && x.info.dtype.is_float() {
            all.push(Mutation::Descending { at });
        }
    }
    if kind == ReduceKind::Sum && is_wide(x.info.dtype) {
        all.push(Mutation::Narrow { at });
    }
}

/// The same slice or padding one place further; padding also on the other side.
fn window(at: usize, op: &Op, x: &Node, all: &mut Vec<Mutation>) {
    match op {
        Op::Slice {
            start,
            stop,
            strides,
        } => {
            let dims = x.info.shape.dims();
            for axis in 0..dims.len() {
                let (from, to, stride) = (start[axis], stop[axis], strides[axis]);
                let count = |from: usize, to: usize| to.saturating_sub(from).div_ceil(stride);
                let moved = [
                    (from + 1, to + 1),
                    (from.wrapping_sub(1), to.wrapping_sub(1)),
                    (from + 1, to),
                ];
                let cut = from > 0 || to < dims[axis] || stride > 1;
                let fits = |&(f, t): &(usize, usize)| {
                    f <= t && t <= dims[axis] && count(f, t) == count(from, to)
                };
                if let Some((f, t)) = moved.into_iter().find(fits).filter(|_| cut) {
                    let (mut start, mut stop) = (start.clone(), stop.clone());
                    (start[axis], stop[axis]) = (f, t);
                    let strides = strides.clone();
                    let op = Op::Slice {
                        start,
                        stop,
                        strides,
                    };
                    all.push(Mutation::Moved { at, axis, op });
                }
            }
        }
        Op::Pad { axes, low, high } => {
            for (i, &axis) in axes.iter().enumerate() {
                let with = |before, after| {
                    let (axes, mut low, mut high) = (axes.clone(), low.clone(), high.clone());
                    (low[i], high[i]) = (before, after);
                    Op::Pad { axes, low, high }
                };
                let (before, after) = (low[i], high[i]);
                if before != after {
                    let op = with(after, before);
                    all.push(Mutation::OtherSide { at, axis, op });
                }
                let op = match (before, after) {
                    (0, 0) => continue,
                    (_, 0) => with(before - 1, 1),
                    (_, _) => with(before + 1, after - 1),
                };
                all.push(Mutation::Moved { at, axis, op });
            }
        }
        _ => {}
    }
}

/// Padding, flattening, cutting and folding that moves scores by distance to slots.
fn no_shift(step: &Step) -> Vec<Mutation> {
    let graph = step.graph();
    let mut found = Vec::new();
    for (at, node) in step.nodes() {
        let chain = (|| {
            let slice = node.inputs.first()?;
            let flat = graph.node(*slice).inputs.first()?;
            let pad = *graph.node(*flat).inputs.first()?;
            let ops = [
                &node.op,
                &graph.node(*slice).op,
                &graph.node(*flat).op,
                &graph.node(pad).op,
            ];
            let fits = matches!(
                ops,
                [
                    Op::Reshape { .. },
                    Op::Slice { .. },
                    Op::Reshape { .. },
                    Op::Pad { .. }
                ]
            );
            let (padded, result) = (graph.info(pad).shape.dims(), node.info.shape.dims());
            let lead = padded.len().checked_sub(1)?;
            let same = padded.len() == result.len() && padded[..lead] == result[..lead];
            (fits && same && padded[lead] > result[lead]).then_some(pad.index())
        })();
        found.extend(chain.map(|pad| Mutation::NoShift { pad, at }));
    }
    found
}
