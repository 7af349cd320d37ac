//! The primitives of level one: MLX's vocabulary, one op for one MLX primitive.

use crate::{DType, Shape};

/// What a reduction combines elements with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    /// Addition, in the operand's dtype: a float's, or I32's modulo 2³².
    Sum,
    /// The larger; NaN wins.
    Max,
    /// The smaller; NaN wins.
    Min,
}

/// What `BitwiseBinary` does with two integers. The others of MLX's are not stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitwiseKind {
    /// `a << b`.
    LeftShift,
    /// `a >> b`, zeros from the left.
    RightShift,
}

/// A primitive of MLX 0.32.2 with the argument form its export gives. Operands of elementwise
/// primitives have equal shapes and dtypes: `Broadcast` and `AsType` are primitives of their own.
///
/// Shapes and dtypes of results: [`infer`](super::infer).
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "named as in MLX; the argument forms are MLX's")]
pub enum Op {
    // Sources.
    /// A tensor the caller gives at run time.
    Input {
        name: String,
    },
    /// A tensor of the checkpoint.
    Weight {
        name: String,
    },
    /// A scalar, rounded once to F32 and then to the value's dtype.
    Constant {
        value: f64,
    },
    /// `start + i·step`, computed in F64 and rounded to the value's dtype.
    Arange {
        start: f64,
        step: f64,
        len: usize,
    },
    /// The scalar operand in every element of `shape`.
    Full {
        shape: Shape,
    },

    // Elementwise, one rounding to the result's dtype each.
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `isnan(a) ? a : (a > b ? a : b)`.
    Maximum,
    /// `isnan(a) ? a : (a < b ? a : b)`.
    Minimum,
    Power,
    LogAddExp,
    GreaterEqual,
    LogicalAnd,
    LogicalNot,
    /// Of U32; the second operand must be below 32.
    BitwiseBinary {
        kind: BitwiseKind,
    },
    Negative,
    Square,
    /// The square root or, if `reciprocal`, one over it.
    Sqrt {
        reciprocal: bool,
    },
    Sigmoid,
    Tanh,
    Exp,
    /// The natural logarithm.
    Log,
    Sin,
    Cos,
    AsType {
        dtype: DType,
    },
    /// Operands: condition (BOOL), then, else.
    Select,

    // Along axes.
    /// Keeps the reduced axes with extent 1.
    Reduce {
        kind: ReduceKind,
        axes: Vec<usize>,
    },
    /// Cumulative sum.
    Scan {
        axis: usize,
        reverse: bool,
        inclusive: bool,
    },
    /// Over the last axis; `precise`: the inside is F32 whatever the dtype.
    Softmax {
        precise: bool,
    },

    // Contractions.
    /// `[.., M, K] · [.., K, N]`, equal leading axes.
    Matmul,
    /// Operands c, a, b: `alpha·(a·b) + beta·c`; c has the result's shape.
    AddMM {
        alpha: f32,
        beta: f32,
    },
    /// Operands x `[.., K]`, U32 words, scales and biases: x times a matrix of affinely quantised
    /// elements, `[N, K]` if `transpose`, else `[K, N]`; see [`Quantized`](super::Quantized). All
    /// but the words are of one float dtype.
    QuantizedMatmul {
        group_size: usize,
        bits: usize,
        transpose: bool,
    },
    /// Input `[B, spatial.., C]`, weight `[O, kernel.., C / groups]`, channels last.
    Convolution {
        strides: Vec<usize>,
        low: Vec<usize>,
        high: Vec<usize>,
        kernel_dilation: Vec<usize>,
        input_dilation: Vec<usize>,
        groups: usize,
        flip: bool,
    },

    // Movement: no value changes.
    Broadcast {
        shape: Shape,
    },
    ExpandDims {
        axes: Vec<usize>,
    },
    Squeeze {
        axes: Vec<usize>,
    },
    Transpose {
        axes: Vec<usize>,
    },
    Reshape {
        shape: Shape,
    },
    /// Axes `start..=end` become one.
    Flatten {
        start: usize,
        end: usize,
    },
    Unflatten {
        axis: usize,
        shape: Shape,
    },
    Slice {
        start: Vec<usize>,
        stop: Vec<usize>,
        strides: Vec<usize>,
    },
    /// Operands: tensor, scalar that fills.
    Pad {
        axes: Vec<usize>,
        low: Vec<usize>,
        high: Vec<usize>,
    },
    Concatenate {
        axis: usize,
    },
    /// The `part`-th of the pieces that cuts at `indices` leave along `axis`.
    Split {
        indices: Vec<usize>,
        axis: usize,
        part: usize,
    },
    /// Operands: tensor, integer indices of the same rank; indices must lie in range.
    GatherAxis {
        axis: usize,
    },
}

impl Op {
    /// The primitive's name as MLX's export spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input { .. } => "Input",
            Op::Weight { .. } => "Weight",
            Op::Constant { .. } => "Constant",
            Op::Arange { .. } => "Arange",
            Op::Full { .. } => "Full",
            Op::Add => "Add",
            Op::Subtract => "Subtract",
            Op::Multiply => "Multiply",
            Op::Divide => "Divide",
            Op::Maximum => "Maximum",
            Op::Minimum => "Minimum",
            Op::Power => "Power",
            Op::LogAddExp => "LogAddExp",
            Op::GreaterEqual => "GreaterEqual",
            Op::LogicalAnd => "LogicalAnd",
            Op::LogicalNot => "LogicalNot",
            Op::BitwiseBinary { .. } => "BitwiseBinary",
            Op::Negative => "Negative",
            Op::Square => "Square",
            Op::Sqrt { .. } => "Sqrt",
            Op::Sigmoid => "Sigmoid",
            Op::Tanh => "Tanh",
            Op::Exp => "Exp",
            Op::Log => "Log",
            Op::Sin => "Sin",
            Op::Cos => "Cos",
            Op::AsType { .. } => "AsType",
            Op::Select => "Select",
            Op::Reduce { .. } => "Reduce",
            Op::Scan { .. } => "Scan",
            Op::Softmax { .. } => "Softmax",
            Op::Matmul => "Matmul",
            Op::AddMM { .. } => "AddMM",
            Op::QuantizedMatmul { .. } => "QuantizedMatmul",
            Op::Convolution { .. } => "Convolution",
            Op::Broadcast { .. } => "Broadcast",
            Op::ExpandDims { .. } => "ExpandDims",
            Op::Squeeze { .. } => "Squeeze",
            Op::Transpose { .. } => "Transpose",
            Op::Reshape { .. } => "Reshape",
            Op::Flatten { .. } => "Flatten",
            Op::Unflatten { .. } => "Unflatten",
            Op::Slice { .. } => "Slice",
            Op::Pad { .. } => "Pad",
            Op::Concatenate { .. } => "Concatenate",
            Op::Split { .. } => "Split",
            Op::GatherAxis { .. } => "GatherAxis",
        }
    }

    /// Whether the op only moves values, so that no error can be made in it.
    pub fn is_movement(&self) -> bool {
        matches!(
            self,
            Op::Broadcast { .. }
                | Op::ExpandDims { .. }
                | Op::Squeeze { .. }
                | Op::Transpose { .. }
                | Op::Reshape { .. }
                | Op::Flatten { .. }
                | Op::Unflatten { .. }
                | Op::Slice { .. }
                | Op::Pad { .. }
                | Op::Concatenate { .. }
                | Op::Split { .. }
                | Op::GatherAxis { .. }
        )
    }
}
