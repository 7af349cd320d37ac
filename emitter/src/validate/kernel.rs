//! Whether a kernel is well typed and reads backwards only.

use crate::{
    kernel::{Inst, IntBinary, Kernel, NativeFn, Predicate, Reg, Scalar},
    program::Elem,
};

/// What is wrong with a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelFault {
    /// An instruction reads a register that is not before it.
    #[error("register {register} reads register {source_register}, which is not before it")]
    Forward {
        /// The instruction.
        register: usize,
        /// What it reads.
        source_register: usize,
    },
    /// The result is no register.
    #[error("the result is register {0}, which there is not")]
    NoResult(usize),
    /// An instruction reads an operand that is not given.
    #[error("register {register} reads operand {operand}, which there is not")]
    NoOperand {
        /// The instruction.
        register: usize,
        /// The operand.
        operand: usize,
    },
    /// An instruction reads the index along an axis that is not there.
    #[error("register {register} reads the index along axis {axis}, which there is not")]
    NoAxis {
        /// The instruction.
        register: usize,
        /// The axis.
        axis: usize,
    },
    /// A source register is not of a type the instruction takes.
    #[error("register {register} reads a {actual:?}, which it does not take")]
    Source {
        /// The instruction.
        register: usize,
        /// The source's type.
        actual: Scalar,
    },
    /// A register is declared of another type than its instruction gives.
    #[error("register {register} is declared {declared:?}, but gives {given:?}")]
    Type {
        /// The instruction.
        register: usize,
        /// The declared type.
        declared: Scalar,
        /// What comes out.
        given: Scalar,
    },
    /// The instruction does not exist for this type, or has a wrong number of operands.
    #[error("register {0} is an operation that its operands' type does not have")]
    Operation(usize),
    /// A kernel's result is 64 bits wide, which nothing stores.
    #[error("the result is {0:?}, which nothing stores")]
    Wide(Scalar),
}

/// The register type that an operand of that storage gives.
fn operand_type(elem: Elem) -> Scalar {
    match elem {
        Elem::F32 | Elem::Bf16 => Scalar::F32,
        Elem::I32 => Scalar::I32,
        Elem::Bool => Scalar::Bool,
    }
}

/// Checks a kernel for operands of that storage and a result of that many axes, and gives how its
/// result is stored.
///
/// # Errors
/// The first fault in instruction order.
pub fn kernel(kernel: &Kernel, operands: &[Elem], rank: usize) -> Result<Elem, KernelFault> {
    let mut types = Vec::new();
    for (register, (inst, declared)) in kernel.insts().enumerate() {
        let check = Check {
            register,
            types: &types,
        };
        let given = check.inst(inst, operands, rank)?;
        if given != declared {
            return Err(KernelFault::Type {
                register,
                declared,
                given,
            });
        }
        types.push(given);
    }
    let result = kernel.result().index();
    match types.get(result) {
        None => Err(KernelFault::NoResult(result)),
        Some(Scalar::F32) => Ok(Elem::F32),
        Some(Scalar::I32) => Ok(Elem::I32),
        Some(Scalar::Bool) => Ok(Elem::Bool),
        Some(&wide) => Err(KernelFault::Wide(wide)),
    }
}

struct Check<'a> {
    register: usize,
    types: &'a [Scalar],
}

