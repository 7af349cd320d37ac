//! What a compiler could turn into other arithmetic than the program seems to state.
//!
//! A program may be well formed and still leave something open: a product that may be contracted,
//! a rounding that may be dropped, an order that is not stated. Under an exact contract each of
//! these is a fault of the lowering that wrote it, found here before anything runs.

use stages::DType;

use crate::{
    contract::Contract,
    kernel::{Binary, Inst, Kernel, NativeFn, Reg, RoundTo, Unary},
    program::{Combine, Elem, Node, Op, Order, Program, Value, ValueInfo},
    validate::{Place, on_grid},
};

/// Something open, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The operation.
    pub at: Place,
    /// What is open.
    pub kind: FindingKind,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.at, self.kind)
    }
}

/// What is open, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindingKind {
    /// A contraction whose result is 16 bits wide: how the compiler accumulates it is unknown.
    #[error(
        "a dot of {terms} terms with a {grid} result: give it an F32 result and round that in a Map"
    )]
    NarrowDot {
        /// The contracted extent.
        terms: usize,
        /// The result's grid.
        grid: DType,
    },
    /// Arithmetic in a 16-bit type, whose intermediate roundings the compiler drops.
    #[error("arithmetic on BF16 storage: widen with a Map, compute in F32 and round")]
    NarrowArithmetic,
    /// A rounding by conversion there and back, which the compiler may drop.
    #[error("register {register} rounds by a conversion the compiler may drop: use Round(Bf16)")]
    DroppableRounding {
        /// The instruction.
        register: usize,
    },
    /// A product that may be contracted into an addition.
    #[error(
        "register {register} is a product that may fuse with {}: use Mul or Fma",
        feeds.map_or_else(|| "whatever adds it".to_owned(), |at| format!("the addition in register {at}"))
    )]
    ContractableProduct {
        /// The instruction.
        register: usize,
        /// The addition in the same kernel that uses it, if any: another one may follow when
        /// kernels are fused.
        feeds: Option<usize>,
    },
    /// A function whose roundings are the compiler's.
    #[error("register {register} leaves {function:?} to the compiler: write it out")]
    NativeFunction {
        /// The instruction.
        register: usize,
        /// The function.
        function: NativeFn,
    },
    /// Additions in no stated order.
    #[error("terms are added in any order: state Order::Sequential")]
    Unordered,
    /// A grid is declared that the operation does not keep.
    #[error(
        "the result is declared on the {grid} grid, but nothing rounds it there: end with a Round"
    )]
    OffGrid {
        /// The declared grid.
        grid: DType,
    },
}

/// All findings in evaluation order. Under an exact contract a program with findings must not be
/// emitted; under `native` only narrow arithmetic and undelivered grids are found. The program
/// must have passed the validator.
pub fn lint(program: &Program, contract: Contract) -> Vec<Finding> {
    let exact = contract != Contract::Native;
    let mut findings = Vec::new();
    for (index, node) in program.nodes().iter().enumerate() {
        let mut kinds = Vec::new();
        narrow(program, node, &mut kinds);
        if exact {
            open(node, &mut kinds);
        }
        off_grid(program, node, &mut kinds);
        findings.extend(kinds.into_iter().map(|kind| Finding {
            at: Place::node(index, node),
            kind,
        }));
    }
    findings
}

/// Arithmetic in 16 bits.
fn narrow(program: &Program, node: &Node, kinds: &mut Vec<FindingKind>) {
    let known = |value: &Value| program.values().get(value.index());
    let Some(result) = known(&node.output) else {
        return;
    };
    if node.op.is_movement() {
        return;
    }
    let terms = match &node.op {
        Op::Dot { .. } => node
            .inputs
            .first()
            .and_then(known)
            .and_then(|x| x.shape.dims().last()),
        Op::PackedDot { .. } => node
            .inputs
            .first()
            .and_then(known)
            .and_then(|x| x.shape.dims().get(1)),
        Op::DirectConvolution { .. } => node
            .inputs
            .get(1)
            .and_then(known)
            .and_then(|w| w.shape.dims().get(2)),
        _ => None,
    };
    let half = matches!(result.grid, DType::BF16 | DType::F16);
    match terms {
        Some(&terms) if half && terms > 1 => kinds.push(FindingKind::NarrowDot {
            terms,
            grid: result.grid,
        }),
        _ => {
            let reads = |value| known(value).is_some_and(|info| info.elem == Elem::Bf16);
            let computes = !matches!(node.op, Op::Map { .. } | Op::Fill { .. });
            if result.elem == Elem::Bf16 || (computes && node.inputs.iter().any(reads)) {
                kinds.push(FindingKind::NarrowArithmetic);
            }
        }
    }
}

