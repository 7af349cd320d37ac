//! A sum that is written out in a kernel.

use emitter::kernel::{Binary, Inst, Kernel, Reg, RoundTo};

use super::{Part, Parts};
use crate::{
    envelope::{Start, Term},
    order::Rounding,
};

/// What is added.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaf {
    Operand(usize),
    Product(usize, usize),
    /// +0 or −0, which begins a sum.
    Zero,
}

#[derive(Debug)]
enum Sum {
    Leaf(Leaf),
    Add(Box<Sum>, Box<Sum>),
}

/// A kernel that is nothing but additions of its operands and of products of two of them, rounded
/// at the end or not: at least three terms, or two products.
#[derive(Debug)]
pub(super) struct Chain {
    sum: Sum,
    rounded: bool,
}

impl Chain {
    /// A kernel as a sum, if it is one.
    pub fn of(kernel: &Kernel) -> Option<Chain> {
        let insts: Vec<&Inst> = kernel.insts().map(|(inst, _)| inst).collect();
        let (root, rounded) = match insts[kernel.result().index()] {
            Inst::Round(RoundTo::Bf16, inner) => (*inner, true),
            _ => (kernel.result(), false),
        };
        let sum = read(&insts, root)?;
        let chain = Chain { sum, rounded };
        let mut leaves = Vec::new();
        chain.sum.leaves(&mut leaves);
        leaves.retain(|leaf| *leaf != Leaf::Zero);
        let product = |leaf: &Leaf| matches!(leaf, Leaf::Product(..));
        let sums = leaves.len() > 2 || leaves.len() == 2 && leaves.iter().all(product);
        sums.then_some(chain)
    }

    /// How it rounds.
    pub fn rounding(&self) -> Rounding {
        if self.rounded {
            Rounding::Bf16Once
        } else {
            Rounding::F32
        }
    }

    /// What it begins with.
    pub fn start(&self) -> Start {
        let mut leaves = Vec::new();
        self.sum.leaves(&mut leaves);
        if leaves.contains(&Leaf::Zero) {
            Start::Zero
        } else {
            Start::Term
        }
    }

    /// Its terms and additions; `value` gives an operand.
    pub fn fill(&self, parts: &mut Parts, value: &dyn Fn(usize) -> f32) {
        self.sum.fill(parts, value);
    }
}

impl Sum {
    fn leaves(&self, leaves: &mut Vec<Leaf>) {
        match self {
            Sum::Leaf(leaf) => leaves.push(*leaf),
            Sum::Add(a, b) => {
                a.leaves(leaves);
                b.leaves(leaves);
            }
        }
    }

    fn fill(&self, parts: &mut Parts, value: &dyn Fn(usize) -> f32) -> Option<Part> {
        match self {
            Sum::Leaf(Leaf::Zero) => None,
            Sum::Leaf(Leaf::Operand(i)) => Some(parts.term(Term::Value(value(*i)))),
            Sum::Leaf(Leaf::Product(i, j)) => Some(parts.term(Term::Product(value(*i), value(*j)))),
            Sum::Add(a, b) => {
                let a = a.fill(parts, value);
                match b.fill(parts, value) {
                    None => a,
                    Some(b) => Some(parts.add(a, b)),
                }
            }
        }
    }
}

/// The sum that a register is. Kernels that add are a few dozen instructions.
fn read(insts: &[&Inst], reg: Reg) -> Option<Sum> {
    let operand = |reg: Reg| match insts[reg.index()] {
        Inst::Operand(i) => Some(*i),
        _ => None,
    };
    Some(match insts[reg.index()] {
        Inst::Binary(Binary::Add, a, b) => {
            Sum::Add(Box::new(read(insts, *a)?), Box::new(read(insts, *b)?))
        }
        Inst::Binary(Binary::Mul, a, b) => Sum::Leaf(Leaf::Product(operand(*a)?, operand(*b)?)),
        Inst::Operand(i) => Sum::Leaf(Leaf::Operand(*i)),
        Inst::ConstF32(bits) if f32::from_bits(*bits) == 0.0 => Sum::Leaf(Leaf::Zero),
        _ => return None,
    })
}
