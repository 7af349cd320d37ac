//! A mutation: one mistake in the graph of a step.

use stages::{
    DType,
    graph::{Builder, GraphError, Node, Op, ValueId},
};

use super::{
    pieces::{descending, early, fewer_axes, flipped, halves, late, narrow, other_axis, reversed},
    quantized::{Mistake, replace},
    step::{Place, Step, again},
};

/// One mistake. Positions are those of nodes in the step's graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Mutation {
    /// One element of the result is the next value.
    Flip {
        /// Its row-major position.
        element: usize,
    },
    /// What is handed in stands one place later along an axis, zeros in the first.
    Late {
        /// The node.
        at: usize,
        /// The axis.
        axis: usize,
    },
    /// One place earlier, zeros in the last.
    Early {
        /// The node.
        at: usize,
        /// The axis.
        axis: usize,
    },
    /// A tensor in the opposite order along an axis.
    Reversed {
        /// The node.
        at: usize,
        /// The axis.
        axis: usize,
    },
    /// The node is one of its operands.
    Operand {
        /// The node.
        at: usize,
        /// Which.
        keep: usize,
    },
    /// Operands in the opposite order.
    Swapped {
        /// The node.
        at: usize,
    },
    /// Another primitive, or other arguments of the same.
    Instead {
        /// The node.
        at: usize,
        /// What it is instead.
        op: Op,
        /// How many of the operands it takes.
        takes: usize,
    },
    /// A slice or a padding one place further along an axis.
    Moved {
        /// The node.
        at: usize,
        /// The axis.
        axis: usize,
        /// What it is instead.
        op: Op,
    },
    /// A padding on the other side of an axis.
    OtherSide {
        /// The node.
        at: usize,
        /// The axis.
        axis: usize,
        /// What it is instead.
        op: Op,
    },
    /// A constant of another value.
    Constant {
        /// The node.
        at: usize,
        /// Its value instead.
        value: f64,
    },
    /// A range of other values.
    Range {
        /// The node.
        at: usize,
        /// Its first value instead.
        start: f64,
        /// Its step instead.
        step: f64,
    },
    /// A sum whose terms and partial sums are rounded to BF16.
    Narrow {
        /// The node.
        at: usize,
    },
    /// A reduction over one axis less, at index 0 of that axis.
    FewerAxes {
        /// The node.
        at: usize,
        /// The axis.
        axis: usize,
    },
    /// A reduction over another axis, at index 0 of the right one.
    OtherAxis {
        /// The node.
        at: usize,
        /// The right axis.
        axis: usize,
        /// The axis instead.
        other: usize,
    },
    /// A reduction without one term along an axis.
    FewerTerms {
        /// The node.
        at: usize,
        /// The axis.
        axis: usize,
        /// Whether it is the last term, or the first.
        last: bool,
    },
    /// A contraction in two halves that are added.
    Halves {
        /// The node.
        at: usize,
        /// Whether the halves are rounded to BF16 before they are added.
        rounded: bool,
    },
    /// A sum of products in descending order.
    Descending {
        /// The node.
        at: usize,
    },
    /// A division in the place of a product with the inverse of a number.
    Division {
        /// The node.
        at: usize,
        /// The number.
        by: f64,
    },
    /// A product with the inverse in the place of a division.
    Inverse {
        /// The node.
        at: usize,
    },
    /// A mistake with a quantised matrix.
    Quantized {
        /// The node.
        at: usize,
        /// Which.
        mistake: Mistake,
    },
    /// Parts of every split in the opposite order.
    Parts,
    /// Scores by distance used as scores by slot: the relative shift left out.
    NoShift {
        /// The node that pads.
        pad: usize,
        /// The node that gives the shifted scores.
        at: usize,
    },
}

impl Mutation {
    /// The mutated step.
    ///
    /// # Errors
    /// When the mutation does not fit the step, or would give a boundary of another shape.
    pub fn apply(&self, step: &Step) -> Result<Step, GraphError> {
        let result = step.result().value.index();
        let mut padded = None;
        step.edited(&mut |b, place| {
            if let Mutation::NoShift { pad, at } = self {
                return no_shift(b, place, (*pad, *at), &mut padded);
            }
            let value = match self {
                Mutation::Quantized { at, mistake } if *at == place.at => {
                    Some(replace(b, step, place, *mistake)?)
                }
                Mutation::Parts => self.part(b, place)?,
                Mutation::Flip { element } if place.at == result => {
                    let value = given_or_again(b, place)?;
                    Some(flipped(b, value, *element)?)
                }
                _ if self.at() == Some(place.at) => Some(self.replace(b, place)?),
                _ => None,
            };
            Ok(value)
        })
    }