impl Check<'_> {
    fn source(&self, reg: Reg) -> Result<Scalar, KernelFault> {
        self.types
            .get(reg.index())
            .copied()
            .ok_or(KernelFault::Forward {
                register: self.register,
                source_register: reg.index(),
            })
    }

    fn expect(&self, reg: Reg, fits: impl Fn(Scalar) -> bool) -> Result<Scalar, KernelFault> {
        let actual = self.source(reg)?;
        if fits(actual) {
            return Ok(actual);
        }
        Err(KernelFault::Source {
            register: self.register,
            actual,
        })
    }

    fn inst(&self, inst: &Inst, operands: &[Elem], rank: usize) -> Result<Scalar, KernelFault> {
        let register = self.register;
        match *inst {
            Inst::Operand(operand) => {
                let elem = operands.get(operand);
                let missing = KernelFault::NoOperand { register, operand };
                elem.map(|&elem| operand_type(elem)).ok_or(missing)
            }
            Inst::Index(axis) if axis < rank => Ok(Scalar::I32),
            Inst::Index(axis) => Err(KernelFault::NoAxis { register, axis }),
            Inst::ConstF32(_) => Ok(Scalar::F32),
            Inst::ConstF64(_) => Ok(Scalar::F64),
            Inst::ConstI32(_) => Ok(Scalar::I32),
            Inst::ConstI64(_) => Ok(Scalar::I64),
            Inst::Unary(_, a) => self.expect(a, Scalar::is_float),
            Inst::Binary(_, a, b) => {
                let scalar = self.expect(a, Scalar::is_float)?;
                self.expect(b, |s| s == scalar)
            }
            Inst::Fma(a, b, c) => {
                let scalar = self.expect(a, Scalar::is_float)?;
                self.expect(b, |s| s == scalar)?;
                self.expect(c, |s| s == scalar)
            }
            Inst::Int(op, a, b) => {
                let bits = matches!(op, IntBinary::And | IntBinary::Or | IntBinary::Xor);
                let scalar = self.expect(a, |s| s.is_int() || (bits && s == Scalar::Bool))?;
                self.expect(b, |s| s == scalar)
            }
            Inst::Compare(predicate, a, b) => {
                let scalar = self.source(a)?;
                self.expect(b, |s| s == scalar)?;
                let exists = match predicate {
                    Predicate::Uno => scalar.is_float(),
                    Predicate::Ult | Predicate::Ugt | Predicate::Uge => scalar.is_int(),
                    Predicate::Eq | Predicate::Ne => true,
                    _ => scalar != Scalar::Bool,
                };
                if exists {
                    Ok(Scalar::Bool)
                } else {
                    Err(KernelFault::Operation(register))
                }
            }
            Inst::Select(condition, a, b) | Inst::Rarely(condition, a, b) => {
                self.expect(condition, |s| s == Scalar::Bool)?;
                let scalar = self.source(a)?;
                self.expect(b, |s| s == scalar)
            }
            Inst::Bitcast(a) => Ok(match self.expect(a, |s| s != Scalar::Bool)? {
                Scalar::F32 => Scalar::I32,
                Scalar::F64 => Scalar::I64,
                Scalar::I64 => Scalar::F64,
                Scalar::I32 | Scalar::Bool => Scalar::F32,
            }),
            Inst::ToInt(a) => Ok(match self.expect(a, Scalar::is_float)? {
                Scalar::F64 => Scalar::I64,
                _ => Scalar::I32,
            }),
            Inst::FromInt(a) => Ok(match self.expect(a, Scalar::is_int)? {
                Scalar::I64 => Scalar::F64,
                _ => Scalar::F32,
            }),
            Inst::ExtendInt(a) => self.convert(a, Scalar::I32, Scalar::I64),
            Inst::TruncateInt(a) => self.convert(a, Scalar::I64, Scalar::I32),
            Inst::Extend(a) => self.convert(a, Scalar::F32, Scalar::F64),
            Inst::Truncate(a) => self.convert(a, Scalar::F64, Scalar::F32),
            Inst::Lookup(table, index) => self.convert(index, Scalar::I32, table.scalar()),
            Inst::Round(_, a) => self.expect(a, |s| s == Scalar::F32),
            Inst::Native(function, a, b) => {
                if b.is_some() != (function == NativeFn::Pow) {
                    return Err(KernelFault::Operation(register));
                }
                if let Some(b) = b {
                    self.expect(b, |s| s == Scalar::F32)?;
                }
                self.expect(a, |s| s == Scalar::F32)
            }
        }
    }

    fn convert(&self, a: Reg, from: Scalar, to: Scalar) -> Result<Scalar, KernelFault> {
        self.expect(a, |s| s == from)?;
        Ok(to)
    }
}
