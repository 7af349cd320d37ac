//! Which statements a primitive may have, from the plainest on.

use stages::{
    DType, Shape,
    graph::{Node, Op, ReduceKind, ValueId},
};

use super::{
    ContractError,
    elementwise::expressions,
    expr::{Binary, Expr},
    function::{Function, Kind},
    order::Order,
    plan::Operands,
    question::Question,
    scan::ScanOrder,
    statement::{Addend, Product, Scan, Softmax, Statement, Sum},
};
use crate::order::Rounding;

/// The statements that a node's primitive may have.
pub(super) fn statements(
    question: &Question,
    node: &Node,
) -> Result<Vec<Statement>, ContractError> {
    let graph = &question.graph;
    let operands = Operands::of(graph, node);
    if let Some(exprs) = expressions(question, node, &operands) {
        return Ok(exprs.into_iter().map(Statement::Each).collect());
    }
    let dtype = node.info.dtype;
    let roundings = roundings(dtype);
    Ok(match &node.op {
        Op::Reduce {
            kind: ReduceKind::Sum,
            axes,
        } if dtype.is_float() => sums(question, node, axes, &operands, &roundings),
        Op::Scan { .. } if dtype.is_float() => {
            let of = |order: ScanOrder| {
                roundings
                    .iter()
                    .map(move |&rounding| Statement::Scan(Scan { order, rounding }))
            };
            ScanOrder::ALL.into_iter().flat_map(of).collect()
        }
        Op::Softmax { precise } => softmaxes(&node.info.shape, dtype, *precise),
        Op::Matmul => {
            let a = &graph.info(node.inputs[0]).shape;
            let n = a[a.rank() - 1];
            let form = Form::of(question, node, [0, 1], n);
            form.dots(&[vec![]], &[None], &[None], &roundings)
        }
        Op::AddMM { .. } => {
            let a = &graph.info(node.inputs[1]).shape;
            let n = a[a.rank() - 1];
            let addends = if dtype == DType::BF16 {
                &[
                    Some(Addend::Last),
                    Some(Addend::First),
                    Some(Addend::LastRounded),
                ][..]
            } else {
                &[Some(Addend::Last), Some(Addend::First)]
            };
            let form = Form::of(question, node, [1, 2], n);
            form.dots(&[vec![]], &[None], addends, &roundings)
        }
        Op::QuantizedMatmul { .. } => {
            let x = &graph.info(node.inputs[0]).shape;
            let n = x[x.rank() - 1];
            let elements: Vec<Option<Expr>> = elements(dtype).into_iter().map(Some).collect();
            let form = Form { n, exact: false };
            form.dots(&[vec![]], &elements, &[None], &roundings)
        }
        Op::Convolution { .. } => {
            let weight = &graph.info(node.inputs[1]).shape;
            let kernel = &weight.dims()[1..];
            let long: Vec<usize> = (0..kernel.len()).filter(|&axis| kernel[axis] > 1).collect();
            let axes: Vec<Vec<usize>> = permutations(&long)
                .into_iter()
                .map(|order| {
                    // Axes of extent 1 stay where they are.
                    let mut order = order.into_iter();
                    let place = |axis| {
                        if kernel[axis] > 1 {
                            order.next().unwrap_or(axis)
                        } else {
                            axis
                        }
                    };
                    (0..kernel.len()).map(place).collect()
                })
                .collect();
            let form = Form::of(question, node, [0, 1], kernel.iter().product());
            form.dots(&axes, &[None], &[None], &roundings)
        }
        Op::Power | Op::Reduce { .. } | Op::Scan { .. } if dtype.is_float() => match &node.op {
            Op::Reduce { .. } => vec![Statement::Exact],
            _ => return Err(ContractError::Unsupported(node.op.name())),
        },
        _ => vec![Statement::Exact],
    })
}

/// What partial sums of a dtype may be rounded to, the plainest first.
fn roundings(dtype: DType) -> Vec<Rounding> {
    match dtype {
        DType::BF16 => vec![Rounding::Bf16, Rounding::Bf16Once, Rounding::F32],
        _ => vec![Rounding::F32, Rounding::Bf16],
    }
}

fn sums(
    question: &Question,
    node: &Node,
    axes: &[usize],
    operands: &Operands,
    roundings: &[Rounding],
) -> Vec<Statement> {
    let (shape, dtype) = (&question.graph.info(node.inputs[0]).shape, node.info.dtype);
    let long: Vec<usize> = axes
        .iter()
        .copied()
        .filter(|&axis| shape[axis] > 1)
        .collect();
    if long.is_empty() {
        return vec![Statement::Exact];
    }
    let n: usize = long.iter().map(|&axis| shape[axis]).product();
    let mut all = Vec::new();
    for axes_order in permutations(&long) {
        // A sum over several axes may be cut where an axis ends.
        let mut run = 1;
        let mut runs = Vec::new();
        for &axis in axes_order.iter().rev() {
            run *= shape[axis];
            runs.push(run);
        }
        for order in Order::all(n, !operands.products.is_empty(), &runs) {
            for fused in std::iter::once(None).chain((0..operands.products.len()).map(Some)) {
                for &rounding in roundings {
                    let factors = fused.and_then(|i| operands.products.get(i));
                    let exact = factors.is_some_and(|(_, slots)| {
                        let mut factors = slots.iter().map(|&slot| operands.values[slot]);
                        factors.all(|factor| is_captured_bf16(question, factor))
                    });
                    // F32 holds such products.
                    if exact && rounding != Rounding::Bf16 && dtype == DType::F32 {
                        continue;
                    }
                    all.push(Statement::Sum(Sum {
                        axes: axes_order.clone(),
                        order: order.clone(),
                        rounding,
                        fused,
                    }));
                }
            }
        }
    }
    all
}

