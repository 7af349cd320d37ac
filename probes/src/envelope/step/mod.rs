//! The sum inside a step: what is added up for one element of its result, and what follows.
//!
//! A step is a program of level two as its contract states it, before the layout pass. From the
//! wanted element one goes back, over movement and elementwise kernels, to the one operation that
//! adds; all that it adds is computed by the interpreter. What follows the sum (a mean's factor, a
//! rounding, a bias) is run on any other sum in its place.

mod back;
mod chain;
mod error;
mod excerpt;
mod tail;

use emitter::program::{Combine, IndexMap, Node, Op, Program, Value};
use stages::{DType, Shape, Tensor};

use self::{
    back::{Hop, Way, origin},
    chain::Chain,
    excerpt::{Values, excerpt},
    tail::Tail,
};
use super::{Pattern, Schedule, Start, Term};
use crate::order::{Form, Rounding, Tree};

pub use error::StepError;

/// A step whose first result is made by one sum an element.
///
/// ```
/// use emitter::program::{Combine, Elem, Op, Order, Program, Source, ValueInfo};
/// use probes::envelope::{Step, Term};
/// use stages::{DType, Tensor};
///
/// let info = |shape: &[usize]| ValueInfo {
///     shape: shape.into(),
///     elem: Elem::F32,
///     grid: DType::F32,
/// };
/// let mut program = Program::new();
/// let x = program.arg(Source::Input("x".into()), vec![], info(&[2, 3]));
/// let combine = Combine::Sum { order: Order::Sequential, round_each: None };
/// let sum = program.push(Op::Reduce { axes: vec![1], combine }, vec![x], info(&[2]));
/// program.output("sum", sum);
///
/// let x = Tensor::from_f32([2, 3], &[1., 2., 3., 4., 5., 6.])?;
/// let step = Step::of(&program, &[x])?;
/// assert_eq!(step.sum(1)?.terms, [4., 5., 6.].map(Term::Value));
/// assert_eq!(step.stated().to_string(), "sequential, F32 accumulator");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Step {
    program: Program,
    way: Way,
    chain: Option<Chain>,
    values: Values,
    stated: Schedule,
}

/// The sum of one element.
#[derive(Clone, Debug)]
pub struct Sum {
    /// What is added, in the order in which the contract adds it.
    pub terms: Vec<Term>,
    tail: Tail,
}

impl Sum {
    /// Whether the element is the sum itself, rounded as the step's schedule says.
    pub fn is_result(&self) -> bool {
        self.tail.is_empty()
    }

    /// What the step makes of other sums in the place of its own, each by itself.
    pub fn finish(&self, sums: &[f32]) -> Vec<f32> {
        // Checked on one sum when the step was opened.
        self.tail.run(sums).unwrap_or_default()
    }
}

impl Step {
    /// The step that a program states. `args` are its prepared arguments, in calling order.
    ///
    /// # Errors
    /// When no operation of the program adds floats, several do, or what follows the sum is not
    /// elementwise.
    pub fn of(program: &Program, args: &[Tensor]) -> Result<Step, StepError> {
        let way = Way::back(program)?;
        let node = &program.nodes()[way.sum];
        let chain = match &node.op {
            Op::Map { kernel, .. } => Chain::of(kernel),
            _ => None,
        };
        let mut wanted = node.inputs.clone();
        for hop in &way.hops {
            if let Hop::Map { node, .. } = *hop {
                wanted.extend(&program.nodes()[node].inputs);
            }
        }
        wanted.retain(|value| !way.depends.contains(value));
        let mut value = node.inputs[0];
        while let Some(inner) = way.inner(program, value) {
            value = program.nodes()[inner].inputs[0];
            wanted.push(value);
        }
        if let Some((product, _)) = way.product(program, value) {
            wanted.extend(&program.nodes()[product].inputs);
        }
        let values = excerpt(program, args, &wanted)?;
        let (rounding, start) = arithmetic(&node.op, chain.as_ref())?;
        let stated = Schedule {
            pattern: Pattern::Form(Form::Sequential),
            rounding,
            fused: false,
            start,
        };
        let mut step = Step {
            program: program.clone(),
            way,
            chain,
            values,
            stated,
        };
        step.learn()?;
        Ok(step)
    }

