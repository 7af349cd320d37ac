//! Products with affinely quantised matrices.

use stages::{DType, Shape};

use super::{LowerError, call::Call, contraction::dot_of};
use crate::{
    kernel::{IntBinary, KernelBuilder, Scalar},
    program::{IndexMap, Op, Value},
};

/// How a matrix is quantised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    pub group_size: usize,
    pub bits: usize,
    pub transpose: bool,
}

/// MLX 0.32.2, `_qmm_t` and `_qmm`, `quantized.cpp`, CPU on x86-64, all in the dtype of x:
/// `w = round(round(scale·q) + bias)`, and from +0 in ascending k `sum = round(sum + round(x·w))`.
/// In F32 that is the product of any other matrix; in BF16 every partial sum is rounded too.
pub(super) fn matmul(call: &mut Call<'_, '_>, affine: Affine) -> Result<Value, LowerError> {
    let dtype = call.result.dtype;
    let x = call.value(0)?;
    let dims = call.dims(x);
    let Some((&inner, lead)) = dims.split_last() else {
        return Err(call.malformed("x has no axis"));
    };
    let x = call.reshape(x, [lead.iter().product(), inner]);
    let w = dequantised(call, affine)?;
    let product = if dtype == DType::BF16 && !call.forms.native() {
        let shape = [call.dims(x)[0], call.dims(w)[0]];
        let op = Op::RoundedDot { grid: dtype };
        call.push(op, vec![x, w], shape, dtype)?
    } else {
        let product = dot_of(call, x, w)?;
        call.rounded(product)?
    };
    let shape = call.result.shape.clone();
    Ok(call.reshape(product, shape))
}

/// The matrix as `[N, K]`.
fn dequantised(call: &mut Call<'_, '_>, affine: Affine) -> Result<Value, LowerError> {
    let Affine {
        group_size,
        bits,
        transpose,
    } = affine;
    let (forms, dtype) = (call.forms, call.result.dtype);
    let [words, scales, biases] = [call.value(1)?, call.value(2)?, call.value(3)?];
    let (per_word, per_group) = match 32usize.checked_div(bits) {
        Some(count) if 32 % bits == 0 && group_size.is_multiple_of(count) => {
            (count, group_size / count)
        }
        _ => return Err(call.unsupported("a group is not made of whole words")),
    };
    let [rows, groups] = call.dims(scales)[..] else {
        return Err(call.malformed("the scales are no matrix"));
    };
    // [rows, group, word of the group, element of the word].
    let words = call.reshape(words, [rows, groups, per_group]);
    let mut k = KernelBuilder::new();
    let word = k.operand(0, Scalar::I32);
    let [scale, bias] = [1, 2].map(|i| k.operand(i, Scalar::F32));
    let (place, width) = (k.index(3), k.u32(bits as u32));
    let amount = k.int(IntBinary::Mul, place, width);
    let shifted = k.int(IntBinary::ShrU, word, amount);
    let mask = k.u32(u32::MAX >> (32 - bits));
    let q = k.int(IntBinary::And, shifted, mask);
    let q = k.from_int(q);
    let scaled = forms.mul(&mut k, scale, q);
    let scaled = forms.round_inner(&mut k, dtype, scaled);
    let element = k.add(scaled, bias);
    let element = forms.round(&mut k, dtype, element);
    let of_group = IndexMap(vec![Some(0), Some(1)]);
    let inputs = vec![
        (words, IndexMap::identity(3)),
        (scales, of_group.clone()),
        (biases, of_group),
    ];
    let shape = Shape::from([rows, groups, per_group, per_word]);
    let elements = call.map(k.finish(element), inputs, shape, dtype)?;
    let matrix = call.reshape(elements, [rows, groups * group_size]);
    Ok(if transpose {
        matrix
    } else {
        call.transpose_matrix(matrix)
    })
}
