//! Mistakes in reading quantised matrices, and in their arithmetic.

use std::fmt;

use stages::{
    DType,
    graph::{Builder, GraphError, Node, Op, Quantized, ValueId},
};

use super::{
    mutation::Mutation,
    pieces::reversed_in_runs,
    step::{Place, Step},
};

type Built = Result<ValueId, GraphError>;

/// Products of more terms in all are not put together from single ones.
const MOST_TERMS: usize = 1 << 21;

/// A mistake with a quantised matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Groups of half the size: scales and biases are read on into the next rows.
    HalfGroups,
    /// Scales are taken for biases and biases for scales.
    Exchanged,
    /// The elements of a word in the opposite order.
    Nibbles,
    /// Words are stored column by column.
    Transposed,
    /// `q·scale` is not rounded before the bias is added.
    Unrounded,
    /// Products and sums in F32, rounded once, in the place of BF16.
    Wide,
    /// In BF16 in the place of F32.
    Narrow,
}

impl Mistake {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Mistake::HalfGroups => "half-groups",
            Mistake::Exchanged => "scales-for-biases",
            Mistake::Nibbles => "nibbles-reversed",
            Mistake::Transposed => "codes-transposed",
            Mistake::Unrounded => "unrounded-scaling",
            Mistake::Wide => "f32-accumulator",
            Mistake::Narrow => "bf16-accumulator",
        }
    }

    /// One sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Mistake::HalfGroups => "Half as many elements share a scale and a bias.",
            Mistake::Exchanged => "Scales are taken for biases and biases for scales.",
            Mistake::Nibbles => "The elements of a word are in the opposite order.",
            Mistake::Transposed => "Words are read as if stored column by column.",
            Mistake::Unrounded => "A scaled element is not rounded before its bias is added.",
            Mistake::Wide => "Products and sums are F32 and rounded once.",
            Mistake::Narrow => "Operands, products and sums are rounded to BF16.",
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The mistakes there can be with a node.
pub(super) fn mistakes(step: &Step, at: usize, node: &Node) -> Vec<Mutation> {
    let graph = step.graph();
    let of = |mistakes: &[Mistake]| -> Vec<Mutation> {
        let mistakes = mistakes.iter();
        mistakes
            .map(|&mistake| Mutation::Quantized { at, mistake })
            .collect()
    };
    match &node.op {
        Op::QuantizedMatmul { .. } => {
            let narrow = node.info.dtype == DType::BF16;
            of(if narrow {
                &[
                    Mistake::HalfGroups,
                    Mistake::Exchanged,
                    Mistake::Nibbles,
                    Mistake::Unrounded,
                    Mistake::Wide,
                ]
            } else {
                &[
                    Mistake::HalfGroups,
                    Mistake::Exchanged,
                    Mistake::Nibbles,
                    Mistake::Narrow,
                ]
            })
        }
        Op::Weight { .. } if node.info.dtype == DType::U32 => {
            let shape = node.info.shape.dims();
            let is_matrix = shape.len() == 2 && shape.iter().all(|&extent| extent > 1);
            of(if is_matrix {
                &[Mistake::Transposed]
            } else {
                &[]
            })
        }
        // What `mx.dequantize` ends in.
        Op::Add if scaled(step, node).is_some() => {
            let narrow = node.info.dtype == DType::BF16;
            // Both as the checkpoint has them: another shape would be an error, not a mistake.
            let alike =
                node.inputs
                    .get(1)
                    .zip(scaled(step, node))
                    .is_some_and(|(&bias, [_, scale])| {
                        graph.info(bias).shape == graph.info(scale).shape
                    });
            let mut mistakes = Vec::new();
            mistakes.extend(alike.then_some(Mistake::Exchanged));
            mistakes.extend(narrow.then_some(Mistake::Unrounded));
            of(&mistakes)
        }
        _ => Vec::new(),
    }
}

/// Of `q·scale + bias` the elements `q` and their scales, `q` being parts of words.
fn scaled(step: &Step, add: &Node) -> Option<[ValueId; 2]> {
    let graph = step.graph();
    let product = graph.node(*add.inputs.first()?);
    let [q, scale] = product.inputs[..] else {
        return None;
    };
    let mut node = graph.node(q);
    while let (
        Op::AsType { .. } | Op::Broadcast { .. } | Op::Reshape { .. } | Op::Concatenate { .. },
        Some(&inner),
    ) = (&node.op, node.inputs.first())
    {
        node = graph.node(inner);
    }
    let is_part = matches!(node.op, Op::ExpandDims { .. }) && node.info.dtype == DType::U32;
    (product.op == Op::Multiply && is_part).then_some([q, scale])
}

