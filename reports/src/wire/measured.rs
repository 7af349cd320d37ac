//! A measurement on the wire.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::heat::Heat;
use crate::Grid;
use crate::measure;
use crate::verdict::{Outcome, Verdict};

/// One comparison of a boundary, local or inherited.
///
/// Everything but the verdict is null where the comparison is inconclusive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The verdict of this comparison.
    pub verdict: Verdict,
    /// Why it is inconclusive; null where it is not.
    #[serde(default)]
    pub failure: Option<String>,
    /// Elements with different bits.
    #[serde(default)]
    pub differing: Option<u64>,
    /// Largest |a − b| over finite pairs.
    #[serde(default)]
    pub max_abs: Option<f64>,
    /// The first element at `max_abs`; null where that is 0.
    #[serde(default)]
    pub max_abs_at: Option<WorstElement>,
    /// Root of the mean square of a − b over finite pairs.
    #[serde(default)]
    pub rms: Option<f64>,
    /// Largest |a − b| / |reference| over finite pairs with a reference other than 0.
    #[serde(default)]
    pub max_rel: Option<f64>,
    /// Elements whose reference is 0.
    #[serde(default)]
    pub zero_reference: Option<u64>,
    /// Pairs of a NaN and a number.
    #[serde(default)]
    pub nan: Option<u64>,
    /// Pairs of an infinity and any other number.
    #[serde(default)]
    pub inf: Option<u64>,
    /// Pairs of +0 and −0.
    #[serde(default)]
    pub neg_zero: Option<u64>,
    /// How many values of each side are on which grid.
    #[serde(default)]
    pub on_grid: Option<OnGrid>,
    /// Distances in steps of the declared grid.
    #[serde(default)]
    pub ulp: Option<Ulp>,
    /// Why `ulp` is null; null where it is not.
    #[serde(default)]
    pub ulp_reason: Option<String>,
    /// Distances in steps of binary32; null for integers and booleans,
    /// and where no pair has a distance.
    #[serde(default)]
    pub ulp_f32: Option<UlpF32>,
    /// The worst elements: NaNs, then infinities, then by |a − b| falling.
    #[serde(default)]
    pub worst: Vec<WorstElement>,
    /// Where the sides differ most; null where they do not, or no map was made.
    #[serde(default)]
    pub heat: Option<Heat>,
}

impl Measured {
    /// A comparison with the verdict it has by itself.
    #[must_use]
    pub fn new(outcome: &Outcome) -> Self {
        let verdict = outcome.verdict();
        match outcome {
            Outcome::Measured(m) => Self::with_verdict(verdict, m),
            Outcome::Inconclusive(why) => Self::inconclusive(why.clone()),
        }
    }

    /// A comparison that could not be made, or not be trusted.
    #[must_use]
    pub const fn inconclusive(why: String) -> Self {
        Self {
            verdict: Verdict::Inconclusive,
            failure: Some(why),
            differing: None,
            max_abs: None,
            max_abs_at: None,
            rms: None,
            max_rel: None,
            zero_reference: None,
            nan: None,
            inf: None,
            neg_zero: None,
            on_grid: None,
            ulp: None,
            ulp_reason: None,
            ulp_f32: None,
            worst: Vec::new(),
            heat: None,
        }
    }

    /// A measurement with a verdict reached from it.
    #[must_use]
    pub fn with_verdict(verdict: Verdict, m: &measure::Measurement) -> Self {
        Self {
            verdict,
            failure: None,
            differing: Some(m.differing),
            max_abs: m.max_abs,
            max_abs_at: m.max_abs_at.as_ref().map(WorstElement::new),
            rms: m.rms,
            max_rel: m.max_rel,
            zero_reference: Some(m.zero_reference),
            nan: Some(m.nan),
            inf: Some(m.inf),
            neg_zero: Some(m.neg_zero),
            on_grid: Some(OnGrid {
                reference: m.reference_on_grid.into(),
                candidate: m.candidate_on_grid.into(),
            }),
            ulp: m.ulp.as_ref().ok().map(|stats| Ulp::new(stats, m.grid)),
            ulp_reason: m.ulp.as_ref().err().map(ToString::to_string),
            ulp_f32: m.ulp_f32.as_ref().map(UlpF32::new),
            worst: m.worst.iter().map(WorstElement::new).collect(),
            heat: m.heat.as_ref().map(Heat::new),
        }
    }
}

/// How many values of each side are representable in which format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnGrid {
    /// Of the reference.
    pub reference: GridCounts,
    /// Of the candidate.
    pub candidate: GridCounts,
}

