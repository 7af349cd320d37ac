//! Which arithmetic an emitted graph reproduces.

use std::{fmt, str::FromStr};

/// A set of lowerings: the arithmetic that the emitted graph states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Contract {
    /// MLX 0.32.2 on CPU, the `mlx-cpu` wheel on x86-64 Linux.
    #[default]
    MlxCpu,
    /// Whatever the compiler likes best. Orders and roundings are not stated, so there is no
    /// interpretation and no cause.
    Native,
}

impl Contract {
    /// All contracts.
    pub const ALL: [Contract; 2] = [Contract::MlxCpu, Contract::Native];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Contract::MlxCpu => "mlx-cpu",
            Contract::Native => "native",
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A contract's name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read contract {0:?}: it is mlx-cpu or native")]
pub struct UnknownContract(String);

impl FromStr for Contract {
    type Err = UnknownContract;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Contract::ALL
            .into_iter()
            .find(|contract| contract.name() == text)
            .ok_or_else(|| UnknownContract(text.to_owned()))
    }
}
