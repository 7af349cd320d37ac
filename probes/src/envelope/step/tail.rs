//! What follows a sum, for one element.

use emitter::{
    interp::interpret,
    kernel::{Inst, Kernel, RoundTo},
    program::{Elem, IndexMap, Op, Program, Source, ValueInfo},
};
use stages::{DType, Tensor};

use super::{
    StepError,
    back::{Hop, Way, mapped, moved},
    excerpt::Values,
};

/// Kernels one after the other, from the sum to the element, with all other operands fixed.
#[derive(Clone, Debug)]
pub(super) struct Tail(Vec<Link>);

#[derive(Clone, Debug)]
struct Link {
    kernel: Kernel,
    operands: Vec<Operand>,
    result: ValueInfo,
}

/// An operand of a kernel.
#[derive(Clone, Debug)]
enum Operand {
    /// What the kernel before gives, or the sum.
    Before,
    /// An element of something else.
    Fixed { bits: u32, info: ValueInfo },
}

impl Tail {
    /// What follows the sum of an element, and where that sum is among its node's results.
    pub fn of(
        program: &Program,
        way: &Way,
        values: &Values,
        element: usize,
    ) -> Result<(usize, Tail), StepError> {
        let mut at = element;
        let mut links = Vec::new();
        for hop in &way.hops {
            match *hop {
                Hop::Move(node) => at = moved(program, node, at).ok_or(StepError::NoSum)?,
                Hop::Map {
                    node: index,
                    ref slots,
                } => {
                    let node = &program.nodes()[index];
                    let Op::Map { kernel, maps } = &node.op else {
                        return Err(StepError::Unsupported(node.op.name()));
                    };
                    let result = program.info(node.output);
                    let place = |slot: usize| {
                        let operand = &program.info(node.inputs[slot]).shape;
                        mapped(&maps[slot], operand, &result.shape, at)
                    };
                    let operand = |slot: usize| {
                        if slots.contains(&slot) {
                            return Operand::Before;
                        }
                        let info = program.info(node.inputs[slot]);
                        let bits = values.bits(node.inputs[slot], info.elem, place(slot));
                        // BF16 storage is widened where it is read.
                        let elem = match info.elem {
                            Elem::Bf16 => Elem::F32,
                            elem => elem,
                        };
                        let info = ValueInfo {
                            shape: [1].into(),
                            elem,
                            grid: info.grid,
                        };
                        Operand::Fixed { bits, info }
                    };
                    links.push(Link {
                        kernel: kernel.clone(),
                        operands: (0..node.inputs.len()).map(operand).collect(),
                        result: result.clone(),
                    });
                    at = slots.first().map_or(at, |&slot| place(slot));
                }
            }
        }
        links.reverse();
        Ok((at, Tail(links)))
    }

    /// Whether nothing follows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first kernel away if it is a rounding to BF16 and nothing else.
    pub fn take_rounding(&mut self) -> bool {
        let rounds = self.0.first().is_some_and(|link| {
            let result = link.kernel.result().index();
            let insts: Vec<&Inst> = link.kernel.insts().map(|(inst, _)| inst).collect();
            matches!(
                insts[result],
                Inst::Round(RoundTo::Bf16, inner) if *insts[inner.index()] == Inst::Operand(0)
            )
        });
        if rounds {
            self.0.remove(0);
        }
        rounds
    }

    /// The results for sums, each by itself.
    pub fn run(&self, sums: &[f32]) -> Result<Vec<f32>, StepError> {
        if self.0.is_empty() || sums.is_empty() {
            return Ok(sums.to_vec());
        }
        let count = sums.len();
        let mut program = Program::new();
        let along = |info: &ValueInfo| ValueInfo {
            shape: [count].into(),
            ..info.clone()
        };
        let sum = ValueInfo {
            shape: [count].into(),
            elem: Elem::F32,
            grid: DType::F32,
        };
        let mut value = program.arg(Source::Input("sums".to_owned()), vec![], sum);
        for link in &self.0 {
            let (mut inputs, mut maps) = (Vec::new(), Vec::new());
            for operand in &link.operands {
                match operand {
                    Operand::Before => {
                        inputs.push(value);
                        maps.push(IndexMap::identity(1));
                    }
                    Operand::Fixed { bits, info } => {
                        inputs.push(program.push(Op::Fill { bits: *bits }, vec![], info.clone()));
                        maps.push(IndexMap(vec![None]));
                    }
                }
            }
            let kernel = link.kernel.clone();
            value = program.push(Op::Map { kernel, maps }, inputs, along(&link.result));
        }
        program.output("results", value);
        let results = interpret(&program, &[Tensor::from_f32([count], sums)?])?;
        let results = results.first().and_then(Tensor::to_f32);
        Ok(results
            .map(|values| values.into_owned())
            .unwrap_or_default())
    }
}