    /// The node it changes, if it is one.
    pub fn at(&self) -> Option<usize> {
        match self {
            Mutation::Late { at, .. }
            | Mutation::Early { at, .. }
            | Mutation::Reversed { at, .. }
            | Mutation::Operand { at, .. }
            | Mutation::Swapped { at }
            | Mutation::Instead { at, .. }
            | Mutation::Moved { at, .. }
            | Mutation::OtherSide { at, .. }
            | Mutation::Constant { at, .. }
            | Mutation::Range { at, .. }
            | Mutation::Narrow { at }
            | Mutation::FewerAxes { at, .. }
            | Mutation::OtherAxis { at, .. }
            | Mutation::FewerTerms { at, .. }
            | Mutation::Halves { at, .. }
            | Mutation::Descending { at }
            | Mutation::Division { at, .. }
            | Mutation::Inverse { at }
            | Mutation::Quantized { at, .. }
            | Mutation::NoShift { at, .. } => Some(*at),
            Mutation::Flip { .. } | Mutation::Parts => None,
        }
    }

    fn part(&self, b: &mut Builder, place: &Place<'_>) -> Result<Option<ValueId>, GraphError> {
        let Op::Split {
            indices,
            axis,
            part,
        } = &place.node.op
        else {
            return Ok(None);
        };
        let op = Op::Split {
            indices: indices.clone(),
            axis: *axis,
            part: indices.len().saturating_sub(*part),
        };
        b.apply(op, place.inputs).map(Some)
    }

    fn replace(&self, b: &mut Builder, place: &Place<'_>) -> Result<ValueId, GraphError> {
        let (node, inputs) = (place.node, place.inputs);
        let x = || operand(node, inputs, 0);
        match self {
            Mutation::Late { axis, .. } => {
                let value = given_or_again(b, place)?;
                late(b, value, *axis)
            }
            Mutation::Early { axis, .. } => {
                let value = given_or_again(b, place)?;
                early(b, value, *axis)
            }
            Mutation::Reversed { axis, .. } => {
                let value = given_or_again(b, place)?;
                reversed(b, value, *axis)
            }
            Mutation::Operand { keep, .. } => operand(node, inputs, *keep),
            Mutation::Swapped { .. } => {
                let inputs: Vec<ValueId> = inputs.iter().rev().copied().collect();
                again(b, node, &inputs)
            }
            Mutation::Instead { op, takes, .. } => {
                b.apply(op.clone(), inputs.get(..*takes).unwrap_or(inputs))
            }
            Mutation::Moved { op, .. } | Mutation::OtherSide { op, .. } => {
                b.apply(op.clone(), inputs)
            }
            Mutation::Constant { value, .. } => Ok(b.scalar(*value, node.info.dtype)),
            Mutation::Range { start, step, .. } => {
                Ok(b.arange(*start, *step, node.info.shape.elements(), node.info.dtype))
            }
            Mutation::Narrow { .. } => narrow(b, node.op.clone(), x()?),
            Mutation::FewerAxes { axis, .. } => match &node.op {
                Op::Reduce { kind, axes } => fewer_axes(b, *kind, axes, x()?, *axis),
                _ => Err(misfit(node)),
            },
            Mutation::OtherAxis { axis, other, .. } => match &node.op {
                Op::Reduce { kind, axes } => other_axis(b, *kind, axes, x()?, (*axis, *other)),
                _ => Err(misfit(node)),
            },
            Mutation::FewerTerms { axis, last, .. } => {
                let x = x()?;
                let extent = b.shape(x)[*axis];
                let kept = if *last {
                    0..extent.saturating_sub(1)
                } else {
                    1..extent
                };
                let kept = b.slice(x, *axis, kept, 1)?;
                b.apply(node.op.clone(), &[kept])
            }
            Mutation::Halves { rounded, .. } => halves(b, &node.op, inputs, *rounded),
            Mutation::Descending { .. } => match &node.op {
                Op::Reduce { axes, .. } => {
                    let axis = axes.last().copied().ok_or_else(|| misfit(node))?;
                    let x = reversed(b, x()?, axis)?;
                    b.apply(node.op.clone(), &[x])
                }
                op => descending(b, op, inputs),
            },
            Mutation::Division { by, .. } => b.binary_scalar(Op::Divide, x()?, *by),
            Mutation::Inverse { .. } => {
                let divisor = operand(node, inputs, 1)?;
                let one = b.full(b.shape(divisor).clone(), 1.0, b.dtype(divisor))?;
                let inverse = b.binary(Op::Divide, one, divisor)?;
                b.binary(Op::Multiply, x()?, inverse)
            }
            Mutation::Flip { .. }
            | Mutation::Parts
            | Mutation::Quantized { .. }
            | Mutation::NoShift { .. } => Err(misfit(node)),
        }
    }

