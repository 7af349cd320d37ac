//! What the emitter states of one primitive, in the words of [`Statement`].

use std::collections::{HashMap, hash_map::Entry};

use emitter::{
    Contract, Cut,
    lower::lower,
    prepare,
    program::{Combine, Node, Op as Operation, Order as EmittedOrder, Program, Source},
};
use stages::{
    DType, Graph, Shape, Tensor,
    graph::{Builder, ValueId},
};

use super::{
    compute::Sample,
    expr::{Expr, onto_bf16},
    function::{Function, Kind},
    order::Order,
    question::Question,
    read::expression,
    scan::ScanOrder,
    space::Space,
    statement::{Addend, Scan, Softmax, Statement},
    statements::statements,
};
use crate::{
    envelope::{Schedule, Step, Term},
    order::{Rounding, Tree},
    random::Random,
};

/// Why the emitter's statement is not told; completes "it is not told what the emitter states: …".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unstated {
    /// The contract leaves it to the compiler.
    #[error("the contract leaves it to the compiler")]
    Left,
    /// The emitter refuses the primitive.
    #[error("{0}")]
    Refused(String),
    /// Its program is not read as any of the statements that are known here.
    #[error("its program is none of the statements that are tried")]
    Unread,
}

/// What the emitter states of the primitive that gives a value of a step, under a contract. This
/// looks at the program that the primitive alone is lowered to, never at captured values.
///
/// # Errors
/// When the contract leaves it to the compiler, or the program cannot be read.
pub fn stated(
    question: &Question,
    value: usize,
    contract: Contract,
) -> Result<Statement, Unstated> {
    let graph = &question.graph;
    let found = graph.nodes().nth(value).map(|(id, _)| id);
    let id = found.ok_or(Unstated::Unread)?;
    let node = graph.node(id);
    let (alone, result) = alone(question, id).map_err(|e| Unstated::Refused(e.to_string()))?;
    let boundary = alone.boundaries().iter().find(|b| b.value == result);
    let cut = Cut::step(&alone, boundary.ok_or(Unstated::Unread)?);
    let program =
        lower(&alone, &cut, contract).map_err(|error| Unstated::Refused(error.to_string()))?;
    if !program.is_exact() {
        return Err(Unstated::Left);
    }
    let all = statements(question, node).map_err(|e| Unstated::Refused(e.to_string()))?;
    let first = all.first().ok_or(Unstated::Unread)?;
    let found = match (first, &node.op) {
        (Statement::Exact, _) => Some(Statement::Exact),
        (Statement::Each(_), _) => each(&program),
        (Statement::Scan(_), _) => scan(&program),
        (Statement::Softmax(_), _) => softmax(&program),
        (Statement::Sum(_) | Statement::Product(_), _) => added(&program, question, id, &all),
    };
    found.ok_or(Unstated::Unread)
}

/// The primitive alone, on inputs named by number; constants stay constants.
fn alone(
    question: &Question,
    value: ValueId,
) -> Result<(Graph, ValueId), stages::graph::GraphError> {
    let node = question.graph.node(value);
    let mut b = Builder::new();
    let mut inputs = Vec::new();
    for (i, &input) in node.inputs.iter().enumerate() {
        let info = question.graph.info(input).clone();
        let splat = question.splat(input).filter(|_| info.dtype.is_float());
        inputs.push(match splat {
            Some(bits) => b.full(info.shape, f32::from_bits(bits).into(), info.dtype)?,
            None => b.given(&i.to_string(), info),
        });
    }
    let result = b.apply(node.op.clone(), &inputs)?;
    let result = b.boundary("result", result, "")?;
    Ok((b.finish(), result))
}

/// What computes: constants are written where they are needed as tensors.
fn computing(program: &Program) -> Vec<&Node> {
    let nodes = program.nodes().iter();
    nodes
        .filter(|node| !matches!(node.op, Operation::Fill { .. }))
        .collect()
}

/// The operand that an argument of the program stands for.
fn argument(program: &Program, value: emitter::program::Value) -> Option<usize> {
    let arg = program.args().iter().find(|arg| arg.value == value)?;
    match &arg.source {
        Source::Input(name) => name.parse().ok(),
        _ => None,
    }
}

