//! One primitive being lowered: what a lowering may look at, and how it adds operations.

use stages::{
    DType, Shape,
    graph::{Op as Primitive, ValueInfo as Kind},
};

use super::{LowerError, forms::Forms};
use crate::{
    kernel::{Kernel, KernelBuilder, Reg, Scalar},
    program::{Combine, Elem, IndexMap, Op, Program, Value, ValueInfo},
};

/// How values of a dtype are carried, if they can be.
pub(super) fn carrier(dtype: DType) -> Option<Elem> {
    match dtype {
        DType::F32 | DType::BF16 => Some(Elem::F32),
        DType::I32 | DType::U32 => Some(Elem::I32),
        DType::Bool => Some(Elem::Bool),
        DType::F16 => None,
    }
}

/// What is known of an operand.
#[derive(Debug)]
pub(super) struct Operand<'g> {
    /// Shape, dtype and view.
    pub kind: &'g Kind,
    /// The bits of its element, if it is a constant with all elements equal.
    pub splat: Option<u32>,
    /// Its value, if one was needed so far.
    pub value: Option<Value>,
}

/// One primitive with its operands: all that its lowering depends on.
#[derive(Debug)]
pub(super) struct Call<'a, 'g> {
    /// The primitive.
    pub op: &'g Primitive,
    /// Shape, dtype and view of its result.
    pub result: &'g Kind,
    /// Its operands.
    pub operands: Vec<Operand<'g>>,
    /// The argument it stands for, if it is an input or a weight.
    pub own: Option<Value>,
    /// The contract's forms.
    pub forms: Forms,
    /// Where operations are added.
    pub program: &'a mut Program,
}

