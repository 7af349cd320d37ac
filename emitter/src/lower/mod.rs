//! Lowering: what a contract makes of a primitive.
//!
//! A lowering is a function of one op, its operands' types and views and, as part of what is
//! known of an operand's type, whether it is a constant with all elements equal. It never looks
//! at neighbours, so production, tapped and step programs compute the same bits. Each op family
//! has a file that states its rule under every contract.

mod call;
mod cast;
mod contraction;
mod convolution;
mod domain;
mod elementwise;
mod error;
mod forms;
mod memory;
mod movement;
mod quantized;
mod reduce;
mod scan;
mod softmax;
mod source;
mod splat;
mod unary;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use stages::{
    Graph,
    graph::{Node, Op as Primitive, ValueId},
};

pub use domain::{Domain, domain};
pub use error::LowerError;

use call::{Call, Operand};
use forms::Forms;

use crate::{
    Contract, Cut,
    program::{Program, Value},
};

/// The program of a cut under a contract.
///
/// Arguments stand in canonical order: given boundaries, then model inputs, then weights, each
/// in evaluation order. BF16 tensors are widened before they are handed over, but for weights,
/// which the program widens where it first reads them. Results are named as in the cut and
/// carried as F32, I32 (U32 too, by its bits) or BOOL.
///
/// ```
/// use emitter::{Contract, Cut, lower::lower};
/// use stages::{DType, graph::{Builder, Op}};
///
/// let mut b = Builder::new();
/// let x = b.input("x", [2, 3], DType::BF16);
/// let y = b.binary_scalar(Op::Multiply, x, 0.5)?;
/// b.boundary("y", y, "half of x")?;
/// let graph = b.finish();
/// let cut = Cut::step(&graph, &graph.boundaries()[0]);
/// let program = lower(&graph, &cut, Contract::MlxCpu)?;
/// assert_eq!(program.args().len(), 1);
/// assert_eq!(program.nodes().len(), 1);
/// assert!(program.is_exact());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the contract does not state the arithmetic of one of the cut's primitives, or a value's
/// dtype has no carrier.
pub fn lower(graph: &Graph, cut: &Cut, contract: Contract) -> Result<Program, LowerError> {
    let mut lowering = Lowering {
        graph,
        forms: Forms { contract },
        program: Program::new(),
        known: HashMap::new(),
    };
    lowering.arguments(cut)?;
    for &value in &cut.nodes {
        lowering.node(value)?;
    }
    for (name, value) in &cut.outputs {
        let value = lowering.materialised(*value)?;
        lowering.program.output(name, value);
    }
    Ok(lowering.program)
}

/// What a value of the graph became.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    value: Option<Value>,
    /// The bits of its element, if it is a constant with all elements equal. Such a value is
    /// written only where an operation needs it as a tensor.
    splat: Option<u32>,
}

struct Lowering<'g> {
    graph: &'g Graph,
    forms: Forms,
    program: Program,
    known: HashMap<ValueId, Known>,
}

