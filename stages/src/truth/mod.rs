//! The F64 truth: what a part of a graph would give if nothing rounded.
//!
//! Every primitive by its mathematical meaning, in binary64, on values that are handed in as they
//! are. Constants are part of the statement and keep the rounding they are stated with; `AsType`
//! between floats changes nothing. A sum of n terms is off by at most about n·2⁻⁵³ of `Σ|t|`, which
//! is nothing beside what binary32 loses.
//!
//! Beside each value may stand its **condition**: by how much a relative error in what was handed
//! in is amplified, to first order. It is carried as the **spread** S of a value v, the absolute
//! error for one unit of relative error: |v| of given values, 0 of constants, `Σ S` of a sum,
//! `|f′(x)|·S` of a function, and of a product of x and y the largest of `|y|·Sx`, `|x|·Sy` and
//! `|y|·Sx + |x|·Sy − |x·y|`, so that a product of two given values counts as one given term. The
//! condition is `S / |v|`: of a sum of given terms, or of products of two, the `Σ|t| / |Σt|` of the
//! textbooks.

mod amount;
mod contraction;
mod elementwise;
mod error;
mod movement;
mod sums;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use error::TruthError;

use amount::{Amount, operand};

use crate::{
    Graph, Tensor,
    graph::{Node, Op, ReduceKind, ValueId},
};

/// A value without roundings.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Its elements, row-major.
    pub values: Vec<f64>,
    /// The condition of each; `None` where not asked for, or where nothing was added up.
    pub condition: Option<Vec<f64>>,
}

/// The truth of `target`. `given` is asked for each value on the way back from it, and the walk
/// stops where it answers; it must answer for inputs and weights.
///
/// ```
/// use stages::{DType, Tensor, graph::Builder, truth::evaluate};
///
/// let mut b = Builder::new();
/// let x = b.input("x", [3], DType::F32);
/// let y = b.sum(x, &[0])?;
/// let graph = b.finish();
/// let terms = Tensor::from_f32([3], &[1.0, 1e-9, -1.0])?;
/// let given = |value| (value == x).then(|| terms.clone());
/// let truth = evaluate(&graph, y, &given, true)?;
/// assert!((truth.values[0] - 1e-9).abs() < 1e-16);
/// assert!(truth.condition.unwrap()[0] > 1e9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a value is not given, or given in another shape or dtype than the graph says.
pub fn evaluate(
    graph: &Graph,
    target: ValueId,
    given: &dyn Fn(ValueId) -> Option<Tensor>,
    conditions: bool,
) -> Result<Truth, TruthError> {
    let mut walk = Walk::of(graph, target, given);
    for id in walk.order.clone() {
        let node = graph.node(id);
        let amount = match walk.handed.remove(&id) {
            Some(tensor) => Amount::given(&tensor, &node.info, conditions)?,
            None => walk.node(node, conditions)?,
        };
        walk.known.insert(id, amount);
        if !walk.stops.contains(&id) {
            walk.release(&node.inputs);
        }
    }
    let summed = walk.order.iter().any(|&id| {
        let op = &graph.node(id).op;
        !walk.stops.contains(&id) && adds_up(op)
    });
    let amount = operand(walk.known.get(&target))?;
    Ok(Truth {
        values: amount.values.to_vec(),
        condition: match &amount.spread {
            Some(spread) if summed => {
                let pairs = spread.iter().zip(amount.values.iter());
                Some(
                    pairs
                        .map(|(&spread, &value)| ratio(spread, value))
                        .collect(),
                )
            }
            _ => None,
        },
    })
}

/// `S / |v|`; a zero whose terms are all zero is as well conditioned as any.
fn ratio(spread: f64, value: f64) -> f64 {
    match (spread, value) {
        (0.0, 0.0) => 1.0,
        _ => spread / value.abs(),
    }
}

/// Whether the primitive adds terms of either sign.
fn adds_up(op: &Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Subtract
            | Op::LogAddExp
            | Op::Reduce {
                kind: ReduceKind::Sum,
                ..
            }
            | Op::Scan { .. }
            | Op::Softmax { .. }
            | Op::Matmul
            | Op::AddMM { .. }
            | Op::QuantizedMatmul { .. }
            | Op::Convolution { .. }
    )
}

/// What is evaluated, and what is known so far.
struct Walk {
    /// Needed values, in evaluation order.
    order: Vec<ValueId>,
    /// Those that were handed in.
    stops: Vec<ValueId>,
    handed: HashMap<ValueId, Tensor>,
    /// How often each will still be read.
    uses: HashMap<ValueId, usize>,
    known: HashMap<ValueId, Amount>,
}

