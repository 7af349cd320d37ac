//! The element types that cross the boundary to a module.

use std::fmt;

/// The type of a buffer's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// IEEE binary32.
    F32,
    /// The upper half of a binary32.
    Bf16,
    /// IEEE binary64.
    F64,
    /// 64-bit integer.
    I64,
    /// 32-bit integer.
    I32,
    /// 8-bit integer; also carries booleans, as 0 and 1.
    I8,
    /// Unsigned 32-bit integer.
    U32,
}

impl ElementType {
    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::Bf16 => 2,
            Self::I8 => 1,
        }
    }

    /// Bytes of a dense tensor of this shape, or nothing if that is beyond what can be addressed.
    #[must_use]
    pub fn bytes(self, shape: &[usize]) -> Option<usize> {
        shape
            .iter()
            .try_fold(self.size(), |bytes, &extent| bytes.checked_mul(extent))
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F64 => "f64",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::I8 => "i8",
            Self::U32 => "u32",
        })
    }
}

/// A Rust type that is one of the element types.
pub trait Element: bytemuck::Pod {
    /// Which.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($rust:ty => $element:ident),* $(,)?) => {
        $(impl Element for $rust {
            const TYPE: ElementType = ElementType::$element;
        })*
    };
}

elements! {
    f32 => F32,
    half::bf16 => Bf16,
    f64 => F64,
    i64 => I64,
    i32 => I32,
    i8 => I8,
    u32 => U32,
}
