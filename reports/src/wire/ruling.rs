//! What a policy says of a boundary, on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a policy says of both errors of a boundary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// Of the local error; null where it was not measured.
    pub local: Option<Ruled>,
    /// Of the inherited error.
    pub inherited: Ruled,
}

/// What a policy says of one error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ruled {
    /// The pattern of the entry that decides; null where none does and equal bits are demanded.
    pub entry: Option<String>,
    /// What is demanded, in words.
    pub demand: String,
    /// How the demand is not met.
    pub broken: Vec<String>,
    /// What of the demand cannot be decided, and why.
    pub undecided: Vec<String>,
}