fn each(program: &Program) -> Option<Statement> {
    match computing(program)[..] {
        [] => Some(Statement::Each(Expr::Operand(0))),
        [node] => {
            let Operation::Map { kernel, .. } = &node.op else {
                return None;
            };
            let operands: Option<Vec<usize>> = node
                .inputs
                .iter()
                .map(|&input| argument(program, input))
                .collect();
            let operands = operands?;
            let number = |i: usize| operands.get(i).copied().unwrap_or(usize::MAX);
            expression(kernel, &number).map(Statement::Each)
        }
        _ => None,
    }
}

fn rounding(round_each: Option<DType>) -> Option<Rounding> {
    match round_each {
        None => Some(Rounding::F32),
        Some(DType::BF16) => Some(Rounding::Bf16),
        Some(_) => None,
    }
}

fn scan(program: &Program) -> Option<Statement> {
    let [node] = computing(program)[..] else {
        return None;
    };
    let Operation::PrefixScan {
        order: EmittedOrder::Sequential,
        round_each,
        ..
    } = node.op
    else {
        return None;
    };
    Some(Statement::Scan(Scan {
        order: ScanOrder::Sequential,
        rounding: rounding(round_each)?,
    }))
}

/// The largest, the exponentials, their sum, the shares.
fn softmax(program: &Program) -> Option<Statement> {
    let [largest, exponentials, sum, shares] = computing(program)[..] else {
        return None;
    };
    let maximum = Operation::Reduce {
        axes: vec![program.info(program.args().first()?.value).shape.rank() - 1],
        combine: Combine::Max,
    };
    let (
        Operation::Map { kernel: e, .. },
        Operation::Reduce {
            combine: Combine::Sum { order, round_each },
            ..
        },
        Operation::Map { kernel: share, .. },
    ) = (&exponentials.op, &sum.op, &shares.op)
    else {
        return None;
    };
    if largest.op != maximum || *order != EmittedOrder::Sequential {
        return None;
    }
    let e = expression(e, &|i| i)?;
    let share = expression(share, &|i| i)?;
    // Of the forms that a softmax may have, the one with these expressions.
    let found = |inside: bool, divided: bool, rounded: bool| {
        let difference = Expr::binary(super::Binary::Sub, Expr::operand(0), Expr::operand(1));
        let exp = Function::restated(Kind::Exp);
        let own = Expr::call(exp, difference.bf16_if(inside)).bf16_if(inside);
        let [x, s] = [0, 1].map(Expr::operand);
        let result = if divided {
            Expr::binary(super::Binary::Div, x, s)
        } else {
            let inverse = Expr::binary(super::Binary::Div, Expr::number(1.0), s);
            Expr::binary(super::Binary::Mul, x, inverse.bf16_if(inside))
        };
        own == e && result.bf16_if(rounded) == share
    };
    for inside in [false, true] {
        for divided in [false, true] {
            for rounded in [false, true] {
                if found(inside, divided, rounded) {
                    return Some(Statement::Softmax(Softmax {
                        exp: Function::restated(Kind::Exp),
                        inside,
                        order: Order::SEQUENTIAL,
                        rounding: rounding(*round_each)?,
                        divided,
                        rounded,
                    }));
                }
            }
        }
    }
    None
}

/// A sum or a product: the one of all statements that adds the same terms in the same order.
fn added(
    program: &Program,
    question: &Question,
    value: ValueId,
    all: &[Statement],
) -> Option<Statement> {
    let node = question.graph.node(value);
    let mut random = Random(0xadd);
    let mut tensors: Vec<Option<Tensor>> = vec![None; node.inputs.len()];
    let mut args = Vec::new();
    for arg in program.args() {
        let operand = argument(program, arg.value)?;
        let info = question.graph.info(node.inputs[operand]);
        let tensor = drawn(&mut random, info.dtype, &info.shape)?;
        let prepared = prepare::apply(&arg.prepare, &given(&tensor)?).ok()?;
        tensors[operand] = Some(tensor);
        args.push(prepared);
    }
    let step = Step::of(program, &args).ok()?;
    let element = step.elements().checked_sub(1)?;
    let sum = step.sum(element).ok()?;
    let schedule = step.stated();
    // The same primitive on the same values, read in each statement's own order.
    let (alone, result) = alone(question, value).ok()?;
    let mut own = Question::new(&alone, result).ok()?;
    own.draw(&tensors).ok()?;
    let space = Space::new(&own).ok()?;
    let sample = Sample::new(&own, 0, vec![element as u32]).ok()?;
    let stated = Stated {
        sum: &sum,
        schedule,
        tree: schedule.pattern.tree(sum.terms.len()),
    };
    let mut read: HashMap<Reading, (Vec<Term>, f32)> = HashMap::new();
    let found = all.iter().find(|statement| {
        let key = match statement {
            Statement::Sum(own) if own.fused.is_none() => (own.axes.clone(), None),
            Statement::Product(own) if !own.fused => (own.axes.clone(), own.element.clone()),
            _ => return false,
        };
        if let (_, Some(element)) = &key
            && element_of(program).as_ref() != Some(element)
        {
            return false;
        }
        let terms = match read.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match sample.terms(&space, statement) {
                Ok(terms) => new.insert(terms),
                Err(_) => return false,
            },
        };
        stated.is(statement, &terms.0, terms.1)
    });
    found.cloned()
}

