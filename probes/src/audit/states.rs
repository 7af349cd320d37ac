//! What a program allows its code to do.

use std::collections::BTreeMap;

use emitter::{
    kernel::Inst,
    program::{Combine, Op, Program},
};
use stages::DType;

use super::code::{Found, Sign};

/// What a program states, as far as code can go against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// Orders and roundings: all but `native` programs do.
    pub exact: bool,
    /// Fused products, or products whose fusion changes nothing: of two BF16 values.
    pub fused: bool,
    /// Sums of an order.
    pub sums: bool,
}

/// A sign in code that goes against its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub sign: Sign,
    /// How often and where first.
    pub found: Found,
}

impl States {
    /// What the program states.
    pub fn of(program: &Program) -> States {
        let mut states = States {
            exact: program.is_exact(),
            ..States::default()
        };
        for node in program.nodes() {
            match &node.op {
                Op::Map { kernel, .. } => {
                    let fused = kernel
                        .insts()
                        .any(|(inst, _)| matches!(inst, Inst::Fma(..)));
                    states.fused |= fused;
                }
                Op::Dot { fused, .. }
                | Op::PackedDot { fused, .. }
                | Op::DirectConvolution { fused, .. } => {
                    let narrow = |&value| program.info(value).grid == DType::BF16;
                    states.fused |= *fused || node.inputs.iter().all(narrow);
                    states.sums = true;
                }
                Op::RoundedDot { .. }
                | Op::PrefixScan { .. }
                | Op::Reduce {
                    combine: Combine::Sum { .. },
                    ..
                } => states.sums = true,
                _ => {}
            }
        }
        states
    }

    /// What of the signs goes against it. Nothing goes against a program that states nothing.
    pub fn against(self, signs: &BTreeMap<Sign, Found>) -> Vec<Finding> {
        let against = |sign: Sign| match sign {
            _ if !self.exact => false,
            Sign::Fused => !self.fused,
            Sign::Exchange => self.sums,
            Sign::Library
            | Sign::Bf16Rounding
            | Sign::Bf16Dot
            | Sign::Flush
            | Sign::Approximate
            | Sign::TensorCore => true,
        };
        let signs = signs.iter().filter(|(sign, _)| against(**sign));
        signs
            .map(|(sign, found)| Finding {
                sign: *sign,
                found: found.clone(),
            })
            .collect()
    }
}
