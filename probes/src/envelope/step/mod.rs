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

use emitter::program::{Combine, Node, Op, Program, Value};
use stages::{DType, Shape, Tensor};

use self::{
    back::{Hop, Way, origin},
    chain::Chain,
    excerpt::{Values, excerpt},
    tail::Tail,
};
use super::{Pattern, Start, Term};
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
/// assert_eq!(step.sum(1)?.pattern.to_string(), "sequential");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Step {
    program: Program,
    way: Way,
    chain: Option<Chain>,
    values: Values,
}

/// The sum of one element.
#[derive(Clone, Debug)]
pub struct Sum {
    /// What is added, in the order in which the contract adds it.
    pub terms: Vec<Term>,
    /// The order that the contract states.
    pub pattern: Pattern,
    /// How the contract rounds.
    pub rounding: Rounding,
    /// What its running sums begin with.
    pub start: Start,
    tail: Tail,
}

impl Sum {
    /// Whether the element is the sum itself, rounded as [`Sum::rounding`] says.
    pub fn is_result(&self) -> bool {
        self.tail.is_empty()
    }

    /// What the step makes of other sums in the place of its own, each by itself.
    pub fn finish(&self, sums: &[f32]) -> Vec<f32> {
        // Checked on one sum when this was made.
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
        let step = Step {
            program: program.clone(),
            way,
            chain,
            values,
        };
        if step.elements() > 0 {
            step.sum(0)?.tail.run(&[0.0])?;
        }
        Ok(step)
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
        let node = &self.program.nodes()[self.way.sum];
        let mut parts = Parts::default();
        let (mut rounding, start) = self.added(node, at, &mut parts)?;
        // Sums of sums are put together here, so their terms are counted now.
        let Parts { terms, merges } = parts;
        let sequential = Tree::sequential(terms.len());
        let pattern = match Tree::from_merges(terms.len(), &renumbered(&merges, terms.len())) {
            Ok(tree) if tree != sequential => match tree.form() {
                Some(form) => Pattern::Form(form),
                None => Pattern::Tree(tree),
            },
            _ => Pattern::Form(Form::Sequential),
        };
        if rounding == Rounding::F32 && tail.take_rounding() {
            rounding = Rounding::Bf16Once;
        }
        Ok(Sum {
            terms,
            pattern,
            rounding,
            start,
            tail,
        })
    }

    /// What a node adds up for the element of its result at a place.
    fn added(
        &self,
        node: &Node,
        at: usize,
        parts: &mut Parts,
    ) -> Result<(Rounding, Start), StepError> {
        let program = &self.program;
        let shape = &program.info(node.output).shape;
        let float = |input: usize, at: usize| self.values.float(node.inputs[input], at);
        match &node.op {
            Op::Map { maps, .. } => {
                let Some(chain) = &self.chain else {
                    return Err(StepError::NoSum);
                };
                let place = |input: usize| {
                    let operand = &program.info(node.inputs[input]).shape;
                    back::mapped(&maps[input], operand, shape, at)
                };
                let value = |input: usize| float(input, place(input));
                chain.fill(parts, &value);
                let rounding = chain.rounding();
                Ok((rounding, chain.start()))
            }
            Op::Reduce { axes, combine } => {
                let Combine::Sum { round_each, .. } = combine else {
                    return Err(StepError::NoSum);
                };
                let operand = &program.info(node.inputs[0]).shape;
                let mut sum = None;
                for place in back::reduced(operand, axes, at) {
                    let part = self.part(node.inputs[0], place, *round_each, parts)?;
                    sum = Some(parts.add(sum, part));
                }
                Ok((rounding(*round_each)?, Start::Zero))
            }
            Op::PrefixScan {
                axis,
                reverse,
                inclusive,
                round_each,
                ..
            } => {
                let mut sum = None;
                for place in back::scanned(shape, *axis, *reverse, *inclusive, at) {
                    let part = parts.term(Term::Value(float(0, place)));
                    sum = Some(parts.add(sum, part));
                }
                let start = if *inclusive { Start::Term } else { Start::Zero };
                Ok((rounding(*round_each)?, start))
            }
            Op::Dot { .. } | Op::RoundedDot { .. } => {
                let lhs = &program.info(node.inputs[0]).shape;
                let inner = lhs.dims().last().copied().unwrap_or(0);
                let columns = shape.dims().last().copied().unwrap_or(1);
                let rows = shape.dims()[shape.rank().saturating_sub(2)];
                let (row, column) = (at / columns, at % columns);
                let batch = row / rows;
                let mut sum = None;
                for k in 0..inner {
                    let a = float(0, row * inner + k);
                    let b = float(1, (batch * columns + column) * inner + k);
                    let part = parts.term(Term::Product(a, b));
                    sum = Some(parts.add(sum, part));
                }
                let grid = match node.op {
                    Op::RoundedDot { grid } => Some(grid),
                    _ => None,
                };
                Ok((rounding(grid)?, Start::Zero))
            }
            other => Err(StepError::Unsupported(other.name())),
        }
    }

    /// One operand of a sum: a term, which may be a product; or an inner sum that is rounded alike.
    fn part(
        &self,
        value: Value,
        at: usize,
        round_each: Option<DType>,
        parts: &mut Parts,
    ) -> Result<Part, StepError> {
        if let Some(inner) = self.way.inner(&self.program, value) {
            let node = &self.program.nodes()[inner];
            let alike = matches!(
                &node.op,
                Op::Reduce { combine: Combine::Sum { round_each: own, .. }, .. } if *own == round_each
            );
            let place = origin(&self.program, &self.way.producers, value, at);
            if let (true, Some((_, at))) = (alike, place) {
                let before = parts.merges.len();
                let first = parts.terms.len();
                self.added(node, at, parts)?;
                return Ok(match parts.merges.len() {
                    after if after > before => Part::Sum(after - 1),
                    _ => Part::Term(first),
                });
            }
        }
        if round_each.is_none()
            && let Some((product, slots)) = self.way.product(&self.program, value)
            && let Some((_, at)) = origin(&self.program, &self.way.producers, value, at)
        {
            let node = &self.program.nodes()[product];
            if let Op::Map { maps, .. } = &node.op {
                let shape = &self.program.info(node.output).shape;
                let [a, b] = slots.map(|slot| {
                    let operand = &self.program.info(node.inputs[slot]).shape;
                    let place = back::mapped(&maps[slot], operand, shape, at);
                    self.values.float(node.inputs[slot], place)
                });
                return Ok(parts.term(Term::Product(a, b)));
            }
        }
        Ok(parts.term(Term::Value(self.values.float(value, at))))
    }
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
    merges: Vec<[Part; 2]>,
}

impl Parts {
    fn term(&mut self, term: Term) -> Part {
        self.terms.push(term);
        Part::Term(self.terms.len() - 1)
    }

    fn add(&mut self, sum: Option<Part>, part: Part) -> Part {
        match sum {
            None => part,
            Some(sum) => {
                self.merges.push([sum, part]);
                Part::Sum(self.merges.len() - 1)
            }
        }
    }
}

/// The additions as [`Tree::from_merges`] takes them.
fn renumbered(merges: &[[Part; 2]], terms: usize) -> Vec<[usize; 2]> {
    let number = |part: Part| match part {
        Part::Term(term) => term,
        Part::Sum(sum) => terms + sum,
    };
    merges.iter().map(|parts| parts.map(number)).collect()
}
