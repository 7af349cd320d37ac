//! Where a kernel's registers live: columns of [`RUN`] elements, reused after their last use.

use super::RUN;
use crate::kernel::{Inst, Kernel, Scalar};

/// An instruction with registers resolved to slots.
#[derive(Debug)]
pub(in crate::interp) struct Step {
    pub(super) inst: Inst,
    /// The instruction's position, for messages.
    pub(super) register: usize,
    /// The type of its first source.
    pub(super) from: Scalar,
    /// The type it gives.
    pub(super) to: Scalar,
    pub(super) out: usize,
    /// Slots of its sources, in order.
    pub(super) sources: [usize; 3],
}

/// Something that is put into a slot before the steps run.
#[derive(Debug)]
pub(in crate::interp) enum Input {
    Operand { operand: usize, slot: usize },
    Index { axis: usize, slot: usize },
}

/// A kernel ready to run.
#[derive(Debug)]
pub(in crate::interp) struct Plan {
    inputs: Vec<Input>,
    constants: Vec<(Inst, usize)>,
    steps: Vec<Step>,
    slots: [usize; 5],
    result: usize,
}

fn pool(scalar: Scalar) -> usize {
    match scalar {
        Scalar::F32 => 0,
        Scalar::F64 => 1,
        Scalar::I32 => 2,
        Scalar::I64 => 3,
        Scalar::Bool => 4,
    }
}

impl Plan {
    /// Gives every register that the result needs a slot.
    pub(in crate::interp) fn new(kernel: &Kernel) -> Plan {
        let insts: Vec<(&Inst, Scalar)> = kernel.insts().collect();
        // Registers are written once and read later: walking backwards, the first reading met
        // is the last one made.
        let mut last_use = vec![None; insts.len()];
        last_use[kernel.result().index()] = Some(insts.len());
        for (at, (inst, _)) in insts.iter().enumerate().rev() {
            if last_use[at].is_some() {
                for source in inst.reads() {
                    last_use[source.index()].get_or_insert(at);
                }
            }
        }
        let mut plan = Plan {
            inputs: Vec::new(),
            constants: Vec::new(),
            steps: Vec::new(),
            slots: [0; 5],
            result: 0,
        };
        let mut free: [Vec<usize>; 5] = Default::default();
        let mut slot_of = vec![0; insts.len()];
        // Inputs and constants are written before any step, so they take no reused slot;
        // constants are never written again, so theirs are not reused either.
        for (at, (inst, scalar)) in insts.iter().enumerate() {
            if last_use[at].is_none() || inst.reads().next().is_some() {
                continue;
            }
            let slot = plan.fresh(*scalar);
            slot_of[at] = slot;
            match **inst {
                Inst::Operand(operand) => plan.inputs.push(Input::Operand { operand, slot }),
                Inst::Index(axis) => plan.inputs.push(Input::Index { axis, slot }),
                _ => plan.constants.push(((*inst).clone(), slot)),
            }
        }
        for (at, (inst, scalar)) in insts.iter().enumerate() {
            if last_use[at].is_none() || inst.reads().next().is_none() {
                continue;
            }
            let out = match free[pool(*scalar)].pop() {
                Some(slot) => slot,
                None => plan.fresh(*scalar),
            };
            slot_of[at] = out;
            let mut step = Step {
                inst: (*inst).clone(),
                register: at,
                from: *scalar,
                to: *scalar,
                out,
                sources: [0; 3],
            };
            for (i, source) in inst.reads().enumerate() {
                step.sources[i] = slot_of[source.index()];
                let scalar = insts[source.index()].1;
                if i == 0 {
                    step.from = scalar;
                }
                // Freed after `out` was chosen: a step never writes what it reads.
                let dies = last_use[source.index()] == Some(at);
                let constant = is_constant(insts[source.index()].0);
                if dies && !constant && !inst.reads().take(i).any(|s| s == source) {
                    free[pool(scalar)].push(slot_of[source.index()]);
                }
            }
            plan.steps.push(step);
        }
        plan.result = slot_of[kernel.result().index()];
        plan
    }

