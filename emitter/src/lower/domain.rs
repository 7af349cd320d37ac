//! On which values each lowering under `mlx-cpu` gives the reference's bits.

use stages::{
    DType,
    graph::{Op, ReduceKind},
};

/// The operand values on which a lowering is exact. NaNs count as equal whatever their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Whether it is every value that operands of the dtype can have.
    pub total: bool,
    /// What the values are, and what is left out.
    pub description: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
}

const fn total(source: &'static str) -> Domain {
    Domain {
        total: true,
        description: "all values",
        source,
    }
}

const fn partial(description: &'static str, source: &'static str) -> Domain {
    Domain {
        total: false,
        description,
        source,
    }
}

/// The domain of a primitive on operands of a dtype (of `AsType` and `Select`, the dtype of what
/// is converted or selected), or `None` where there is no lowering. What a lowering can only
/// refuse with a [`LowerError`](super::LowerError), because it depends on shapes and views, is
/// not part of it.
pub fn domain(op: &Op, dtype: DType) -> Option<Domain> {
    if !takes(op, dtype) {
        return None;
    }
    Some(match op {
        Op::Input { .. } | Op::Weight { .. } => total("no arithmetic"),
        Op::Constant { .. } => total("MLX 0.32.2, Python scalars: rounded to F32, then the dtype"),
        Op::Arange { .. } => total("MLX 0.32.2, arange.h, CPU"),
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide => {
            total("MLX 0.32.2, binary_ops.h, CPU; IEEE-754, one rounding")
        }
        Op::Maximum | Op::Minimum | Op::GreaterEqual | Op::LogicalAnd => {
            total("MLX 0.32.2, binary_ops.h, CPU")
        }
        Op::BitwiseBinary { .. } => partial("shifts below 32", "MLX 0.32.2, binary_ops.h, CPU"),
        Op::Select => total("MLX 0.32.2, ternary.h, CPU"),
        Op::Power => total(
            "MLX 0.32.2, binary_ops.h, CPU: the host's powf, glibc 2.28 and later, restated from \
             ARM optimized-routines",
        ),
        Op::LogAddExp => total(
            "MLX 0.32.2, binary_ops.h, CPU: its own exp, and the host's log1pf on [0, 1], glibc \
             up to 2.40, restated from fdlibm",
        ),
        Op::LogicalNot | Op::Negative | Op::Square | Op::Sqrt { .. } => {
            total("MLX 0.32.2, unary_ops.h, CPU")
        }
        Op::Sigmoid | Op::Exp => total("MLX 0.32.2, simd/math.h, CPU: its own exp"),
        Op::Tanh => total(
            "MLX 0.32.2, unary_ops.h, CPU: the host's tanhf, glibc up to 2.40, restated from \
             fdlibm",
        ),
        Op::Log => total(
            "MLX 0.32.2, unary_ops.h, CPU: the host's logf, glibc 2.27 and later, restated from \
             ARM optimized-routines",
        ),
        Op::Sin | Op::Cos => total(
            "MLX 0.32.2, simd/math.h, CPU: its own polynomials up to 2²³, beyond the host's sinf \
             and cosf, glibc 2.28 and later, restated from ARM optimized-routines",
        ),
        Op::AsType { dtype: to } => {
            if matches!(to, DType::F16 | DType::U32) {
                return None;
            }
            total("MLX 0.32.2, copy.cpp, CPU; conversions out of range as x86-64 makes them")
        }
        Op::Reduce {
            kind: ReduceKind::Sum,
            ..
        } => total("MLX 0.32.2, reduce.cpp, CPU; I32 modulo 2³²"),
        Op::Reduce { .. } => partial(
            "all values; where the reduced elements are not one run of row-major memory, but for \
             the sign of a zero that is the result of zeros of both signs",
            "MLX 0.32.2, reduce.cpp, CPU",
        ),
        Op::Scan { .. } => total("MLX 0.32.2, scan.cpp, CPU"),
        Op::Softmax { .. } => total("MLX 0.32.2, softmax.cpp, CPU"),
        Op::Matmul => total("MLX 0.32.2, matmul.cpp, CPU, over Netlib BLAS 3.10"),
        Op::AddMM { .. } => partial(
            "all values, but for the sign of a zero that begins as c = −0 in F32 with b not \
             transposed",
            "MLX 0.32.2, matmul.cpp, CPU, over Netlib BLAS 3.10",
        ),
        Op::QuantizedMatmul { .. } => total("MLX 0.32.2, quantized.cpp, CPU on x86-64"),
        Op::Convolution {
            groups,
            kernel_dilation,
            ..
        } => {
            let source = "MLX 0.32.2, conv.cpp, CPU, over Netlib BLAS 3.10";
            let dilated = kernel_dilation.iter().any(|&n| n != 1);
            if dilated || (*groups > 1 && kernel_dilation.len() > 1) {
                partial("finite weights, where there is padding", source)
            } else {
                total(source)
            }
        }
        Op::GatherAxis { .. } => partial(
            "indices from 0 to one below the axis's extent",
            "MLX 0.32.2, indexing.cpp, CPU",
        ),
        Op::Full { .. }
        | Op::Broadcast { .. }
        | Op::ExpandDims { .. }
        | Op::Squeeze { .. }
        | Op::Transpose { .. }
        | Op::Reshape { .. }
        | Op::Flatten { .. }
        | Op::Unflatten { .. }
        | Op::Slice { .. }
        | Op::Pad { .. }
        | Op::Concatenate { .. }
        | Op::Split { .. } => total("a copy of bits"),
    })
}

