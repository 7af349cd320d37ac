//! Scalar expressions: what happens to one element, with every rounding stated.
//!
//! A kernel is a straight line of instructions over typed registers; the last one it names is
//! its result. Floating-point instructions are IEEE-754, round to nearest even, denormals kept,
//! one rounding each in the type of their operands. `Mul` is never contracted into an addition;
//! only `Fma` fuses. `MulAny` and [`NativeFn`] are for the `native` contract alone, leave the
//! rounding to the compiler and have no interpretation.

mod build;
mod exp;
mod extrema;
mod log;
mod log1p;
mod logaddexp;
mod pow;
mod sigmoid;
mod sincos;
mod table;
mod tanh;

pub use build::KernelBuilder;
pub use exp::exp;
pub use extrema::{maximum, minimum};
pub use log::log;
pub use log1p::log1p;
pub use logaddexp::logaddexp;
pub use pow::{pow, pow_known};
pub use sigmoid::sigmoid;
pub use sincos::{cos, sin};
pub use table::Table;
pub use tanh::tanh;

/// The type of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the types' names")]
pub enum Scalar {
    F32,
    F64,
    I32,
    I64,
    Bool,
}

impl Scalar {
    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    /// Whether it is an integer type (`Bool` is not).
    pub const fn is_int(self) -> bool {
        matches!(self, Scalar::I32 | Scalar::I64)
    }
}

/// A register: the result of the instruction at that position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub(crate) u32);

impl Reg {
    /// The position of the instruction that gives it.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Unary floating-point arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// Flips the sign bit.
    Neg,
    /// Clears the sign bit.
    Abs,
    /// Correctly rounded square root.
    Sqrt,
    /// Rounds towards minus infinity, exactly.
    Floor,
}

/// Binary floating-point arithmetic, one rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the operations' names")]
pub enum Binary {
    Add,
    Sub,
    /// Rounded on its own: never contracted with an addition that uses it.
    Mul,
    Div,
    /// May be contracted by the compiler (`native` only).
    MulAny,
}

/// Binary integer arithmetic, wrapping. `And`, `Or` and `Xor` also take `Bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the operations' names")]
pub enum IntBinary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// Shift left; the amount must be below the width.
    Shl,
    /// Arithmetic shift right.
    ShrS,
    /// Logical shift right.
    ShrU,
}

/// A comparison. Ordered for floats (false if either is NaN) but `Ne` and `Uno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    /// Equal.
    Eq,
    /// Not equal; true for NaN.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Either operand is NaN; floats only.
    Uno,
    /// Less, as unsigned integers.
    Ult,
    /// Greater, as unsigned integers.
    Ugt,
    /// Greater or equal, as unsigned integers.
    Uge,
}

/// A transcendental function left to the compiler (`native` only), F32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the functions' names")]
pub enum NativeFn {
    Exp,
    Log,
    Log1p,
    Tanh,
    Sin,
    Cos,
    Rsqrt,
    /// Two operands.
    Pow,
}

/// A grid that values are rounded onto, without changing their F32 type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundTo {
    /// bfloat16: to nearest even; NaN becomes 0x7FC0 (MLX 0.32.2).
    Bf16,
    /// The same by a conversion there and back that the compiler may drop (`native` only).
    Bf16Any,
}

