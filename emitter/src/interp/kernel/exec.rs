//! One instruction over a run of elements. Every function here is inlined into loops that are
//! compiled per instruction set.

use super::{
    KernelError,
    registers::{Lane, Registers, Step},
};
use crate::kernel::{Binary, Inst, IntBinary, Predicate, Scalar, Table, Unary};

/// Evaluates `step` over the first `len` elements. Types were checked by the validator.
#[inline(always)]
pub(super) fn step(step: &Step, registers: &mut Registers, len: usize) -> Result<(), KernelError> {
    let run = &mut Run {
        step,
        registers,
        len,
    };
    match step.inst {
        Inst::Unary(op, _) => match step.from {
            Scalar::F32 => unary::<f32>(run, op),
            Scalar::F64 => unary::<f64>(run, op),
            _ => {}
        },
        Inst::Binary(op, ..) => match step.from {
            Scalar::F32 => binary::<f32>(run, op),
            Scalar::F64 => binary::<f64>(run, op),
            _ => {}
        },
        Inst::Fma(..) => match step.from {
            Scalar::F32 => zip3(run, f32::mul_add),
            Scalar::F64 => zip3(run, f64::mul_add),
            _ => {}
        },
        Inst::Int(op, ..) => match step.from {
            Scalar::I32 => int32(run, op),
            Scalar::I64 => int64(run, op),
            Scalar::Bool => bits(run, op),
            _ => {}
        },
        Inst::Compare(predicate, ..) => match step.from {
            Scalar::F32 => compare_floats::<f32>(run, predicate),
            Scalar::F64 => compare_floats::<f64>(run, predicate),
            Scalar::I32 => compare_ints(run, predicate, i32::cast_unsigned),
            Scalar::I64 => compare_ints(run, predicate, i64::cast_unsigned),
            Scalar::Bool => compare_ints(run, predicate, |x: u8| x),
        },
        Inst::Select(..) | Inst::Rarely(..) => match step.to {
            Scalar::F32 => select::<f32>(run),
            Scalar::F64 => select::<f64>(run),
            Scalar::I32 => select::<i32>(run),
            Scalar::I64 => select::<i64>(run),
            Scalar::Bool => select::<u8>(run),
        },
        Inst::Bitcast(_) => match step.from {
            Scalar::F32 => map(run, |x: f32| x.to_bits().cast_signed()),
            Scalar::F64 => map(run, |x: f64| x.to_bits().cast_signed()),
            Scalar::I32 => map(run, |x: i32| f32::from_bits(x.cast_unsigned())),
            Scalar::I64 => map(run, |x: i64| f64::from_bits(x.cast_unsigned())),
            Scalar::Bool => {}
        },
        Inst::ToInt(_) => match step.from {
            Scalar::F32 => map(run, |x: f32| x as i32),
            Scalar::F64 => map(run, |x: f64| x as i64),
            _ => {}
        },
        Inst::FromInt(_) => match step.from {
            Scalar::I32 => map(run, |x: i32| x as f32),
            Scalar::I64 => map(run, |x: i64| x as f64),
            _ => {}
        },
        Inst::ExtendInt(_) => map(run, |x: i32| i64::from(x)),
        Inst::TruncateInt(_) => map(run, |x: i64| x as i32),
        Inst::Extend(_) => map(run, |x: f32| f64::from(x)),
        Inst::Truncate(_) => map(run, |x: f64| x as f32),
        Inst::Lookup(table, _) => return lookup(run, table),
        Inst::Round(..) => map(run, round_bf16),
        Inst::Operand(_)
        | Inst::Index(_)
        | Inst::ConstF32(_)
        | Inst::ConstF64(_)
        | Inst::ConstI32(_)
        | Inst::ConstI64(_)
        | Inst::Native(..) => {}
    }
    Ok(())
}

/// To the nearest BF16, ties to even; NaN becomes 0x7FC0 (MLX 0.32.2).
#[inline(always)]
pub(in crate::interp) fn round_bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) & 0xFFFF_0000;
    f32::from_bits(if x.is_nan() { 0x7FC0_0000 } else { rounded })
}