/// Whether a primitive has a lowering on operands of a dtype.
fn takes(op: &Op, dtype: DType) -> bool {
    let float = matches!(dtype, DType::F32 | DType::BF16);
    let ordered = float || matches!(dtype, DType::I32 | DType::Bool);
    let carried = ordered || dtype == DType::U32;
    match op {
        Op::BitwiseBinary { .. } => dtype == DType::U32,
        Op::Maximum | Op::Minimum | Op::GreaterEqual | Op::Select => ordered,
        Op::LogicalAnd | Op::LogicalNot => dtype == DType::Bool,
        Op::Arange { .. } => float || dtype == DType::I32,
        Op::Reduce {
            kind: ReduceKind::Sum,
            ..
        } => float || dtype == DType::I32,
        Op::Reduce { .. } => float,
        Op::AsType { dtype: to } => carried && !matches!(to, DType::F16 | DType::U32),
        Op::Add
        | Op::Subtract
        | Op::Multiply
        | Op::Divide
        | Op::Power
        | Op::LogAddExp
        | Op::Negative
        | Op::Square
        | Op::Sqrt { .. }
        | Op::Sigmoid
        | Op::Tanh
        | Op::Exp
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Scan { .. }
        | Op::Softmax { .. }
        | Op::Matmul
        | Op::AddMM { .. }
        | Op::QuantizedMatmul { .. }
        | Op::Convolution { .. } => float,
        _ => carried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowering_that_leaves_values_out_says_which() {
        let max = Op::Reduce {
            kind: ReduceKind::Max,
            axes: vec![0],
        };
        let domain = domain(&max, DType::F32).unwrap();
        assert!(!domain.total);
        assert!(domain.description.contains("zero"));
    }

    #[test]
    fn dtypes_without_a_carrier_have_no_domain() {
        assert_eq!(domain(&Op::Add, DType::F16), None);
        assert_eq!(domain(&Op::Add, DType::I32), None);
        assert_eq!(domain(&Op::AsType { dtype: DType::U32 }, DType::F32), None);
        assert!(domain(&Op::AsType { dtype: DType::BF16 }, DType::I32).is_some_and(|d| d.total));
        assert!(domain(&Op::AsType { dtype: DType::BF16 }, DType::U32).is_some_and(|d| d.total));
        assert_eq!(domain(&Op::Maximum, DType::U32), None);
        assert!(domain(&Op::Tanh, DType::BF16).is_some_and(|d| d.total));
    }

    #[test]
    fn integers_have_sums_and_no_extrema() {
        let of = |kind| {
            let axes = vec![0];
            domain(&Op::Reduce { kind, axes }, DType::I32)
        };
        assert!(of(ReduceKind::Sum).is_some_and(|d| d.total));
        assert_eq!(of(ReduceKind::Max), None);
    }
}