impl<'g> Call<'_, 'g> {
    /// The error for a form that the contract does not state.
    pub fn unsupported(&self, reason: impl Into<String>) -> LowerError {
        LowerError::Unsupported {
            op: self.op.name(),
            contract: self.forms.contract,
            reason: reason.into(),
        }
    }

    /// The error for a node that is not what graph inference gives.
    pub fn malformed(&self, reason: impl Into<String>) -> LowerError {
        LowerError::Malformed {
            op: self.op.name(),
            reason: reason.into(),
        }
    }

    /// Shape, dtype and view of an operand.
    pub fn kind(&self, operand: usize) -> Result<&'g Kind, LowerError> {
        match self.operands.get(operand) {
            Some(found) => Ok(found.kind),
            None => Err(self.malformed(format!("operand {operand} is missing"))),
        }
    }

    /// The value of an operand; a constant one is written where it is first needed.
    pub fn value(&mut self, operand: usize) -> Result<Value, LowerError> {
        let kind = self.kind(operand)?;
        let (known, splat) = (self.operands[operand].value, self.operands[operand].splat);
        match (known, splat) {
            (Some(value), _) => Ok(value),
            (None, Some(bits)) => {
                let value = self.push(Op::Fill { bits }, vec![], kind.shape.clone(), kind.dtype)?;
                self.operands[operand].value = Some(value);
                Ok(value)
            }
            (None, None) => Err(self.malformed(format!("operand {operand} has no value"))),
        }
    }

    /// The extents of a value.
    pub fn dims(&self, value: Value) -> Vec<usize> {
        self.program.info(value).shape.dims().to_vec()
    }

    /// Adds an operation whose values lie on `grid`.
    pub fn push(
        &mut self,
        op: Op,
        inputs: Vec<Value>,
        shape: impl Into<Shape>,
        grid: DType,
    ) -> Result<Value, LowerError> {
        let elem = carrier(grid).ok_or(LowerError::DType {
            op: self.op.name(),
            dtype: grid,
        })?;
        let info = ValueInfo {
            shape: shape.into(),
            elem,
            grid,
        };
        Ok(self.program.push(op, inputs, info))
    }

    /// Adds a movement, which keeps storage and grid; nothing where it changes nothing.
    pub fn movement(&mut self, op: Op, input: Value, shape: impl Into<Shape>) -> Value {
        let from = self.program.info(input);
        let info = ValueInfo {
            shape: shape.into(),
            elem: from.elem,
            grid: from.grid,
        };
        let same = info.shape == from.shape;
        let neutral = match &op {
            Op::Transpose { axes } => axes.iter().copied().eq(0..axes.len()),
            Op::Pad { .. } | Op::Slice { .. } | Op::Reshape | Op::Broadcast { .. } => true,
            _ => false,
        };
        if same && neutral {
            return input;
        }
        self.program.push(op, vec![input], info)
    }

    /// The same values under other extents.
    pub fn reshape(&mut self, input: Value, shape: impl Into<Shape>) -> Value {
        self.movement(Op::Reshape, input, shape)
    }

    /// Result axis `i` is operand axis `axes[i]`.
    pub fn transpose(&mut self, input: Value, axes: Vec<usize>) -> Value {
        let dims = self.dims(input);
        let shape: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
        self.movement(Op::Transpose { axes }, input, shape)
    }

    /// The last two axes exchanged.
    pub fn transpose_matrix(&mut self, input: Value) -> Value {
        let rank = self.dims(input).len();
        let mut axes: Vec<usize> = (0..rank).collect();
        axes.swap(rank - 2, rank - 1);
        self.transpose(input, axes)
    }

    /// `bits` around the operand along one axis.
    pub fn pad(&mut self, input: Value, low: Vec<usize>, high: Vec<usize>, bits: u32) -> Value {
        let dims = self.dims(input).into_iter();
        let shape: Vec<usize> = dims
            .zip(low.iter().zip(&high))
            .map(|(n, (l, h))| n + l + h)
            .collect();
        self.movement(Op::Pad { low, high, bits }, input, shape)
    }

    /// Elements `start, start + stride, …` below `stop` of every axis.
    pub fn slice(
        &mut self,
        input: Value,
        start: Vec<usize>,
        stop: Vec<usize>,
        strides: Vec<usize>,
    ) -> Value {
        let shape: Vec<usize> = (0..start.len())
            .map(|axis| (stop[axis] - start[axis]).div_ceil(strides[axis]))
            .collect();
        let op = Op::Slice {
            start,
            stop,
            strides,
        };
        self.movement(op, input, shape)
    }

    /// The kernel at every index of `shape`.
    pub fn map(
        &mut self,
        kernel: Kernel,
        inputs: Vec<(Value, IndexMap)>,
        shape: impl Into<Shape>,
        grid: DType,
    ) -> Result<Value, LowerError> {
        let (inputs, maps) = inputs.into_iter().unzip();
        self.push(Op::Map { kernel, maps }, inputs, shape, grid)
    }

    /// An elementwise primitive: operands of the result's shape, constant ones written into the
    /// kernel.
    pub fn elementwise(
        &mut self,
        write: impl FnOnce(&mut KernelBuilder, &[Reg]) -> Reg,
    ) -> Result<Value, LowerError> {
        let mut k = KernelBuilder::new();
        let mut inputs = Vec::new();
        let mut registers = Vec::new();
        for operand in 0..self.operands.len() {
            let kind = self.kind(operand)?;
            registers.push(match self.operands[operand].splat {
                Some(bits) => constant(&mut k, kind.dtype, bits),
                None => {
                    let value = self.value(operand)?;
                    let register = k.operand(inputs.len(), scalar(kind.dtype));
                    inputs.push((value, IndexMap::identity(kind.shape.rank())));
                    register
                }
            });
        }
        let result = write(&mut k, &registers);
        let shape = self.result.shape.clone();
        self.map(k.finish(result), inputs, shape, self.result.dtype)
    }

    /// An F32 value rounded onto the result's grid; itself where that is F32.
    pub fn rounded(&mut self, value: Value) -> Result<Value, LowerError> {
        let dtype = self.result.dtype;
        if dtype == DType::F32 {
            return Ok(value);
        }
        let dims = self.dims(value);
        let mut k = KernelBuilder::new();
        let x = k.operand(0, Scalar::F32);
        let result = self.forms.round(&mut k, dtype, x);
        let map = IndexMap::identity(dims.len());
        self.map(k.finish(result), vec![(value, map)], dims, dtype)
    }

    /// Combines along ascending axes, which the result does not keep.
    pub fn reduce(
        &mut self,
        input: Value,
        axes: Vec<usize>,
        combine: Combine,
        grid: DType,
    ) -> Result<Value, LowerError> {
        let dims = self.dims(input);
        let kept = (0..dims.len()).filter(|axis| !axes.contains(axis));
        let shape: Vec<usize> = kept.map(|axis| dims[axis]).collect();
        self.push(Op::Reduce { axes, combine }, vec![input], shape, grid)
    }

    /// A sum along ascending axes of values of this dtype, rounded as the contract says.
    pub fn sum(
        &mut self,
        input: Value,
        axes: Vec<usize>,
        dtype: DType,
    ) -> Result<Value, LowerError> {
        let round_each = self.forms.round_each(dtype);
        let combine = Combine::Sum {
            order: self.forms.order(),
            round_each,
        };
        self.reduce(input, axes, combine, round_each.unwrap_or(DType::F32))
    }
}

/// The register type of a dtype's carrier.
pub(super) fn scalar(dtype: DType) -> Scalar {
    match dtype {
        DType::I32 | DType::U32 => Scalar::I32,
        DType::Bool => Scalar::Bool,
        _ => Scalar::F32,
    }
}

/// A constant of a dtype by its carrier's bits.
fn constant(k: &mut KernelBuilder, dtype: DType, bits: u32) -> Reg {
    match scalar(dtype) {
        Scalar::I32 => k.u32(bits),
        Scalar::Bool => k.bool(bits != 0),
        _ => k.f32(f32::from_bits(bits)),
    }
}
