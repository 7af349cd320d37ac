//! One primitive of level one as one call of MLX.

use half::{bf16, f16};
use mlx_rs::Array;
use mlx_sys::{mlx_array, mlx_optional_int, mlx_vector_array};
use stages::{
    DType, Shape, Tensor,
    graph::{BitwiseKind, Op, ReduceKind, ValueInfo},
};

use super::{Message, Session, Value, check, empty, int, ints, owned, to_mlx};

/// Calls a function of `mlx_sys` that writes an array: result first, stream last.
macro_rules! call {
    ($session:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut made = empty();
        let stream = $session.stream.as_ptr();
        // SAFETY: every handle is borrowed from a live array or vector, every pointer from a
        // slice that outlives the call together with its length, and the stream is this thread's.
        let status = unsafe { mlx_sys::$function(&mut made, $($argument,)* stream) };
        owned(made, status)
    }};
}

impl Session {
    /// The primitive on its operands, not yet evaluated. `info` is what level one says of the
    /// result: the shape and dtype that sources are made with.
    pub fn apply<'s>(
        &'s self,
        op: &Op,
        operands: &[&Value<'s>],
        info: &ValueInfo,
    ) -> Result<Value<'s>, Message> {
        let x = |i: usize| -> Result<mlx_array, Message> {
            let operand = operands.get(i).ok_or("it lacks an operand")?;
            Ok(operand.array.as_ptr())
        };
        let result = match op {
            Op::Input { .. } | Op::Weight { .. } => return Err("it has to be given".to_owned()),
            Op::Constant { value } => return self.import(&constant(*value, info.dtype)?),
            Op::Arange { start, step, len } => {
                // Half a step back, so that exactly `len` steps lie below.
                let stop = start + (*len as f64 - 0.5) * step;
                call!(self, mlx_arange(*start, stop, *step, to_mlx(info.dtype)))
            }
            Op::Full { shape } => {
                let shape = ints(shape.dims())?;
                let dtype = to_mlx(info.dtype);
                call!(self, mlx_full(shape.as_ptr(), shape.len(), x(0)?, dtype))
            }

            Op::Add => call!(self, mlx_add(x(0)?, x(1)?)),
            Op::Subtract => call!(self, mlx_subtract(x(0)?, x(1)?)),
            Op::Multiply => call!(self, mlx_multiply(x(0)?, x(1)?)),
            Op::Divide => call!(self, mlx_divide(x(0)?, x(1)?)),
            Op::Maximum => call!(self, mlx_maximum(x(0)?, x(1)?)),
            Op::Minimum => call!(self, mlx_minimum(x(0)?, x(1)?)),
            Op::Power => call!(self, mlx_power(x(0)?, x(1)?)),
            Op::LogAddExp => call!(self, mlx_logaddexp(x(0)?, x(1)?)),
            Op::GreaterEqual => call!(self, mlx_greater_equal(x(0)?, x(1)?)),
            Op::LogicalAnd => call!(self, mlx_logical_and(x(0)?, x(1)?)),
            Op::LogicalNot => call!(self, mlx_logical_not(x(0)?)),
            Op::BitwiseBinary { kind } => match kind {
                BitwiseKind::LeftShift => call!(self, mlx_left_shift(x(0)?, x(1)?)),
                BitwiseKind::RightShift => call!(self, mlx_right_shift(x(0)?, x(1)?)),
            },
            Op::Negative => call!(self, mlx_negative(x(0)?)),
            Op::Square => call!(self, mlx_square(x(0)?)),
            Op::Sqrt { reciprocal: false } => call!(self, mlx_sqrt(x(0)?)),
            Op::Sqrt { reciprocal: true } => call!(self, mlx_rsqrt(x(0)?)),
            Op::Sigmoid => call!(self, mlx_sigmoid(x(0)?)),
            Op::Tanh => call!(self, mlx_tanh(x(0)?)),
            Op::Exp => call!(self, mlx_exp(x(0)?)),
            Op::Log => call!(self, mlx_log(x(0)?)),
            Op::Sin => call!(self, mlx_sin(x(0)?)),
            Op::Cos => call!(self, mlx_cos(x(0)?)),
            Op::AsType { dtype } => call!(self, mlx_astype(x(0)?, to_mlx(*dtype))),
            Op::Select => call!(self, mlx_where(x(0)?, x(1)?, x(2)?)),

            Op::Reduce { kind, axes } => {
                let axes = ints(axes)?;
                let (data, len) = (axes.as_ptr(), axes.len());
                match kind {
                    ReduceKind::Sum => call!(self, mlx_sum_axes(x(0)?, data, len, true)),
                    ReduceKind::Max => call!(self, mlx_max_axes(x(0)?, data, len, true)),
                    ReduceKind::Min => call!(self, mlx_min_axes(x(0)?, data, len, true)),
                }
            }
            Op::Scan {
                axis,
                reverse,
                inclusive,
            } => {
                let dtype = mlx_sys::mlx_optional_dtype {
                    value: to_mlx(info.dtype),
                    has_value: false,
                };
                call!(
                    self,
                    mlx_cumsum_axis(x(0)?, int(*axis)?, *reverse, *inclusive, dtype)
                )
            }
            Op::Softmax { precise } => call!(self, mlx_softmax_axis(x(0)?, -1, *precise)),

            Op::Matmul => call!(self, mlx_matmul(x(0)?, x(1)?)),
            Op::AddMM { alpha, beta } => {
                call!(self, mlx_addmm(x(0)?, x(1)?, x(2)?, *alpha, *beta))
            }
            Op::QuantizedMatmul {
                group_size,
                bits,
                transpose,
            } => {
                let [group_size, bits] = [some_int(*group_size)?, some_int(*bits)?];
                call!(
                    self,
                    mlx_quantized_matmul(
                        x(0)?,
                        x(1)?,
                        x(2)?,
                        x(3)?,
                        *transpose,
                        group_size,
                        bits,
                        c"affine".as_ptr(),
                    )
                )
            }
            Op::Convolution {
                strides,
                low,
                high,
                kernel_dilation,
                input_dilation,
                groups,
                flip,
            } => {
                let [strides, low, high] = [ints(strides)?, ints(low)?, ints(high)?];
                let [kernel, input] = [ints(kernel_dilation)?, ints(input_dilation)?];
                call!(
                    self,
                    mlx_conv_general(
                        x(0)?,
                        x(1)?,
                        strides.as_ptr(),
                        strides.len(),
                        low.as_ptr(),
                        low.len(),
                        high.as_ptr(),
                        high.len(),
                        kernel.as_ptr(),
                        kernel.len(),
                        input.as_ptr(),
                        input.len(),
                        int(*groups)?,
                        *flip,
                    )
                )
            }

            Op::Broadcast { shape } => {
                let shape = ints(shape.dims())?;
                call!(self, mlx_broadcast_to(x(0)?, shape.as_ptr(), shape.len()))
            }
            Op::ExpandDims { axes } => {
                let axes = ints(axes)?;
                call!(self, mlx_expand_dims_axes(x(0)?, axes.as_ptr(), axes.len()))
            }
            Op::Squeeze { axes } => {
                let axes = ints(axes)?;
                call!(self, mlx_squeeze_axes(x(0)?, axes.as_ptr(), axes.len()))
            }
            Op::Transpose { axes } => {
                let axes = ints(axes)?;
                call!(self, mlx_transpose_axes(x(0)?, axes.as_ptr(), axes.len()))
            }
            Op::Reshape { shape } => {
                let shape = ints(shape.dims())?;
                call!(self, mlx_reshape(x(0)?, shape.as_ptr(), shape.len()))
            }
            Op::Flatten { start, end } => {
                call!(self, mlx_flatten(x(0)?, int(*start)?, int(*end)?))
            }
            Op::Unflatten { axis, shape } => {
                let shape = ints(shape.dims())?;
                call!(
                    self,
                    mlx_unflatten(x(0)?, int(*axis)?, shape.as_ptr(), shape.len())
                )
            }
            Op::Slice {
                start,
                stop,
                strides,
            } => {
                let [start, stop, strides] = [ints(start)?, ints(stop)?, ints(strides)?];
                call!(
                    self,
                    mlx_slice(
                        x(0)?,
                        start.as_ptr(),
                        start.len(),
                        stop.as_ptr(),
                        stop.len(),
                        strides.as_ptr(),
                        strides.len(),
                    )
                )
            }
            Op::Pad { axes, low, high } => {
                let [axes, low, high] = [ints(axes)?, ints(low)?, ints(high)?];
                call!(
                    self,
                    mlx_pad(
                        x(0)?,
                        axes.as_ptr(),
                        axes.len(),
                        low.as_ptr(),
                        low.len(),
                        high.as_ptr(),
                        high.len(),
                        x(1)?,
                        c"constant".as_ptr(),
                    )
                )
            }
            Op::Concatenate { axis } => {
                let parts = Vector::of(operands)?;
                call!(self, mlx_concatenate_axis(parts.0, int(*axis)?))
            }
            Op::Split {
                indices,
                axis,
                part,
            } => {
                let mut parts = Vector::new();
                let (x, indices, axis) = (x(0)?, ints(indices)?, int(*axis)?);
                let stream = self.stream.as_ptr();
                // SAFETY: as in `call!`; the vector is live.
                check(unsafe {
                    mlx_sys::mlx_split_sections(
                        &mut parts.0,
                        x,
                        indices.as_ptr(),
                        indices.len(),
                        axis,
                        stream,
                    )
                })?;
                parts.get(*part)
            }
            Op::GatherAxis { axis } => {
                call!(self, mlx_take_along_axis(x(0)?, x(1)?, int(*axis)?))
            }
        };
        result.map(|array| self.value(array))
    }
}

