//! Writing kernels: one method an instruction, types derived, constants shared.

use std::collections::HashMap;

use super::{
    Binary, Inst, IntBinary, Kernel, NativeFn, Predicate, Reg, RoundTo, Scalar, Table, Unary,
};

/// Grows a [`Kernel`]. Equal instructions are written once.
///
/// Types are the writer's promise and checked by the validator, so that methods need not fail.
#[derive(Debug, Default)]
pub struct KernelBuilder {
    insts: Vec<Inst>,
    types: Vec<Scalar>,
    known: HashMap<Inst, Reg>,
}

impl KernelBuilder {
    /// An empty kernel.
    pub fn new() -> Self {
        KernelBuilder::default()
    }

    /// The kernel that gives `result`.
    pub fn finish(self, result: Reg) -> Kernel {
        Kernel {
            insts: self.insts,
            types: self.types,
            result,
        }
    }

    fn push(&mut self, inst: Inst, scalar: Scalar) -> Reg {
        if let Some(&reg) = self.known.get(&inst) {
            return reg;
        }
        let reg = Reg(self.insts.len() as u32);
        self.known.insert(inst.clone(), reg);
        self.insts.push(inst);
        self.types.push(scalar);
        reg
    }

    /// The type of a register.
    pub fn type_of(&self, reg: Reg) -> Scalar {
        self.types[reg.index()]
    }

    /// The element of operand `i`, which gives a register of type `scalar`.
    pub fn operand(&mut self, i: usize, scalar: Scalar) -> Reg {
        self.push(Inst::Operand(i), scalar)
    }

    /// The index along an axis of the result.
    pub fn index(&mut self, axis: usize) -> Reg {
        self.push(Inst::Index(axis), Scalar::I32)
    }

    /// An F32 constant.
    pub fn f32(&mut self, value: f32) -> Reg {
        self.push(Inst::ConstF32(value.to_bits()), Scalar::F32)
    }

    /// An F64 constant.
    pub fn f64(&mut self, value: f64) -> Reg {
        self.push(Inst::ConstF64(value.to_bits()), Scalar::F64)
    }

    /// An I32 constant.
    pub fn i32(&mut self, value: i32) -> Reg {
        self.push(Inst::ConstI32(value), Scalar::I32)
    }

    /// An I32 constant by its unsigned value.
    pub fn u32(&mut self, value: u32) -> Reg {
        self.i32(value.cast_signed())
    }

    /// An I64 constant.
    pub fn i64(&mut self, value: i64) -> Reg {
        self.push(Inst::ConstI64(value), Scalar::I64)
    }

    /// A Boolean constant.
    pub fn bool(&mut self, value: bool) -> Reg {
        let (zero, this) = (self.i32(0), self.i32(value.into()));
        self.compare(Predicate::Ne, this, zero)
    }

    /// Whether a Boolean is false.
    pub fn not(&mut self, a: Reg) -> Reg {
        let (zero, one) = (self.i32(0), self.i32(1));
        let inverse = self.select(a, zero, one);
        self.compare(Predicate::Ne, inverse, zero)
    }

    fn unary(&mut self, op: Unary, a: Reg) -> Reg {
        let scalar = self.type_of(a);
        self.push(Inst::Unary(op, a), scalar)
    }

    /// `-a`.
    pub fn neg(&mut self, a: Reg) -> Reg {
        self.unary(Unary::Neg, a)
    }

    /// `|a|`.
    pub fn abs(&mut self, a: Reg) -> Reg {
        self.unary(Unary::Abs, a)
    }

    /// Correctly rounded `√a`.
    pub fn sqrt(&mut self, a: Reg) -> Reg {
        self.unary(Unary::Sqrt, a)
    }

    /// `⌊a⌋`.
    pub fn floor(&mut self, a: Reg) -> Reg {
        self.unary(Unary::Floor, a)
    }

    /// Binary floating-point arithmetic.
    pub fn binary(&mut self, op: Binary, a: Reg, b: Reg) -> Reg {
        let scalar = self.type_of(a);
        self.push(Inst::Binary(op, a, b), scalar)
    }

    /// `a + b`.
    pub fn add(&mut self, a: Reg, b: Reg) -> Reg {
        self.binary(Binary::Add, a, b)
    }