/// What takes a node's place.
pub(super) fn replace(b: &mut Builder, step: &Step, place: &Place<'_>, mistake: Mistake) -> Built {
    let (node, inputs) = (place.node, place.inputs);
    let misfit = || GraphError::Shape {
        op: node.op.name(),
        shapes: node.info.shape.to_string(),
        reason: "the mistake is not one of this primitive".to_owned(),
    };
    match (&node.op, inputs) {
        (
            Op::QuantizedMatmul {
                group_size,
                bits,
                transpose,
            },
            &[x, words, scales, biases],
        ) => {
            let matrix = Quantized {
                words,
                scales,
                biases,
                group_size: *group_size,
                bits: *bits,
            };
            product(b, x, matrix, *transpose, mistake).unwrap_or_else(|| Err(misfit()))
        }
        (Op::Weight { name }, _) if mistake == Mistake::Transposed => {
            let shape = node.info.shape.dims();
            let words = b.weight(name, shape, node.info.dtype);
            let stored = b.reshape(words, [shape[1], shape[0]])?;
            b.transpose(stored, &[1, 0])
        }
        (Op::Add, &[product, bias]) => {
            let [q, scale] = scaled(step, node).ok_or_else(misfit)?;
            let [q, scale] = [q, scale].map(|value| place.known.get(value.index()).copied());
            let (q, scale) = q.zip(scale).ok_or_else(misfit)?;
            match mistake {
                Mistake::Exchanged => {
                    let scaled = b.binary(Op::Multiply, q, bias)?;
                    b.binary(Op::Add, scaled, scale)
                }
                Mistake::Unrounded => {
                    let dtype = b.dtype(product);
                    let [q, scale, bias] = wide(b, [q, scale, bias])?;
                    let scaled = b.binary(Op::Multiply, q, scale)?;
                    let sum = b.binary(Op::Add, scaled, bias)?;
                    b.astype(sum, dtype)
                }
                _ => Err(misfit()),
            }
        }
        _ => Err(misfit()),
    }
}

fn wide<const N: usize>(b: &mut Builder, values: [ValueId; N]) -> Result<[ValueId; N], GraphError> {
    let mut values = values;
    for value in &mut values {
        *value = b.astype(*value, DType::F32)?;
    }
    Ok(values)
}

/// A product with a quantised matrix, wrong; nothing where the mistake is none of its.
fn product(
    b: &mut Builder,
    x: ValueId,
    matrix: Quantized,
    transpose: bool,
    mistake: Mistake,
) -> Option<Built> {
    let dtype = b.dtype(x);
    let op = |group_size| Op::QuantizedMatmul {
        group_size,
        bits: matrix.bits,
        transpose,
    };
    let Quantized {
        words,
        scales,
        biases,
        group_size,
        ..
    } = matrix;
    Some(match mistake {
        Mistake::HalfGroups => (|| {
            let [scales, biases] = [scales, biases].map(|part| half_groups(b, part));
            b.apply(op(group_size / 2), &[x, words, scales?, biases?])
        })(),
        Mistake::Exchanged => b.apply(op(group_size), &[x, words, biases, scales]),
        // The same products in the opposite order of the elements of each word.
        Mistake::Nibbles if transpose => (|| {
            let axis = b.shape(x).rank() - 1;
            let x = reversed_in_runs(b, x, axis, 32 / matrix.bits)?;
            b.apply(op(group_size), &[x, words, scales, biases])
        })(),
        Mistake::Unrounded if transpose => (|| {
            let parts = wide(b, [scales, biases])?;
            let [scales, biases] = parts;
            let w = b.dequantize(Quantized {
                scales,
                biases,
                ..matrix
            })?;
            let w = b.astype(w, dtype)?;
            rounded_product(b, x, w)
        })(),
        Mistake::Wide if transpose => (|| {
            let w = b.dequantize(matrix)?;
            let w = b.transpose(w, &[1, 0])?;
            b.matmul(x, w)
        })(),
        Mistake::Narrow => (|| {
            let mut parts = [x, scales, biases];
            for part in &mut parts {
                *part = b.astype(*part, DType::BF16)?;
            }
            let [x, scales, biases] = parts;
            let y = b.apply(op(group_size), &[x, words, scales, biases])?;
            b.astype(y, dtype)
        })(),
        _ => return None,
    })
}

/// `[rows, groups]` read on as `[rows, 2·groups]`, from its start again at its end.
fn half_groups(b: &mut Builder, part: ValueId) -> Built {
    let [rows, groups] = b.shape(part).dims()[..] else {
        return Ok(part);
    };
    let twice = b.concatenate(&[part, part], 0)?;
    b.reshape(twice, [rows, 2 * groups])
}

/// `x` `[.., K]` by the rows of `w` `[N, K]`, each product and each partial sum rounded.
fn rounded_product(b: &mut Builder, x: ValueId, w: ValueId) -> Built {
    let (shape, of) = (b.shape(x).clone(), b.shape(w).clone());
    let last = shape.rank() - 1;
    if shape.elements().saturating_mul(of[0]) > MOST_TERMS {
        return Err(GraphError::Shape {
            op: "QuantizedMatmul",
            shapes: format!("{shape} and {of}"),
            reason: "too many products to be taken one by one".to_owned(),
        });
    }
    let x = b.expand_dims(x, &[last])?;
    let products = b.binary(Op::Multiply, x, w)?;
    let sums = b.sum(products, &[last + 1])?;
    let mut result = shape.dims().to_vec();
    result[last] = of[0];
    b.reshape(sums, result)
}
