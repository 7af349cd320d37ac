//! A policy as TOML: its keys, its schema, and what is refused.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Bounds, Demand, Entry, Of, OverBound, POLICY_VERSION, Policy, Rule, UlpBound};

/// The largest policy that is read: 1 MiB, some ten thousand entries.
pub const MAX_POLICY_BYTES: u64 = 1 << 20;

/// The longest pattern, in bytes. Longer than any name, and a bound on the work of matching.
const MAX_PATTERN: usize = 1024;

/// Why a policy was not read. Completes "failed to …"; exit code 5.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file could not be read.
    #[error("read the policy {}", path.display())]
    Io {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is too large.
    #[error("read the policy {}: it is larger than {MAX_POLICY_BYTES} bytes", path.display())]
    TooLarge {
        /// The path asked for.
        path: PathBuf,
    },
    /// The file is not text.
    #[error("read the policy {}: it is not UTF-8 from byte {at} on", path.display())]
    NotText {
        /// The path asked for.
        path: PathBuf,
        /// How many bytes are.
        at: usize,
    },
    /// The file is not TOML, or not a policy.
    #[error("parse the policy {}: {source}", path.display())]
    Toml {
        /// The path asked for.
        path: PathBuf,
        /// What is wrong and where.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The policy is of another version.
    #[error("read the policy {}: {}", path.display(), version(*.found))]
    Version {
        /// The path asked for.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
    /// An entry makes no sense.
    #[error("read the policy {}: entry {entry} ({pattern}): {what}", path.display())]
    Entry {
        /// The path asked for.
        path: PathBuf,
        /// The number of the entry, from 1.
        entry: usize,
        /// Its pattern.
        pattern: String,
        /// What is wrong.
        what: String,
    },
}

fn version(found: u32) -> String {
    if found > POLICY_VERSION {
        format!(
            "it has schema_version {found}, written for a newer qualify (this one: {POLICY_VERSION})"
        )
    } else {
        format!("it has schema_version {found}, not {POLICY_VERSION}")
    }
}

/// A policy: what is demanded of which boundaries. Where no entry says otherwise, equal bits are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policy")]
struct File {
    /// The version of the format: 1.
    #[expect(dead_code, reason = "read by itself, before the rest is")]
    schema_version: u32,
    /// The entries; later ones win.
    #[serde(default)]
    boundary: Vec<FileEntry>,
}

/// What is demanded of the boundaries that a pattern selects: `demand`, or bounds, all of which
/// have to hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Entry")]
struct FileEntry {
    /// A name, a stage, or a glob of them: `*` stays between dots, `**` crosses them. A name also
    /// selects what lies below it.
    #[serde(rename = "match")]
    pattern: String,
    /// Which error: `local`, `inherited` or `both`.
    #[serde(default)]
    of: Of,
    /// The verdict demanded; `bit_exact` where there are no bounds either.
    demand: Option<FileDemand>,
    /// Most elements with different bits.
    differing: Option<u64>,
    /// The largest distance on a grid.
    ulp: Option<UlpBound>,
    /// Most pairs further apart than so many ULP.
    over: Option<OverBound>,
    /// The largest |a − b|.
    #[schemars(range(min = 0.0))]
    abs: Option<f64>,
    /// The largest root of the mean of (a − b)².
    #[schemars(range(min = 0.0))]
    rms: Option<f64>,
    /// Whether equality that proves nothing (a reference that is constant or nowhere finite) is
    /// enough.
    #[serde(default)]
    accept_vacuous: bool,
    /// Whether the entry may decide nothing, as one for boundaries that are not always run.
    #[serde(default)]
    optional: bool,
}

/// A verdict that can be demanded.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Demand")]
enum FileDemand {
    /// The same bits.
    BitExact,
    /// The same bits, or one stated order that gives all of them.
    OrderExplained,
}

/// The JSON schema of a policy's structure, as committed.
#[must_use]
pub fn policy_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(File);
    schema.insert(
        "$id".to_owned(),
        format!("urn:qualify:policy:{POLICY_VERSION}").into(),
    );
    schema
}

/// Reads a policy. At most [`MAX_POLICY_BYTES`] are read of anything.
///
/// # Errors
/// When the file cannot be read, is no policy of this version, or an entry makes no sense.
pub fn read_policy(path: &Path) -> Result<Policy, PolicyError> {
    let at = || path.to_owned();
    let io = |source| PolicyError::Io { path: at(), source };
    let file = std::fs::File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(MAX_POLICY_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > MAX_POLICY_BYTES {
        return Err(PolicyError::TooLarge { path: at() });
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| PolicyError::NotText {
        path: at(),
        at: error.valid_up_to(),
    })?;
    parse(path, text)
}

fn parse(path: &Path, text: &str) -> Result<Policy, PolicyError> {
    let toml = |source| PolicyError::Toml {
        path: path.to_owned(),
        source: Box::new(source),
    };
    // First of all: keys of another version are not understood.
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let Version {
        schema_version: found,
    } = toml::from_str(text).map_err(toml)?;
    if found != POLICY_VERSION {
        return Err(PolicyError::Version {
            path: path.to_owned(),
            found,
        });
    }
    let file: File = toml::from_str(text).map_err(toml)?;
    let entries = file.boundary.into_iter().zip(1..).map(|(entry, number)| {
        let pattern = entry.pattern.clone();
        understood(entry).map_err(|what| PolicyError::Entry {
            path: path.to_owned(),
            entry: number,
            pattern: pattern.chars().take(80).collect(),
            what,
        })
    });
    Ok(Policy {
        entries: entries.collect::<Result<_, _>>()?,
    })
}

/// An entry as it is meant, or why it cannot be.
fn understood(entry: FileEntry) -> Result<Entry, String> {
    let FileEntry {
        pattern,
        of,
        demand,
        differing,
        ulp,
        over,
        abs,
        rms,
        accept_vacuous,
        optional,
    } = entry;
    if pattern.is_empty() {
        return Err("match is empty; ** matches everything".to_owned());
    }
    if pattern.len() > MAX_PATTERN {
        return Err(format!("match is longer than {MAX_PATTERN} bytes"));
    }
    if pattern.chars().any(char::is_control) {
        return Err("match has a control character; names have none".to_owned());
    }
    for (name, bound) in [("abs", abs), ("rms", rms)] {
        if let Some(bound) = bound.filter(|bound| !bound.is_finite() || bound.is_sign_negative()) {
            return Err(format!(
                "{name} = {bound}: a bound is a number from 0 on, not NaN or infinite"
            ));
        }
    }
    let bounds = Bounds {
        differing,
        ulp,
        over,
        abs,
        rms,
    };
    let demand = match (demand, bounds.is_empty()) {
        (Some(_), false) => {
            return Err(
                "it has both demand and bounds; bounds are a demand of their own".to_owned(),
            );
        }
        (None, false) => Demand::Within(bounds),
        (Some(FileDemand::OrderExplained), true) => Demand::OrderExplained,
        (Some(FileDemand::BitExact) | None, true) => Demand::BitExact,
    };
    Ok(Entry {
        pattern,
        of,
        rule: Rule {
            demand,
            accept_vacuous,
        },
        optional,
    })
}
