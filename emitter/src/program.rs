//! Level two: typed arithmetic in which every order, rounding and fusion is stated.
//!
//! A program is one function: arguments, operations in evaluation order, named results. BF16
//! values are carried as F32 tensors whose values lie on the BF16 grid ([`ValueInfo::grid`]
//! says so): nothing is computed in a 16-bit type, and a rounding is an explicit
//! [`Inst::Round`](crate::kernel::Inst::Round). Only weight arguments are stored as BF16; their
//! values are widened, exactly, where they are read.

use stages::{DType, Shape};

use crate::kernel::Kernel;

/// A value of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// Position among the program's values.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How elements are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    /// IEEE binary32.
    F32,
    /// bfloat16: weight arguments only.
    Bf16,
    /// 32-bit integer, of either sign: what reads its bits decides.
    I32,
    /// One byte, 0 or 1.
    Bool,
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueInfo {
    /// Extents.
    pub shape: Shape,
    /// Storage.
    pub elem: Elem,
    /// The dtype on whose grid the values lie.
    pub grid: DType,
}

/// Where an operand's element is read for an element of the result: operand axis `i` follows
/// result axis `axes[i]`, or stays at index 0 (extent 1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexMap(pub Vec<Option<usize>>);

impl IndexMap {
    /// Every operand axis follows the result axis of the same number.
    pub fn identity(rank: usize) -> Self {
        IndexMap((0..rank).map(Some).collect())
    }

    /// NumPy's broadcast of an operand to a result shape.
    pub fn broadcast(operand: &Shape, result: &Shape) -> Self {
        let lead = result.rank().saturating_sub(operand.rank());
        let follow = |axis: usize| (operand[axis] == result[lead + axis]).then_some(lead + axis);
        IndexMap((0..operand.rank()).map(follow).collect())
    }
}

/// The order in which terms are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `((0 + x₀) + x₁) + …`, ascending; over several axes lexicographic, last axis fastest.
    Sequential,
    /// Whatever the compiler likes best (`native` only).
    Any,
}

/// How elements along reduced axes are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// A sum from +0, accumulated in F32, each partial sum rounded onto `round_each` if given. Of
    /// I32 from 0 modulo 2³², without a rounding, so that the order makes no difference.
    Sum {
        /// Order of the additions.
        order: Order,
        /// Grid of the accumulator; F32 if `None`.
        round_each: Option<DType>,
    },
    /// The larger from −∞: `isnan(acc) || acc ≥ x ? acc : x`, so NaN wins and of +0 and −0 the
    /// first stays (MLX 0.32.2, last axis and strided).
    Max,
    /// The smaller from +∞: `isnan(acc) || acc ≤ x ? acc : x`.
    Min,
}

