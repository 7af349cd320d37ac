//! Functions of one element of each operand.

use super::amount::{Amount, of_product};
use crate::{
    DType,
    graph::{BitwiseKind, Op},
};

/// The mathematical function of an elementwise primitive of one operand.
fn function(op: &Op, x: f64) -> f64 {
    match op {
        Op::LogicalNot => f64::from(x == 0.0),
        Op::Negative => -x,
        Op::Square => x * x,
        Op::Sqrt { reciprocal: false } => x.sqrt(),
        Op::Sqrt { reciprocal: true } => 1.0 / x.sqrt(),
        Op::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Op::Tanh => x.tanh(),
        Op::Exp => x.exp(),
        Op::Log => x.ln(),
        Op::Sin => x.sin(),
        Op::Cos => x.cos(),
        _ => x,
    }
}

/// `|f′(x)|`, y being f(x).
fn slope(op: &Op, x: f64, y: f64) -> f64 {
    let slope = match op {
        Op::Square => 2.0 * x,
        Op::Sqrt { reciprocal: false } => 0.5 / y,
        Op::Sqrt { reciprocal: true } => 0.5 * y / x,
        Op::Sigmoid => y * (1.0 - y),
        Op::Tanh => 1.0 - y * y,
        Op::Exp => y,
        Op::Log => 1.0 / x,
        Op::Sin => x.cos(),
        Op::Cos => x.sin(),
        Op::LogicalNot => 0.0,
        _ => 1.0,
    };
    slope.abs()
}

/// `slope · spread`, where nothing comes of no spread.
fn through(slope: f64, spread: f64) -> f64 {
    if spread == 0.0 { 0.0 } else { slope * spread }
}

pub(super) fn unary(op: &Op, x: &Amount) -> Amount {
    Amount::computed(
        x.shape.clone(),
        x.spread.is_some(),
        |i| function(op, x.values[i]),
        |i, y| through(slope(op, x.values[i], y), x.spread_at(i)),
    )
}

/// NaN wins, else the larger or smaller; of equal ones the second.
fn chosen(op: &Op, a: f64, b: f64) -> bool {
    a.is_nan() || if *op == Op::Maximum { a > b } else { a < b }
}

pub(super) fn binary(op: &Op, a: &Amount, b: &Amount) -> Amount {
    let value = |i: usize| {
        let (a, b) = (a.values[i], b.values[i]);
        match op {
            Op::Add => a + b,
            Op::Subtract => a - b,
            Op::Multiply => a * b,
            Op::Divide => a / b,
            Op::Maximum | Op::Minimum => {
                if chosen(op, a, b) {
                    a
                } else {
                    b
                }
            }
            Op::Power => a.powf(b),
            Op::LogAddExp => log_add_exp(a, b),
            Op::GreaterEqual => f64::from(a >= b),
            Op::LogicalAnd => f64::from(a != 0.0 && b != 0.0),
            Op::BitwiseBinary { kind } => {
                let (a, b) = (a as u32, b as u32);
                let shifted = match kind {
                    BitwiseKind::LeftShift => a.checked_shl(b),
                    BitwiseKind::RightShift => a.checked_shr(b),
                };
                shifted.unwrap_or(0).into()
            }
            _ => f64::NAN,
        }
    };
    let spread = |i: usize, y: f64| {
        let ([a, sa], [b, sb]) = (a.at(i), b.at(i));
        match op {
            Op::Add | Op::Subtract => sa + sb,
            Op::Multiply => of_product([a, sa], [b, sb]),
            Op::Divide => of_product([a, sa], [1.0 / b, sb / (b * b)]),
            Op::Maximum | Op::Minimum => {
                if chosen(op, a, b) {
                    sa
                } else {
                    sb
                }
            }
            Op::Power => through((b * a.powf(b - 1.0)).abs(), sa) + through((y * a.ln()).abs(), sb),
            Op::LogAddExp => {
                let share = 1.0 / (1.0 + (b - a).exp());
                share * sa + (1.0 - share) * sb
            }
            _ => 0.0,
        }
    };
    Amount::computed(
        a.shape.clone(),
        a.spread.is_some() && b.spread.is_some(),
        value,
        spread,
    )
}

/// `ln(eᵃ + eᵇ)`.
fn log_add_exp(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if low == high || high.is_infinite() {
        high + if low == high && high.is_finite() {
            std::f64::consts::LN_2
        } else {
            0.0
        }
    } else {
        high + (low - high).exp().ln_1p()
    }
}

/// `alpha·a + beta·b`.
pub(super) fn combined(a: &Amount, alpha: f64, b: &Amount, beta: f64) -> Amount {
    Amount::computed(
        a.shape.clone(),
        a.spread.is_some() && b.spread.is_some(),
        |i| alpha * a.values[i] + beta * b.values[i],
        |i, _| alpha.abs() * a.spread_at(i) + beta.abs() * b.spread_at(i),
    )
}

pub(super) fn select(condition: &Amount, then: &Amount, otherwise: &Amount) -> Amount {
    let side = |i: usize| {
        if condition.values[i] != 0.0 {
            then
        } else {
            otherwise
        }
    };
    Amount::computed(
        condition.shape.clone(),
        then.spread.is_some() && otherwise.spread.is_some(),
        |i| side(i).values[i],
        |i, _| side(i).spread_at(i),
    )
}

/// To a float nothing changes; to an integer what is behind the point is dropped.
pub(super) fn cast(x: &Amount, dtype: DType) -> Amount {
    match dtype {
        DType::F32 | DType::BF16 | DType::F16 => x.clone(),
        DType::I32 | DType::U32 => Amount::computed(
            x.shape.clone(),
            x.spread.is_some(),
            |i| x.values[i].trunc(),
            |_, _| 0.0,
        ),
        DType::Bool => Amount::computed(
            x.shape.clone(),
            x.spread.is_some(),
            |i| f64::from(x.values[i] != 0.0),
            |_, _| 0.0,
        ),
    }
}
