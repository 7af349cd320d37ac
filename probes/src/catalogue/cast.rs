//! Conversions, constants and ranges.

use stages::{DType, graph::Op};

use super::{
    Size,
    case::{Stated, case, case_with_weights},
    unary,
    values::{CARRIED, ORDERED, Operand, Random, any, as_words, bools, ints, special_ints},
};

fn operands(dtype: DType, size: Size) -> Operand {
    match dtype {
        DType::Bool => bools([2], &[false, true]),
        DType::I32 => {
            let mut random = Random::new(5);
            let mut values = special_ints();
            // Around ties of both float grids.
            for i in 0..1 << 16 {
                values.push((random.bits() as i32) >> (i % 31));
            }
            ints([values.len()], values)
        }
        DType::U32 => as_words(operands(DType::I32, size)),
        _ => unary::operands(dtype, 21, size),
    }
}

pub(super) fn cases(size: Size) -> Vec<Stated> {
    let mut cases = Vec::new();
    for from in CARRIED {
        for to in ORDERED {
            cases.push(case(
                format!("AsType {from} to {to}"),
                &[operands(from, size)],
                |b, x| b.apply(Op::AsType { dtype: to }, x),
            ));
        }
        cases.push(case(
            format!("Input {from}"),
            &[any(from, [3, 4], 1)],
            |_, x| Ok(x[0]),
        ));
        let weight = [any(from, [3, 4], 2)];
        cases.push(case_with_weights(
            format!("Weight {from}"),
            &[],
            &weight,
            |_, x| Ok(x[0]),
        ));
        for value in [0.0f64, -0.0, 1.0, -3.0, 0.1, 1e10, -1e9] {
            let whole = match from {
                DType::I32 => value.abs() < 2e9,
                DType::U32 => (0.0..4e9).contains(&value),
                _ => true,
            };
            if !whole {
                continue;
            }
            cases.push(case(format!("Constant {value} {from}"), &[], |b, _| {
                Ok(b.scalar(value, from))
            }));
        }
        cases.push(case(format!("Full {from}"), &[], |b, _| {
            b.full([2, 3], 1.0, from)
        }));
    }
    let ranges: [(f64, f64, usize); 8] = [
        (0.0, 1.0, 10),
        (12.0, -1.0, 13),
        (-5.0, 3.0, 100),
        (0.0, 1.0, 600),
        (0.0, 0.1, 100),
        (1.0, 0.3, 50),
        (2.5, -0.7, 33),
        (7.0, 1.0, 1),
    ];
    for (start, step, len) in ranges {
        for dtype in [DType::F32, DType::BF16, DType::I32] {
            cases.push(case(
                format!("Arange {start} {step} {len} {dtype}"),
                &[],
                |b, _| Ok(b.arange(start, step, len, dtype)),
            ));
        }
    }
    cases
}
