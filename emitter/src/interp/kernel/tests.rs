use proptest::prelude::*;

use super::*;
use crate::kernel::{
    Binary, Inst, IntBinary, KernelBuilder, NativeFn, Predicate, Reg, RoundTo, Table, Unary,
};

const TINY: f32 = 1.0e-45;
const ODD: [f32; 12] = [
    0.0,
    -0.0,
    1.5,
    -2.25,
    TINY,
    -TINY,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// An operation and what it gives by definition.
type Case<Op, T, R> = (Op, fn(T, T) -> R);

/// By definition in I64, for operands of that width.
type Shifted = fn(i64, i64, u32) -> i64;

fn pairs() -> (Vec<f32>, Vec<f32>) {
    ODD.iter()
        .flat_map(|&a| ODD.iter().map(move |&b| (a, b)))
        .unzip()
}

/// Bits, all NaNs alike.
fn bits(values: &[f32]) -> Vec<u32> {
    let canonical = |x: &f32| {
        if x.is_nan() {
            f32::NAN.to_bits()
        } else {
            x.to_bits()
        }
    };
    values.iter().map(canonical).collect()
}

fn f32s(results: Results) -> Vec<f32> {
    match results {
        Results::F32(values) => values,
        other => panic!("{other:?} is not F32"),
    }
}

fn i32s(results: Results) -> Vec<i32> {
    match results {
        Results::I32(values) => values,
        other => panic!("{other:?} is not I32"),
    }
}

fn bools(results: Results) -> Vec<u8> {
    match results {
        Results::Bool(values) => values,
        other => panic!("{other:?} is not Bool"),
    }
}

/// The kernel that `write` makes of F32 operands.
fn floats<const N: usize>(write: impl FnOnce(&mut KernelBuilder, [Reg; N]) -> Reg) -> Kernel {
    let mut k = KernelBuilder::new();
    let operands = std::array::from_fn(|i| k.operand(i, Scalar::F32));
    let result = write(&mut k, operands);
    k.finish(result)
}

fn unary(write: impl FnOnce(&mut KernelBuilder, Reg) -> Reg, x: &[f32]) -> Vec<f32> {
    f32s(eval(&floats(|k, [x]| write(k, x)), &[Column::F32(x)]).unwrap())
}

#[test]
fn float_arithmetic_is_ieee_on_every_pair_of_odd_values() {
    let (a, b) = pairs();
    let cases: [Case<Binary, f32, f32>; 4] = [
        (Binary::Add, |a, b| a + b),
        (Binary::Sub, |a, b| a - b),
        (Binary::Mul, |a, b| a * b),
        (Binary::Div, |a, b| a / b),
    ];
    for (op, by_hand) in cases {
        let kernel = floats(|k, [a, b]| k.binary(op, a, b));
        let given = f32s(eval(&kernel, &[Column::F32(&a), Column::F32(&b)]).unwrap());
        let expected: Vec<f32> = a.iter().zip(&b).map(|(&a, &b)| by_hand(a, b)).collect();
        assert_eq!(bits(&given), bits(&expected), "{op:?}");
        // In F64, exact products and quotients are rounded twice but sums of F32 are not.
        let kernel = floats(|k, [a, b]| {
            let (a, b) = (k.extend(a), k.extend(b));
            let wide = k.binary(op, a, b);
            k.truncate(wide)
        });
        let given = f32s(eval(&kernel, &[Column::F32(&a), Column::F32(&b)]).unwrap());
        let wide = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| (f64::from(a), f64::from(b)));
        let expected: Vec<f32> = wide
            .map(|(a, b)| match op {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Div => a / b,
                Binary::Mul | Binary::MulAny => a * b,
            } as f32)
            .collect();
        assert_eq!(bits(&given), bits(&expected), "{op:?} in F64");
    }
}

