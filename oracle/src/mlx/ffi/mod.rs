//! The only module that calls MLX: arrays, streams and errors behind a safe interface.

mod apply;

use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_int, c_void},
    marker::PhantomData,
    sync::Once,
};

use mlx_rs::{Array, Device, Stream};
use mlx_sys::{mlx_array, mlx_dtype};
use stages::{DType, Shape, Tensor};

/// What MLX says went wrong.
pub(super) type Message = String;

thread_local! {
    static LAST_MESSAGE: RefCell<Option<Message>> = const { RefCell::new(None) };
}

/// Keeps MLX's message for the thread that made the call; without it, MLX ends the process.
extern "C" fn keep_message(message: *const c_char, _data: *mut c_void) {
    // SAFETY: MLX passes a NUL-terminated string that lives until this returns.
    let text = unsafe { CStr::from_ptr(message) };
    let text = text.to_string_lossy().into_owned();
    // Nothing may unwind into C++: a thread at its end or a nested message is passed over.
    let _ = LAST_MESSAGE.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = Some(text);
        }
    });
}

fn last_message() -> Message {
    LAST_MESSAGE
        .with_borrow_mut(Option::take)
        .unwrap_or_else(|| "MLX gives no reason".to_owned())
}

fn install_message_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // mlx-rs installs its own handler at its first call, once: that has to come before ours.
        let _ = Device::try_default();
        // SAFETY: the handler is a plain function without data, so nothing has to be freed.
        unsafe {
            mlx_sys::mlx_set_error_handler(Some(keep_message), std::ptr::null_mut(), None);
        }
    });
}

fn check(status: c_int) -> Result<(), Message> {
    if status == 0 {
        Ok(())
    } else {
        Err(last_message())
    }
}

/// A handle to no array, for a call to write the result into.
fn empty() -> mlx_array {
    // SAFETY: has no preconditions; an empty handle owns nothing.
    unsafe { mlx_sys::mlx_array_new() }
}

/// The array that a call wrote into an [`empty`] handle.
fn owned(made: mlx_array, status: c_int) -> Result<Array, Message> {
    // SAFETY: filled or still empty, the handle is not kept elsewhere.
    let array = unsafe { Array::from_ptr(made) };
    check(status).map(|()| array)
}

/// MLX's version, such as `0.32.2`.
pub(super) fn version() -> Result<String, Message> {
    install_message_handler();
    // SAFETY: the string is made, filled, copied and freed here.
    unsafe {
        let mut text = mlx_sys::mlx_string_new();
        let status = mlx_sys::mlx_version(&mut text);
        let data = mlx_sys::mlx_string_data(text);
        let version = (status == 0 && !data.is_null())
            .then(|| CStr::from_ptr(data).to_string_lossy().into_owned());
        mlx_sys::mlx_string_free(text);
        version.ok_or_else(last_message)
    }
}

const fn to_mlx(dtype: DType) -> mlx_dtype {
    match dtype {
        DType::Bool => mlx_sys::mlx_dtype__MLX_BOOL,
        DType::I32 => mlx_sys::mlx_dtype__MLX_INT32,
        DType::U32 => mlx_sys::mlx_dtype__MLX_UINT32,
        DType::F16 => mlx_sys::mlx_dtype__MLX_FLOAT16,
        DType::BF16 => mlx_sys::mlx_dtype__MLX_BFLOAT16,
        DType::F32 => mlx_sys::mlx_dtype__MLX_FLOAT32,
    }
}

const fn from_mlx(dtype: mlx_dtype) -> Option<DType> {
    Some(match dtype {
        mlx_sys::mlx_dtype__MLX_BOOL => DType::Bool,
        mlx_sys::mlx_dtype__MLX_INT32 => DType::I32,
        mlx_sys::mlx_dtype__MLX_UINT32 => DType::U32,
        mlx_sys::mlx_dtype__MLX_FLOAT16 => DType::F16,
        mlx_sys::mlx_dtype__MLX_BFLOAT16 => DType::BF16,
        mlx_sys::mlx_dtype__MLX_FLOAT32 => DType::F32,
        _ => return None,
    })
}

/// MLX counts extents and axes in `int`.
fn ints(values: &[usize]) -> Result<Vec<c_int>, Message> {
    values.iter().map(|&value| int(value)).collect()
}

fn int(value: usize) -> Result<c_int, Message> {
    c_int::try_from(value).map_err(|_| format!("{value} is more than MLX can count"))
}

/// This thread's CPU stream and the host tensors that arrays made on it read in place.
pub(super) struct Session {
    stream: Stream,
    /// One handle to every array over host memory. MLX writes a result into an operand's memory
    /// if nothing else holds the operand, so these keep it from writing to memory of others.
    sources: RefCell<Vec<Array>>,
    /// Streams belong to the thread that made them.
    thread: PhantomData<*const ()>,
}