fn softmaxes(shape: &Shape, dtype: DType, precise: bool) -> Vec<Statement> {
    let n = shape[shape.rank() - 1];
    let bf16 = dtype == DType::BF16;
    let inside = match (bf16, precise) {
        (false, _) => &[false][..],
        (true, false) => &[true, false],
        (true, true) => &[false, true],
    };
    let rounded = if bf16 { &[true, false][..] } else { &[false] };
    let mut all = Vec::new();
    for order in Order::all(n, false, &[]) {
        for exp in Function::all(Kind::Exp) {
            for divided in [false, true] {
                for &inside in inside {
                    let roundings = match (bf16, inside) {
                        (true, true) => &[Rounding::Bf16, Rounding::F32][..],
                        (true, false) => &[Rounding::F32, Rounding::Bf16],
                        (false, _) => &[Rounding::F32],
                    };
                    for &rounding in roundings {
                        for &rounded in rounded {
                            all.push(Statement::Softmax(Softmax {
                                exp,
                                inside,
                                order: order.clone(),
                                rounding,
                                divided,
                                rounded,
                            }));
                        }
                    }
                }
            }
        }
    }
    all
}

/// What sums of products are over.
struct Form {
    /// How many there are in one.
    n: usize,
    /// Whether F32 holds every product, so that it makes no difference to fuse one.
    exact: bool,
}

impl Form {
    fn of(question: &Question, node: &Node, factors: [usize; 2], n: usize) -> Form {
        let exact = factors
            .iter()
            .all(|&i| is_captured_bf16(question, node.inputs[i]));
        Form { n, exact }
    }

    fn dots(
        &self,
        axes: &[Vec<usize>],
        elements: &[Option<Expr>],
        addends: &[Option<Addend>],
        roundings: &[Rounding],
    ) -> Vec<Statement> {
        let mut all = Vec::new();
        // F32 accumulators are the plainest of products, whatever their dtype.
        let mut roundings = roundings.to_vec();
        roundings.sort_by_key(|rounding| *rounding == Rounding::Bf16);
        for order in Order::all(self.n, true, &[]) {
            for axes in axes {
                for addend in addends {
                    for element in elements {
                        for fused in [false, true] {
                            for &rounding in &roundings {
                                if fused && self.exact && rounding != Rounding::Bf16 {
                                    continue;
                                }
                                all.push(Statement::Product(Product {
                                    axes: axes.clone(),
                                    order: order.clone(),
                                    rounding,
                                    fused,
                                    element: element.clone(),
                                    addend: *addend,
                                }));
                            }
                        }
                    }
                }
            }
        }
        all
    }
}

/// Whether a value is captured BF16s, but for movement and widening.
fn is_captured_bf16(question: &Question, value: ValueId) -> bool {
    let node = question.graph.node(value);
    match (&node.op, node.inputs.first()) {
        (Op::Input { .. } | Op::Weight { .. }, _) => node.info.dtype == DType::BF16,
        (Op::AsType { .. }, Some(&from)) => is_captured_bf16(question, from),
        (op, Some(_)) if op.is_movement() => {
            let mut inputs = node.inputs.iter();
            inputs.all(|&from| is_captured_bf16(question, from) || question.splat(from) == Some(0))
        }
        _ => false,
    }
}

/// An element of a quantised matrix from q, scale and bias.
fn elements(dtype: DType) -> Vec<Expr> {
    let [q, scale, bias] = [0, 1, 2].map(Expr::operand);
    let product = Expr::binary(Binary::Mul, scale.clone(), q.clone());
    let two = |round: bool| {
        let product = product.clone().bf16_if(round);
        Expr::binary(Binary::Add, product, bias.clone())
    };
    let [q, scale, bias] = [q, scale, bias.clone()].map(Box::new);
    let fused = Expr::Fma(scale.clone(), q.clone(), bias.clone());
    match dtype {
        DType::BF16 => vec![
            two(true).bf16_if(true),
            Expr::FmaBf16(scale, q, bias),
            two(false).bf16_if(true),
            fused,
            two(false),
        ],
        _ => vec![two(false), fused],
    }
}

/// All orders of up to three axes, the given one first; of more, that one and its reverse.
fn permutations(axes: &[usize]) -> Vec<Vec<usize>> {
    match axes {
        [] => vec![vec![]],
        [a] => vec![vec![*a]],
        [a, b] => vec![vec![*a, *b], vec![*b, *a]],
        [a, b, c] => [
            [a, b, c],
            [a, c, b],
            [b, a, c],
            [b, c, a],
            [c, a, b],
            [c, b, a],
        ]
        .iter()
        .map(|order| order.iter().map(|axis| **axis).collect())
        .collect(),
        more => vec![more.to_vec(), more.iter().rev().copied().collect()],
    }
}
