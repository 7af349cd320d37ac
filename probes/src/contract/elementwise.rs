//! What elementwise primitives may be computed as, from the plainest on: every inner value and the
//! result rounded to the primitive's dtype, functions as the emitter restates them.

use stages::{
    DType,
    graph::{Node, Op, ValueId},
};

use super::{
    expr::{Binary, Expr},
    function::{Function, Kind},
    plan::Operands,
    question::Question,
};

/// The expressions of a primitive; `None` if there is one result only.
pub(super) fn expressions(
    question: &Question,
    node: &Node,
    operands: &Operands,
) -> Option<Vec<Expr>> {
    let dtype = node.info.dtype;
    if !dtype.is_float() {
        return None;
    }
    let bf16 = dtype == DType::BF16;
    let own = |i: usize| operand(question, operands.values[i], i);
    let a = || own(0);
    let exprs = match &node.op {
        Op::Add => sums(question, operands, Binary::Add, bf16),
        Op::Subtract => sums(question, operands, Binary::Sub, bf16),
        Op::Multiply => products(own(0), own(1)),
        Op::Divide => quotients(own(0), own(1), bf16),
        Op::Square => vec![square(a())],
        Op::Power => powers(a(), own(1))?,
        Op::Sqrt { reciprocal: false } => vec![Expr::Sqrt(Box::new(a()))],
        Op::Sqrt { reciprocal: true } => inverse_roots(a(), bf16),
        Op::Exp => calls(Kind::Exp, a()),
        Op::Log => calls(Kind::Log, a()),
        Op::Tanh => calls(Kind::Tanh, a()),
        Op::Sin => calls(Kind::Sin, a()),
        Op::Cos => calls(Kind::Cos, a()),
        Op::Sigmoid => sigmoids(&a(), bf16),
        Op::LogAddExp => logarithms(&own(0), &own(1), bf16),
        Op::AsType { .. } if question.graph.info(node.inputs[0]).dtype == DType::F32 && bf16 => {
            vec![a()]
        }
        _ => return None,
    };
    let mut all: Vec<Expr> = Vec::new();
    let mut add = |expr: Expr| {
        if !all.contains(&expr) {
            all.push(expr);
        }
    };
    for expr in &exprs {
        add(expr.clone().bf16_if(bf16));
    }
    if bf16 {
        exprs.into_iter().for_each(add);
    }
    Some(all)
}

/// An operand, or the number that all its elements are.
pub(super) fn operand(question: &Question, value: ValueId, i: usize) -> Expr {
    match question.splat(value) {
        Some(bits) if question.graph.info(value).dtype.is_float() => Expr::Number(bits),
        _ => Expr::Operand(i),
    }
}

fn sums(question: &Question, operands: &Operands, op: Binary, bf16: bool) -> Vec<Expr> {
    let own = |i: usize| operand(question, operands.values[i], i);
    let mut all = vec![Expr::binary(op, own(0), own(1))];
    for (at, factors) in &operands.products {
        let [x, y] = factors.map(own);
        let negated = |e: Expr| Expr::Neg(Box::new(e));
        // a·b ± c, or c ± a·b.
        let (x, rest) = match (op, at) {
            (Binary::Sub, 0) => (x, negated(own(1))),
            (Binary::Sub, _) => (negated(x), own(0)),
            (_, 0) => (x, own(1)),
            _ => (x, own(0)),
        };
        let [x, y, rest] = [x, y, rest].map(Box::new);
        if bf16 {
            all.push(Expr::FmaBf16(x.clone(), y.clone(), rest.clone()));
        }
        all.push(Expr::Fma(x, y, rest));
    }
    all
}

fn products(a: Expr, b: Expr) -> Vec<Expr> {
    let mut all = vec![Expr::binary(Binary::Mul, a.clone(), b.clone())];
    // A factor 1/n of a mean may be a division by n.
    for (x, factor) in [(&a, &b), (&b, &a)] {
        if let Expr::Number(bits) = factor {
            let n = (1.0 / f64::from(f32::from_bits(*bits))).round();
            let near = n.abs() >= 2.0 && n.abs() < 1e9;
            let reciprocal = super::expr::onto_bf16((1.0 / n) as f32).to_bits() == *bits
                || ((1.0 / n) as f32).to_bits() == *bits;
            if near && reciprocal {
                all.push(Expr::binary(Binary::Div, x.clone(), Expr::number(n as f32)));
                let exact = Expr::number((1.0 / n) as f32);
                if exact != *factor {
                    all.push(Expr::binary(Binary::Mul, x.clone(), exact));
                }
            }
        }
    }
    all
}

