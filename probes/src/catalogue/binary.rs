//! Functions of two and three operands: pairs of special values, and random pairs.

use stages::{
    DType,
    graph::{BitwiseKind, Op},
};

use super::{
    Size,
    case::{Stated, case},
    unary,
    values::{
        FLOATS, ORDERED, Operand, Random, any, bools, integers, ints, made, special_ints, specials,
        spiked, truths, words,
    },
};

const ARITHMETIC: [Op; 6] = [
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Divide,
    Op::Power,
    Op::LogAddExp,
];
const COMPARING: [Op; 3] = [Op::Maximum, Op::Minimum, Op::GreaterEqual];

/// Every pair of special values, then random pairs: any magnitudes; magnitudes that are close;
/// for powers, moderate bases and exponents.
fn pairs(dtype: DType, seed: u64, size: Size) -> [Operand; 2] {
    let random = match size {
        Size::Short => 1 << 17,
        Size::Full => 1 << 20,
    };
    let count = specials().len().pow(2) + random;
    [0, 1].map(|of| {
        made(dtype, [count], move || {
            pair_values(seed, random)[of].to_vec()
        })
    })
}

fn pair_values(seed: u64, len: usize) -> [Vec<f32>; 2] {
    let mut random = Random::new(seed);
    let specials = specials();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for &x in &specials {
        for &y in &specials {
            a.push(x);
            b.push(y);
        }
    }
    for i in 0..len {
        match i % 4 {
            0 => {
                a.push(f32::from_bits(random.bits() as u32));
                b.push(f32::from_bits(random.bits() as u32));
            }
            1 => {
                let x = random.wide(-120, 120);
                a.push(x);
                b.push(x * random.wide(-2, 2));
            }
            2 => {
                a.push(random.wide(-3, 5));
                b.push(random.wide(-3, 5));
            }
            _ => {
                a.push(random.wide(-20, 20).abs());
                b.push((random.below(81) as f32 - 40.0) / 4.0);
            }
        }
    }
    [a, b]
}

fn integer_pairs() -> [Operand; 2] {
    let specials = special_ints();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for &x in &specials {
        for &y in &specials {
            a.push(x);
            b.push(y);
        }
    }
    let mut random = Random::new(3);
    for _ in 0..4096 {
        a.push(random.bits() as i32);
        b.push(random.bits() as i32);
    }
    [a, b].map(|values| ints([values.len()], values))
}

fn boolean_pairs() -> [Operand; 2] {
    [[false, false, true, true], [false, true, false, true]].map(|values| bools([4], &values))
}

fn pairs_of(dtype: DType, seed: u64, size: Size) -> [Operand; 2] {
    match dtype {
        DType::I32 => integer_pairs(),
        DType::Bool => boolean_pairs(),
        _ => pairs(dtype, seed, size),
    }
}