#[test]
fn unary_arithmetic_keeps_signs_of_zero_and_denormals() {
    let neg = unary(|k, x| k.neg(x), &ODD);
    assert_eq!(bits(&neg), bits(&ODD.map(|x| -x)));
    let abs = unary(|k, x| k.abs(x), &ODD);
    assert_eq!(bits(&abs), bits(&ODD.map(f32::abs)));
    let sqrt = unary(|k, x| k.sqrt(x), &ODD);
    assert_eq!(bits(&sqrt), bits(&ODD.map(f32::sqrt)));
    assert_eq!(sqrt[1].to_bits(), (-0.0f32).to_bits());
    let floor = unary(|k, x| k.floor(x), &ODD);
    assert_eq!(bits(&floor), bits(&ODD.map(f32::floor)));
    assert_eq!(floor[5], -1.0);
    let twice = |op: Unary, x: f64| match op {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sqrt => x.sqrt(),
        Unary::Floor => x.floor(),
    };
    let wide = |k: &mut KernelBuilder, op: Unary, x: Reg| {
        let x = k.extend(x);
        let y = match op {
            Unary::Neg => k.neg(x),
            Unary::Abs => k.abs(x),
            Unary::Sqrt => k.sqrt(x),
            Unary::Floor => k.floor(x),
        };
        k.truncate(y)
    };
    for op in [Unary::Neg, Unary::Abs, Unary::Sqrt, Unary::Floor] {
        let given = unary(|k, x| wide(k, op, x), &ODD);
        assert_eq!(
            bits(&given),
            bits(&ODD.map(|x| twice(op, f64::from(x)) as f32)),
            "{op:?}"
        );
    }
}

#[test]
fn a_product_is_rounded_before_it_is_added_unless_fused() {
    // 1 + 2⁻¹² squared is 1 + 2⁻¹¹ + 2⁻²⁴: the last term falls to the rounding.
    let x = [1.0 + 2.0f32.powi(-12)];
    let minus = |k: &mut KernelBuilder| k.f32(-(1.0 + 2.0f32.powi(-11)));
    let apart = unary(
        |k, x| {
            let (p, c) = (k.mul(x, x), minus(k));
            k.add(p, c)
        },
        &x,
    );
    let fused = unary(
        |k, x| {
            let c = minus(k);
            k.fma(x, x, c)
        },
        &x,
    );
    assert_eq!((apart[0], fused[0]), (0.0, 2.0f32.powi(-24)));
    let y = [1.0 + 2.0f32.powi(-12)];
    let wide = unary(
        |k, x| {
            let e = k.f64(2.0f64.powi(-27));
            let x = k.extend(x);
            let (x, c) = (k.add(x, e), k.f64(-1.0));
            let y = k.fma(x, x, c);
            k.truncate(y)
        },
        &y,
    );
    let x = f64::from(y[0]) + 2.0f64.powi(-27);
    assert_eq!(wide[0], x.mul_add(x, -1.0) as f32);
}

#[test]
fn rounding_to_bf16_is_to_nearest_even_and_quiets_nan() {
    let from = [
        0x3F80_8000u32, // a tie, down to even
        0x3F81_8000,    // a tie, up to even
        0x3F80_8001,
        0x3F80_7FFF,
        0x7F7F_FFFF, // overflows to infinity
        0xFF80_0000,
        0x0000_8000, // denormals
        0x0001_8000,
        0x8000_0000,
        0x7F80_0001, // a NaN whose upper half is infinity's
        0xFFFF_FFFF,
    ]
    .map(f32::from_bits);
    let to = [
        0x3F80u32, 0x3F82, 0x3F81, 0x3F80, 0x7F80, 0xFF80, 0, 2, 0x8000, 0x7FC0, 0x7FC0,
    ]
    .map(|upper| upper << 16);
    let given = unary(|k, x| k.round(RoundTo::Bf16, x), &from);
    assert_eq!(given.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), to);
}

#[test]
fn comparisons_are_ordered_but_for_ne_and_uno() {
    let (a, b) = pairs();
    let cases: [Case<Predicate, f32, bool>; 7] = [
        (Predicate::Eq, |a, b| a == b),
        (Predicate::Ne, |a, b| a != b),
        (Predicate::Lt, |a, b| a < b),
        (Predicate::Le, |a, b| a <= b),
        (Predicate::Gt, |a, b| a > b),
        (Predicate::Ge, |a, b| a >= b),
        (Predicate::Uno, |a, b| a.is_nan() || b.is_nan()),
    ];
    for (predicate, by_hand) in cases {
        let expected: Vec<u8> = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| by_hand(a, b).into())
            .collect();
        for wide in [false, true] {
            let kernel = floats(|k, [a, b]| {
                let (a, b) = if wide {
                    (k.extend(a), k.extend(b))
                } else {
                    (a, b)
                };
                k.compare(predicate, a, b)
            });
            let given = eval(&kernel, &[Column::F32(&a), Column::F32(&b)]).unwrap();
            assert_eq!(bools(given), expected, "{predicate:?}");
        }
    }
}

