//! `Matmul` and `AddMM`.

use stages::{DType, graph::ValueInfo as Kind};

use super::{LowerError, call::Call, forms::Forms, memory};
use crate::{
    kernel::{KernelBuilder, Predicate, Reg, Scalar},
    program::{Combine, IndexMap, Op, Order, Value},
};

/// MLX 0.32.2, `matmul.cpp` over Netlib BLAS 3.10 (F32) and `simd_gemm.h` (BF16), CPU: inner axis
/// ascending from +0, every product rounded on its own, accumulated in F32; one rounding at the
/// end.
pub(super) fn matmul(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    let product = dot(call, 0, 1)?;
    call.rounded(product)
}

/// The product of two operands, in F32.
fn dot(call: &mut Call<'_, '_>, a: usize, b: usize) -> Result<Value, LowerError> {
    let (lhs, rhs) = (call.value(a)?, call.value(b)?);
    let rhs = call.transpose_matrix(rhs);
    dot_of(call, lhs, rhs)
}

/// `[batch.., M, K] · [batch.., N, K]`, in F32.
pub(super) fn dot_of(call: &mut Call<'_, '_>, lhs: Value, rhs: Value) -> Result<Value, LowerError> {
    let mut dims = call.dims(lhs);
    let rows = call.dims(rhs);
    let rank = dims.len();
    if rank < 2 || rows.len() != rank {
        return Err(call.malformed("a product takes two matrices of equal rank"));
    }
    dims[rank - 1] = rows[rank - 2];
    let op = Op::Dot {
        order: call.forms.order(),
        fused: false,
    };
    call.push(op, vec![lhs, rhs], dims, DType::F32)
}

/// `alpha·(a·b) + beta·c` (MLX 0.32.2, `matmul.cpp`, CPU). BF16: the product in F32, then both
/// scalings and the sum in F32, one rounding. F32, Netlib BLAS 3.10: where b is a transposed
/// matrix the product comes first and c is added to it; else c, scaled, is where the additions
/// begin, and a is scaled before each product.
pub(super) fn addmm(call: &mut Call<'_, '_>, alpha: f32, beta: f32) -> Result<Value, LowerError> {
    let dtype = call.result.dtype;
    let (a, b) = (call.kind(1)?, call.kind(2)?);
    if a.shape.dims().last() == Some(&0) {
        return Err(call.unsupported("the inner axis is empty"));
    }
    if alpha == 0.0 {
        return Err(call.unsupported("alpha is 0"));
    }
    let product_first = if call.forms.native() || dtype != DType::F32 {
        true
    } else {
        memory::is_transposed_matrix(&b.shape, &b.view).ok_or_else(|| {
            call.unsupported("the order depends on b's strides, which its view does not fix")
        })?
    };
    if product_first {
        after(call, alpha, beta)
    } else {
        from_seed(call, a, b, alpha, beta)
    }
}

fn scaled(forms: Forms, k: &mut KernelBuilder, factor: f32, x: Reg) -> Reg {
    if factor == 1.0 {
        return x;
    }
    let factor = k.f32(factor);
    forms.mul(k, factor, x)
}

/// `alpha·product + beta·c`.
fn after(call: &mut Call<'_, '_>, alpha: f32, beta: f32) -> Result<Value, LowerError> {
    let (forms, dtype) = (call.forms, call.result.dtype);
    let product = dot(call, 1, 2)?;
    let dims = call.dims(product);
    let map = IndexMap::identity(dims.len());
    let mut k = KernelBuilder::new();
    let p = k.operand(0, Scalar::F32);
    let mut result = scaled(forms, &mut k, alpha, p);
    let mut inputs = vec![(product, map.clone())];
    if beta != 0.0 {
        inputs.push((call.value(0)?, map));
        let c = k.operand(1, Scalar::F32);
        let c = scaled(forms, &mut k, beta, c);
        result = k.add(result, c);
    }
    let result = forms.round(&mut k, dtype, result);
    call.map(k.finish(result), inputs, dims, dtype)
}

/// The sum over the inner axis that begins with `beta·c`: terms `[.., M, N, 1 + K]`, the first of
/// them c.
fn from_seed(
    call: &mut Call<'_, '_>,
    a: &Kind,
    b: &Kind,
    alpha: f32,
    beta: f32,
) -> Result<Value, LowerError> {
    let forms = call.forms;
    let rank = a.shape.rank();
    let (row, column, inner) = (rank - 2, rank - 1, rank);
    let (c, lhs, rhs) = (call.value(0)?, call.value(1)?, call.value(2)?);
    let first = |axis: usize| {
        (0..rank)
            .map(|a| usize::from(a == axis))
            .collect::<Vec<_>>()
    };
    let lhs = call.pad(lhs, first(column), vec![0; rank], 0);
    let rhs = call.pad(rhs, first(row), vec![0; rank], 0);

    let mut k = KernelBuilder::new();
    let [seed, x, y] = [0, 1, 2].map(|i| k.operand(i, Scalar::F32));
    let seed = if beta == 0.0 {
        k.f32(0.0)
    } else {
        scaled(forms, &mut k, beta, seed)
    };
    let x = scaled(forms, &mut k, alpha, x);
    let product = k.mul(x, y);
    let (position, zero) = (k.index(inner), k.i32(0));
    let is_seed = k.compare(Predicate::Eq, position, zero);
    let term = k.select(is_seed, seed, product);

    let batch = || (0..row).map(Some);
    let maps = [
        batch().chain([Some(row), Some(column)]).collect(),
        batch().chain([Some(row), Some(inner)]).collect(),
        batch().chain([Some(inner), Some(column)]).collect(),
    ]
    .map(IndexMap);
    let inputs = [c, lhs, rhs].into_iter().zip(maps).collect();
    let mut dims = a.shape.dims()[..row].to_vec();
    dims.extend([a.shape[row], b.shape[column], a.shape[column] + 1]);
    let terms = call.map(k.finish(term), inputs, dims, DType::F32)?;
    let combine = Combine::Sum {
        order: Order::Sequential,
        round_each: None,
    };
    call.reduce(terms, vec![inner], combine, DType::F32)
}