struct Run<'a> {
    step: &'a Step,
    registers: &'a mut Registers,
    len: usize,
}

impl Run<'_> {
    /// The column a step writes, taken out while it is written: it never reads that one.
    #[inline(always)]
    fn take<R: Lane>(&mut self) -> Vec<R> {
        std::mem::take(&mut R::columns_mut(self.registers)[self.step.out])
    }

    #[inline(always)]
    fn put<R: Lane>(&mut self, column: Vec<R>) {
        R::columns_mut(self.registers)[self.step.out] = column;
    }

    #[inline(always)]
    fn source<A: Lane>(&self, i: usize) -> &[A] {
        &A::columns(self.registers)[self.step.sources[i]][..self.len]
    }
}

#[inline(always)]
fn map<A: Lane, R: Lane>(run: &mut Run<'_>, f: impl Fn(A) -> R) {
    let mut out = run.take::<R>();
    let a = run.source::<A>(0);
    for (o, &a) in out.iter_mut().zip(a) {
        *o = f(a);
    }
    run.put(out);
}

#[inline(always)]
fn zip<A: Lane, R: Lane>(run: &mut Run<'_>, f: impl Fn(A, A) -> R) {
    let mut out = run.take::<R>();
    let (a, b) = (run.source::<A>(0), run.source::<A>(1));
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *o = f(a, b);
    }
    run.put(out);
}