const WHOLE: [i32; 7] = [0, 1, -1, 7, i32::MAX, i32::MIN, -123_456_789];

#[test]
fn integers_wrap_and_compare_with_and_without_sign() {
    let (a, b): (Vec<i32>, Vec<i32>) = WHOLE
        .iter()
        .flat_map(|&a| WHOLE.iter().map(move |&b| (a, b)))
        .unzip();
    let cases: [(IntBinary, Shifted); 9] = [
        (IntBinary::Add, |a, b, _| a.wrapping_add(b)),
        (IntBinary::Sub, |a, b, _| a.wrapping_sub(b)),
        (IntBinary::Mul, |a, b, _| a.wrapping_mul(b)),
        (IntBinary::And, |a, b, _| a & b),
        (IntBinary::Or, |a, b, _| a | b),
        (IntBinary::Xor, |a, b, _| a ^ b),
        (IntBinary::Shl, |a, b, _| a << (b & 31)),
        (IntBinary::ShrS, |a, b, _| a >> (b & 31)),
        (IntBinary::ShrU, |a, b, width| {
            if width == 32 {
                i64::from((a as i32).cast_unsigned() >> (b & 31))
            } else {
                (a.cast_unsigned() >> (b & 31)).cast_signed()
            }
        }),
    ];
    for (op, by_hand) in cases {
        for wide in [false, true] {
            let mut k = KernelBuilder::new();
            let (x, y) = (k.operand(0, Scalar::I32), k.operand(1, Scalar::I32));
            let shift = matches!(op, IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU);
            let mask = k.i32(31);
            let y = if shift {
                k.int(IntBinary::And, y, mask)
            } else {
                y
            };
            let result = if wide {
                let (x, y) = (k.extend_int(x), k.extend_int(y));
                let z = k.int(op, x, y);
                // Both halves count.
                let (high, low) = (k.i64(32), k.truncate_int(z));
                let high = k.int(IntBinary::ShrS, z, high);
                let high = k.truncate_int(high);
                k.int(IntBinary::Xor, low, high)
            } else {
                k.int(op, x, y)
            };
            let kernel = k.finish(result);
            let given = i32s(eval(&kernel, &[Column::I32(&a), Column::I32(&b)]).unwrap());
            for ((&a, &b), given) in a.iter().zip(&b).zip(given) {
                let z = by_hand(i64::from(a), i64::from(b), if wide { 64 } else { 32 });
                let expected = if wide {
                    (z as i32) ^ ((z >> 32) as i32)
                } else {
                    z as i32
                };
                assert_eq!(given, expected, "{op:?} {a} {b} {wide}");
            }
        }
    }
    let cases: [Case<Predicate, i32, bool>; 9] = [
        (Predicate::Eq, |a, b| a == b),
        (Predicate::Ne, |a, b| a != b),
        (Predicate::Lt, |a, b| a < b),
        (Predicate::Le, |a, b| a <= b),
        (Predicate::Gt, |a, b| a > b),
        (Predicate::Ge, |a, b| a >= b),
        (Predicate::Ult, |a, b| a.cast_unsigned() < b.cast_unsigned()),
        (Predicate::Ugt, |a, b| a.cast_unsigned() > b.cast_unsigned()),
        (Predicate::Uge, |a, b| {
            a.cast_unsigned() >= b.cast_unsigned()
        }),
    ];
    for (predicate, by_hand) in cases {
        for wide in [false, true] {
            let mut k = KernelBuilder::new();
            let (x, y) = (k.operand(0, Scalar::I32), k.operand(1, Scalar::I32));
            let (x, y) = if wide {
                (k.extend_int(x), k.extend_int(y))
            } else {
                (x, y)
            };
            let z = k.compare(predicate, x, y);
            let given = eval(&k.finish(z), &[Column::I32(&a), Column::I32(&b)]).unwrap();
            let expected: Vec<u8> = a
                .iter()
                .zip(&b)
                .map(|(&a, &b)| by_hand(a, b).into())
                .collect();
            assert_eq!(bools(given), expected, "{predicate:?}");
        }
    }
}