fn quotients(a: Expr, b: Expr, bf16: bool) -> Vec<Expr> {
    let inverse = match &b {
        Expr::Number(bits) => Expr::number(1.0 / f32::from_bits(*bits)),
        _ => Expr::binary(Binary::Div, Expr::number(1.0), b.clone()),
    };
    let mut all = vec![
        Expr::binary(Binary::Div, a.clone(), b),
        Expr::binary(Binary::Mul, a.clone(), inverse.clone()),
    ];
    if bf16 {
        all.push(Expr::binary(Binary::Mul, a, inverse.bf16_if(true)));
    }
    all
}

fn square(a: Expr) -> Expr {
    Expr::binary(Binary::Mul, a.clone(), a)
}

/// Powers with a constant exponent of 2. Others have no arithmetic here.
fn powers(a: Expr, exponent: Expr) -> Option<Vec<Expr>> {
    if exponent != Expr::number(2.0) {
        return None;
    }
    let mut all = calls(Kind::Square, a.clone());
    all.truncate(1);
    all.push(square(a));
    Some(all)
}

fn inverse_roots(a: Expr, bf16: bool) -> Vec<Expr> {
    let root = Expr::Sqrt(Box::new(a.clone()));
    let over = |root| Expr::binary(Binary::Div, Expr::number(1.0), root);
    let mut all = Vec::new();
    if bf16 {
        all.push(over(root.clone().bf16_if(true)));
    }
    all.push(over(root));
    all.extend(calls(Kind::Rsqrt, a));
    all
}

fn calls(kind: Kind, a: Expr) -> Vec<Expr> {
    let all = Function::all(kind).into_iter();
    all.map(|function| Expr::call(function, a.clone()))
        .collect()
}

fn sigmoids(a: &Expr, bf16: bool) -> Vec<Expr> {
    let one = || Expr::number(1.0);
    let choices = if bf16 { &[true, false][..] } else { &[false] };
    let mut all = Vec::new();
    for function in Function::all(Kind::Exp) {
        // Which of the exponential, 1 + e and the quotient are rounded.
        for rounded in [
            [true, false, false],
            [false; 3],
            [true, true, false],
            [true; 3],
        ] {
            if rounded.iter().any(|r| !choices.contains(r)) {
                continue;
            }
            let e = Expr::call(function, Expr::Abs(Box::new(a.clone()))).bf16_if(rounded[0]);
            let sum = Expr::binary(Binary::Add, one(), e).bf16_if(rounded[1]);
            let y = Expr::binary(Binary::Div, one(), sum).bf16_if(rounded[2]);
            let other = Expr::binary(Binary::Sub, one(), y.clone());
            let [a, y, other] = [a.clone(), y, other].map(Box::new);
            all.push(Expr::IfNegative(a, y, other));
        }
        for rounded in choices {
            let minus = Expr::Neg(Box::new(a.clone()));
            let e = Expr::call(function, minus).bf16_if(*rounded);
            let sum = Expr::binary(Binary::Add, one(), e).bf16_if(*rounded);
            all.push(Expr::binary(Binary::Div, one(), sum));
        }
    }
    all
}

fn logarithms(a: &Expr, b: &Expr, bf16: bool) -> Vec<Expr> {
    let [a, b] = [a, b].map(|e| Box::new(e.clone()));
    let larger = Expr::Larger(a.clone(), b.clone());
    let smaller = Expr::Smaller(a, b);
    let choices = if bf16 { &[true, false][..] } else { &[false] };
    let mut all = Vec::new();
    for exp in Function::all(Kind::Exp) {
        for log in Function::all(Kind::Log1p) {
            for difference_rounded in choices {
                for e_rounded in choices {
                    for log_rounded in choices {
                        let d = Expr::binary(Binary::Sub, smaller.clone(), larger.clone());
                        let e = Expr::call(exp, d.bf16_if(*difference_rounded));
                        let log = Expr::call(log, e.bf16_if(*e_rounded));
                        let log = log.bf16_if(*log_rounded);
                        let sum = Expr::binary(Binary::Add, larger.clone(), log);
                        let [larger, smaller, sum] =
                            [larger.clone(), smaller.clone(), sum].map(Box::new);
                        all.push(Expr::Guarded {
                            larger,
                            smaller,
                            sum,
                        });
                    }
                }
            }
        }
    }
    all
}