#[inline(always)]
fn zip3<A: Lane>(run: &mut Run<'_>, f: impl Fn(A, A, A) -> A) {
    let mut out = run.take::<A>();
    let (a, b, c) = (run.source::<A>(0), run.source::<A>(1), run.source::<A>(2));
    for (((o, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
        *o = f(a, b, c);
    }
    run.put(out);
}

#[inline(always)]
fn select<R: Lane>(run: &mut Run<'_>) {
    let mut out = run.take::<R>();
    let (c, a, b) = (run.source::<u8>(0), run.source::<R>(1), run.source::<R>(2));
    for (((o, &c), &a), &b) in out.iter_mut().zip(c).zip(a).zip(b) {
        *o = if c != 0 { a } else { b };
    }
    run.put(out);
}

/// A floating-point type.
trait Float: Lane + PartialOrd + std::ops::Neg<Output = Self>
where
    Self: std::ops::Add<Output = Self> + std::ops::Sub<Output = Self>,
    Self: std::ops::Mul<Output = Self> + std::ops::Div<Output = Self>,
{
    fn magnitude(self) -> Self;
    fn root(self) -> Self;
    fn below(self) -> Self;
}

macro_rules! floats {
    ($($ty:ident),*) => {$(
        impl Float for $ty {
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn below(self) -> Self {
                self.floor()
            }
        }
    )*};
}

floats!(f32, f64);

#[inline(always)]
fn unary<A: Float>(run: &mut Run<'_>, op: Unary) {
    match op {
        Unary::Neg => map(run, |a: A| -a),
        Unary::Abs => map(run, A::magnitude),
        Unary::Sqrt => map(run, A::root),
        Unary::Floor => map(run, A::below),
    }
}

#[inline(always)]
fn binary<A: Float>(run: &mut Run<'_>, op: Binary) {
    match op {
        Binary::Add => zip(run, |a: A, b| a + b),
        Binary::Sub => zip(run, |a: A, b| a - b),
        Binary::Mul | Binary::MulAny => zip(run, |a: A, b| a * b),
        Binary::Div => zip(run, |a: A, b| a / b),
    }
}

macro_rules! ints {
    ($($name:ident $ty:ident),*) => {$(
        #[inline(always)]
        fn $name(run: &mut Run<'_>, op: IntBinary) {
            match op {
                IntBinary::Add => zip(run, $ty::wrapping_add),
                IntBinary::Sub => zip(run, $ty::wrapping_sub),
                IntBinary::Mul => zip(run, $ty::wrapping_mul),
                IntBinary::And => zip(run, |a: $ty, b| a & b),
                IntBinary::Or => zip(run, |a: $ty, b| a | b),
                IntBinary::Xor => zip(run, |a: $ty, b| a ^ b),
                IntBinary::Shl => zip(run, |a: $ty, b| a.wrapping_shl(b as u32)),
                IntBinary::ShrS => zip(run, |a: $ty, b| a.wrapping_shr(b as u32)),
                IntBinary::ShrU => zip(run, |a: $ty, b| {
                    a.cast_unsigned().wrapping_shr(b as u32).cast_signed()
                }),
            }
        }
    )*};
}

ints!(int32 i32, int64 i64);

#[inline(always)]
fn bits(run: &mut Run<'_>, op: IntBinary) {
    match op {
        IntBinary::And => zip(run, |a: u8, b| a & b),
        IntBinary::Or => zip(run, |a: u8, b| a | b),
        IntBinary::Xor => zip(run, |a: u8, b| a ^ b),
        _ => {}
    }
}

#[inline(always)]
fn compare_floats<A: Float>(run: &mut Run<'_>, predicate: Predicate) {
    match predicate {
        Predicate::Eq => zip(run, |a: A, b| u8::from(a == b)),
        Predicate::Ne => zip(run, |a: A, b| u8::from(a != b)),
        Predicate::Lt => zip(run, |a: A, b| u8::from(a < b)),
        Predicate::Le => zip(run, |a: A, b| u8::from(a <= b)),
        Predicate::Gt => zip(run, |a: A, b| u8::from(a > b)),
        Predicate::Ge => zip(run, |a: A, b| u8::from(a >= b)),
        Predicate::Uno => zip(run, |a: A, b| u8::from(a.partial_cmp(&b).is_none())),
        Predicate::Ult | Predicate::Ugt | Predicate::Uge => {}
    }
}

#[inline(always)]
fn compare_ints<A: Lane + Ord, U: Ord>(
    run: &mut Run<'_>,
    predicate: Predicate,
    unsigned: impl Fn(A) -> U,
) {
    match predicate {
        Predicate::Eq => zip(run, |a: A, b| u8::from(a == b)),
        Predicate::Ne => zip(run, |a: A, b| u8::from(a != b)),
        Predicate::Lt => zip(run, |a: A, b| u8::from(a < b)),
        Predicate::Le => zip(run, |a: A, b| u8::from(a <= b)),
        Predicate::Gt => zip(run, |a: A, b| u8::from(a > b)),
        Predicate::Ge => zip(run, |a: A, b| u8::from(a >= b)),
        Predicate::Ult => zip(run, |a: A, b| u8::from(unsigned(a) < unsigned(b))),
        Predicate::Ugt => zip(run, |a: A, b| u8::from(unsigned(a) > unsigned(b))),
        Predicate::Uge => zip(run, |a: A, b| u8::from(unsigned(a) >= unsigned(b))),
        Predicate::Uno => {}
    }
}

#[inline(always)]
fn lookup(run: &mut Run<'_>, table: Table) -> Result<(), KernelError> {
    match table.scalar() {
        Scalar::I64 => entries(run, table, u64::cast_signed),
        _ => entries(run, table, f64::from_bits),
    }
}

#[inline(always)]
fn entries<R: Lane>(
    run: &mut Run<'_>,
    table: Table,
    of: impl Fn(u64) -> R,
) -> Result<(), KernelError> {
    let bits = table.bits();
    let mut out = run.take::<R>();
    let mut missing = None;
    for (o, &index) in out.iter_mut().zip(run.source::<i32>(0)) {
        match usize::try_from(index).ok().and_then(|i| bits.get(i)) {
            Some(&bits) => *o = of(bits),
            None => missing = Some(index),
        }
    }
    run.put(out);
    let register = run.step.register;
    missing.map_or(Ok(()), |index| Err(KernelError::Lookup { register, index }))
}
