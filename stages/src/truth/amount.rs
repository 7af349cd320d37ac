//! A tensor of binary64 values and their spreads.

use std::sync::Arc;

use half::bf16;
use rayon::prelude::*;

use super::TruthError;
use crate::{
    DType, Shape, Tensor,
    graph::{Node, Op, ValueInfo},
};

/// A value of the walk.
#[derive(Clone, Debug)]
pub(super) struct Amount {
    pub shape: Shape,
    pub values: Arc<[f64]>,
    pub spread: Option<Arc<[f64]>>,
}

/// An operand that must have been computed.
pub(super) fn operand(known: Option<&Amount>) -> Result<&Amount, TruthError> {
    known.ok_or(TruthError::Order)
}

impl Amount {
    /// A tensor as it was handed in.
    pub fn given(
        tensor: &Tensor,
        declared: &ValueInfo,
        conditions: bool,
    ) -> Result<Amount, TruthError> {
        if tensor.shape() != &declared.shape || !same_carrier(tensor.dtype(), declared.dtype) {
            return Err(TruthError::Given {
                given: format!("{} {}", tensor.dtype(), tensor.shape()),
                declared: format!("{} {}", declared.dtype, declared.shape),
            });
        }
        let values: Arc<[f64]> = if let Some(words) = tensor.as_u32() {
            words.iter().map(|&x| x.into()).collect()
        } else if let Some(integers) = tensor.as_i32() {
            let unsigned = declared.dtype == DType::U32;
            let wide = |&x: &i32| {
                if unsigned {
                    x.cast_unsigned().into()
                } else {
                    x.into()
                }
            };
            integers.iter().map(wide).collect()
        } else if let Some(floats) = tensor.to_f32() {
            floats.iter().map(|&x| x.into()).collect()
        } else {
            tensor.bytes().iter().map(|&x| x.into()).collect()
        };
        Ok(Amount {
            spread: conditions.then(|| values.iter().map(|x| x.abs()).collect()),
            shape: declared.shape.clone(),
            values,
        })
    }

    /// A constant or a range, rounded as it is stated.
    pub fn stated(node: &Node, conditions: bool) -> Amount {
        let rounded = |x: f64| match node.info.dtype {
            DType::BF16 => f64::from(bf16::from_f32(x as f32)),
            DType::F16 => f64::from(half::f16::from_f32(x as f32)),
            DType::F32 => f64::from(x as f32),
            DType::I32 | DType::U32 | DType::Bool => x.trunc(),
        };
        let values: Arc<[f64]> = match node.op {
            Op::Arange { start, step, len } => {
                let at = |i: usize| rounded(start + i as f64 * step);
                (0..len).map(at).collect()
            }
            Op::Constant { value } => vec![rounded(value); node.info.shape.elements()].into(),
            _ => Arc::default(),
        };
        Amount {
            spread: conditions.then(|| vec![0.0; values.len()].into()),
            shape: node.info.shape.clone(),
            values,
        }
    }

    /// Other extents, the same elements.
    pub fn reshaped(&self, shape: Shape) -> Amount {
        Amount {
            shape,
            ..self.clone()
        }
    }

    /// The spread of an element; 0 where none are kept.
    pub fn spread_at(&self, i: usize) -> f64 {
        self.spread.as_ref().map_or(0.0, |spread| spread[i])
    }

    /// An element and its spread.
    pub fn at(&self, i: usize) -> [f64; 2] {
        [self.values[i], self.spread_at(i)]
    }

    /// Elements `value(i)` with spreads `spread(i, value)`, in parallel.
    pub fn computed(
        shape: Shape,
        conditions: bool,
        value: impl Fn(usize) -> f64 + Sync,
        spread: impl Fn(usize, f64) -> f64 + Sync,
    ) -> Amount {
        let values: Vec<f64> = (0..shape.elements()).into_par_iter().map(&value).collect();
        let spread = conditions.then(|| {
            let at = |(i, &v): (usize, &f64)| spread(i, v);
            values.par_iter().enumerate().map(at).collect::<Vec<f64>>()
        });
        Amount {
            shape,
            values: values.into(),
            spread: spread.map(Into::into),
        }
    }
}

/// Captures carry BF16 values as F32 where they were widened, and U32 as I32.
fn same_carrier(given: DType, declared: DType) -> bool {
    let integers = [DType::I32, DType::U32];
    given == declared
        || given == DType::F32 && matches!(declared, DType::BF16 | DType::F16)
        || integers.contains(&given) && integers.contains(&declared)
}

/// The spread of a product: of x with spread `sx`, and of y with `sy`.
pub(super) fn of_product([x, sx]: [f64; 2], [y, sy]: [f64; 2]) -> f64 {
    let (left, right) = (y.abs() * sx, x.abs() * sy);
    left.max(right).max(left + right - (x * y).abs())
}
