//! Whether a program means something: what is checked before anything reads it.
//!
//! Every value is given once and before it is read; operands, shapes, storage and grids fit each
//! operation; kernels are typed and read backwards only. What cannot be decided from the program
//! alone, such as whether preparation steps lead from a checkpoint tensor to the declared shape,
//! is checked where it happens. Whether a declared grid is kept is the lint's question.

mod kernel;
mod op;

use stages::DType;

use crate::program::{Arg, Elem, Node, Output, Program, Value, ValueInfo};

pub use kernel::{KernelFault, kernel};
pub(crate) use op::on_grid;

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// An argument, by position.
    Arg(usize),
    /// An operation.
    Node {
        /// Its position in evaluation order.
        index: usize,
        /// Its name.
        op: &'static str,
    },
    /// A result.
    Output {
        /// Its position.
        index: usize,
        /// Its name.
        name: String,
    },
    /// The program as a whole.
    Program,
}

impl Place {
    /// An operation's place.
    pub fn node(index: usize, node: &Node) -> Place {
        Place::Node {
            index,
            op: node.op.name(),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Arg(index) => write!(f, "argument {index}"),
            Place::Node { index, op } => write!(f, "node {index} ({op})"),
            Place::Output { index, name } => write!(f, "output {index} ({name:?})"),
            Place::Program => f.write_str("program"),
        }
    }
}

/// What is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {fault}")]
pub struct Invalid {
    /// Where.
    pub at: Place,
    /// What.
    pub fault: Fault,
}

/// What is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The value is not one of the program's.
    #[error("value {0} is not of this program")]
    Unknown(usize),
    /// A value is read before anything gives it.
    #[error("value {0} is read before it is given")]
    Early(usize),
    /// A value is given twice.
    #[error("value {0} is given a second time")]
    Twice(usize),
    /// The number of elements overflows, or an index does not fit an I32.
    #[error("a shape is too large to index")]
    Large,
    /// Storage cannot hold values of that grid.
    #[error("{elem:?} storage cannot carry the grid {grid}")]
    Grid {
        /// The storage.
        elem: Elem,
        /// The grid.
        grid: DType,
    },
    /// BF16 storage outside of arguments and movement of them.
    #[error("BF16 storage is for arguments and movement of them: widen it with a Map first")]
    Bf16,
    /// The operation does not take so many operands.
    #[error("the number or kind of operands is not the operation's")]
    Operands,
    /// An operand's storage is not what the operation reads.
    #[error("operand {operand} is stored as {actual:?}")]
    Operand {
        /// Its position.
        operand: usize,
        /// Its storage.
        actual: Elem,
    },
    /// The result's storage is not what the operation gives.
    #[error("the result is declared {declared:?}, but the operation gives {given:?}")]
    Result {
        /// The declared storage.
        declared: Elem,
        /// What comes out.
        given: Elem,
    },
    /// The result's shape is not what the operation gives.
    #[error("the result is declared {declared}, but the operation gives {given}")]
    Shape {
        /// The declared shape.
        declared: stages::Shape,
        /// What comes out.
        given: stages::Shape,
    },
    /// Operands' shapes do not fit each other.
    #[error("operand {operand} of shape {shape} does not fit the others")]
    Fit {
        /// Its position.
        operand: usize,
        /// Its shape.
        shape: stages::Shape,
    },
    /// An attribute has entries for another number of axes, or names one that is not there.
    #[error("{what} does not fit the {rank} axes of operand 0")]
    Axes {
        /// The attribute.
        what: &'static str,
        /// How many axes there are.
        rank: usize,
    },
    /// Reduced axes must ascend.
    #[error("axes must ascend without repetition")]
    Order,
    /// A slice is empty-ended, out of bounds or has a step of zero.
    #[error("axis {axis} is sliced {start}..{stop} by {stride} out of {extent}")]
    Slice {
        /// The axis.
        axis: usize,
        /// First index.
        start: usize,
        /// One past the last.
        stop: usize,
        /// The step.
        stride: usize,
        /// The operand's extent.
        extent: usize,
    },
    /// An index map is not from the operand's axes to the result's.
    #[error("the index map of operand {operand} does not fit at its axis {axis}")]
    Map {
        /// The operand.
        operand: usize,
        /// Its axis.
        axis: usize,
    },
    /// An index map has another number of axes than its operand, or there is none.
    #[error("operand {operand} has no index map of its rank")]
    MapRank {
        /// The operand.
        operand: usize,
    },
    /// A partial sum cannot be rounded onto that grid.
    #[error("partial sums cannot be rounded onto {0}")]
    RoundEach(DType),
    /// An element is not on the grid of the value or no element of its storage.
    #[error("the element 0x{0:08X} is not one of the declared grid")]
    Element(u32),
    /// A gather from an axis of extent 0.
    #[error("elements are gathered from an empty axis")]
    Empty,
    /// The kernel is malformed.
    #[error("{0}")]
    Kernel(#[from] KernelFault),
    /// There is no result.
    #[error("nothing is returned")]
    NoOutput,
    /// Two results have one name.
    #[error("another output has this name")]
    Name,
}