fn some_int(value: usize) -> Result<mlx_optional_int, Message> {
    Ok(mlx_optional_int {
        value: int(value)?,
        has_value: true,
    })
}

/// A scalar as MLX makes one of a Python float: rounded to F32, then to the dtype.
fn constant(value: f64, dtype: DType) -> Result<Tensor, Message> {
    let value = value as f32;
    let bytes = match dtype {
        DType::Bool => vec![u8::from(value != 0.0)],
        DType::I32 => (value as i32).to_le_bytes().to_vec(),
        DType::U32 => (value as u32).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f32(value).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f32(value).to_le_bytes().to_vec(),
        DType::F32 => value.to_le_bytes().to_vec(),
    };
    Tensor::from_bytes(dtype, Shape::scalar(), &bytes).map_err(|error| error.to_string())
}

/// A vector of arrays on MLX's side.
struct Vector(mlx_vector_array);

impl Vector {
    fn new() -> Self {
        // SAFETY: makes an empty vector, freed by `drop`.
        Vector(unsafe { mlx_sys::mlx_vector_array_new() })
    }

    fn of(values: &[&Value<'_>]) -> Result<Self, Message> {
        let vector = Vector::new();
        for value in values {
            let raw = value.array.as_ptr();
            // SAFETY: vector and array are live; the vector takes its own handle.
            check(unsafe { mlx_sys::mlx_vector_array_append_value(vector.0, raw) })?;
        }
        Ok(vector)
    }

    fn get(&self, index: usize) -> Result<Array, Message> {
        // SAFETY: the vector is live.
        let len = unsafe { mlx_sys::mlx_vector_array_size(self.0) };
        if index >= len {
            return Err(format!("it gives {len} parts, not one of number {index}"));
        }
        let mut part = empty();
        // SAFETY: the vector is live and the index lies in it.
        let status = unsafe { mlx_sys::mlx_vector_array_get(&mut part, self.0, index) };
        owned(part, status)
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { mlx_sys::mlx_vector_array_free(self.0) };
    }
}