/// An array of a session, which it cannot outlive: evaluated or still to be.
pub(super) struct Value<'s> {
    array: Array,
    session: PhantomData<&'s Session>,
}

impl Session {
    /// A session on this thread's default CPU stream.
    pub fn new() -> Result<Self, Message> {
        install_message_handler();
        let stream = Stream::cpu();
        if stream.as_ptr().ctx.is_null() {
            return Err(last_message());
        }
        Ok(Session {
            stream,
            sources: RefCell::default(),
            thread: PhantomData,
        })
    }

    fn value(&self, array: Array) -> Value<'_> {
        Value {
            array,
            session: PhantomData,
        }
    }

    /// An array over a host tensor's memory, without a copy.
    pub fn import(&self, tensor: &Tensor) -> Result<Value<'_>, Message> {
        let bytes = tensor.bytes();
        if tensor.dtype() == DType::Bool && bytes.iter().any(|&byte| byte > 1) {
            return Err("its BOOL values are not all 0 or 1".to_owned());
        }
        let shape = ints(tensor.shape().dims())?;
        let rank = int(shape.len())?;
        let payload = Box::into_raw(Box::new(tensor.clone()));
        // SAFETY: the payload keeps the memory alive until MLX calls `release`, once. MLX never
        // writes to it: see `Session::sources`. Shape and dtype are those of the bytes.
        let raw = unsafe {
            mlx_sys::mlx_array_new_data_managed_payload(
                bytes.as_ptr().cast_mut().cast(),
                shape.as_ptr(),
                rank,
                to_mlx(tensor.dtype()),
                payload.cast(),
                Some(release),
            )
        };
        // SAFETY: the handle is new and not kept elsewhere.
        let made = unsafe { Array::from_ptr(raw) };
        if raw.ctx.is_null() {
            return Err(last_message());
        }
        let mut held = empty();
        // SAFETY: both handles are valid.
        let status = unsafe { mlx_sys::mlx_array_set(&mut held, made.as_ptr()) };
        self.sources.borrow_mut().push(owned(held, status)?);
        Ok(self.value(made))
    }

    /// Computes a value and everything it needs.
    pub fn evaluate(&self, value: &Value<'_>) -> Result<(), Message> {
        // SAFETY: the handle is valid; the stream is this thread's, as a session stays on it.
        check(unsafe { mlx_sys::mlx_array_eval(value.array.as_ptr()) })
    }

    /// The elements in row-major order, evaluating them first if they are not yet.
    pub fn read(&self, value: &Value<'_>, dtype: DType, shape: &Shape) -> Result<Tensor, Message> {
        let (array, stream) = (value.array.as_ptr(), self.stream.as_ptr());
        let mut rows = empty();
        // SAFETY: handle and stream are valid.
        let status = unsafe { mlx_sys::mlx_contiguous(&mut rows, array, false, stream) };
        let rows = owned(rows, status)?;
        // SAFETY: as in `evaluate`.
        check(unsafe { mlx_sys::mlx_array_eval(rows.as_ptr()) })?;
        // SAFETY: the array is evaluated and row-major, so its `nbytes` bytes start at that
        // pointer, and it lives until they are copied.
        let bytes = unsafe {
            let data = mlx_sys::mlx_array_data_uint8(rows.as_ptr());
            let len = mlx_sys::mlx_array_nbytes(rows.as_ptr());
            match (data.is_null(), len) {
                (_, 0) => &[][..],
                (true, _) => return Err(last_message()),
                (false, len) => std::slice::from_raw_parts(data, len),
            }
        };
        Tensor::from_bytes(dtype, shape.clone(), bytes).map_err(|error| error.to_string())
    }
}

impl Value<'_> {
    /// Extents and element type as MLX has them; the type is `None` if level one has no such.
    pub fn kind(&self) -> (Shape, Option<DType>) {
        let raw = self.array.as_ptr();
        // SAFETY: the handle is valid; the shape has `ndim` entries and lives as long as it.
        let (dims, dtype) = unsafe {
            let rank = mlx_sys::mlx_array_ndim(raw);
            let data = mlx_sys::mlx_array_shape(raw);
            let dims: &[c_int] = if rank == 0 || data.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(data, rank)
            };
            (dims, mlx_sys::mlx_array_dtype(raw))
        };
        let extents: Vec<usize> = dims
            .iter()
            .map(|&d| d.max(0).unsigned_abs() as usize)
            .collect();
        (extents.into(), from_mlx(dtype))
    }

    /// Strides in elements; known once the value is evaluated.
    #[cfg(test)]
    pub fn strides(&self) -> Vec<usize> {
        self.array.strides().to_vec()
    }
}

/// Frees what [`Session::import`] boxed.
extern "C" fn release(payload: *mut c_void) {
    // SAFETY: called once, with the pointer that `Box::into_raw` gave. A tensor may be dropped on
    // any thread, as MLX does from its own.
    drop(unsafe { Box::from_raw(payload.cast::<Tensor>()) });
}
