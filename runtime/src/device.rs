//! Where modules run.

use crate::{
    buffer::Buffer,
    denormals,
    element::{Element, ElementType},
    ffi::{RawBuffer, RawDevice, RawModule, Status},
    module::Module,
    toolchain::{Toolchain, Vmfb},
};
use std::{fmt, str::FromStr, sync::Arc};

/// Bytes whose owner can be kept alive and shared between threads.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The alignment IREE demands of memory it is to use in place.
const IMPORT_ALIGNMENT: usize = 64;

/// Which of IREE's drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// This machine's processor, on threads of its own.
    LocalTask,
    /// This machine's processor, on the calling thread.
    LocalSync,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LocalTask => "local-task",
            Self::LocalSync => "local-sync",
        })
    }
}

impl FromStr for DeviceKind {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        [Self::LocalTask, Self::LocalSync]
            .into_iter()
            .find(|kind| kind.to_string() == name)
            .ok_or_else(|| DeviceError::Unknown {
                name: name.to_owned(),
            })
    }
}

/// Why a device cannot be used; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no device of that name.
    #[error("find a device named {name:?}: there are local-task and local-sync")]
    Unknown {
        /// The name.
        name: String,
    },
    /// A number of threads that the device cannot have.
    #[error("open {kind} with {threads} threads: it has 1 to {most}")]
    Threads {
        /// The device.
        kind: DeviceKind,
        /// The number asked for.
        threads: usize,
        /// The most it can have.
        most: usize,
    },
    /// IREE refuses.
    #[error("open {kind}: {status}")]
    Open {
        /// The device.
        kind: DeviceKind,
        /// Why.
        status: Status,
    },
    /// The probe for denormals could not be compiled or run.
    #[error("probe {kind} for denormals")]
    Probe {
        /// The device.
        kind: DeviceKind,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The device replaces denormals by zero, so nothing it computes can be compared.
    #[error("keep denormals on {kind}: {wrong} of {of} products were flushed to zero")]
    Flushes {
        /// The device.
        kind: DeviceKind,
        /// How many products came out wrong.
        wrong: usize,
        /// How many were asked for.
        of: usize,
    },
    /// The code is no module that this runtime can load.
    #[error("load the compiled module: {status}")]
    Load {
        /// Why.
        status: Status,
    },
    /// The bytes do not fill the shape.
    #[error("fill a {element} tensor of shape {shape:?} with {bytes} bytes")]
    Size {
        /// The element type.
        element: ElementType,
        /// The shape.
        shape: Vec<usize>,
        /// How many bytes there are.
        bytes: usize,
    },
    /// Memory that is to be used in place does not begin at a multiple of 64.
    #[error("use memory at {address:#x} in place: not aligned to {IMPORT_ALIGNMENT} bytes")]
    Misaligned {
        /// Where it begins.
        address: usize,
    },
    /// IREE cannot make the buffer.
    #[error("make a buffer: {status}")]
    Buffer {
        /// Why.
        status: Status,
    },
}

/// An open device that keeps denormals; cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Device {
    raw: Arc<RawDevice>,
    kind: DeviceKind,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {} threads)", self.kind, self.threads())
    }
}

impl Device {
    /// Opens a device with that many threads, by default one for each processor this process may
    /// use, and makes sure that it keeps denormals. The toolchain compiles the probe.
    pub fn open(
        kind: DeviceKind,
        threads: Option<usize>,
        toolchain: &Toolchain,
    ) -> Result<Self, DeviceError> {
        let most = match kind {
            DeviceKind::LocalTask => RawDevice::MAX_WORKERS,
            DeviceKind::LocalSync => 1,
        };
        let threads = threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, |count| count.get().min(most))
        });
        if !(1..=most).contains(&threads) {
            return Err(DeviceError::Threads {
                kind,
                threads,
                most,
            });
        }
        let workers = (kind == DeviceKind::LocalTask).then_some(threads);
        let raw = RawDevice::open(workers).map_err(|status| DeviceError::Open { kind, status })?;
        let device = Self {
            raw: Arc::new(raw),
            kind,
        };
        let (wrong, of) = denormals::flushed(&device, toolchain)
            .map_err(|source| DeviceError::Probe { kind, source })?;
        if wrong > 0 {
            return Err(DeviceError::Flushes { kind, wrong, of });
        }
        Ok(device)
    }

    /// Which driver it is.
    #[must_use]
    pub fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// How many threads run a module's work.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.raw.workers()
    }

    /// Loads a compiled module. Its digest or its compiler vouches for what it does; a malformed
    /// archive is refused.
    pub fn load(&self, code: Vmfb) -> Result<Module, DeviceError> {
        let raw = RawModule::load(&self.raw, Arc::new(code))
            .map_err(|status| DeviceError::Load { status })?;
        Ok(Module::new(raw, self.raw.clone()))
    }

    /// Copies bytes, in this machine's order, to the device.
    pub fn upload(
        &self,
        element: ElementType,
        shape: &[usize],
        bytes: &[u8],
    ) -> Result<Buffer, DeviceError> {
        check_size(element, shape, bytes.len())?;
        let raw = RawBuffer::upload(&self.raw, element, shape, bytes)
            .map_err(|status| DeviceError::Buffer { status })?;
        Ok(Buffer::new(raw, element, self.raw.clone()))
    }

    /// Copies values to the device.
    pub fn upload_slice<T: Element>(
        &self,
        shape: &[usize],
        values: &[T],
    ) -> Result<Buffer, DeviceError> {
        self.upload(T::TYPE, shape, bytemuck::cast_slice(values))
    }

    /// Lets the device read the bytes where they are. They must begin at a multiple of 64; their
    /// owner is kept as long as the device may read them.
    pub fn import(
        &self,
        element: ElementType,
        shape: &[usize],
        bytes: Bytes,
    ) -> Result<Buffer, DeviceError> {
        let content: &[u8] = (*bytes).as_ref();
        check_size(element, shape, content.len())?;
        let address = content.as_ptr().addr();
        if !address.is_multiple_of(IMPORT_ALIGNMENT) {
            return Err(DeviceError::Misaligned { address });
        }
        let raw = RawBuffer::import(&self.raw, element, shape, bytes)
            .map_err(|status| DeviceError::Buffer { status })?;
        Ok(Buffer::new(raw, element, self.raw.clone()))
    }
}

fn check_size(element: ElementType, shape: &[usize], bytes: usize) -> Result<(), DeviceError> {
    if element.bytes(shape) == Some(bytes) {
        return Ok(());
    }
    Err(DeviceError::Size {
        element,
        shape: shape.to_vec(),
        bytes,
    })
}
