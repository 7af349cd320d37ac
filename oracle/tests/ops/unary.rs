//! Functions of one operand: all BF16 values, and F32 values of every exponent.

use stages::{DType, Tensor, graph::Op};

use crate::{
    case::{Case, case},
    values::{FLOATS, all_bf16, specials, sweep, sweep_len, vector},
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
pub fn operands(dtype: DType, phase: u64) -> Tensor {
    if dtype == DType::BF16 {
        return vector(dtype, &all_bf16());
    }
    let mut values = sweep(sweep_len(), phase);
    values.extend(specials());
    for magnitude in sweep(sweep_len() / 2, phase ^ 0xABCD) {
        let bits = magnitude.to_bits();
        // The top bits of the pattern choose among 20 exponents instead of 256.
        let exponent = 115 + (bits >> 23 & 0xFF) * 20 / 256;
        values.push(f32::from_bits(bits & 0x807F_FFFF | exponent << 23));
    }
    vector(dtype, &values)
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, op) in FUNCTIONS.into_iter().enumerate() {
        for dtype in FLOATS {
            let x = operands(dtype, i as u64);
            let name = format!("{op:?} {dtype}");
            cases.push(case(name, &[x], |b, x| b.apply(op.clone(), x)));
        }
    }
    let bits = Tensor::from_bool([2], &[false, true]).unwrap();
    cases.push(case("LogicalNot", &[bits], |b, x| {
        b.apply(Op::LogicalNot, x)
    }));
    for dtype in FLOATS {
        let x = crate::values::noise(dtype, [3, 5, 7], 1);
        cases.push(case(format!("Exp of a view {dtype}"), &[x], |b, x| {
            let turned = b.transpose(x[0], &[2, 0, 1])?;
            b.apply(Op::Exp, &[turned])
        }));
    }
    cases
}
