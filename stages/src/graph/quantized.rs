//! MLX's functions of affinely quantised matrices (`mx.dequantize`, `mx.quantized_matmul`).

use super::{BitwiseKind, Builder, GraphError, Op, ValueId, infer::quantized_extents};
use crate::DType;

type Built = Result<ValueId, GraphError>;

/// A matrix `[.., N, K]` whose rows are U32 words and, for every group of elements, a scale and a
/// bias. Element j of a word is its bits `bits·j ..` from the lowest, and stands for
/// `q·scale + bias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantized {
    /// U32 `[.., N, K·bits/32]`.
    pub words: ValueId,
    /// `[.., N, K/group_size]`.
    pub scales: ValueId,
    /// Of the scales' dtype and shape.
    pub biases: ValueId,
    /// Elements that share a scale and a bias.
    pub group_size: usize,
    /// Bits of an element.
    pub bits: usize,
}

impl Builder {
    /// `mx.dequantize`: `[.., N, K]` in the scales' dtype, rounded after the product and after the
    /// sum.
    ///
    /// On CPU it is no primitive: MLX 0.32.2 adds those of its fallback (`affine_dequantize`,
    /// `ops.cpp`), so they are added here, as its export has them.
    ///
    /// # Errors
    /// When shapes or dtypes do not fit, or elements do not fill a word evenly.
    pub fn dequantize(&mut self, matrix: Quantized) -> Built {
        self.check(&matrix)?;
        let Quantized {
            words,
            scales,
            biases,
            group_size,
            bits,
        } = matrix;
        let mut shape = self.shape(words).dims().to_vec();
        let last = shape.len();
        let mut parts = Vec::new();
        for start in (0..32).step_by(bits) {
            let up = self.scalar((32 - (start + bits)) as f64, DType::U32);
            let down = self.scalar((32 - bits) as f64, DType::U32);
            let kind = BitwiseKind::LeftShift;
            let part = self.binary(Op::BitwiseBinary { kind }, words, up)?;
            let kind = BitwiseKind::RightShift;
            let part = self.binary(Op::BitwiseBinary { kind }, part, down)?;
            parts.push(self.apply(Op::ExpandDims { axes: vec![last] }, &[part])?);
        }
        let parts = self.apply(Op::Concatenate { axis: last }, &parts)?;
        let mut groups = self.shape(scales).dims().to_vec();
        groups.push(group_size);
        let q = self.reshape(parts, groups)?;
        let scales = self.apply(Op::ExpandDims { axes: vec![last] }, &[scales])?;
        let scaled = self.binary(Op::Multiply, q, scales)?;
        let biases = self.apply(Op::ExpandDims { axes: vec![last] }, &[biases])?;
        let values = self.binary(Op::Add, scaled, biases)?;
        shape[last - 1] *= 32 / bits;
        self.reshape(values, shape)
    }

    /// `nn.QuantizedLinear` without bias: `mx.quantized_matmul(x, .., transpose=True)`, x `[.., K]`.
    /// Where x and scales are of two dtypes, each of x, scales and biases is cast to the common
    /// one. MLX neither flattens x nor transposes anything.
    ///
    /// # Errors
    /// When shapes or dtypes do not fit.
    pub fn quantized_linear(&mut self, x: ValueId, matrix: Quantized) -> Built {
        self.check(&matrix)?;
        let (own, scales) = (self.dtype(x), self.dtype(matrix.scales));
        let dtype = own.promote(scales).ok_or_else(|| GraphError::DType {
            op: "QuantizedMatmul",
            dtypes: format!("{own} and {scales}"),
            reason: "the common dtype is not supported".into(),
        })?;
        let op = Op::QuantizedMatmul {
            group_size: matrix.group_size,
            bits: matrix.bits,
            transpose: true,
        };
        let x = self.astype(x, dtype)?;
        let scales = self.astype(matrix.scales, dtype)?;
        let biases = self.astype(matrix.biases, dtype)?;
        self.apply(op, &[x, matrix.words, scales, biases])
    }