/// An operation. Operands stand in [`Node::inputs`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant tensor, all elements equal: the F32's bits (its upper half for BF16 storage),
    /// the integer, or 0/1.
    Fill {
        /// The element, by its bits.
        bits: u32,
    },
    /// The kernel at every index of the result; one index map an operand.
    Map {
        /// What happens to one element.
        kernel: Kernel,
        /// Where operands are read.
        maps: Vec<IndexMap>,
    },
    /// Combines along `axes` (ascending), which the result does not keep. F32 or, for `Sum` only,
    /// I32.
    Reduce {
        /// Reduced axes.
        axes: Vec<usize>,
        /// How.
        combine: Combine,
    },
    /// Running sums along an axis: `oᵢ = round(oᵢ₋₁ + xᵢ)` from −0, so that `o₀ = round(x₀)`;
    /// if not `inclusive`, `o₀ = +0` and `oᵢ = round(oᵢ₋₁ + xᵢ₋₁)`. From the end if `reverse`.
    PrefixScan {
        /// The axis.
        axis: usize,
        /// From the end.
        reverse: bool,
        /// Whether `oᵢ` contains `xᵢ`.
        inclusive: bool,
        /// Order of the additions.
        order: Order,
        /// Grid of the running sum; F32 if `None`.
        round_each: Option<DType>,
    },
    /// `[batch.., M, K] · [batch.., N, K] → [batch.., M, N]`, accumulated in F32 from +0.
    Dot {
        /// Order of the additions along K.
        order: Order,
        /// Whether product and addition round once together.
        fused: bool,
    },
    /// [`Op::Dot`] in ascending k, each product and each partial sum rounded onto the grid:
    /// `sum = round(sum + round(a·b))` from +0.
    RoundedDot {
        /// What they are rounded onto.
        grid: DType,
    },
    /// [`Op::RoundedDot`] on a right operand in tiles of rows, `[M, K] · [N/t, K, t] →
    /// [M, N/t, t]`: a form the layout pass gives, the same additions in the same order.
    PackedRoundedDot {
        /// What products and partial sums are rounded onto.
        grid: DType,
    },
    /// [`Op::Dot`] on operands packed in tiles of rows, `[M/t, K, t, 1] · [N/t, K, t, 1] →
    /// [M/t, N/t, t, t]`: a form the layout pass gives, the same additions in the same order.
    PackedDot {
        /// Order of the additions along K.
        order: Order,
        /// Whether product and addition round once together.
        fused: bool,
    },
    /// `[B, spatial.., C]` with `[kernel.., C, O]` to `[B, spatial'.., O]`: [`Op::Dot`] on
    /// [`Op::Patches`], without writing the patches out. A form the layout pass gives for two
    /// spatial axes, the same additions in the same order: kernel positions row-major, channels
    /// fastest.
    DirectConvolution {
        /// Steps between patches, a spatial axis each.
        strides: Vec<usize>,
        /// Steps within a patch, a spatial axis each.
        dilation: Vec<usize>,
        /// Order of the additions.
        order: Order,
        /// Whether product and addition round once together.
        fused: bool,
    },
    /// Other extents, same values in the same row-major order.
    Reshape,
    /// Result axis `i` is operand axis `axes[i]`.
    Transpose {
        /// The permutation.
        axes: Vec<usize>,
    },
    /// Elements `start, start + stride, …` below `stop` of every axis.
    Slice {
        /// First index.
        start: Vec<usize>,
        /// One past the last.
        stop: Vec<usize>,
        /// Steps.
        strides: Vec<usize>,
    },
    /// `bits` (as in [`Op::Fill`]) around the operand.
    Pad {
        /// Elements before, an axis each.
        low: Vec<usize>,
        /// Elements after, an axis each.
        high: Vec<usize>,
        /// The element, by its bits.
        bits: u32,
    },
    /// `[B, spatial.., C]` to `[B, spatial'.., kernel.., C]`: what a kernel sees at each place,
    /// element `o·stride + k·dilation` along a spatial axis.
    Patches {
        /// Extents of the kernel.
        kernel: Vec<usize>,
        /// Steps between patches.
        strides: Vec<usize>,
        /// Steps within a patch.
        dilation: Vec<usize>,
    },
    /// Operands one after the other along an axis.
    Concatenate {
        /// The axis.
        axis: usize,
    },
    /// The operand stretched to the result's shape.
    Broadcast {
        /// Where the operand is read.
        map: IndexMap,
    },
    /// Operands x and I32 indices: `x[.., indices[i.., j], ..]` along an axis. Indices outside
    /// the axis read its nearest element.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// The operand, which the compiler must not fuse across.
    Barrier,
}

