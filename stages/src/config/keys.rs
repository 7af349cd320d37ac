//! Reading JSON values by key, with errors that name the whole path.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::ConfigError;

/// A JSON object and where it stands.
pub(super) struct Keys<'a> {
    path: String,
    object: &'a Map<String, Value>,
}

/// A JSON array of two values and where it stands.
pub(super) struct Pair<'a> {
    path: String,
    values: &'a [Value],
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn mistyped(key: &str, value: &Value, expected: &'static str) -> ConfigError {
    ConfigError::Type {
        key: key.to_owned(),
        expected,
        found: kind(value),
    }
}

fn integer(key: &str, value: &Value, allowed: RangeInclusive<usize>) -> Result<usize, ConfigError> {
    let Value::Number(number) = value else {
        return Err(mistyped(key, value, "an integer"));
    };
    number
        .as_u64()
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| allowed.contains(n))
        .ok_or_else(|| ConfigError::Range {
            key: key.to_owned(),
            value: number.to_string(),
            allowed: format!("an integer in {}..={}", allowed.start(), allowed.end()),
        })
}

impl<'a> Keys<'a> {
    pub(super) fn root(json: &'a Value) -> Result<Self, ConfigError> {
        match json.as_object() {
            Some(object) => Ok(Keys {
                path: String::new(),
                object,
            }),
            None => Err(mistyped("the configuration", json, "an object")),
        }
    }

    pub(super) fn path(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.object.iter().map(|(key, value)| (key.as_str(), value))
    }

    pub(super) fn get(&self, key: &str) -> Result<(String, &'a Value), ConfigError> {
        let path = self.path(key);
        match self.object.get(key) {
            Some(value) => Ok((path, value)),
            None => Err(ConfigError::Missing { key: path }),
        }
    }

    pub(super) fn object(&self, key: &str) -> Result<Keys<'a>, ConfigError> {
        let (path, value) = self.get(key)?;
        match value.as_object() {
            Some(object) => Ok(Keys { path, object }),
            None => Err(mistyped(&path, value, "an object")),
        }
    }

    pub(super) fn string(&self, key: &str) -> Result<&'a str, ConfigError> {
        let (path, value) = self.get(key)?;
        value
            .as_str()
            .ok_or_else(|| mistyped(&path, value, "a string"))
    }

    pub(super) fn integer(
        &self,
        key: &str,
        allowed: RangeInclusive<usize>,
    ) -> Result<usize, ConfigError> {
        let (path, value) = self.get(key)?;
        integer(&path, value, allowed)
    }

    /// A number that is finite in F32 too.
    pub(super) fn number(&self, key: &str) -> Result<f64, ConfigError> {
        let (path, value) = self.get(key)?;
        let Value::Number(number) = value else {
            return Err(mistyped(&path, value, "a number"));
        };
        number
            .as_f64()
            .filter(|n| (*n as f32).is_finite())
            .ok_or_else(|| ConfigError::Range {
                key: path,
                value: number.to_string(),
                allowed: "a finite number".into(),
            })
    }

    /// A number above 0, in F32 too, and not above `most`.
    pub(super) fn positive(&self, key: &str, most: f64) -> Result<f64, ConfigError> {
        let value = self.number(key)?;
        if value as f32 > 0.0 && value <= most {
            Ok(value)
        } else {
            Err(ConfigError::Range {
                key: self.path(key),
                value: value.to_string(),
                allowed: format!("above 0 and at most {most}"),
            })
        }
    }

    pub(super) fn pair(&self, key: &str) -> Result<Pair<'a>, ConfigError> {
        let (path, value) = self.get(key)?;
        let values = value
            .as_array()
            .ok_or_else(|| mistyped(&path, value, "an array"))?;
        pair(path, values)
    }
}

fn pair(path: String, values: &[Value]) -> Result<Pair<'_>, ConfigError> {
    if values.len() == 2 {
        return Ok(Pair { path, values });
    }
    Err(ConfigError::Range {
        key: path,
        value: format!("an array of {}", values.len()),
        allowed: "an array of 2".into(),
    })
}

impl Pair<'_> {
    pub(super) fn integer(
        &self,
        i: usize,
        allowed: RangeInclusive<usize>,
    ) -> Result<usize, ConfigError> {
        integer(&format!("{}[{i}]", self.path), &self.values[i], allowed)
    }

    /// Two integers that must be `supported`.
    pub(super) fn only(&self, i: usize, supported: [usize; 2]) -> Result<[usize; 2], ConfigError> {
        let key = format!("{}[{i}]", self.path);
        let value = &self.values[i];
        let inner = value
            .as_array()
            .ok_or_else(|| mistyped(&key, value, "an array"))?;
        let inner = pair(key.clone(), inner)?;
        let actual = [
            inner.integer(0, 0..=usize::MAX)?,
            inner.integer(1, 0..=usize::MAX)?,
        ];
        if actual == supported {
            return Ok(actual);
        }
        Err(ConfigError::Unsupported {
            key,
            value: format!("{actual:?}"),
            supported: format!("{supported:?}"),
        })
    }
}