impl Walk {
    fn of(graph: &Graph, target: ValueId, given: &dyn Fn(ValueId) -> Option<Tensor>) -> Walk {
        let (mut uses, mut handed) = (HashMap::from([(target, 1)]), HashMap::new());
        let mut stack = vec![target];
        while let Some(id) = stack.pop() {
            if let Some(tensor) = given(id) {
                handed.insert(id, tensor);
                continue;
            }
            for &input in &graph.node(id).inputs {
                let count = uses.entry(input).or_insert(0);
                *count += 1;
                if *count == 1 {
                    stack.push(input);
                }
            }
        }
        let mut order: Vec<ValueId> = uses.keys().copied().collect();
        order.sort_unstable();
        Walk {
            order,
            stops: handed.keys().copied().collect(),
            handed,
            uses,
            known: HashMap::new(),
        }
    }

    fn release(&mut self, inputs: &[ValueId]) {
        for input in inputs {
            if let Some(count) = self.uses.get_mut(input) {
                *count -= 1;
                if *count == 0 {
                    self.known.remove(input);
                }
            }
        }
    }

    fn node(&self, node: &Node, conditions: bool) -> Result<Amount, TruthError> {
        let x = |i: usize| {
            let known = node.inputs.get(i).and_then(|input| self.known.get(input));
            operand(known)
        };
        let shape = node.info.shape.clone();
        Ok(match &node.op {
            Op::Input { name } | Op::Weight { name } => {
                return Err(TruthError::Missing(name.clone()));
            }
            Op::Constant { .. } | Op::Arange { .. } => Amount::stated(node, conditions),
            Op::Full { .. } | Op::Broadcast { .. } => movement::broadcast(x(0)?, shape),
            Op::ExpandDims { .. }
            | Op::Squeeze { .. }
            | Op::Reshape { .. }
            | Op::Flatten { .. }
            | Op::Unflatten { .. } => x(0)?.reshaped(shape),
            Op::Transpose { axes } => movement::transpose(x(0)?, axes, shape),
            Op::Slice { start, strides, .. } => movement::slice(x(0)?, start, strides, shape),
            Op::Split {
                indices,
                axis,
                part,
            } => {
                let start = part.checked_sub(1).and_then(|i| indices.get(i).copied());
                movement::part(x(0)?, *axis, start.unwrap_or(0), shape)
            }
            Op::Pad { axes, low, .. } => movement::pad(x(0)?, x(1)?, axes, low, shape),
            Op::Concatenate { axis } => {
                let parts = (0..node.inputs.len()).map(x);
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                movement::concatenate(&parts, *axis, shape)
            }
            Op::GatherAxis { axis } => movement::gather(x(0)?, x(1)?, *axis, shape)?,

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
            | Op::BitwiseBinary { .. } => elementwise::binary(&node.op, x(0)?, x(1)?),
            Op::Select => elementwise::select(x(0)?, x(1)?, x(2)?),
            Op::AsType { dtype } => elementwise::cast(x(0)?, *dtype),
            Op::LogicalNot
            | Op::Negative
            | Op::Square
            | Op::Sqrt { .. }
            | Op::Sigmoid
            | Op::Tanh
            | Op::Exp
            | Op::Log
            | Op::Sin
            | Op::Cos => elementwise::unary(&node.op, x(0)?),

            Op::Reduce { kind, axes } => sums::reduce(x(0)?, *kind, axes, shape),
            Op::Scan {
                axis,
                reverse,
                inclusive,
            } => sums::scan(x(0)?, *axis, *reverse, *inclusive),
            Op::Softmax { .. } => sums::softmax(x(0)?),
            Op::Matmul => contraction::matmul(x(0)?, x(1)?, shape),
            Op::AddMM { alpha, beta } => {
                let product = contraction::matmul(x(1)?, x(2)?, shape);
                elementwise::combined(&product, f64::from(*alpha), x(0)?, f64::from(*beta))
            }
            Op::QuantizedMatmul {
                group_size,
                bits,
                transpose,
            } => {
                let matrix =
                    contraction::dequantised(x(1)?, x(2)?, x(3)?, *group_size, *bits, *transpose);
                contraction::by_matrix(x(0)?, &matrix, shape)
            }
            Op::Convolution { .. } => contraction::convolution(&node.op, x(0)?, x(1)?, shape),
        })
    }
}