    /// Its name within the step: what is done, and to which of the primitives of that kind.
    pub fn name(&self, step: &Step) -> String {
        let rule = self.rule();
        let Some(node) = self.at().and_then(|at| step.node(at)) else {
            return rule;
        };
        let kind = node.op.name();
        let earlier = step.nodes().take_while(|(at, _)| Some(*at) < self.at());
        let nth = earlier.filter(|(_, node)| node.op.name() == kind).count() + 1;
        format!("{rule}@{kind}.{nth}")
    }

    /// What is done, in one word.
    pub fn rule(&self) -> String {
        match self {
            Mutation::Flip { .. } => "one-ulp".to_owned(),
            Mutation::Late { axis, .. } => format!("late-{axis}"),
            Mutation::Early { axis, .. } => format!("early-{axis}"),
            Mutation::Reversed { axis, .. } => format!("reversed-{axis}"),
            Mutation::Operand { keep, .. } => format!("only-operand-{keep}"),
            Mutation::Swapped { .. } => "swapped".to_owned(),
            Mutation::Instead { op, .. } => format!("{}-instead", short(op)),
            Mutation::Moved { axis, .. } => format!("moved-{axis}"),
            Mutation::OtherSide { axis, .. } => format!("other-side-{axis}"),
            Mutation::Constant { .. } => "constant".to_owned(),
            Mutation::Range { step, .. } if *step == 0.0 => "zeros".to_owned(),
            Mutation::Range { .. } => "off-by-one".to_owned(),
            Mutation::Narrow { .. } => "bf16-accumulator".to_owned(),
            Mutation::FewerAxes { axis, .. } => format!("without-axis-{axis}"),
            Mutation::OtherAxis { axis, other, .. } => format!("axis-{other}-for-{axis}"),
            Mutation::FewerTerms { axis, last, .. } => {
                format!("without-{}-{axis}", end(*last))
            }
            Mutation::Halves { rounded: true, .. } => "rounded-halves".to_owned(),
            Mutation::Halves { rounded: false, .. } => "halves".to_owned(),
            Mutation::Descending { .. } => "descending".to_owned(),
            Mutation::Division { .. } => "division".to_owned(),
            Mutation::Inverse { .. } => "inverse".to_owned(),
            Mutation::Quantized { mistake, .. } => mistake.to_string(),
            Mutation::Parts => "parts-swapped".to_owned(),
            Mutation::NoShift { .. } => "no-relative-shift".to_owned(),
        }
    }

