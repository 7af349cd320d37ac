//! What two reports do not agree in apart from their boundaries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::Report;

/// What a difference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// What the run ran on: libraries, flags, machine.
    Fingerprint,
    /// What was run: checkpoint, profile, contract, bucket.
    Model,
    /// On what.
    Inputs,
}

impl About {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Fingerprint, Self::Model, Self::Inputs];

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fingerprint => "fingerprint",
            Self::Model => "model",
            Self::Inputs => "inputs",
        }
    }

    /// Why nothing is comparable across such a difference.
    pub(super) fn hindrance(self) -> String {
        match self {
            Self::Fingerprint => "another fingerprint".to_owned(),
            Self::Model => "another model".to_owned(),
            Self::Inputs => "other inputs".to_owned(),
        }
    }
}

/// A field with another value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What it is about.
    pub about: About,
    /// The key, such as `iree.compiler`; empty where one of the reports has nothing there.
    pub field: String,
    /// Its value in the earlier report.
    pub before: Value,
    /// Its value in the later report.
    pub after: Value,
}

/// Everything that two reports do not agree in, key by key.
pub(super) fn differences(before: &Report, after: &Report) -> Vec<Difference> {
    let parts = |report: &Report| {
        // Plain data: it has a JSON form, and null would compare unequal to none.
        let value = |part: Result<Value, serde_json::Error>| part.unwrap_or_default();
        [
            value(serde_json::to_value(&report.fingerprint)),
            value(serde_json::to_value(&report.model)),
            value(serde_json::to_value(&report.inputs)),
        ]
    };
    let mut found = Vec::new();
    let pairs = parts(before).into_iter().zip(parts(after));
    for (about, (before, after)) in About::ALL.into_iter().zip(pairs) {
        compare(about, "", before, after, &mut found);
    }
    found
}

fn compare(about: About, field: &str, before: Value, after: Value, found: &mut Vec<Difference>) {
    match (before, after) {
        (Value::Object(mut before), Value::Object(after)) => {
            let inner = |key: &str| match field {
                "" => key.to_owned(),
                field => format!("{field}.{key}"),
            };
            for (key, after) in after {
                let before = before.remove(&key).unwrap_or_default();
                compare(about, &inner(&key), before, after, found);
            }
            for (key, before) in before {
                compare(about, &inner(&key), before, Value::Null, found);
            }
        }
        (before, after) if before == after => {}
        (before, after) => found.push(Difference {
            about,
            field: field.to_owned(),
            before,
            after,
        }),
    }
}
