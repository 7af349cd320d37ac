//! What a contract says about one primitive.

use std::fmt;

use super::{expr::Expr, function::Function, order::Order, scan::ScanOrder};
use crate::order::Rounding;

/// The arithmetic of one primitive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// There is one result only: a copy, a comparison, integers.
    Exact,
    /// An expression for each element.
    Each(Expr),
    /// A sum along axes.
    Sum(Sum),
    /// Running sums along an axis.
    Scan(Scan),
    /// A softmax over the last axis.
    Softmax(Softmax),
    /// Sums of products.
    Product(Product),
}

impl Statement {
    /// Whether another is the same function but for the sign of a zero: a sum that begins with +0
    /// or with its first term.
    pub fn differs_only_in_zero(&self, other: &Statement) -> bool {
        let plain = |order: &Order| match order {
            Order::FromFirst => Order::SEQUENTIAL,
            order => order.clone(),
        };
        let of = |statement: &Statement| {
            let mut statement = statement.clone();
            match &mut statement {
                Statement::Sum(Sum { order, .. })
                | Statement::Softmax(Softmax { order, .. })
                | Statement::Product(Product { order, .. }) => *order = plain(order),
                _ => {}
            }
            statement
        };
        self != other && of(self) == of(other)
    }
}

/// A sum along axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    /// The axes from the slowest to the fastest.
    pub axes: Vec<usize>,
    /// Which terms are added to which.
    pub order: Order,
    /// What partial sums and the result are rounded to.
    pub rounding: Rounding,
    /// Whether the products that the terms are are fused with the additions: the number of that
    /// product among those the primitive may be fused with.
    pub fused: Option<usize>,
}

/// Running sums.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// Which are made from which.
    pub order: ScanOrder,
    /// What they are rounded to.
    pub rounding: Rounding,
}

/// A softmax.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Softmax {
    /// The exponential.
    pub exp: Function,
    /// Whether the difference from the maximum, the exponential and the factor are rounded to
    /// BF16.
    pub inside: bool,
    /// Which exponentials are added to which.
    pub order: Order,
    /// What the sum is rounded to.
    pub rounding: Rounding,
    /// Whether exponentials are divided by the sum; else multiplied by one over it.
    pub divided: bool,
    /// Whether the result is rounded to BF16.
    pub rounded: bool,
}

/// Sums of products.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Of a convolution: the kernel's axes and its channels from the slowest to the fastest.
    pub axes: Vec<usize>,
    /// Which products are added to which.
    pub order: Order,
    /// What partial sums and the result are rounded to.
    pub rounding: Rounding,
    /// Whether a product and the addition that takes it round once together.
    pub fused: bool,
    /// Of a quantised matrix: an element from q, scale and bias.
    pub element: Option<Expr>,
    /// Of `addmm`: when the addend is added.
    pub addend: Option<Addend>,
}

/// When an addend is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addend {
    /// First: the sum begins with it.
    First,
    /// Last, to the sum in F32, rounded once.
    Last,
    /// Last, to the rounded sum.
    LastRounded,
}

/// What partial sums are rounded to, in the emitter's words.
pub(super) fn rounded(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::F32 => "in F32",
        Rounding::Bf16 => "each partial sum rounded to BF16",
        Rounding::Bf16Once => "in F32, the sum rounded to BF16",
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Exact => f.write_str("exact"),
            Statement::Each(expr) => expr.fmt(f),
            Statement::Sum(sum) => {
                let axes: Vec<String> = sum.axes.iter().map(usize::to_string).collect();
                let noun = if axes.len() == 1 { "axis" } else { "axes" };
                let (axes, order, words) = (axes.join(", "), &sum.order, rounded(sum.rounding));
                write!(f, "sum over {noun} {axes}, {order}, {words}")?;
                f.write_str(if sum.fused.is_some() {
                    ", products fused"
                } else {
                    ""
                })
            }
            Statement::Scan(scan) => write!(f, "{}, {}", scan.order, rounded(scan.rounding)),
            Statement::Softmax(s) => {
                let (m, difference) = ("max(a)", Expr::Operand(0));
                let round =
                    |text: String, yes: bool| if yes { format!("bf16({text})") } else { text };
                let e = round(format!("{difference} − {m}"), s.inside);
                let e = round(format!("{}({e})", s.exp), s.inside);
                let result = if s.divided {
                    "e / sum".to_owned()
                } else {
                    format!("e·{}", round("1 / sum".to_owned(), s.inside))
                };
                let result = round(result, s.rounded);
                write!(
                    f,
                    "{result}, e = {e}, sum: {}, {}",
                    s.order,
                    rounded(s.rounding)
                )
            }
            Statement::Product(p) => {
                let fused = if p.fused { "fused" } else { "products rounded" };
                write!(f, "{}, {fused}, {}", p.order, rounded(p.rounding))?;
                if let Some(last) = p.axes.len().checked_sub(1) {
                    let name = |&axis: &usize| match axis == last {
                        true => "channels".to_owned(),
                        false => axis.to_string(),
                    };
                    let axes: Vec<String> = p.axes.iter().map(name).collect();
                    write!(f, ", kernel axes ({})", axes.join(", "))?;
                }
                if let Some(element) = &p.element {
                    write!(f, ", elements {element}")?;
                }
                f.write_str(match p.addend {
                    None => "",
                    Some(Addend::First) => ", begun with the addend",
                    Some(Addend::Last) => ", the addend added before the last rounding",
                    Some(Addend::LastRounded) => ", the addend added to the rounded sum",
                })
            }
        }
    }
}
