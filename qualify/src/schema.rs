//! Schemas of what commands of this crate write as JSON, committed beside it.

use std::{fs, path::PathBuf};

use schemars::{JsonSchema, schema_for};

use crate::{ab::Experiment, doctor::Diagnosis};

/// The committed schema is that of the type; `QUALIFY_BLESS=1` writes it anew.
fn committed<T: JsonSchema>(name: &str) {
    let file = format!("{name}.schema.json");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("schema")
        .join(&file);
    let text = serde_json::to_string_pretty(&schema_for!(T)).unwrap() + "\n";
    if std::env::var_os("QUALIFY_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(there, text, "{file} is stale: run with QUALIFY_BLESS=1");
}

#[test]
fn schemas_are_the_committed_ones() {
    committed::<Experiment>("ab");
    committed::<Diagnosis>("doctor");
}
