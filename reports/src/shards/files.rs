//! Plans and manifests as files.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Plan, ShardRun};
use crate::wire::{ReadError, read_bytes, read_json};

/// The largest plan or manifest that is read: 16 MiB, some 50,000 jobs.
const LIMIT: u64 = 16 << 20;

/// Reads a plan.
///
/// # Errors
/// When the file cannot be read, is no plan, or contradicts itself.
pub fn read_plan(path: &Path) -> Result<Plan, ReadError> {
    let plan: Plan = read_json(path, LIMIT)?;
    match plan.contradiction() {
        Some(what) => Err(ReadError::Contradiction {
            path: path.to_owned(),
            what,
        }),
        None => Ok(plan),
    }
}

/// Reads what a shard found.
///
/// # Errors
/// When the file cannot be read or is no manifest.
pub fn read_shard(path: &Path) -> Result<ShardRun, ReadError> {
    read_json(path, LIMIT)
}

/// The digest of a report's file, in hexadecimal.
///
/// # Errors
/// When the file cannot be read, or is larger than a report may be.
pub fn report_digest(path: &Path) -> Result<String, ReadError> {
    let text = read_bytes(path, crate::wire::MAX_REPORT_BYTES)?;
    let digest = Sha256::digest(&text);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
