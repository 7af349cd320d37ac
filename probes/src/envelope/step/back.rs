//! From an element of a result back to where it comes from.

use std::collections::HashSet;

use emitter::{
    kernel::{Binary, Inst, Reg},
    program::{Combine, Elem, IndexMap, Op, Program, Value},
};
use stages::Shape;

use super::{StepError, chain::Chain};

/// The way from the first result of a program back to its sum.
#[derive(Debug)]
pub(super) struct Way {
    /// The result.
    pub result: Value,
    /// What lies between, from the result on.
    pub hops: Vec<Hop>,
    /// The node that adds.
    pub sum: usize,
    /// The values on the way: those that are made from the sum.
    pub depends: HashSet<Value>,
    /// Which node gives each value, arguments none.
    pub producers: Vec<Option<usize>>,
}

/// One operation on the way.
#[derive(Debug)]
pub(super) enum Hop {
    /// Data movement.
    Move(usize),
    /// An elementwise kernel; `slots` are the operands that the way goes on through.
    Map { node: usize, slots: Vec<usize> },
}

impl Way {
    pub fn back(program: &Program) -> Result<Way, StepError> {
        let output = program.outputs().first().ok_or(StepError::NoSum)?;
        let mut producers = vec![None; program.values().len()];
        for (index, node) in program.nodes().iter().enumerate() {
            producers[node.output.index()] = Some(index);
        }
        let adding = adding(program);
        let result = output.value;
        let mut way = Way {
            result,
            hops: Vec::new(),
            sum: 0,
            depends: HashSet::from([result]),
            producers,
        };
        let mut value = result;
        loop {
            let index = way.producers[value.index()].ok_or(StepError::NoSum)?;
            let node = &program.nodes()[index];
            let led: Vec<usize> = (0..node.inputs.len())
                .filter(|&input| adding.contains(&node.inputs[input]))
                .collect();
            match &node.op {
                Op::Map { kernel, maps } => {
                    let Some(&first) = led.first() else {
                        if adding.contains(&value) {
                            way.sum = index;
                            return Ok(way);
                        }
                        return Err(StepError::NoSum);
                    };
                    let same = |&slot: &usize| {
                        node.inputs[slot] == node.inputs[first] && maps[slot] == maps[first]
                    };
                    if !led.iter().all(same) {
                        return Err(StepError::SeveralSums);
                    }
                    if kernel
                        .insts()
                        .any(|(inst, _)| matches!(inst, Inst::Index(_)))
                    {
                        return Err(StepError::Placed);
                    }
                    value = node.inputs[first];
                    way.hops.push(Hop::Map {
                        node: index,
                        slots: led,
                    });
                }
                op if is_followed(op) => {
                    value = *node.inputs.first().ok_or(StepError::NoSum)?;
                    way.hops.push(Hop::Move(index));
                }
                _ if adds(program, index) => {
                    way.sum = index;
                    return Ok(way);
                }
                Op::Fill { .. } => return Err(StepError::NoSum),
                other => return Err(StepError::Unsupported(other.name())),
            }
            way.depends.insert(value);
        }
    }

    /// The sum over axes that a value is, if it is one but for movement.
    pub fn inner(&self, program: &Program, mut value: Value) -> Option<usize> {
        loop {
            let index = self.producers[value.index()]?;
            let node = &program.nodes()[index];
            if matches!(node.op, Op::Reduce { .. }) {
                return adds(program, index).then_some(index);
            }
            if !is_followed(&node.op) {
                return None;
            }
            value = *node.inputs.first()?;
        }
    }
}

impl Way {
    /// The node that a value comes from over all movement, if that is nothing but a product of two
    /// of its operands, and which.
    pub fn product(&self, program: &Program, mut value: Value) -> Option<(usize, [usize; 2])> {
        loop {
            let index = self.producers[value.index()]?;
            let node = &program.nodes()[index];
            match &node.op {
                Op::Map { kernel, .. } => {
                    let insts: Vec<&Inst> = kernel.insts().map(|(inst, _)| inst).collect();
                    let operand = |reg: Reg| match insts[reg.index()] {
                        Inst::Operand(slot) => Some(*slot),
                        _ => None,
                    };
                    let Inst::Binary(Binary::Mul, a, b) = insts[kernel.result().index()] else {
                        return None;
                    };
                    return Some((index, [operand(*a)?, operand(*b)?]));
                }
                op if is_followed(op) => value = *node.inputs.first()?,
                _ => return None,
            }
        }
    }
}

/// The values that some sum leads to, or is.
fn adding(program: &Program) -> HashSet<Value> {
    let mut found = HashSet::new();
    for (index, node) in program.nodes().iter().enumerate() {
        if adds(program, index) || node.inputs.iter().any(|input| found.contains(input)) {
            found.insert(node.output);
        }
    }
    found
}

