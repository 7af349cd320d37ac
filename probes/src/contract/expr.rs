//! Arithmetic of one element, as candidates are stated and as the emitter's kernels read.

use std::fmt;

use half::bf16;

use super::function::Function;
use crate::{envelope::fused, order::Rounding};

/// An expression over the elements of a primitive's operands. Every operation is rounded to F32,
/// to nearest even, unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// The element of operand `i`. Behind a primitive's own operands stand those of the products
    /// that it may be fused with.
    Operand(usize),
    /// A number by its bits.
    Number(u32),
    /// `−a`.
    Neg(Box<Expr>),
    /// `|a|`.
    Abs(Box<Expr>),
    /// The correctly rounded square root.
    Sqrt(Box<Expr>),
    /// Two operands, one rounding.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a·b + c`, one rounding to F32.
    Fma(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a·b + c`, one rounding to BF16.
    FmaBf16(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Rounded to BF16.
    Bf16(Box<Expr>),
    /// A function.
    Call(Function, Box<Expr>),
    /// The larger of two: NaN wins, of two zeros the second.
    Larger(Box<Expr>, Box<Expr>),
    /// The smaller of two: NaN wins, of two zeros the second.
    Smaller(Box<Expr>, Box<Expr>),
    /// The first if `condition` is negative, else the second.
    IfNegative(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The sum of a `logaddexp`, from the larger and the smaller operand: the larger alone where
    /// the smaller is −∞ or the larger +∞.
    Guarded {
        /// The larger.
        larger: Box<Expr>,
        /// The smaller.
        smaller: Box<Expr>,
        /// The sum.
        sum: Box<Expr>,
    },
}

/// Arithmetic of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the operations' names")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
}

/// Short forms to write expressions with.
impl Expr {
    /// The element of operand `i`.
    pub fn operand(i: usize) -> Expr {
        Expr::Operand(i)
    }

    /// A number.
    pub fn number(x: f32) -> Expr {
        Expr::Number(x.to_bits())
    }

    /// Two operands, one rounding.
    pub fn binary(op: Binary, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// A function.
    pub fn call(function: Function, a: Expr) -> Expr {
        Expr::Call(function, Box::new(a))
    }

    /// Rounded to BF16 if `round`; a result that is rounded already is not rounded again.
    #[must_use]
    pub fn bf16_if(self, round: bool) -> Expr {
        match self {
            Expr::Bf16(_) | Expr::FmaBf16(..) => self,
            _ if round => Expr::Bf16(Box::new(self)),
            _ => self,
        }
    }

    /// The largest operand's number and one more.
    pub fn operands(&self) -> usize {
        match self {
            Expr::Operand(i) => i + 1,
            Expr::Number(_) => 0,
            Expr::Neg(a) | Expr::Abs(a) | Expr::Sqrt(a) | Expr::Bf16(a) | Expr::Call(_, a) => {
                a.operands()
            }
            Expr::Binary(_, a, b) | Expr::Larger(a, b) | Expr::Smaller(a, b) => {
                a.operands().max(b.operands())
            }
            Expr::Fma(a, b, c) | Expr::FmaBf16(a, b, c) | Expr::IfNegative(a, b, c) => {
                a.operands().max(b.operands()).max(c.operands())
            }
            Expr::Guarded { sum, .. } => sum.operands(),
        }
    }

    /// Whether it reads an operand.
    pub fn reads(&self, operand: usize) -> bool {
        match self {
            Expr::Operand(i) => *i == operand,
            Expr::Number(_) => false,
            Expr::Neg(a) | Expr::Abs(a) | Expr::Sqrt(a) | Expr::Bf16(a) | Expr::Call(_, a) => {
                a.reads(operand)
            }
            Expr::Binary(_, a, b) | Expr::Larger(a, b) | Expr::Smaller(a, b) => {
                a.reads(operand) || b.reads(operand)
            }
            Expr::Fma(a, b, c) | Expr::FmaBf16(a, b, c) | Expr::IfNegative(a, b, c) => {
                a.reads(operand) || b.reads(operand) || c.reads(operand)
            }
            Expr::Guarded { sum, .. } => sum.reads(operand),
        }
    }

    /// The values for `count` elements; `operands` are read by number.
    pub fn evaluate(&self, operands: &dyn Fn(usize) -> Vec<f32>, count: usize) -> Vec<f32> {
        let of = |e: &Expr| e.evaluate(operands, count);
        let map = |a: &Expr, f: fn(f32) -> f32| -> Vec<f32> { of(a).into_iter().map(f).collect() };
        let zip = |a: &Expr, b: &Expr, f: fn(f32, f32) -> f32| -> Vec<f32> {
            of(a).into_iter().zip(of(b)).map(|(a, b)| f(a, b)).collect()
        };
        let three = |a: &Expr, b: &Expr, c: &Expr, f: fn(f32, f32, f32) -> f32| -> Vec<f32> {
            let ab = of(a).into_iter().zip(of(b));
            ab.zip(of(c)).map(|((a, b), c)| f(a, b, c)).collect()
        };
        match self {
            Expr::Operand(i) => operands(*i),
            Expr::Number(bits) => vec![f32::from_bits(*bits); count],
            Expr::Neg(a) => map(a, |x| -x),
            Expr::Abs(a) => map(a, f32::abs),
            Expr::Sqrt(a) => map(a, f32::sqrt),
            Expr::Bf16(a) => map(a, onto_bf16),
            Expr::Binary(Binary::Add, a, b) => zip(a, b, |a, b| a + b),
            Expr::Binary(Binary::Sub, a, b) => zip(a, b, |a, b| a - b),
            Expr::Binary(Binary::Mul, a, b) => zip(a, b, |a, b| a * b),
            Expr::Binary(Binary::Div, a, b) => zip(a, b, |a, b| a / b),
            Expr::Fma(a, b, c) => three(a, b, c, f32::mul_add),
            Expr::FmaBf16(a, b, c) => three(a, b, c, |a, b, c| fused(Rounding::Bf16, a, b, c)),
            Expr::Larger(a, b) => zip(a, b, larger),
            Expr::Smaller(a, b) => zip(a, b, smaller),
            Expr::IfNegative(condition, a, b) => {
                three(condition, a, b, |c, a, b| if c < 0.0 { a } else { b })
            }
            Expr::Guarded {
                larger,
                smaller,
                sum,
            } => three(larger, smaller, sum, |larger, smaller, sum| {
                let alone = smaller == f32::NEG_INFINITY || larger == f32::INFINITY;
                if alone { larger } else { sum }
            }),
            Expr::Call(function, a) => function.evaluate(of(a)),
        }
    }
}

/// Rounded to BF16, to nearest even.
pub(super) fn onto_bf16(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}

/// `isnan(a) ? a : (a > b ? a : b)`.
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { a } else { b }
}

/// `isnan(a) ? a : (a < b ? a : b)`.
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a.is_nan() || a < b { a } else { b }
}

/// Names of operands: `a` to `z`.
fn name(i: usize) -> char {
    char::from(b'a' + (i % 26) as u8)
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Operand(i) => write!(f, "{}", name(*i)),
            Expr::Number(bits) => {
                let text = format!("{:?}", f32::from_bits(*bits));
                f.write_str(text.strip_suffix(".0").unwrap_or(&text))
            }
            Expr::Neg(a) => write!(f, "−{}", Inner(a)),
            Expr::Abs(a) => write!(f, "|{a}|"),
            Expr::Sqrt(a) => write!(f, "sqrt({a})"),
            Expr::Bf16(a) => write!(f, "bf16({a})"),
            Expr::Binary(Binary::Mul, a, b) if a == b => write!(f, "{}²", Inner(a)),
            Expr::Binary(op, a, b) => {
                let sign = match op {
                    Binary::Add => " + ",
                    Binary::Sub => " − ",
                    Binary::Mul => "·",
                    Binary::Div => " / ",
                };
                write!(f, "{}{sign}{}", Inner(a), Inner(b))
            }
            Expr::Fma(a, b, c) => write!(f, "fma({a}, {b}, {c})"),
            Expr::FmaBf16(a, b, c) => write!(f, "fma_bf16({a}, {b}, {c})"),
            Expr::Call(function, a) => write!(f, "{function}({a})"),
            Expr::Larger(a, b) => write!(f, "max({a}, {b})"),
            Expr::Smaller(a, b) => write!(f, "min({a}, {b})"),
            Expr::IfNegative(c, a, b) => write!(f, "{c} < 0 ? {a} : {b}"),
            Expr::Guarded { sum, .. } => write!(f, "{sum}"),
        }
    }
}

/// An operand inside a larger expression: in brackets where it needs them.
struct Inner<'a>(&'a Expr);

impl fmt::Display for Inner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Binary(..) | Expr::Neg(_) | Expr::IfNegative(..) | Expr::Guarded { .. } => {
                write!(f, "({})", self.0)
            }
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_reads_as_it_is_computed() {
        let [a, b] = [0, 1].map(Expr::operand);
        let product = Expr::binary(Binary::Mul, a.clone(), b.clone()).bf16_if(true);
        let sum = Expr::binary(Binary::Add, product, Expr::number(0.5)).bf16_if(true);
        assert_eq!(sum.to_string(), "bf16(bf16(a·b) + 0.5)");
        // 1.0078125² is 1.01568603515625, between two BF16.
        let x = 1.007_812_5;
        let values = sum.evaluate(&|_| vec![x], 1);
        assert_eq!(values, [onto_bf16(onto_bf16(x * x) + 0.5)]);
        let fused = Expr::FmaBf16(Box::new(a.clone()), Box::new(a), Box::new(b));
        assert_eq!(fused.to_string(), "fma_bf16(a, a, b)");
        assert_eq!(fused.operands(), 2);
    }

    #[test]
    fn extrema_take_nan_and_the_second_of_two_zeros() {
        assert!(larger(f32::NAN, 1.0).is_nan());
        assert!(smaller(f32::NAN, 1.0).is_nan());
        assert_eq!(larger(0.0, -0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(smaller(-0.0, 0.0).to_bits(), 0);
    }
}
