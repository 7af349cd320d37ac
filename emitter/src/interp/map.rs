//! Maps: a kernel at every index of the result.

use stages::Shape;

use super::{
    array::{Array, Buffer, Data, Stored},
    kernel::{self, KernelError, Plan, Registers, widen},
};
use crate::{
    kernel::{Kernel, Scalar},
    program::IndexMap,
    strided::{self, Reading},
};

use super::kernel::Input;

/// Where an operand's elements lie, by axes of the result.
struct Operand<'a> {
    array: &'a Array,
    reading: Reading,
    /// Axes of the result that the innermost run spans: merged, the run is one row of `reading`.
    row: usize,
    step: usize,
}

/// How `map` reads an operand of that shape for a result of these extents.
pub(super) fn reading(operand: &Shape, map: &IndexMap, result: &[usize]) -> Reading {
    let mut strides = vec![0; result.len()];
    for (axis, stride) in map.0.iter().zip(operand.strides()) {
        if let Some(axis) = axis {
            strides[*axis] += stride;
        }
    }
    Reading {
        offset: 0,
        dims: result.to_vec(),
        strides,
    }
}

impl<'a> Operand<'a> {
    fn new(array: &'a Array, map: &IndexMap, result: &[usize]) -> Self {
        let reading = reading(&array.shape, map, result).merged();
        let row = reading.dims.last().copied().unwrap_or(1);
        let step = reading.strides.last().copied().unwrap_or(0);
        Operand {
            array,
            reading,
            row,
            step,
        }
    }

    /// Puts elements `start..start + len` of the result's order into the slot.
    fn load(&self, registers: &mut Registers, slot: usize, start: usize, len: usize) {
        match &self.array.data {
            Data::F32(x) => self.gather(x, &mut registers.f32_mut(slot)[..len], start, |x| x),
            Data::Bf16(x) => self.gather(x, &mut registers.f32_mut(slot)[..len], start, widen),
            Data::I32(x) => self.gather(x, &mut registers.i32_mut(slot)[..len], start, |x| x),
            Data::Bool(x) => {
                self.gather(x, &mut registers.bool_mut(slot)[..len], start, |x| {
                    u8::from(x != 0)
                });
            }
        }
    }

    fn gather<S: Stored, T: Copy>(
        &self,
        source: &Buffer<S>,
        mut out: &mut [T],
        start: usize,
        convert: impl Fn(S) -> T,
    ) {
        let source: &[S] = source;
        let (mut row, mut within) = (start / self.row, start % self.row);
        let inner = self.reading.dims.len().min(1);
        while !out.is_empty() {
            let at = self.reading.at(row, inner) + within * self.step;
            let len = out.len().min(self.row - within);
            let (run, rest) = out.split_at_mut(len);
            strided::run(&source[at..], self.step, run, &convert);
            out = rest;
            row += 1;
            within = 0;
        }
    }
}

/// The kernel at every index of a result of that shape.
pub(super) fn map(
    kernel: &Kernel,
    maps: &[IndexMap],
    operands: &[&Array],
    shape: &Shape,
) -> Result<Array, KernelError> {
    let plan = Plan::new(kernel);
    let dims = shape.dims();
    let operands: Vec<Operand<'_>> = operands
        .iter()
        .zip(maps)
        .map(|(array, map)| Operand::new(array, map, dims))
        .collect();
    let inner: Vec<usize> = shape.strides();
    let load = |registers: &mut Registers, start: usize, len: usize| {
        for input in plan.inputs() {
            match *input {
                Input::Operand { operand, slot } => {
                    operands[operand].load(registers, slot, start, len);
                }
                Input::Index { axis, slot } => {
                    let out = registers.i32_mut(slot)[..len].iter_mut();
                    count(out, start, inner[axis], dims[axis]);
                }
            }
        }
    };
    let count = shape.elements();
    let data = match kernel.type_of(kernel.result()) {
        Scalar::I32 => {
            let mut out = vec![0i32; count];
            kernel::run(&plan, &mut out, load, |r| r.i32())?;
            Data::I32(out.into())
        }
        Scalar::Bool => {
            let mut out = vec![0u8; count];
            kernel::run(&plan, &mut out, load, |r| r.bool())?;
            Data::Bool(out.into())
        }
        _ => {
            let mut out = vec![0f32; count];
            kernel::run(&plan, &mut out, load, |r| r.f32())?;
            Data::F32(out.into())
        }
    };
    Ok(Array {
        shape: shape.clone(),
        data,
    })
}

/// The index along an axis of the elements from `start` on: it steps every `inner` elements and
/// wraps at `extent`.
fn count<'a>(out: impl Iterator<Item = &'a mut i32>, start: usize, inner: usize, extent: usize) {
    let (mut within, mut index) = (start % inner, start / inner % extent);
    for o in out {
        *o = index as i32;
        within += 1;
        if within == inner {
            within = 0;
            index += 1;
            if index == extent {
                index = 0;
            }
        }
    }
}