    fn fresh(&mut self, scalar: Scalar) -> usize {
        let slots = &mut self.slots[pool(scalar)];
        *slots += 1;
        *slots - 1
    }

    /// What must be in place before the steps run.
    pub(in crate::interp) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The slot of the result.
    pub(in crate::interp) fn result(&self) -> usize {
        self.result
    }
}

fn is_constant(inst: &Inst) -> bool {
    matches!(
        inst,
        Inst::ConstF32(_) | Inst::ConstF64(_) | Inst::ConstI32(_) | Inst::ConstI64(_)
    )
}

/// One thread's columns.
pub(in crate::interp) struct Registers {
    f32: Vec<Vec<f32>>,
    f64: Vec<Vec<f64>>,
    i32: Vec<Vec<i32>>,
    i64: Vec<Vec<i64>>,
    bool: Vec<Vec<u8>>,
}

/// A type that registers have. `Bool` is a byte, 0 or 1.
pub(super) trait Lane: Copy + Default {
    fn columns(registers: &Registers) -> &[Vec<Self>];
    fn columns_mut(registers: &mut Registers) -> &mut [Vec<Self>];
}

macro_rules! lanes {
    ($($ty:ident $field:ident),*) => {$(
        impl Lane for $ty {
            #[inline(always)]
            fn columns(registers: &Registers) -> &[Vec<Self>] {
                &registers.$field
            }
            #[inline(always)]
            fn columns_mut(registers: &mut Registers) -> &mut [Vec<Self>] {
                &mut registers.$field
            }
        }
    )*};
}

lanes!(f32 f32, f64 f64, i32 i32, i64 i64, u8 bool);

impl Registers {
    /// Columns for a plan, constants filled in.
    pub(in crate::interp) fn new(plan: &Plan) -> Registers {
        let mut registers = Registers {
            f32: vec![vec![0.0; RUN]; plan.slots[0]],
            f64: vec![vec![0.0; RUN]; plan.slots[1]],
            i32: vec![vec![0; RUN]; plan.slots[2]],
            i64: vec![vec![0; RUN]; plan.slots[3]],
            bool: vec![vec![0; RUN]; plan.slots[4]],
        };
        for (constant, slot) in &plan.constants {
            match *constant {
                Inst::ConstF32(bits) => registers.f32[*slot].fill(f32::from_bits(bits)),
                Inst::ConstF64(bits) => registers.f64[*slot].fill(f64::from_bits(bits)),
                Inst::ConstI32(value) => registers.i32[*slot].fill(value),
                Inst::ConstI64(value) => registers.i64[*slot].fill(value),
                _ => {}
            }
        }
        registers
    }

    pub(in crate::interp) fn f32(&self) -> &[Vec<f32>] {
        &self.f32
    }

    pub(in crate::interp) fn i32(&self) -> &[Vec<i32>] {
        &self.i32
    }

    pub(in crate::interp) fn bool(&self) -> &[Vec<u8>] {
        &self.bool
    }

    pub(in crate::interp) fn f32_mut(&mut self, slot: usize) -> &mut [f32] {
        &mut self.f32[slot]
    }

    pub(in crate::interp) fn i32_mut(&mut self, slot: usize) -> &mut [i32] {
        &mut self.i32[slot]
    }

    pub(in crate::interp) fn bool_mut(&mut self, slot: usize) -> &mut [u8] {
        &mut self.bool[slot]
    }

    /// Puts `start, start + 1, …` into the first `len` elements of an I32 slot.
    pub(in crate::interp) fn count_up(&mut self, slot: usize, start: usize, len: usize) {
        let out = self.i32[slot][..len].iter_mut();
        out.enumerate().for_each(|(i, o)| *o = (start + i) as i32);
    }
}