    /// Takes the order of the additions, and the rounding after them, from the first element that
    /// the sum makes.
    fn learn(&mut self) -> Result<(), StepError> {
        let found =
            (0..self.elements()).map(|i| Tail::of(&self.program, &self.way, &self.values, i));
        let Some((at, mut tail)) = found.filter_map(Result::ok).next() else {
            return Ok(());
        };
        let node = &self.program.nodes()[self.way.sum];
        if !matches!(node.op, Op::PrefixScan { .. }) {
            let mut parts = Parts {
                merges: Some(Vec::new()),
                ..Parts::default()
            };
            self.added(node, at, &mut parts)?;
            let terms = parts.terms.len();
            let sequential = Tree::sequential(terms);
            self.stated.pattern = match Tree::from_merges(terms, &parts.renumbered()) {
                Ok(tree) if tree != sequential => match tree.form() {
                    Some(form) => Pattern::Form(form),
                    None => Pattern::Tree(tree),
                },
                _ => Pattern::Form(Form::Sequential),
            };
        }
        if self.stated.rounding == Rounding::F32 && tail.take_rounding() {
            self.stated.rounding = Rounding::Bf16Once;
        }
        tail.run(&[0.0])?;
        Ok(())
    }

    /// How the contract adds, and rounds right after.
    pub fn stated(&self) -> &Schedule {
        &self.stated
    }

    /// The shape of the result.
    pub fn shape(&self) -> &Shape {
        &self.program.info(self.way.result).shape
    }

    /// How many elements the result has.
    pub fn elements(&self) -> usize {
        self.shape().elements()
    }

    /// The sum of an element, by its row-major index.
    ///
    /// # Errors
    /// When there is no such element, or it is none that the sum makes.
    pub fn sum(&self, element: usize) -> Result<Sum, StepError> {
        let elements = self.elements();
        if element >= elements {
            return Err(StepError::Element { element, elements });
        }
        let (at, mut tail) = Tail::of(&self.program, &self.way, &self.values, element)?;
        let mut parts = Parts::default();
        self.added(&self.program.nodes()[self.way.sum], at, &mut parts)?;
        if self.stated.rounding == Rounding::Bf16Once && self.chain.is_none() {
            tail.take_rounding();
        }
        let terms = parts.terms;
        Ok(Sum { terms, tail })
    }

    /// Adds what a node adds up for the element of its result at a place.
    fn added(&self, node: &Node, at: usize, parts: &mut Parts) -> Result<(), StepError> {
        let program = &self.program;
        let shape = &program.info(node.output).shape;
        let mut sum = None;
        match &node.op {
            Op::Map { maps, .. } => {
                let chain = self.chain.as_ref().ok_or(StepError::NoSum)?;
                let value = |input: usize| {
                    let operand = &program.info(node.inputs[input]).shape;
                    let place = back::mapped(&maps[input], operand, shape, at);
                    self.values.floats(node.inputs[input]).at(place)
                };
                chain.fill(parts, &value);
            }
            Op::Reduce { axes, combine } => {
                let Combine::Sum { round_each, .. } = combine else {
                    return Err(StepError::NoSum);
                };
                let operand = &program.info(node.inputs[0]).shape;
                let below = Below::of(self, node.inputs[0], *round_each);
                for place in back::reduced(operand, axes, at) {
                    let part = self.part(&below, place, parts)?;
                    sum = Some(parts.add(sum, part));
                }
            }
            Op::PrefixScan {
                axis,
                reverse,
                inclusive,
                ..
            } => {
                let values = self.values.floats(node.inputs[0]);
                for place in back::scanned(shape, *axis, *reverse, *inclusive, at) {
                    let part = parts.term(Term::Value(values.at(place)));
                    sum = Some(parts.add(sum, part));
                }
            }
            Op::Dot { .. } | Op::RoundedDot { .. } => {
                let [lhs, rhs] = [0, 1].map(|input| self.values.floats(node.inputs[input]));
                let of = |shape: &Shape, back: usize| {
                    let axis = shape.rank().checked_sub(back);
                    axis.map_or(1, |axis| shape[axis])
                };
                let inner = of(&program.info(node.inputs[0]).shape, 1);
                let (rows, columns) = (of(shape, 2), of(shape, 1));
                let (row, column) = (at / columns, at % columns);
                let batch = row / rows;
                for k in 0..inner {
                    let a = lhs.at(row * inner + k);
                    let b = rhs.at((batch * columns + column) * inner + k);
                    let part = parts.term(Term::Product(a, b));
                    sum = Some(parts.add(sum, part));
                }
            }
            other => return Err(StepError::Unsupported(other.name())),
        }
        Ok(())
    }