/// Checks a program.
///
/// # Errors
/// The first fault, arguments first, then nodes in evaluation order, then outputs.
pub fn validate(program: &Program) -> Result<(), Invalid> {
    let mut given = vec![false; program.values().len()];
    for (index, Arg { value, .. }) in program.args().iter().enumerate() {
        let check = |given: &mut [bool]| {
            define(given, *value)?;
            declared(program.info(*value))
        };
        check(&mut given).map_err(|fault| Invalid {
            at: Place::Arg(index),
            fault,
        })?;
    }
    for (index, node) in program.nodes().iter().enumerate() {
        check_node(program, node, &mut given).map_err(|fault| Invalid {
            at: Place::node(index, node),
            fault,
        })?;
    }
    check_outputs(program, &given)
}

fn check_node(program: &Program, node: &Node, given: &mut [bool]) -> Result<(), Fault> {
    for &input in &node.inputs {
        read(given, input)?;
    }
    define(given, node.output)?;
    let result = program.info(node.output);
    declared(result)?;
    let operands: Vec<&ValueInfo> = node.inputs.iter().map(|&v| program.info(v)).collect();
    if result.elem == Elem::Bf16 && !node.op.is_movement() {
        return Err(Fault::Bf16);
    }
    op::check(&node.op, &operands, result)
}

fn check_outputs(program: &Program, given: &[bool]) -> Result<(), Invalid> {
    if program.outputs().is_empty() {
        return Err(Invalid {
            at: Place::Program,
            fault: Fault::NoOutput,
        });
    }
    let mut names = std::collections::HashSet::new();
    for (index, Output { name, value }) in program.outputs().iter().enumerate() {
        let mut check = || {
            read(given, *value)?;
            if program.info(*value).elem == Elem::Bf16 {
                return Err(Fault::Bf16);
            }
            if names.insert(name) {
                Ok(())
            } else {
                Err(Fault::Name)
            }
        };
        check().map_err(|fault| Invalid {
            at: Place::Output {
                index,
                name: name.clone(),
            },
            fault,
        })?;
    }
    Ok(())
}

/// Marks a value as given.
fn define(given: &mut [bool], value: Value) -> Result<(), Fault> {
    let index = value.index();
    let slot = given.get_mut(index).ok_or(Fault::Unknown(index))?;
    if std::mem::replace(slot, true) {
        Err(Fault::Twice(index))
    } else {
        Ok(())
    }
}

fn read(given: &[bool], value: Value) -> Result<(), Fault> {
    let index = value.index();
    match given.get(index) {
        None => Err(Fault::Unknown(index)),
        Some(false) => Err(Fault::Early(index)),
        Some(true) => Ok(()),
    }
}

/// A value's own declaration.
fn declared(info: &ValueInfo) -> Result<(), Fault> {
    let fits = match info.elem {
        Elem::F32 => info.grid.is_float(),
        Elem::Bf16 => info.grid == DType::BF16,
        Elem::I32 => matches!(info.grid, DType::I32 | DType::U32),
        Elem::Bool => info.grid == DType::Bool,
    };
    if !fits {
        return Err(Fault::Grid {
            elem: info.elem,
            grid: info.grid,
        });
    }
    let indexable = info
        .shape
        .dims()
        .iter()
        .all(|&extent| i32::try_from(extent).is_ok());
    let bytes = info.shape.checked_elements().and_then(|n| n.checked_mul(4));
    match bytes {
        Some(bytes) if indexable && isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Fault::Large),
    }
}

#[cfg(test)]
mod tests;