#[test]
fn booleans_combine_and_select() {
    let (a, b) = ([0u8, 0, 1, 1], [0u8, 1, 0, 1]);
    for (op, expected) in [
        (IntBinary::And, [0u8, 0, 0, 1]),
        (IntBinary::Or, [0, 1, 1, 1]),
        (IntBinary::Xor, [0, 1, 1, 0]),
    ] {
        let mut k = KernelBuilder::new();
        let (x, y) = (k.operand(0, Scalar::Bool), k.operand(1, Scalar::Bool));
        let z = k.int(op, x, y);
        let given = eval(&k.finish(z), &[Column::Bool(&a), Column::Bool(&b)]).unwrap();
        assert_eq!(bools(given), expected);
    }
    let mut k = KernelBuilder::new();
    let (c, x, y) = (
        k.operand(0, Scalar::Bool),
        k.operand(1, Scalar::I32),
        k.i32(-7),
    );
    let z = k.select(c, x, y);
    let given = eval(
        &k.finish(z),
        &[Column::Bool(&a), Column::I32(&[1, 2, 3, 4])],
    )
    .unwrap();
    assert_eq!(i32s(given), [-7, -7, 3, 4]);
}

#[test]
fn conversions_are_exact_or_to_nearest_even_and_towards_zero() {
    let truncated = floats(|k, [x]| k.to_int(x));
    let given = eval(&truncated, &[Column::F32(&[1.9, -1.9, -0.5, 16_777_216.0])]).unwrap();
    assert_eq!(i32s(given), [1, -1, 0, 16_777_216]);

    let mut k = KernelBuilder::new();
    let x = k.operand(0, Scalar::I32);
    let y = k.from_int(x);
    let given = eval(
        &k.finish(y),
        &[Column::I32(&[16_777_217, 16_777_219, -1, i32::MIN])],
    );
    assert_eq!(
        f32s(given.unwrap()),
        [16_777_216.0, 16_777_220.0, -1.0, -2_147_483_648.0]
    );

    let through = floats(|k, [x]| {
        let x = k.extend(x);
        let whole = k.to_int(x);
        let back = k.from_int(whole);
        k.truncate(back)
    });
    let given = eval(
        &through,
        &[Column::F32(&[2.0f32.powi(40) + 2.0f32.powi(20), -3.7])],
    );
    assert_eq!(
        f32s(given.unwrap()),
        [2.0f32.powi(40) + 2.0f32.powi(20), -3.0]
    );

    let twice = floats(|k, [x]| {
        let whole = k.bitcast(x);
        k.bitcast(whole)
    });
    let given = f32s(eval(&twice, &[Column::F32(&ODD)]).unwrap());
    assert_eq!(bits(&given), bits(&ODD));
    let wide = floats(|k, [x]| {
        let x = k.extend(x);
        let whole = k.bitcast(x);
        let x = k.bitcast(whole);
        k.truncate(x)
    });
    let given = f32s(eval(&wide, &[Column::F32(&ODD)]).unwrap());
    assert_eq!(bits(&given), bits(&ODD));
}

#[test]
fn bf16_operands_are_widened_and_indices_count() {
    let mut k = KernelBuilder::new();
    let (x, i) = (k.operand(0, Scalar::F32), k.index(0));
    let i = k.from_int(i);
    let y = k.add(x, i);
    let x: Vec<bf16> = (0..1500u16)
        .map(|i| bf16::from_f32(f32::from(i % 128)))
        .collect();
    let given = f32s(eval(&k.finish(y), &[Column::Bf16(&x)]).unwrap());
    for (i, y) in given.into_iter().enumerate() {
        assert_eq!(y, (i % 128 + i) as f32);
    }
}