/// What decides which terms a statement takes in which order.
type Reading = (Vec<usize>, Option<Expr>);

/// How the elements of a quantised matrix are made.
fn element_of(program: &Program) -> Option<Expr> {
    program.nodes().iter().find_map(|node| match &node.op {
        Operation::Map { kernel, .. } => expression(kernel, &|i| i),
        _ => None,
    })
}

/// The sum of one element of a program.
struct Stated<'a> {
    sum: &'a crate::envelope::Sum,
    schedule: &'a Schedule,
    tree: Option<Tree>,
}

impl Stated<'_> {
    /// Whether a statement that takes `terms` in this order is the program's.
    fn is(&self, statement: &Statement, terms: &[Term], addend: f32) -> bool {
        let (order, rounding, when) = match statement {
            Statement::Sum(own) => (&own.order, own.rounding, None),
            Statement::Product(own) => (&own.order, own.rounding, own.addend),
            _ => return false,
        };
        let mut terms = terms.to_vec();
        if when == Some(Addend::First) {
            terms.insert(0, Term::Value(addend));
        }
        let own = match self.schedule.rounding {
            Rounding::Bf16Once => Rounding::F32,
            other => other,
        };
        let bits = |terms: &[Term]| -> Vec<u32> {
            terms
                .iter()
                .map(|term| term.rounded(own).to_bits())
                .collect()
        };
        if !self.same_order(order, terms.len()) || bits(&terms) != bits(&self.sum.terms) {
            return false;
        }
        // The last rounding may stand behind the sum.
        let once = rounding == Rounding::Bf16Once && self.schedule.rounding == Rounding::F32;
        if rounding != self.schedule.rounding && !once {
            return false;
        }
        // What becomes of the sum, tried on some.
        let samples = [1.0, 1.007_812_5, 1.003_906_3, -3.333_333_3, 257.3];
        let expected = samples.map(|s| {
            let s = if when == Some(Addend::LastRounded) {
                onto_bf16(s)
            } else {
                s
            };
            let last = matches!(when, Some(Addend::Last | Addend::LastRounded));
            let total = if last { s + addend } else { s };
            if once { onto_bf16(total) } else { total }
        });
        self.sum.finish(&samples) == expected
    }

    fn same_order(&self, order: &Order, n: usize) -> bool {
        let Order::Pattern(pattern) = order else {
            return false;
        };
        *pattern == self.schedule.pattern || pattern.tree(n) == self.tree
    }
}

/// A random tensor.
fn drawn(random: &mut Random, dtype: DType, shape: &Shape) -> Option<Tensor> {
    let count = shape.elements();
    let floats = |random: &mut Random| -> Vec<f32> { (0..count).map(|_| random.float()).collect() };
    match dtype {
        DType::F32 => Tensor::from_f32(shape.clone(), &floats(random)).ok(),
        DType::BF16 => {
            let values: Vec<half::bf16> = floats(random)
                .into_iter()
                .map(half::bf16::from_f32)
                .collect();
            Tensor::from_bf16(shape.clone(), &values).ok()
        }
        DType::U32 => {
            let values: Vec<u32> = (0..count).map(|_| random.bits() as u32).collect();
            Tensor::from_u32(shape.clone(), &values).ok()
        }
        _ => None,
    }
}

/// As programs take it: BF16 widened.
fn given(tensor: &Tensor) -> Option<Tensor> {
    match tensor.dtype() {
        DType::BF16 => Tensor::from_f32(tensor.shape().clone(), &tensor.to_f32()?).ok(),
        _ => Some(tensor.clone()),
    }
}