    /// `a − b`.
    pub fn sub(&mut self, a: Reg, b: Reg) -> Reg {
        self.binary(Binary::Sub, a, b)
    }

    /// `a · b`, rounded on its own.
    pub fn mul(&mut self, a: Reg, b: Reg) -> Reg {
        self.binary(Binary::Mul, a, b)
    }

    /// `a / b`.
    pub fn div(&mut self, a: Reg, b: Reg) -> Reg {
        self.binary(Binary::Div, a, b)
    }

    /// `a · b + c`, one rounding.
    pub fn fma(&mut self, a: Reg, b: Reg, c: Reg) -> Reg {
        let scalar = self.type_of(a);
        self.push(Inst::Fma(a, b, c), scalar)
    }

    /// Integer or Boolean arithmetic.
    pub fn int(&mut self, op: IntBinary, a: Reg, b: Reg) -> Reg {
        let scalar = self.type_of(a);
        self.push(Inst::Int(op, a, b), scalar)
    }

    /// A comparison.
    pub fn compare(&mut self, predicate: Predicate, a: Reg, b: Reg) -> Reg {
        self.push(Inst::Compare(predicate, a, b), Scalar::Bool)
    }

    /// Whether `a` is NaN.
    pub fn is_nan(&mut self, a: Reg) -> Reg {
        self.compare(Predicate::Uno, a, a)
    }

    /// `if condition then a else b`.
    pub fn select(&mut self, condition: Reg, a: Reg, b: Reg) -> Reg {
        let scalar = self.type_of(a);
        self.push(Inst::Select(condition, a, b), scalar)
    }

    /// `if condition then rare else usual`, where the condition seldom holds and `rare` is dear.
    pub fn rarely(&mut self, condition: Reg, rare: Reg, usual: Reg) -> Reg {
        let scalar = self.type_of(usual);
        self.push(Inst::Rarely(condition, rare, usual), scalar)
    }

    /// The same bits as the other type of that width.
    pub fn bitcast(&mut self, a: Reg) -> Reg {
        let scalar = match self.type_of(a) {
            Scalar::F32 => Scalar::I32,
            Scalar::F64 => Scalar::I64,
            Scalar::I64 => Scalar::F64,
            Scalar::I32 | Scalar::Bool => Scalar::F32,
        };
        self.push(Inst::Bitcast(a), scalar)
    }

    /// To the integer of the same width, towards zero.
    pub fn to_int(&mut self, a: Reg) -> Reg {
        let scalar = if self.type_of(a) == Scalar::F64 {
            Scalar::I64
        } else {
            Scalar::I32
        };
        self.push(Inst::ToInt(a), scalar)
    }

    /// To the float of the same width, to nearest even.
    pub fn from_int(&mut self, a: Reg) -> Reg {
        let scalar = if self.type_of(a) == Scalar::I64 {
            Scalar::F64
        } else {
            Scalar::F32
        };
        self.push(Inst::FromInt(a), scalar)
    }

    /// I32 to I64.
    pub fn extend_int(&mut self, a: Reg) -> Reg {
        self.push(Inst::ExtendInt(a), Scalar::I64)
    }

    /// I64 to I32.
    pub fn truncate_int(&mut self, a: Reg) -> Reg {
        self.push(Inst::TruncateInt(a), Scalar::I32)
    }

    /// F32 to F64.
    pub fn extend(&mut self, a: Reg) -> Reg {
        self.push(Inst::Extend(a), Scalar::F64)
    }

    /// F64 to F32.
    pub fn truncate(&mut self, a: Reg) -> Reg {
        self.push(Inst::Truncate(a), Scalar::F32)
    }

    /// The entry of a table.
    pub fn lookup(&mut self, table: Table, index: Reg) -> Reg {
        self.push(Inst::Lookup(table, index), table.scalar())
    }

    /// Rounds onto a grid.
    pub fn round(&mut self, to: RoundTo, a: Reg) -> Reg {
        self.push(Inst::Round(to, a), Scalar::F32)
    }

    /// A function left to the compiler.
    pub fn native(&mut self, function: NativeFn, a: Reg, b: Option<Reg>) -> Reg {
        self.push(Inst::Native(function, a, b), Scalar::F32)
    }
}
