//! Which processor features a module may be compiled for, as its arithmetic demands.

use stages::DType;

use crate::program::{Op, Program};

/// What the compiler may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TargetClass {
    /// All features of the host.
    Full,
    /// No fused multiply-add: it would contract a product and the addition that uses it, and
    /// nothing in the text keeps a contraction from that.
    NoFma,
}

impl TargetClass {
    /// The class a program needs. Fused products want FMA; products of two BF16 values are exact
    /// in F32, so that fusing them changes nothing; any other stated product must not fuse.
    pub fn of(program: &Program) -> TargetClass {
        let separate = program.nodes().iter().any(|node| match &node.op {
            Op::Dot {
                fused: false,
                order,
            }
            | Op::PackedDot {
                fused: false,
                order,
            }
            | Op::DirectConvolution {
                fused: false,
                order,
                ..
            } => {
                *order == crate::program::Order::Sequential
                    && !node
                        .inputs
                        .iter()
                        .all(|&v| program.info(v).grid == DType::BF16)
            }
            _ => false,
        });
        if separate {
            TargetClass::NoFma
        } else {
            TargetClass::Full
        }
    }

    /// The class that all functions of one module can be compiled for.
    pub fn joint<'a>(programs: impl IntoIterator<Item = &'a Program>) -> TargetClass {
        programs
            .into_iter()
            .map(TargetClass::of)
            .max()
            .unwrap_or(TargetClass::Full)
    }
}