/// How many values are representable in which format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GridCounts {
    /// In BF16.
    pub bf16: u64,
    /// In F16.
    pub f16: u64,
    /// In F32.
    pub f32: u64,
}

impl From<measure::OnGrid> for GridCounts {
    fn from(n: measure::OnGrid) -> Self {
        Self {
            bf16: n.bf16,
            f16: n.f16,
            f32: n.f32,
        }
    }
}

/// Distances in steps of a grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ulp {
    /// The grid.
    pub grid: Grid,
    /// Largest distance.
    pub max: u64,
    /// Mean over all pairs that have a distance.
    pub mean: f64,
    /// Pairs more than one step apart.
    pub over_one: u64,
    /// Smallest distance of a bin → pairs in it.
    pub histogram: BTreeMap<u64, u64>,
}

impl Ulp {
    fn new(stats: &measure::UlpStats, grid: Grid) -> Self {
        let UlpF32 {
            max,
            mean,
            over_one,
            histogram,
        } = UlpF32::new(stats);
        Self {
            grid,
            max,
            mean,
            over_one,
            histogram,
        }
    }
}

/// Distances in steps of binary32.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UlpF32 {
    /// Largest distance.
    pub max: u64,
    /// Mean over all pairs that have a distance.
    pub mean: f64,
    /// Pairs more than one step apart.
    pub over_one: u64,
    /// Smallest distance of a bin → pairs in it.
    pub histogram: BTreeMap<u64, u64>,
}

impl UlpF32 {
    fn new(stats: &measure::UlpStats) -> Self {
        Self {
            max: stats.max.into(),
            mean: stats.mean,
            over_one: stats.histogram.over_one(),
            histogram: stats.histogram.by_lower_bound(),
        }
    }
}

/// One element of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorstElement {
    /// Coordinate, one index for each axis.
    pub index: Vec<usize>,
    /// The reference's value.
    pub reference: Number,
    /// The candidate's value.
    pub candidate: Number,
    /// The reference's bits.
    pub reference_bits: Bits,
    /// The candidate's bits.
    pub candidate_bits: Bits,
    /// What the step gives without roundings, on request; null where that is no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<f64>,
    /// By how much the step amplifies a relative error in what it is given, on request: `Σ|t| /
    /// |Σt|` of a sum. The largest number stands for a sum that cancels to 0; null where nothing
    /// is added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<f64>,
}

impl WorstElement {
    fn new(element: &measure::Element) -> Self {
        Self {
            index: element.index.clone(),
            reference: element.reference.into(),
            candidate: element.candidate.into(),
            reference_bits: Bits(element.reference.bits()),
            candidate_bits: Bits(element.candidate.bits()),
            truth: None,
            condition: None,
        }
    }
}

/// A value for people to read: a JSON number, or `"NaN"`, `"inf"`, `"-inf"`.
///
/// A float is written with the fewest digits that read back as the same binary32; what it is
/// exactly stands in the [`Bits`] beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A float.
    Float(f32),
    /// An integer or boolean.
    Int(i32),
}

impl From<measure::Value> for Number {
    fn from(value: measure::Value) -> Self {
        match value {
            measure::Value::Float(value) => Self::Float(value),
            measure::Value::Int(value) => Self::Int(value),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            // Debug is the shortest form that round-trips, with an exponent where it is shorter.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Int(value) => write!(f, "{value}"),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Float(value) if value.is_finite() => serializer.serialize_f32(value),
            Self::Float(_) => serializer.collect_str(self),
            Self::Int(value) => serializer.serialize_i32(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"NaN\", \"inf\" or \"-inf\"")
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value as f32))
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Number, E> {
                i32::try_from(value).map(Number::Int).map_err(E::custom)
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Number, E> {
                i32::try_from(value).map(Number::Int).map_err(E::custom)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "NaN" => Ok(Number::Float(f32::NAN)),
                    "inf" => Ok(Number::Float(f32::INFINITY)),
                    "-inf" => Ok(Number::Float(f32::NEG_INFINITY)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

impl JsonSchema for Number {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number, or a string for what JSON numbers cannot say.",
            "anyOf": [{ "type": "number" }, { "enum": ["NaN", "inf", "-inf"] }]
        })
    }
}

/// Thirty-two bits, written `0x4809ec64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits(pub u32);

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

impl Serialize for Bits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 8);
        let bits = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        bits.map(Self)
            .ok_or_else(|| D::Error::custom(format!("{text:?} is not 32 bits in hex")))
    }
}

impl JsonSchema for Bits {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bits".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The bits of a binary32, or of an integer in two's complement.",
            "type": "string",
            "pattern": "^0x[0-9a-f]{8}$"
        })
    }
}