/// Exponents that `Power` may treat on their own.
const EXPONENTS: [f64; 12] = [
    2.0,
    3.0,
    -1.0,
    0.5,
    -0.5,
    0.0,
    1.0,
    -3.0,
    10.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

pub(super) fn cases(size: Size) -> Vec<Stated> {
    let mut cases = Vec::new();
    let mut add = |op: &Op, dtype: DType| {
        let name = format!("{} {dtype}", op.name());
        cases.push(case(name, &pairs_of(dtype, 7, size), |b, x| {
            b.apply(op.clone(), x)
        }));
    };
    for dtype in FLOATS {
        ARITHMETIC.iter().for_each(|op| add(op, dtype));
    }
    for dtype in ORDERED {
        COMPARING.iter().for_each(|op| add(op, dtype));
    }
    add(&Op::LogicalAnd, DType::Bool);

    for dtype in FLOATS {
        for exponent in EXPONENTS {
            // The square is what models use.
            let x = match (exponent, dtype, size) {
                (2.0, ..) | (_, DType::BF16, _) | (.., Size::Full) => {
                    unary::operands(dtype, 11, size)
                }
                _ => unary::part(dtype, 11, size),
            };
            let name = format!("Power {exponent} {dtype}");
            cases.push(case(name, &[x], |b, x| {
                b.binary_scalar(Op::Power, x[0], exponent)
            }));
        }
        let x = unary::operands(dtype, 12, size);
        let name = format!("LogAddExp 0 {dtype}");
        cases.push(case(name, &[x], |b, x| {
            b.binary_scalar(Op::LogAddExp, x[0], 0.0)
        }));
    }
    for dtype in ORDERED {
        cases.push(case(
            format!("Select {dtype}"),
            &[
                truths([4096], 1),
                any(dtype, [4096], 2),
                any(dtype, [4096], 3),
            ],
            |b, x| b.apply(Op::Select, x),
        ));
    }
    cases.extend(shifts());
    cases.extend(views());
    cases
}

/// By all amounts, of words whose bits are all different, and by one.
fn shifts() -> Vec<Stated> {
    let mut cases = Vec::new();
    for kind in [BitwiseKind::LeftShift, BitwiseKind::RightShift] {
        let op = Op::BitwiseBinary { kind };
        let of = any(DType::U32, [32, 64], 8);
        let amounts: Vec<u32> = (0..32 * 64).map(|i| i / 64).collect();
        let amounts = words([32, 64], amounts);
        let inputs = [of.clone(), amounts];
        cases.push(case(format!("{kind:?}"), &inputs, |b, x| {
            b.apply(op.clone(), x)
        }));
        let name = format!("{kind:?} of a transpose by 28");
        cases.push(case(name, &[of], |b, x| {
            let turned = b.transpose(x[0], &[1, 0])?;
            b.binary_scalar(op, turned, 28.0)
        }));
    }
    cases
}

/// Operands that are broadcast, transposed or constant.
fn views() -> Vec<Stated> {
    let mut cases = Vec::new();
    for dtype in FLOATS {
        let (x, row, column) = (
            spiked(dtype, [6, 5], 1),
            spiked(dtype, [5], 2),
            spiked(dtype, [6, 1], 3),
        );
        let inputs = [x.clone(), row.clone()];
        cases.push(case(format!("Subtract a row {dtype}"), &inputs, |b, x| {
            b.binary(Op::Subtract, x[0], x[1])
        }));
        let inputs = [x.clone(), column];
        cases.push(case(
            format!("Divide by a column {dtype}"),
            &inputs,
            |b, x| b.binary(Op::Divide, x[0], x[1]),
        ));
        let inputs = [x.clone(), spiked(dtype, [5, 6], 4)];
        cases.push(case(
            format!("Multiply by a transposed one {dtype}"),
            &inputs,
            |b, x| {
                let turned = b.transpose(x[1], &[1, 0])?;
                b.apply(Op::Multiply, &[x[0], turned])
            },
        ));
        cases.push(case(
            format!("Maximum with 0 {dtype}"),
            std::slice::from_ref(&x),
            |b, x| b.binary_scalar(Op::Maximum, x[0], 0.0),
        ));
        cases.push(case(
            format!("0.1 times {dtype}"),
            std::slice::from_ref(&x),
            |b, x| {
                let tenth = b.scalar(0.1, dtype);
                b.binary(Op::Multiply, tenth, x[0])
            },
        ));
        cases.push(case(
            format!("Select a constant {dtype}"),
            &[truths([6, 5], 5), x],
            |b, x| {
                let low = b.full([6, 5], -1e9, dtype)?;
                b.apply(Op::Select, &[x[0], x[1], low])
            },
        ));
    }
    let inputs = [integers([7], 6), integers([3, 1], 7)];
    cases.push(case(
        "GreaterEqual of a row and a column",
        &inputs,
        |b, x| b.binary(Op::GreaterEqual, x[0], x[1]),
    ));
    cases
}