    /// One sentence about it.
    pub fn about(&self, step: &Step) -> String {
        let node = self.at().and_then(|at| step.node(at));
        let of = node.map_or("", |node| node.op.name());
        let what = match node.map(|node| &node.op) {
            Some(Op::Input { name } | Op::Weight { name }) => name.clone(),
            _ => of.to_owned(),
        };
        match self {
            Mutation::Flip { element } => format!("Element {element} is off by one unit."),
            Mutation::Late { axis, .. } => {
                format!("{what} stands one place later along axis {axis}.")
            }
            Mutation::Early { axis, .. } => {
                format!("{what} stands one place earlier along axis {axis}.")
            }
            Mutation::Reversed { axis, .. } => format!("{what} is reversed along axis {axis}."),
            Mutation::Operand { keep, .. } => match node.map(|node| &node.op) {
                Some(Op::AsType { dtype }) => format!("The cast to {dtype} is left out."),
                _ => format!("{of} is left out: its operand {keep} goes on as it is."),
            },
            Mutation::Swapped { .. } => format!("The operands of {of} are swapped."),
            Mutation::Instead { op, .. } if op.name() == of => {
                format!("{of} has other arguments: {op:?}.")
            }
            Mutation::Instead { op, .. } => format!("{} in the place of {of}.", op.name()),
            Mutation::Moved { axis, .. } => format!("{of} is one place further along axis {axis}."),
            Mutation::OtherSide { axis, .. } => {
                format!("{of} is on the other side of axis {axis}.")
            }
            Mutation::Constant { value, .. } => match node.map(|node| &node.op) {
                Some(Op::Constant { value: right }) => format!("The constant {right} is {value}."),
                _ => format!("A constant is {value}."),
            },
            Mutation::Range { start, step, .. } => {
                format!("A range starts at {start} and goes on in steps of {step}.")
            }
            Mutation::Narrow { .. } => {
                format!("{of} adds in BF16: terms and partial sums are rounded.")
            }
            Mutation::FewerAxes { axis, .. } => {
                format!("Of axis {axis} only the first index is reduced.")
            }
            Mutation::OtherAxis { axis, other, .. } => {
                format!("Axis {other} is reduced in the place of axis {axis}.")
            }
            Mutation::FewerTerms { axis, last, .. } => {
                format!("The {} term along axis {axis} is left out.", end(*last))
            }
            Mutation::Halves { rounded, .. } => {
                let rounded = if *rounded {
                    ", each rounded to BF16"
                } else {
                    ""
                };
                format!("{of} is the sum of its two halves{rounded}.")
            }
            Mutation::Descending { .. } => format!("{of} adds its terms in descending order."),
            Mutation::Division { by, .. } => {
                format!("A division by {by} in the place of the product with its inverse.")
            }
            Mutation::Inverse { .. } => {
                "A product with the inverse in the place of a division.".to_owned()
            }
            Mutation::Quantized { mistake, .. } => mistake.about().to_owned(),
            Mutation::Parts => "The parts of every split are swapped.".to_owned(),
            Mutation::NoShift { .. } => {
                "Scores by distance are taken for scores by slot: no relative shift.".to_owned()
            }
        }
    }
}

const fn end(last: bool) -> &'static str {
    if last { "last" } else { "first" }
}

/// A value as it stands in the step.
fn given_or_again(b: &mut Builder, place: &Place<'_>) -> Result<ValueId, GraphError> {
    match place.own {
        Some(own) => Ok(own),
        None => again(b, place.node, place.inputs),
    }
}

fn operand(node: &Node, inputs: &[ValueId], i: usize) -> Result<ValueId, GraphError> {
    inputs.get(i).copied().ok_or_else(|| misfit(node))
}

fn misfit(node: &Node) -> GraphError {
    GraphError::Shape {
        op: node.op.name(),
        shapes: node.info.shape.to_string(),
        reason: "the mutation is not one of this primitive".to_owned(),
    }
}

/// A primitive and its arguments in a name.
fn short(op: &Op) -> String {
    match op {
        Op::Select => "select".to_owned(),
        Op::Scan { reverse: true, .. } => "reverse-scan".to_owned(),
        Op::Scan {
            inclusive: false, ..
        } => "exclusive-scan".to_owned(),
        Op::Softmax { precise } => format!("softmax-precise-{precise}"),
        Op::Sqrt { reciprocal } => format!("sqrt-reciprocal-{reciprocal}"),
        Op::Split { part, .. } => format!("part-{part}"),
        op => op.name().to_lowercase(),
    }
}

/// Cuts the padded scores to the shifted ones' extents where they are shifted.
fn no_shift(
    b: &mut Builder,
    place: &Place<'_>,
    (pad, at): (usize, usize),
    padded: &mut Option<ValueId>,
) -> Result<Option<ValueId>, GraphError> {
    if place.at == pad {
        let value = again(b, place.node, place.inputs)?;
        *padded = Some(value);
        return Ok(Some(value));
    }
    match *padded {
        Some(padded) if place.at == at => {
            let shape = place.node.info.shape.dims();
            let axis = shape.len().saturating_sub(1);
            b.slice(padded, axis, 0..shape[axis], 1).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether a value of the dtype is rounded to BF16 by a mutation at all.
pub(super) const fn is_wide(dtype: DType) -> bool {
    matches!(dtype, DType::F32)
}
