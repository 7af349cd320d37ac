//! Functions of one operand: all BF16 values, and F32 values of every exponent.

use stages::{DType, graph::Op};

use super::{
    Size,
    case::{Stated, case},
    values::{FLOATS, Operand, all_bf16, bools, made, noise, specials, sweep, sweep_len},
};

/// What takes and gives one float.
pub const FUNCTIONS: [Op; 10] = [
    Op::Negative,
    Op::Square,
    Op::Sqrt { reciprocal: false },
    Op::Sqrt { reciprocal: true },
    Op::Sigmoid,
    Op::Tanh,
    Op::Exp,
    Op::Log,
    Op::Sin,
    Op::Cos,
];

/// Values that a function of one F32 is tried on: all exponents, the special values and, denser,
/// magnitudes from 2⁻¹² to 2⁸, where most functions do most of their work.
pub(super) fn operands(dtype: DType, phase: u64, size: Size) -> Operand {
    if dtype == DType::BF16 {
        return made(dtype, [1 << 16], all_bf16);
    }
    let len = sweep_len(size);
    let count = (len + len / 2) as usize + specials().len();
    made(dtype, [count], move || values(len, phase))
}

/// Every sixteenth of these values, and the special ones.
pub(super) fn part(dtype: DType, phase: u64, size: Size) -> Operand {
    let len = sweep_len(size);
    let count = (len + len / 2) as usize + specials().len();
    made(dtype, [count.div_ceil(16) + specials().len()], move || {
        let some = values(len, phase).into_iter().step_by(16);
        some.chain(specials()).collect()
    })
}

fn values(len: u32, phase: u64) -> Vec<f32> {
    let mut values = sweep(len, phase);
    values.extend(specials());
    for magnitude in sweep(len / 2, phase ^ 0xABCD) {
        let bits = magnitude.to_bits();
        // The top bits of the pattern choose among 20 exponents instead of 256.
        let exponent = 115 + (bits >> 23 & 0xFF) * 20 / 256;
        values.push(f32::from_bits(bits & 0x807F_FFFF | exponent << 23));
    }
    values
}

pub(super) fn cases(size: Size) -> Vec<Stated> {
    let mut cases = Vec::new();
    for (i, op) in FUNCTIONS.into_iter().enumerate() {
        for dtype in FLOATS {
            let x = operands(dtype, i as u64, size);
            let name = format!("{op:?} {dtype}");
            cases.push(case(name, &[x], |b, x| b.apply(op.clone(), x)));
        }
    }
    let bits = bools([2], &[false, true]);
    cases.push(case("LogicalNot", &[bits], |b, x| {
        b.apply(Op::LogicalNot, x)
    }));
    for dtype in FLOATS {
        let x = noise(dtype, [3, 5, 7], 1);
        cases.push(case(format!("Exp of a view {dtype}"), &[x], |b, x| {
            let turned = b.transpose(x[0], &[2, 0, 1])?;
            b.apply(Op::Exp, &[turned])
        }));
    }
    cases
}
