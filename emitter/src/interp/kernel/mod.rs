//! Kernels, evaluated column by column: one instruction over a run of elements at a time.

mod exec;
mod registers;

use half::bf16;
use rayon::prelude::*;

use crate::{
    interp::wide::{self, Eight, Loop},
    kernel::{Kernel, Scalar},
    program::Elem,
    validate::{self, KernelFault},
};

pub(super) use exec::round_bf16;
pub(super) use registers::{Input, Plan, Registers};

/// How many elements an instruction is evaluated over at once.
pub(super) const RUN: usize = 512;

/// How many elements one thread takes on at a time.
pub(super) const GRAIN: usize = 32 * RUN;

/// One operand's elements.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// F32.
    F32(&'a [f32]),
    /// BF16, widened exactly where the kernel reads it.
    Bf16(&'a [bf16]),
    /// I32.
    I32(&'a [i32]),
    /// 0 or 1.
    Bool(&'a [u8]),
}

impl Column<'_> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Column::F32(values) => values.len(),
            Column::Bf16(values) => values.len(),
            Column::I32(values) => values.len(),
            Column::Bool(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the elements are stored.
    pub fn elem(&self) -> Elem {
        match self {
            Column::F32(_) => Elem::F32,
            Column::Bf16(_) => Elem::Bf16,
            Column::I32(_) => Elem::I32,
            Column::Bool(_) => Elem::Bool,
        }
    }
}

/// What a kernel gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Results {
    /// F32.
    F32(Vec<f32>),
    /// I32.
    I32(Vec<i32>),
    /// 0 or 1.
    Bool(Vec<u8>),
}

/// Why a kernel has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// It leaves something to the compiler.
    #[error("interpret a kernel that leaves a rounding or a function to the compiler")]
    NotExact,
    /// It is malformed, or does not take these operands.
    #[error("interpret a kernel: {0}")]
    Invalid(#[from] KernelFault),
    /// Operands have different numbers of elements.
    #[error("interpret a kernel: operand {operand} has {actual} elements, not {expected}")]
    Length {
        /// The operand.
        operand: usize,
        /// Elements of operand 0.
        expected: usize,
        /// Its elements.
        actual: usize,
    },
    /// A table was asked for an entry it does not have.
    #[error("interpret a kernel: register {register} looks up entry {index}, which there is not")]
    Lookup {
        /// The instruction.
        register: usize,
        /// The index.
        index: i32,
    },
}

/// Runs a kernel over flat operands of equal length; `Index(0)` is the position. Every
/// instruction is IEEE-754 with the roundings the kernel states; elements are independent, and
/// computed in parallel.
///
/// ```
/// use emitter::interp::kernel::{Column, Results, eval};
/// use emitter::kernel::{KernelBuilder, RoundTo, Scalar};
///
/// let mut b = KernelBuilder::new();
/// let (x, y) = (b.operand(0, Scalar::F32), b.operand(1, Scalar::F32));
/// let product = b.mul(x, y);
/// let rounded = b.round(RoundTo::Bf16, product);
/// let kernel = b.finish(rounded);
/// let z = eval(&kernel, &[Column::F32(&[1.5, 3.0]), Column::F32(&[1.0, 1.01])])?;
/// assert_eq!(z, Results::F32(vec![1.5, 3.03125]));
/// # Ok::<(), emitter::interp::kernel::KernelError>(())
/// ```
///
/// # Errors
/// When the kernel is malformed, not exact, does not fit the operands, or looks up what its table
/// does not have.
pub fn eval(kernel: &Kernel, operands: &[Column<'_>]) -> Result<Results, KernelError> {
    let elems: Vec<Elem> = operands.iter().map(Column::elem).collect();
    validate::kernel(kernel, &elems, 1)?;
    if !kernel.is_exact() {
        return Err(KernelError::NotExact);
    }
    let count = operands.first().map_or(1, Column::len);
    for (operand, column) in operands.iter().enumerate() {
        if column.len() != count {
            let actual = column.len();
            return Err(KernelError::Length {
                operand,
                expected: count,
                actual,
            });
        }
    }
    let plan = Plan::new(kernel);
    let load = |registers: &mut Registers, start: usize, len: usize| {
        for input in plan.inputs() {
            match *input {
                registers::Input::Operand { operand, slot } => {
                    load_column(registers, slot, operands[operand], start, len);
                }
                registers::Input::Index { slot, .. } => registers.count_up(slot, start, len),
            }
        }
    };
    Ok(match kernel.type_of(kernel.result()) {
        Scalar::I32 => {
            let mut out = vec![0i32; count];
            run(&plan, &mut out, load, |r| r.i32())?;
            Results::I32(out)
        }
        Scalar::Bool => {
            let mut out = vec![0u8; count];
            run(&plan, &mut out, load, |r| r.bool())?;
            Results::Bool(out)
        }
        _ => {
            let mut out = vec![0f32; count];
            run(&plan, &mut out, load, |r| r.f32())?;
            Results::F32(out)
        }
    })
}

fn load_column(
    registers: &mut Registers,
    slot: usize,
    column: Column<'_>,
    start: usize,
    len: usize,
) {
    let range = start..start + len;
    match column {
        Column::F32(values) => registers.f32_mut(slot)[..len].copy_from_slice(&values[range]),
        Column::Bf16(values) => {
            let out = registers.f32_mut(slot).iter_mut();
            out.zip(&values[range]).for_each(|(o, x)| *o = widen(*x));
        }
        Column::I32(values) => registers.i32_mut(slot)[..len].copy_from_slice(&values[range]),
        Column::Bool(values) => registers.bool_mut(slot)[..len].copy_from_slice(&values[range]),
    }
}

/// The same value as F32.
pub(super) fn widen(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Fills `out` run by run: `load` puts the inputs of elements `start..start + len` into their
/// slots, `column` finds the result's type.
pub(super) fn run<T: Copy + Send>(
    plan: &Plan,
    out: &mut [T],
    load: impl Fn(&mut Registers, usize, usize) + Sync,
    column: impl Fn(&Registers) -> &[Vec<T>] + Sync,
) -> Result<(), KernelError> {
    let piece = |registers: &mut Registers, start: usize, out: &mut [T]| {
        for (i, out) in out.chunks_mut(RUN).enumerate() {
            load(registers, start + i * RUN, out.len());
            wide::widest(Evaluate {
                plan,
                registers,
                len: out.len(),
            })?;
            out.copy_from_slice(&column(registers)[plan.result()][..out.len()]);
        }
        Ok(())
    };
    if out.len() <= 2 * RUN {
        return piece(&mut Registers::new(plan), 0, out);
    }
    let grain = (out.len() / (4 * rayon::current_num_threads()))
        .next_multiple_of(RUN)
        .clamp(RUN, GRAIN);
    out.par_chunks_mut(grain).enumerate().try_for_each_init(
        || Registers::new(plan),
        |registers, (i, out)| piece(registers, i * grain, out),
    )
}

struct Evaluate<'a> {
    plan: &'a Plan,
    registers: &'a mut Registers,
    len: usize,
}

impl Loop for Evaluate<'_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<V: Eight>(self) -> Self::Output {
        for step in self.plan.steps() {
            exec::step(step, self.registers, self.len)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