/// Whether a node adds floats up.
fn adds(program: &Program, index: usize) -> bool {
    let node = &program.nodes()[index];
    let float = program.info(node.output).elem == Elem::F32;
    float
        && match &node.op {
            Op::Reduce { combine, .. } => matches!(combine, Combine::Sum { .. }),
            Op::PrefixScan { .. } | Op::Dot { .. } | Op::RoundedDot { .. } => true,
            Op::Map { kernel, .. } => Chain::of(kernel).is_some(),
            _ => false,
        }
}

/// Whether elements of a movement's result are followed to its operand.
fn is_followed(op: &Op) -> bool {
    matches!(
        op,
        Op::Reshape
            | Op::Barrier
            | Op::Transpose { .. }
            | Op::Slice { .. }
            | Op::Pad { .. }
            | Op::Broadcast { .. }
    )
}

/// Where a value's element comes from, over all movement; none if it is an element of padding.
pub(super) fn origin(
    program: &Program,
    producers: &[Option<usize>],
    mut value: Value,
    mut at: usize,
) -> Option<(Value, usize)> {
    while let Some(index) = producers[value.index()] {
        let node = &program.nodes()[index];
        if !is_followed(&node.op) {
            break;
        }
        at = moved(program, index, at)?;
        value = *node.inputs.first()?;
    }
    Some((value, at))
}

/// Where a movement's element is in its operand; none if it is an element of padding.
pub(super) fn moved(program: &Program, index: usize, at: usize) -> Option<usize> {
    let node = &program.nodes()[index];
    let operand = &program.info(*node.inputs.first()?).shape;
    let shape = &program.info(node.output).shape;
    let place = coordinates(shape, at);
    let place = match &node.op {
        Op::Transpose { axes } => {
            let mut own = vec![0; axes.len()];
            for (axis, &from) in axes.iter().enumerate() {
                own[from] = place[axis];
            }
            own
        }
        Op::Slice { start, strides, .. } => {
            let steps = place.iter().zip(start.iter().zip(strides));
            steps
                .map(|(i, (start, stride))| start + i * stride)
                .collect()
        }
        Op::Pad { low, .. } => {
            let shifted = place.iter().zip(low.iter().zip(operand.dims()));
            let inside = |(i, (low, &extent)): (&usize, (&usize, &usize))| {
                i.checked_sub(*low).filter(|&i| i < extent)
            };
            shifted.map(inside).collect::<Option<Vec<usize>>>()?
        }
        Op::Broadcast { map } => return Some(mapped(map, operand, shape, at)),
        _ => return Some(at),
    };
    Some(flat(operand, &place))
}

/// Where a kernel's operand is read for an element of its result.
pub(super) fn mapped(map: &IndexMap, operand: &Shape, shape: &Shape, at: usize) -> usize {
    let place = coordinates(shape, at);
    let follow = |axis: &Option<usize>| axis.map_or(0, |axis| place[axis]);
    let own: Vec<usize> = map.0.iter().map(follow).collect();
    flat(operand, &own)
}

/// Where the terms of a sum over `axes` are, the last axis fastest.
pub(super) fn reduced(operand: &Shape, axes: &[usize], at: usize) -> Vec<usize> {
    let strides = operand.strides();
    let kept: Vec<usize> = (0..operand.rank())
        .filter(|axis| !axes.contains(axis))
        .collect();
    let dims: Vec<usize> = kept.iter().map(|&axis| operand[axis]).collect();
    let place = coordinates(&dims.into(), at);
    let base = place
        .iter()
        .zip(&kept)
        .map(|(i, &axis)| i * strides[axis])
        .sum();
    let mut places = vec![base];
    for &axis in axes {
        let along = |place: usize| (0..operand[axis]).map(move |i| (place, i));
        let stride = strides[axis];
        let next = places.into_iter().flat_map(along);
        places = next.map(|(place, i)| place + i * stride).collect();
    }
    places
}

/// Where the terms of an element of a running sum are, in the order in which they come in.
pub(super) fn scanned(
    shape: &Shape,
    axis: usize,
    reverse: bool,
    inclusive: bool,
    at: usize,
) -> impl Iterator<Item = usize> + use<> {
    let (extent, stride) = (shape[axis], shape.strides()[axis]);
    let own = at / stride % extent;
    let base = at - own * stride;
    let before = if reverse { extent - 1 - own } else { own };
    (0..before + usize::from(inclusive)).map(move |step| {
        let place = if reverse { extent - 1 - step } else { step };
        base + place * stride
    })
}

/// The coordinates of a row-major index.
fn coordinates(shape: &Shape, mut at: usize) -> Vec<usize> {
    let mut place = vec![0; shape.rank()];
    for axis in (0..shape.rank()).rev() {
        let extent = shape[axis].max(1);
        place[axis] = at % extent;
        at /= extent;
    }
    place
}

fn flat(shape: &Shape, place: &[usize]) -> usize {
    let strides = shape.strides();
    place
        .iter()
        .zip(strides)
        .map(|(i, stride)| i * stride)
        .sum()
}
