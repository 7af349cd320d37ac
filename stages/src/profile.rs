//! Which number types a model runs in.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::DType;

/// One of the three ways mlx-vlm 0.7.10 runs a BF16 checkpoint. Models ask it for dtypes; they
/// never ask which profile it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The features are cast to BF16 and so are the conformer's constants: nothing promotes.
    #[default]
    Bf16,
    /// As shipped, the features cast to BF16 by the caller: BF16 until the F32 constants of the
    /// conformer promote at its first clip, F32 from there on.
    Mixed,
    /// Weights are widened to F32, which is exact; everything is F32.
    F32,
}

impl Profile {
    /// Every profile, the default first.
    pub const ALL: [Profile; 3] = [Profile::Bf16, Profile::Mixed, Profile::F32];

    /// What the features are cast to before the first convolution.
    pub const fn mel(self) -> DType {
        match self {
            Profile::Bf16 | Profile::Mixed => DType::BF16,
            Profile::F32 => DType::F32,
        }
    }

    /// What weights are used in; the checkpoint holds BF16.
    pub const fn weights(self) -> DType {
        match self {
            Profile::Bf16 | Profile::Mixed => DType::BF16,
            Profile::F32 => DType::F32,
        }
    }

    /// The dtype of the conformer's array constants: clip bounds, query scale, soft cap and
    /// residual weight. Where they are F32 they promote the activations from the first clip on.
    pub const fn conformer_constants(self) -> DType {
        match self {
            Profile::Bf16 => DType::BF16,
            Profile::Mixed | Profile::F32 => DType::F32,
        }
    }

    /// The name, as `--profile` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Bf16 => "bf16",
            Profile::Mixed => "mixed",
            Profile::F32 => "f32",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no profile's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("choose profile {0:?}: profiles are bf16, mixed and f32")]
pub struct UnknownProfile(pub String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Profile::ALL
            .into_iter()
            .find(|profile| profile.name() == name)
            .ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_the_default_is_bf16() {
        for profile in Profile::ALL {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
        assert_eq!(Profile::default(), Profile::Bf16);
        assert!("BF16".parse::<Profile>().is_err());
    }
}