impl Op {
    /// The operation's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Op::Fill { .. } => "Fill",
            Op::Map { .. } => "Map",
            Op::Reduce { .. } => "Reduce",
            Op::PrefixScan { .. } => "PrefixScan",
            Op::Dot { .. } => "Dot",
            Op::RoundedDot { .. } => "RoundedDot",
            Op::PackedRoundedDot { .. } => "PackedRoundedDot",
            Op::PackedDot { .. } => "PackedDot",
            Op::DirectConvolution { .. } => "DirectConvolution",
            Op::Patches { .. } => "Patches",
            Op::Reshape => "Reshape",
            Op::Transpose { .. } => "Transpose",
            Op::Slice { .. } => "Slice",
            Op::Pad { .. } => "Pad",
            Op::Concatenate { .. } => "Concatenate",
            Op::Broadcast { .. } => "Broadcast",
            Op::Gather { .. } => "Gather",
            Op::Barrier => "Barrier",
        }
    }

    /// Whether its order is stated and nothing is left to the compiler.
    pub fn is_exact(&self) -> bool {
        match self {
            Op::Map { kernel, .. } => kernel.is_exact(),
            Op::Reduce {
                combine: Combine::Sum { order, .. },
                ..
            }
            | Op::PrefixScan { order, .. }
            | Op::Dot { order, .. }
            | Op::PackedDot { order, .. }
            | Op::DirectConvolution { order, .. } => *order == Order::Sequential,
            _ => true,
        }
    }

    /// Whether no value changes: the result's elements are operands' elements or a constant.
    pub const fn is_movement(&self) -> bool {
        matches!(
            self,
            Op::Reshape
                | Op::Transpose { .. }
                | Op::Slice { .. }
                | Op::Pad { .. }
                | Op::Concatenate { .. }
                | Op::Broadcast { .. }
                | Op::Gather { .. }
                | Op::Patches { .. }
                | Op::Barrier
        )
    }
}

/// An operation and the value it gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub inputs: Vec<Value>,
    /// What it gives.
    pub output: Value,
}

/// Where an argument's tensor comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A model input, by name.
    Input(String),
    /// A checkpoint tensor, by canonical name.
    Weight(String),
    /// A boundary that the caller has captured, by name.
    Boundary(String),
}

/// Something done once on the host to an argument's tensor before it is handed over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Prepare {
    /// Widen to F32, exactly.
    Widen,
    /// U32 as the I32 of the same bits.
    Reinterpret,
    /// Other extents, same order.
    Reshape(Shape),
    /// Result axis `i` is operand axis `axes[i]`.
    Transpose(Vec<usize>),
    /// Zeros after the last element of an axis, up to that extent.
    PadTo {
        /// The axis.
        axis: usize,
        /// The new extent.
        extent: usize,
    },
}

/// An argument of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    /// Where its tensor comes from.
    pub source: Source,
    /// What is done to that tensor first, in order.
    pub prepare: Vec<Prepare>,
    /// The value in the program, with the prepared shape.
    pub value: Value,
}

/// A named result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Output {
    /// Its name: a boundary, or `boundary/k.Primitive`.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// One function of level two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    pub(crate) args: Vec<Arg>,
    pub(crate) values: Vec<ValueInfo>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<Output>,
}

impl Program {
    /// An empty program.
    pub fn new() -> Self {
        Program::default()
    }

    /// The arguments, in calling order.
    pub fn args(&self) -> &[Arg] {
        &self.args
    }

    /// The operations, in evaluation order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The results, in order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// What is known of a value.
    ///
    /// # Panics
    /// When the value is another, larger program's.
    pub fn info(&self, value: Value) -> &ValueInfo {
        &self.values[value.index()]
    }

    /// All values' infos, in order.
    pub fn values(&self) -> &[ValueInfo] {
        &self.values
    }

    pub(crate) fn value(&mut self, info: ValueInfo) -> Value {
        self.values.push(info);
        Value(self.values.len() as u32 - 1)
    }

    /// Adds an argument and gives its value.
    pub fn arg(&mut self, source: Source, prepare: Vec<Prepare>, info: ValueInfo) -> Value {
        let value = self.value(info);
        self.args.push(Arg {
            source,
            prepare,
            value,
        });
        value
    }

    /// Adds an operation whose result is of the given kind.
    pub fn push(&mut self, op: Op, inputs: Vec<Value>, info: ValueInfo) -> Value {
        let output = self.value(info);
        self.nodes.push(Node { op, inputs, output });
        output
    }

    /// Names a result.
    pub fn output(&mut self, name: impl Into<String>, value: Value) {
        self.outputs.push(Output {
            name: name.into(),
            value,
        });
    }

    /// Whether a strict interpretation exists: every order is stated and nothing is left to the
    /// compiler.
    pub fn is_exact(&self) -> bool {
        self.nodes.iter().all(|node| node.op.is_exact())
    }
}