/// What is left to the compiler.
fn open(node: &Node, kinds: &mut Vec<FindingKind>) {
    match &node.op {
        Op::Map { kernel, .. } => open_kernel(kernel, kinds),
        Op::Reduce {
            combine: Combine::Sum {
                order: Order::Any, ..
            },
            ..
        }
        | Op::PrefixScan {
            order: Order::Any, ..
        }
        | Op::Dot {
            order: Order::Any, ..
        }
        | Op::PackedDot {
            order: Order::Any, ..
        }
        | Op::DirectConvolution {
            order: Order::Any, ..
        } => kinds.push(FindingKind::Unordered),
        _ => {}
    }
}

fn open_kernel(kernel: &Kernel, kinds: &mut Vec<FindingKind>) {
    for (register, (inst, _)) in kernel.insts().enumerate() {
        match *inst {
            Inst::Round(RoundTo::Bf16Any, _) => {
                kinds.push(FindingKind::DroppableRounding { register });
            }
            Inst::Native(function, ..) => {
                kinds.push(FindingKind::NativeFunction { register, function });
            }
            Inst::Binary(Binary::MulAny, ..) => kinds.push(FindingKind::ContractableProduct {
                register,
                feeds: addition_of(kernel, register),
            }),
            _ => {}
        }
    }
}

/// The first addition or subtraction that reads a register, directly or negated.
fn addition_of(kernel: &Kernel, register: usize) -> Option<usize> {
    let mut same = vec![register];
    for (at, (inst, _)) in kernel.insts().enumerate() {
        match *inst {
            Inst::Unary(Unary::Neg, a) if same.contains(&a.index()) => same.push(at),
            Inst::Binary(Binary::Add | Binary::Sub, a, b)
                if same.contains(&a.index()) || same.contains(&b.index()) =>
            {
                return Some(at);
            }
            _ => {}
        }
    }
    None
}

/// A declared grid that the operation does not keep.
fn off_grid(program: &Program, node: &Node, kinds: &mut Vec<FindingKind>) {
    let known = |value: &Value| program.values().get(value.index());
    let Some(result) = known(&node.output) else {
        return;
    };
    let grid = result.grid;
    if !matches!(grid, DType::BF16 | DType::F16) {
        return;
    }
    let operands: Vec<&ValueInfo> = node.inputs.iter().filter_map(known).collect();
    let keeps = match &node.op {
        Op::Map { kernel, .. } => rounds(kernel, &operands, grid),
        Op::Reduce { combine, .. } => match combine {
            Combine::Sum { round_each, .. } => *round_each == Some(grid),
            Combine::Max | Combine::Min => operands.iter().all(|info| info.grid == grid),
        },
        Op::PrefixScan { round_each, .. } => *round_each == Some(grid),
        Op::RoundedDot { grid: onto } | Op::PackedRoundedDot { grid: onto } => *onto == grid,
        // Found as narrow above if there is anything to add.
        Op::Dot { .. } | Op::PackedDot { .. } | Op::DirectConvolution { .. } => kinds
            .iter()
            .any(|kind| matches!(kind, FindingKind::NarrowDot { .. })),
        Op::Fill { bits } => on_grid(*bits, grid),
        Op::Pad { bits, .. } => on_grid(*bits, grid) && operands.iter().all(|i| i.grid == grid),
        Op::Gather { .. } => operands.first().is_some_and(|info| info.grid == grid),
        _ => operands.iter().all(|info| info.grid == grid),
    };
    if !keeps {
        kinds.push(FindingKind::OffGrid { grid });
    }
}

/// Whether a kernel's result lies on a grid whatever its operands' values are.
fn rounds(kernel: &Kernel, operands: &[&ValueInfo], grid: DType) -> bool {
    let mut on: Vec<bool> = Vec::new();
    for (inst, _) in kernel.insts() {
        let at = |reg: Reg| on.get(reg.index()).copied().unwrap_or(false);
        let keeps = match *inst {
            Inst::Operand(i) => operands.get(i).is_some_and(|info| info.grid == grid),
            Inst::ConstF32(bits) => on_grid(bits, grid),
            Inst::Round(..) => grid == DType::BF16,
            // Whole numbers below a grid's precision stay on it, larger values are whole already.
            Inst::Unary(Unary::Neg | Unary::Abs | Unary::Floor, a) => at(a),
            Inst::Select(_, a, b) | Inst::Rarely(_, a, b) => at(a) && at(b),
            _ => false,
        };
        on.push(keeps);
    }
    on.get(kernel.result().index()).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests;
