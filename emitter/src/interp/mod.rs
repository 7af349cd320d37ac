//! The strict interpreter: a program's values by IEEE-754 arithmetic in exactly the stated order.
//!
//! Nothing is fused, reordered or kept wider than the program says; denormals are kept. Outputs
//! that do not depend on each other are computed in parallel and in vectors, the terms of one
//! output never: so the result is the same on every machine and for any number of threads, the
//! payload of NaN apart.

mod array;
mod dot;
pub mod kernel;
mod map;
mod movement;
mod reduce;
mod scan;
pub(crate) mod wide;

use stages::{DType, Shape, Tensor, TensorError};

use crate::{
    program::{Elem, Node, Op, Program},
    validate::{self, Invalid},
};
use array::Array;
use dot::Step;
use kernel::KernelError;

/// Why a program has no interpretation, or not on these arguments.
#[derive(Debug, thiserror::Error)]
pub enum InterpError {
    /// An order, a rounding or a function is left to the compiler.
    #[error("interpret node {node} ({op}): it leaves an order or a rounding to the compiler")]
    NotExact {
        /// Its position among the program's nodes.
        node: usize,
        /// Its operation.
        op: &'static str,
    },
    /// The program is malformed.
    #[error("interpret a program: {0}")]
    Invalid(#[from] Invalid),
    /// The number of arguments is not the program's.
    #[error("interpret a program of {expected} arguments with {actual}")]
    Count {
        /// Arguments of the program.
        expected: usize,
        /// Tensors given.
        actual: usize,
    },
    /// An argument is not of the prepared kind that the program declares.
    #[error("interpret argument {arg}: it is {actual_dtype} {actual}, not {dtype} {shape}")]
    Argument {
        /// Its position.
        arg: usize,
        /// The declared storage.
        dtype: DType,
        /// The declared shape.
        shape: Shape,
        /// What was given.
        actual_dtype: DType,
        /// What was given.
        actual: Shape,
    },
    /// A kernel could not be evaluated.
    #[error("interpret node {node} (Map): {source}")]
    Kernel {
        /// Its position among the program's nodes.
        node: usize,
        /// Why.
        source: KernelError,
    },
    /// A result is no tensor.
    #[error("interpret a program: {0}")]
    Tensor(#[from] TensorError),
}

/// The dtype of tensors that hold values stored like this.
pub fn storage(elem: Elem) -> DType {
    match elem {
        Elem::F32 => DType::F32,
        Elem::Bf16 => DType::BF16,
        Elem::I32 => DType::I32,
        Elem::Bool => DType::Bool,
    }
}

/// The program's results, in order, in carrier storage (F32 whatever the grid, I32, or BOOL).
/// `args` are the prepared tensors in calling order.
///
/// ```
/// use emitter::interp::interpret;
/// use emitter::program::{Combine, Elem, Op, Order, Program, Source, ValueInfo};
/// use stages::{DType, Tensor};
///
/// let info = |shape: &[usize]| ValueInfo {
///     shape: shape.into(),
///     elem: Elem::F32,
///     grid: DType::F32,
/// };
/// let mut program = Program::new();
/// let x = program.arg(Source::Input("x".into()), vec![], info(&[3]));
/// let combine = Combine::Sum { order: Order::Sequential, round_each: None };
/// let sum = program.push(Op::Reduce { axes: vec![0], combine }, vec![x], info(&[]));
/// program.output("sum", sum);
///
/// // In this order the one is lost.
/// let x = Tensor::from_f32([3], &[1.0, 1e9, -1e9])?;
/// assert_eq!(interpret(&program, &[x])?[0].as_f32(), Some(&[0.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the program is malformed or not exact, an argument is not of the declared kind, or a
/// kernel looks up what its table does not have.
pub fn interpret(program: &Program, args: &[Tensor]) -> Result<Vec<Tensor>, InterpError> {
    validate::validate(program)?;
    if let Some((node, inexact)) = program
        .nodes()
        .iter()
        .enumerate()
        .find(|(_, node)| !node.op.is_exact())
    {
        return Err(InterpError::NotExact {
            node,
            op: inexact.op.name(),
        });
    }
    let mut values = lend(program, args)?;
    let last_use = last_uses(program);
    for (index, node) in program.nodes().iter().enumerate() {
        let output = node.output.index();
        let value = {
            let operands: Vec<&Array> = node
                .inputs
                .iter()
                .filter_map(|v| values[v.index()].as_ref())
                .collect();
            evaluate(program, index, &operands)?
        };
        values[output] = (last_use[output] > index).then_some(value);
        for input in &node.inputs {
            if last_use[input.index()] <= index {
                values[input.index()] = None;
            }
        }
    }
    let mut results = Vec::with_capacity(program.outputs().len());
    for output in program.outputs() {
        // Present: outputs are kept to the end.
        if let Some(array) = &values[output.value.index()] {
            results.push(array.clone().into_tensor()?);
        }
    }
    Ok(results)
}

/// The arguments as values, each of the declared kind.
fn lend(program: &Program, args: &[Tensor]) -> Result<Vec<Option<Array>>, InterpError> {
    if args.len() != program.args().len() {
        return Err(InterpError::Count {
            expected: program.args().len(),
            actual: args.len(),
        });
    }
    let mut values = vec![None; program.values().len()];
    for (i, (arg, tensor)) in program.args().iter().zip(args).enumerate() {
        let info = program.info(arg.value);
        let dtype = storage(info.elem);
        if tensor.dtype() != dtype || *tensor.shape() != info.shape {
            return Err(InterpError::Argument {
                arg: i,
                dtype,
                shape: info.shape.clone(),
                actual_dtype: tensor.dtype(),
                actual: tensor.shape().clone(),
            });
        }
        values[arg.value.index()] = Array::lent(tensor);
    }
    Ok(values)
}

/// The position of the last node that reads each value; past the end for outputs.
fn last_uses(program: &Program) -> Vec<usize> {
    let mut last = vec![0; program.values().len()];
    for (index, node) in program.nodes().iter().enumerate() {
        for input in &node.inputs {
            last[input.index()] = index;
        }
    }
    for output in program.outputs() {
        last[output.value.index()] = usize::MAX;
    }
    last
}

/// The value of a node. Operation and operands were checked by the validator.
fn evaluate(program: &Program, index: usize, operands: &[&Array]) -> Result<Array, InterpError> {
    let node = &program.nodes()[index];
    let info = program.info(node.output);
    let shape = &info.shape;
    Ok(match (&node.op, operands) {
        (Op::Map { kernel, maps }, operands) => {
            let kernel = map::map(kernel, maps, operands, shape);
            kernel.map_err(|source| InterpError::Kernel {
                node: index,
                source,
            })?
        }
        (Op::Reduce { axes, combine }, [x]) => reduce::reduce(x, axes, *combine, shape),
        (
            &Op::PrefixScan {
                axis,
                reverse,
                inclusive,
                round_each,
                ..
            },
            [x],
        ) => {
            let direction = scan::Direction {
                reverse,
                inclusive,
                round_each,
            };
            scan::scan(x, axis, direction)
        }
        (&Op::Dot { fused, .. }, [lhs, rhs]) => dot::dot(lhs, rhs, Step::of(fused), shape),
        (&Op::RoundedDot { grid }, [lhs, rhs]) => dot::dot(lhs, rhs, Step::rounded(grid), shape),
        (&Op::PackedRoundedDot { grid }, [lhs, rhs]) => {
            dot::tiled_dot(lhs, rhs, Step::rounded(grid), shape)
        }
        (&Op::PackedDot { fused, .. }, [lhs, rhs]) => {
            dot::packed_dot(lhs, rhs, Step::of(fused), shape)
        }
        (
            Op::DirectConvolution {
                strides,
                dilation,
                fused,
                ..
            },
            [x, w],
        ) => {
            let (kernel, outputs) = (&w.shape.dims()[..2], w.shape[3]);
            let seen = movement::patches(x, kernel, strides, dilation);
            let rows: usize = shape.dims()[..3].iter().product();
            let inner = w.shape.elements() / outputs.max(1);
            let lhs = movement::reshape(&seen, &[rows, inner].into());
            let w = movement::reshape(w, &[inner, outputs].into());
            let rhs = movement::transpose(&w, &[1, 0], &[outputs, inner].into());
            let product = dot::dot(&lhs, &rhs, Step::of(*fused), &[rows, outputs].into());
            movement::reshape(&product, shape)
        }
        (
            Op::Patches {
                kernel,
                strides,
                dilation,
            },
            [x],
        ) => movement::patches(x, kernel, strides, dilation),
        (Op::Reshape | Op::Barrier, [x]) => movement::reshape(x, shape),
        (Op::Transpose { axes }, [x]) => movement::transpose(x, axes, shape),
        (Op::Slice { start, strides, .. }, [x]) => movement::slice(x, start, strides, shape),
        (Op::Pad { low, bits, .. }, [x]) => movement::pad(x, low, *bits, shape),
        (Op::Broadcast { map }, [x]) => {
            movement::read(x, &map::reading(&x.shape, map, shape.dims()), shape)
        }
        (Op::Gather { axis }, [x, indices]) => movement::gather(x, indices, *axis, shape),
        (Op::Concatenate { axis }, operands) => {
            movement::concatenate(operands, *axis, shape).ok_or_else(|| malformed(index, node))?
        }
        (Op::Fill { bits }, []) => Array::filled(shape.clone(), info.elem, *bits),
        _ => return Err(malformed(index, node)),
    })
}

/// What the validator refuses, so that it does not get here.
fn malformed(index: usize, node: &Node) -> InterpError {
    InterpError::Invalid(Invalid {
        at: validate::Place::node(index, node),
        fault: validate::Fault::Operands,
    })
}

#[cfg(test)]
mod tests;