    /// One operand of a sum over axes.
    fn part(&self, below: &Below<'_>, at: usize, parts: &mut Parts) -> Result<Part, StepError> {
        let place = || origin(&self.program, &self.way.producers, below.value, at);
        match &below.kind {
            Kind::Sum(node) => {
                if let Some((_, at)) = place() {
                    let (first, before) = (parts.terms.len(), parts.sums);
                    self.added(node, at, parts)?;
                    let after = parts.sums;
                    return Ok(if after > before {
                        Part::Sum(after - 1)
                    } else {
                        Part::Term(first)
                    });
                }
            }
            Kind::Product { node, maps, slots } => {
                if let Some((_, at)) = place() {
                    let shape = &self.program.info(node.output).shape;
                    let [a, b] = slots.map(|slot| {
                        let operand = &self.program.info(node.inputs[slot]).shape;
                        let place = back::mapped(&maps[slot], operand, shape, at);
                        self.values.floats(node.inputs[slot]).at(place)
                    });
                    return Ok(parts.term(Term::Product(a, b)));
                }
            }
            Kind::Value => {}
        }
        Ok(parts.term(Term::Value(self.values.floats(below.value).at(at))))
    }
}

/// What the operands of a sum over axes are.
struct Below<'a> {
    value: Value,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Inner sums that are rounded alike.
    Sum(&'a Node),
    /// Products, of a sum that takes them as they are.
    Product {
        node: &'a Node,
        maps: &'a [IndexMap],
        slots: [usize; 2],
    },
    /// Anything else.
    Value,
}

impl<'a> Below<'a> {
    fn of(step: &'a Step, value: Value, round_each: Option<DType>) -> Below<'a> {
        let nodes = step.program.nodes();
        let kind = || {
            if let Some(inner) = step.way.inner(&step.program, value) {
                let node = &nodes[inner];
                let alike = matches!(
                    &node.op,
                    Op::Reduce { combine: Combine::Sum { round_each: own, .. }, .. }
                        if *own == round_each
                );
                return alike.then_some(Kind::Sum(node));
            }
            let (product, slots) = step.way.product(&step.program, value)?;
            match &nodes[product].op {
                Op::Map { maps, .. } if round_each.is_none() => Some(Kind::Product {
                    node: &nodes[product],
                    maps,
                    slots,
                }),
                _ => None,
            }
        };
        let kind = kind().unwrap_or(Kind::Value);
        Below { value, kind }
    }
}

/// How an operation that adds rounds, and what it begins with.
fn arithmetic(op: &Op, chain: Option<&Chain>) -> Result<(Rounding, Start), StepError> {
    Ok(match op {
        Op::Reduce {
            combine: Combine::Sum { round_each, .. },
            ..
        } => (rounding(*round_each)?, Start::Zero),
        Op::PrefixScan {
            inclusive,
            round_each,
            ..
        } => {
            let start = if *inclusive { Start::Term } else { Start::Zero };
            (rounding(*round_each)?, start)
        }
        Op::RoundedDot { grid } => (rounding(Some(*grid))?, Start::Zero),
        Op::Dot { .. } => (Rounding::F32, Start::Zero),
        _ => chain.map_or((Rounding::F32, Start::Zero), |chain| {
            (chain.rounding(), chain.start())
        }),
    })
}

/// The rounding of a sum whose partial sums lie on a grid.
fn rounding(round_each: Option<DType>) -> Result<Rounding, StepError> {
    match round_each {
        None | Some(DType::F32) => Ok(Rounding::F32),
        Some(DType::BF16) => Ok(Rounding::Bf16),
        Some(other) => Err(StepError::Grid(other)),
    }
}

/// A term or a sum of [`Parts`].
#[derive(Clone, Copy, Debug)]
enum Part {
    Term(usize),
    Sum(usize),
}

/// Terms and the additions that are made of them.
#[derive(Debug, Default)]
struct Parts {
    terms: Vec<Term>,
    /// How many additions there are.
    sums: usize,
    /// The additions, if they are asked for.
    merges: Option<Vec<[Part; 2]>>,
}

impl Parts {
    fn term(&mut self, term: Term) -> Part {
        self.terms.push(term);
        Part::Term(self.terms.len() - 1)
    }

    fn add(&mut self, sum: Option<Part>, part: Part) -> Part {
        let Some(sum) = sum else {
            return part;
        };
        if let Some(merges) = &mut self.merges {
            merges.push([sum, part]);
        }
        self.sums += 1;
        Part::Sum(self.sums - 1)
    }

    /// The additions as [`Tree::from_merges`] takes them.
    fn renumbered(&self) -> Vec<[usize; 2]> {
        let number = |part: Part| match part {
            Part::Term(term) => term,
            Part::Sum(sum) => self.terms.len() + sum,
        };
        let merges = self.merges.iter().flatten();
        merges.map(|parts| parts.map(number)).collect()
    }
}