#[test]
fn a_table_is_read_by_index_and_only_within_it() {
    let mut k = KernelBuilder::new();
    let i = k.operand(0, Scalar::I32);
    let (e, shift) = (k.lookup(Table::Exp2, i), k.i64(32));
    let high = k.int(IntBinary::ShrU, e, shift);
    let high = k.truncate_int(high);
    let kernel = k.finish(high);
    let count = Table::Exp2.bits().len() as i32;
    let all: Vec<i32> = (0..count).collect();
    let given = i32s(eval(&kernel, &[Column::I32(&all)]).unwrap());
    let expected: Vec<i32> = Table::Exp2
        .bits()
        .iter()
        .map(|&b| (b >> 32) as i32)
        .collect();
    assert_eq!(given, expected);
    for outside in [-1, count] {
        assert_eq!(
            eval(&kernel, &[Column::I32(&[0, outside])]),
            Err(KernelError::Lookup {
                register: 1,
                index: outside
            })
        );
    }
}

#[test]
fn what_is_left_to_the_compiler_is_refused() {
    let mul = floats(|k, [x]| k.binary(Binary::MulAny, x, x));
    let round = floats(|k, [x]| k.round(RoundTo::Bf16Any, x));
    let exp = floats(|k, [x]| k.native(NativeFn::Exp, x, None));
    for kernel in [mul, round, exp] {
        assert_eq!(
            eval(&kernel, &[Column::F32(&[1.0])]),
            Err(KernelError::NotExact)
        );
    }
}

#[test]
fn operands_of_unequal_length_or_type_are_refused() {
    let kernel = floats(|k, [x, y]| k.add(x, y));
    assert!(matches!(
        eval(&kernel, &[Column::F32(&[1.0]), Column::F32(&[])]),
        Err(KernelError::Length { operand: 1, .. })
    ));
    assert!(matches!(
        eval(&kernel, &[Column::F32(&[1.0]), Column::I32(&[1])]),
        Err(KernelError::Invalid(_))
    ));
}

/// One instruction at a time on one element: what columns must agree with.
fn by_hand(kernel: &Kernel, x: f32, y: f32) -> f32 {
    let mut registers: Vec<f32> = Vec::new();
    for (inst, _) in kernel.insts() {
        let r = |reg: Reg| registers[reg.index()];
        let value = match *inst {
            Inst::Operand(0) => x,
            Inst::Operand(_) => y,
            Inst::ConstF32(bits) => f32::from_bits(bits),
            Inst::Binary(Binary::Add, a, b) => r(a) + r(b),
            Inst::Binary(Binary::Sub, a, b) => r(a) - r(b),
            Inst::Binary(Binary::Mul, a, b) => r(a) * r(b),
            Inst::Binary(_, a, b) => r(a) / r(b),
            Inst::Fma(a, b, c) => r(a).mul_add(r(b), r(c)),
            Inst::Round(_, a) => round_bf16(r(a)),
            Inst::Unary(_, a) => r(a).abs(),
            _ => unreachable!(),
        };
        registers.push(value);
    }
    registers[kernel.result().index()]
}

proptest! {
    #[test]
    fn slots_are_reused_without_losing_a_value(
        steps in prop::collection::vec((0usize..7, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..60),
        x in prop::collection::vec(-2.0f32..2.0, 1..1200),
    ) {
        let mut k = KernelBuilder::new();
        let mut known = vec![k.operand(0, Scalar::F32), k.operand(1, Scalar::F32), k.f32(0.3)];
        for (op, a, b, c) in steps {
            let (a, b, c) = (*a.get(&known), *b.get(&known), *c.get(&known));
            let reg = match op {
                0 => k.add(a, b),
                1 => k.sub(a, b),
                2 => k.mul(a, b),
                3 => k.div(a, b),
                4 => k.fma(a, b, c),
                5 => k.round(RoundTo::Bf16, a),
                _ => k.abs(a),
            };
            known.push(reg);
        }
        let kernel = k.finish(known[known.len() - 1]);
        let y: Vec<f32> = x.iter().rev().copied().collect();
        let given = f32s(eval(&kernel, &[Column::F32(&x), Column::F32(&y)]).unwrap());
        let expected: Vec<f32> = x.iter().zip(&y).map(|(&x, &y)| by_hand(&kernel, x, y)).collect();
        prop_assert_eq!(bits(&given), bits(&expected));
    }
}
