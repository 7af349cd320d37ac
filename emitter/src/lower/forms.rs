//! The forms that a contract gives to what all lowerings are written with.

use stages::DType;

use crate::{
    Contract,
    kernel::{self, Binary, KernelBuilder, NativeFn, Reg, RoundTo},
    program::Order,
};

/// A contract's choice for roundings, products, orders and functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forms {
    pub contract: Contract,
}

impl Forms {
    /// Whether arithmetic is left to the compiler.
    pub fn native(self) -> bool {
        self.contract == Contract::Native
    }

    /// The order of additions.
    pub fn order(self) -> Order {
        if self.native() {
            Order::Any
        } else {
            Order::Sequential
        }
    }

    /// The rounding of a result of this dtype, if it is not the carrier's own.
    fn rounding(self, dtype: DType) -> Option<RoundTo> {
        match (dtype, self.native()) {
            (DType::BF16, false) => Some(RoundTo::Bf16),
            (DType::BF16, true) => Some(RoundTo::Bf16Any),
            _ => None,
        }
    }

    /// The rounding of values inside a primitive: MLX rounds them onto the array's grid, a
    /// compiler need not.
    pub fn inner(self, dtype: DType) -> Option<RoundTo> {
        self.rounding(dtype).filter(|_| !self.native())
    }

    /// The grid that running sums are rounded onto.
    pub fn round_each(self, dtype: DType) -> Option<DType> {
        self.inner(dtype).map(|_| dtype)
    }

    /// Rounds a result onto its dtype's grid.
    pub fn round(self, k: &mut KernelBuilder, dtype: DType, x: Reg) -> Reg {
        match self.rounding(dtype) {
            Some(to) => k.round(to, x),
            None => x,
        }
    }

    /// Rounds a value inside a primitive; see [`Forms::inner`].
    pub fn round_inner(self, k: &mut KernelBuilder, dtype: DType, x: Reg) -> Reg {
        match self.inner(dtype) {
            Some(to) => k.round(to, x),
            None => x,
        }
    }

    /// A product.
    pub fn mul(self, k: &mut KernelBuilder, a: Reg, b: Reg) -> Reg {
        if self.native() {
            k.binary(Binary::MulAny, a, b)
        } else {
            k.mul(a, b)
        }
    }

    /// A function of one value: the compiler's, or the kernel that restates the reference's.
    fn function(
        self,
        k: &mut KernelBuilder,
        native: NativeFn,
        exact: fn(&mut KernelBuilder, Reg) -> Reg,
        x: Reg,
    ) -> Reg {
        if self.native() {
            k.native(native, x, None)
        } else {
            exact(k, x)
        }
    }

    /// The exponential.
    pub fn exp(self, k: &mut KernelBuilder, x: Reg) -> Reg {
        self.function(k, NativeFn::Exp, kernel::exp, x)
    }

    /// The natural logarithm.
    pub fn log(self, k: &mut KernelBuilder, x: Reg) -> Reg {
        self.function(k, NativeFn::Log, kernel::log, x)
    }

    /// The hyperbolic tangent.
    pub fn tanh(self, k: &mut KernelBuilder, x: Reg) -> Reg {
        self.function(k, NativeFn::Tanh, kernel::tanh, x)
    }

    /// The sine.
    pub fn sin(self, k: &mut KernelBuilder, x: Reg) -> Reg {
        self.function(k, NativeFn::Sin, kernel::sin, x)
    }

    /// The cosine.
    pub fn cos(self, k: &mut KernelBuilder, x: Reg) -> Reg {
        self.function(k, NativeFn::Cos, kernel::cos, x)
    }
}