/// One instruction. Registers refer to earlier instructions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Inst {
    /// The element of operand `i`: F32 for F32 and BF16 storage, I32 for I32, Bool for Bool.
    Operand(usize),
    /// The element's index along an axis of the result, as I32.
    Index(usize),
    /// An F32 constant by its bits.
    ConstF32(u32),
    /// An F64 constant by its bits.
    ConstF64(u64),
    /// An I32 constant.
    ConstI32(i32),
    /// An I64 constant.
    ConstI64(i64),
    /// Unary floating-point arithmetic.
    Unary(Unary, Reg),
    /// Binary floating-point arithmetic.
    Binary(Binary, Reg, Reg),
    /// `a·b + c` with one rounding.
    Fma(Reg, Reg, Reg),
    /// Integer or Boolean arithmetic.
    Int(IntBinary, Reg, Reg),
    /// Comparison of two registers of one type.
    Compare(Predicate, Reg, Reg),
    /// `if condition then a else b`.
    Select(Reg, Reg, Reg),
    /// `if condition then rare else usual`, as [`Inst::Select`], where the condition seldom holds
    /// and `rare` is dear: what only `rare` needs may be computed only then.
    Rarely(Reg, Reg, Reg),
    /// The same bits as the other type of that width (F32 ↔ I32, F64 ↔ I64).
    Bitcast(Reg),
    /// F32 to I32 or F64 to I64, towards zero. Outside the range: unspecified, so such a result
    /// must not be selected.
    ToInt(Reg),
    /// I32 to F32 or I64 to F64, to nearest even.
    FromInt(Reg),
    /// I32 to I64, sign kept.
    ExtendInt(Reg),
    /// The low half of an I64.
    TruncateInt(Reg),
    /// F32 to F64, exact.
    Extend(Reg),
    /// F64 to F32, to nearest even.
    Truncate(Reg),
    /// The entry of a constant table at an I32 index, which must lie in range.
    Lookup(Table, Reg),
    /// Rounds an F32 onto a grid.
    Round(RoundTo, Reg),
    /// A function left to the compiler; the second operand only for [`NativeFn::Pow`].
    Native(NativeFn, Reg, Option<Reg>),
}

impl Inst {
    /// The registers it reads, in order.
    pub fn reads(&self) -> impl Iterator<Item = Reg> {
        let (a, b, c) = match *self {
            Inst::Operand(_)
            | Inst::Index(_)
            | Inst::ConstF32(_)
            | Inst::ConstF64(_)
            | Inst::ConstI32(_)
            | Inst::ConstI64(_) => (None, None, None),
            Inst::Unary(_, a)
            | Inst::Bitcast(a)
            | Inst::ToInt(a)
            | Inst::FromInt(a)
            | Inst::ExtendInt(a)
            | Inst::TruncateInt(a)
            | Inst::Extend(a)
            | Inst::Truncate(a)
            | Inst::Lookup(_, a)
            | Inst::Round(_, a) => (Some(a), None, None),
            Inst::Binary(_, a, b) | Inst::Int(_, a, b) | Inst::Compare(_, a, b) => {
                (Some(a), Some(b), None)
            }
            Inst::Native(_, a, b) => (Some(a), b, None),
            Inst::Fma(a, b, c) | Inst::Select(a, b, c) | Inst::Rarely(a, b, c) => {
                (Some(a), Some(b), Some(c))
            }
        };
        [a, b, c].into_iter().flatten()
    }
}

/// A scalar expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    pub(crate) insts: Vec<Inst>,
    pub(crate) types: Vec<Scalar>,
    pub(crate) result: Reg,
}

impl Kernel {
    /// The instructions with the type each gives, in order.
    pub fn insts(&self) -> impl ExactSizeIterator<Item = (&Inst, Scalar)> {
        self.insts.iter().zip(self.types.iter().copied())
    }

    /// The register whose value the kernel gives.
    pub fn result(&self) -> Reg {
        self.result
    }

    /// The type of a register.
    ///
    /// # Panics
    /// When the register is another, longer kernel's.
    pub fn type_of(&self, reg: Reg) -> Scalar {
        self.types[reg.index()]
    }

    /// Whether a strict interpretation exists: nothing is left to the compiler.
    pub fn is_exact(&self) -> bool {
        !self.insts.iter().any(|inst| {
            matches!(
                inst,
                Inst::Native(..)
                    | Inst::Binary(Binary::MulAny, ..)
                    | Inst::Round(RoundTo::Bf16Any, _)
            )
        })
    }
}