    fn check(&self, matrix: &Quantized) -> Result<(), GraphError> {
        let parts = [matrix.words, matrix.scales, matrix.biases];
        let parts = parts.map(|part| (self.shape(part), self.dtype(part)));
        quantized_extents("dequantize", parts, matrix.group_size, matrix.bits).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(b: &mut Builder, words: [usize; 2], scales: [usize; 2], dtype: DType) -> Quantized {
        Quantized {
            words: b.weight("m.weight", words, DType::U32),
            scales: b.weight("m.scales", scales, dtype),
            biases: b.weight("m.biases", scales, dtype),
            group_size: 64,
            bits: 4,
        }
    }

    /// As `mx.export_function` hands out `mx.dequantize` (MLX 0.32.2, CPU).
    #[test]
    fn dequantising_adds_the_primitives_of_the_export() {
        let mut b = Builder::new();
        let m = matrix(&mut b, [40, 16], [40, 2], DType::BF16);
        let value = b.dequantize(m).unwrap();
        assert_eq!(b.shape(value), &[40, 128].into());
        assert_eq!(b.dtype(value), DType::BF16);
        let graph = b.finish();
        let names: Vec<_> = graph
            .nodes()
            .map(|(_, node)| node.op.name())
            .filter(|name| !matches!(*name, "Weight" | "Constant"))
            .collect();
        let part = [
            "Broadcast",
            "BitwiseBinary",
            "Broadcast",
            "BitwiseBinary",
            "ExpandDims",
        ];
        let (parts, rest) = names.split_at(8 * part.len());
        assert!(parts.chunks(part.len()).all(|names| names == part));
        let expected = [
            "Concatenate",
            "Reshape",
            "ExpandDims",
            "AsType",
            "Broadcast",
            "Multiply",
            "ExpandDims",
            "Broadcast",
            "Add",
            "Reshape",
        ];
        assert_eq!(rest, expected);
    }

    /// As the export has it: three casts where x and the scales differ, and nothing else.
    #[test]
    fn a_quantised_linear_layer_is_one_primitive_and_casts() {
        let names = |x: DType, scales: DType| {
            let mut b = Builder::new();
            let m = matrix(&mut b, [40, 16], [40, 2], scales);
            let x = b.input("x", [2, 3, 128], x);
            let y = b.quantized_linear(x, m).unwrap();
            assert_eq!(b.shape(y), &[2, 3, 40].into());
            let graph = b.finish();
            let names = graph.nodes().skip(4).map(|(_, node)| node.op.name());
            names.collect::<Vec<_>>()
        };
        let (bf16, f32) = (DType::BF16, DType::F32);
        assert_eq!(names(bf16, bf16), ["QuantizedMatmul"]);
        assert_eq!(names(f32, bf16), ["AsType", "AsType", "QuantizedMatmul"]);
        assert_eq!(names(bf16, f32), ["AsType", "QuantizedMatmul"]);
    }

    #[test]
    fn a_product_that_does_not_fit_is_an_error() {
        let mut b = Builder::new();
        let m = matrix(&mut b, [40, 16], [40, 2], DType::F32);
        let mut product = |shape: &[usize], dtype, group_size, transpose| {
            let x = b.input("x", shape, dtype);
            let op = Op::QuantizedMatmul {
                group_size,
                bits: 4,
                transpose,
            };
            b.apply(op, &[x, m.words, m.scales, m.biases])
        };
        assert!(product(&[5, 128], DType::F32, 64, true).is_ok());
        assert!(product(&[128], DType::F32, 64, true).is_ok());
        assert!(product(&[40], DType::F32, 64, false).is_ok());
        let error = product(&[5, 127], DType::F32, 64, true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "apply QuantizedMatmul to [5,127] and [40,16] and [40,2] and [40,2]: x must have 128 \
             columns"
        );
        for (shape, dtype, group_size) in [
            (&[5, 128][..], DType::BF16, 64),
            (&[5, 128], DType::I32, 64),
            (&[5, 128], DType::F32, 32),
            (&[5, 128], DType::F32, 16),
            (&[0, 128], DType::F32, 64),
            (&[], DType::F32, 64),
        ] {
            assert!(product(shape, dtype, group_size, true).is_err());
        }
    }

    #[test]
    fn parts_that_are_no_matrix_are_errors() {
        let error = |words, scales, dtype| {
            let mut b = Builder::new();
            let m = matrix(&mut b, words, scales, dtype);
            b.dequantize(m).unwrap_err().to_string()
        };
        assert_eq!(
            error([4, 9], [4, 1], DType::BF16),
            "apply dequantize to [4,9] and [4,1] and [4,1]: they are no matrix of 4 bits in groups \
             of 64"
        );
        assert!(error([4, 8], [5, 1], DType::BF16).contains("no matrix"));
        assert!(error([4, 8], [4, 1], DType::I32).contains("twice the same float"));
        let mut b = Builder::new();
        let m = matrix(&mut b, [4, 8], [4, 1], DType::F32);
        for (group_size, bits) in [(0, 4), (64, 3), (64, 32), (64, 0), (usize::MAX, 8)] {
            let odd = Quantized {
                group_size,
                bits,
                ..m
            };
            assert!(b.dequantize(odd).is_err());
        }
        let swapped = Quantized {
            words: m.scales,
            ..m
        };
        assert!(b.dequantize(swapped).is_err());
    }
}
