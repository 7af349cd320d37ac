//! MLX's functions of affinely quantised matrices (`mx.dequantize`, `mx.quantized_matmul`).

use super::{BitwiseKind, Builder, GraphError, Op, ValueId};
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
    /// When shapes or dtypes do not fit, or elements are not of 2, 4 or 8 bits.
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

    /// Whether it is a quantised matrix.
    fn check(&self, matrix: &Quantized) -> Result<(), GraphError> {
        let op = "dequantize";
        let &Quantized {
            words,
            scales,
            biases,
            group_size,
            bits,
        } = matrix;
        let shapes = [words, scales, biases].map(|part| self.shape(part));
        let [w, s, _] = shapes.map(|shape| shape.dims());
        let supported = matches!(bits, 2 | 4 | 8);
        let fits = supported
            && group_size > 0
            && shapes[1] == shapes[2]
            && w.len() >= 2
            && w.len() == s.len()
            && w[..w.len() - 1] == s[..s.len() - 1]
            && w[w.len() - 1].checked_mul(32 / bits) == s[s.len() - 1].checked_mul(group_size);
        if !fits {
            return Err(GraphError::Shape {
                op,
                shapes: shapes.map(ToString::to_string).join(" and "),
                reason: format!("they are no matrix of {bits} bits in groups of {group_size}"),
            });
        }
        let dtypes = [words, scales, biases].map(|part| self.dtype(part));
        if dtypes[0] != DType::U32 || !dtypes[1].is_float() || dtypes[1] != dtypes[2] {
            return Err(GraphError::DType {
                op,
                dtypes: dtypes.map(|dtype| dtype.to_string()).join(" and "),
                reason: "they must be U32 and twice the same float".into(),
            });
        }
        Ok(())
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
        for (group_size, bits) in [(0, 4), (64, 3), (64, 32), (usize::MAX, 8)] {
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