impl Lowering<'_> {
    fn arguments(&mut self, cut: &Cut) -> Result<(), LowerError> {
        for (boundary, id) in &cut.given {
            let kind = self.graph.info(*id);
            let value = source::boundary(&mut self.program, boundary.as_str(), kind)?;
            self.set(*id, Some(value), None);
        }
        for pass in [source::input, source::weight] {
            for &id in &cut.nodes {
                let node = self.graph.node(id);
                if let Some(value) = pass(&mut self.program, &node.op, &node.info)? {
                    self.set(id, Some(value), None);
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, id: ValueId, value: Option<Value>, splat: Option<u32>) {
        self.known.insert(id, Known { value, splat });
    }

    fn node(&mut self, id: ValueId) -> Result<(), LowerError> {
        let node = self.graph.node(id);
        let first = node.inputs.first().and_then(|input| {
            let splat = self.known.get(input)?.splat?;
            Some((splat, self.graph.info(*input).dtype))
        });
        if let Some(bits) = splat::of(&node.op, node.info.dtype, first) {
            self.set(id, None, Some(bits));
            return Ok(());
        }
        let value = self.call(id, node)?;
        self.set(id, Some(value), None);
        Ok(())
    }

    /// Lowers a node, and keeps the operands that had to be written for it.
    fn call(&mut self, id: ValueId, node: &Node) -> Result<Value, LowerError> {
        let mut operands = Vec::with_capacity(node.inputs.len());
        for input in &node.inputs {
            let known = self.known.get(input).ok_or(LowerError::Outside {
                op: node.op.name(),
                value: input.index(),
            })?;
            operands.push(Operand {
                kind: self.graph.info(*input),
                splat: known.splat,
                value: known.value,
            });
        }
        let own = self.known.get(&id).copied().unwrap_or_default();
        let mut call = Call {
            op: &node.op,
            result: &node.info,
            operands,
            own: own.value,
            forms: self.forms,
            program: &mut self.program,
        };
        let value = family(&mut call)?;
        let written: Vec<_> = call.operands.iter().map(|o| (o.value, o.splat)).collect();
        for (input, (value, splat)) in node.inputs.iter().zip(written) {
            self.set(*input, value, splat);
        }
        Ok(value)
    }

    /// The value of a node that was lowered, written now if it is a constant.
    fn materialised(&mut self, id: ValueId) -> Result<Value, LowerError> {
        let node = self.graph.node(id);
        let known = self.known.get(&id).copied().ok_or(LowerError::Outside {
            op: node.op.name(),
            value: id.index(),
        })?;
        match (known.value, known.splat) {
            (Some(value), _) => Ok(value),
            (None, splat) => {
                let value = source::fill(&mut self.program, &node.op, &node.info, splat)?;
                self.set(id, Some(value), splat);
                Ok(value)
            }
        }
    }
}

/// Hands a primitive to its family.
fn family(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    match call.op {
        Primitive::Input { .. } | Primitive::Weight { .. } => source::argument(call),
        Primitive::Constant { .. } => source::constant(call),
        Primitive::Arange { start, step, len } => source::arange(call, *start, *step, *len),
        Primitive::Add
        | Primitive::Subtract
        | Primitive::Multiply
        | Primitive::Divide
        | Primitive::Maximum
        | Primitive::Minimum
        | Primitive::Power
        | Primitive::LogAddExp
        | Primitive::GreaterEqual
        | Primitive::LogicalAnd
        | Primitive::BitwiseBinary { .. }
        | Primitive::Select => elementwise::lower(call),
        Primitive::LogicalNot
        | Primitive::Negative
        | Primitive::Square
        | Primitive::Sqrt { .. }
        | Primitive::Sigmoid
        | Primitive::Tanh
        | Primitive::Exp
        | Primitive::Log
        | Primitive::Sin
        | Primitive::Cos => unary::lower(call),
        Primitive::AsType { .. } => cast::lower(call),
        Primitive::Reduce { kind, axes } => reduce::lower(call, *kind, axes),
        Primitive::Scan {
            axis,
            reverse,
            inclusive,
        } => scan::lower(call, *axis, *reverse, *inclusive),
        Primitive::Softmax { precise } => softmax::lower(call, *precise),
        Primitive::Matmul => contraction::matmul(call),
        Primitive::AddMM { alpha, beta } => contraction::addmm(call, *alpha, *beta),
        Primitive::QuantizedMatmul {
            group_size,
            bits,
            transpose,
        } => {
            let affine = quantized::Affine {
                group_size: *group_size,
                bits: *bits,
                transpose: *transpose,
            };
            quantized::matmul(call, affine)
        }
        Primitive::Convolution { .. } => convolution::lower(call),
        Primitive::Full { .. }
        | Primitive::Broadcast { .. }
        | Primitive::ExpandDims { .. }
        | Primitive::Squeeze { .. }
        | Primitive::Transpose { .. }
        | Primitive::Reshape { .. }
        | Primitive::Flatten { .. }
        | Primitive::Unflatten { .. }
        | Primitive::Slice { .. }
        | Primitive::Pad { .. }
        | Primitive::Concatenate { .. }
        | Primitive::Split { .. }
        | Primitive::GatherAxis { .. } => movement::lower(call),
    }
}
