//! What changed between two runs of the catalogue of operations.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::wire::{Baseline, Difference, Fingerprint, OpCase, OpChange, OpSide, Ops};

/// Why two runs say nothing about each other; completes "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// One is short, the other full.
    #[error("compare with the baseline: it is of the {before} catalogue, this of the {now} one")]
    Size {
        /// The earlier run's.
        before: String,
        /// This run's.
        now: String,
    },
    /// A name stands for two cases.
    #[error("compare with the baseline: it has the case {0} twice")]
    Twice(String),
}

/// Finds out whether a run of that size can be compared with an earlier one at all.
///
/// # Errors
/// When it cannot.
pub fn comparable(before: &Ops, size: &str) -> Result<(), NotComparable> {
    if before.size != size {
        return Err(NotComparable::Size {
            before: before.size.clone(),
            now: size.to_owned(),
        });
    }
    let mut names = BTreeSet::new();
    match before.cases.iter().find(|case| !names.insert(&case.name)) {
        Some(case) => Err(NotComparable::Twice(case.name.clone())),
        None => Ok(()),
    }
}

/// What changed since an earlier run. `selected` says of a case that is no longer there whether
/// this run would have taken it: by family, primitive and dtype.
#[must_use]
pub fn against(before: &Ops, now: &Ops, selected: &dyn Fn(&OpCase) -> bool) -> Baseline {
    let earlier: HashMap<&str, &OpCase> = before.cases.iter().map(|c| (&*c.name, c)).collect();
    let there: BTreeSet<&str> = now.cases.iter().map(|case| &*case.name).collect();
    let mut found = Baseline {
        created: before.created.clone(),
        fingerprint: fingerprint(before, now),
        changes: Vec::new(),
        new: Vec::new(),
        removed: Vec::new(),
        worse: Vec::new(),
        better: Vec::new(),
    };
    for case in &now.cases {
        let is_equal = case.is_equal();
        let Some(earlier) = earlier.get(&*case.name) else {
            found.new.push(case.name.clone());
            if !is_equal {
                found.worse.push(case.name.clone());
            }
            continue;
        };
        let was_equal = earlier.is_equal();
        match (was_equal, is_equal) {
            (true, false) => found.worse.push(case.name.clone()),
            (false, true) => found.better.push(case.name.clone()),
            _ => {}
        }
        let changed = changed(earlier, case);
        if !changed.is_empty() {
            found.changes.push(OpChange {
                name: case.name.clone(),
                changed,
                was_equal,
                is_equal,
            });
        }
    }
    let gone = |case: &&OpCase| !there.contains(&*case.name) && selected(case);
    let gone = before.cases.iter().filter(gone);
    found.removed = gone.map(|case| case.name.clone()).collect();
    found
}

/// What differs in a case: operands, text, sides. A side changes where its bits do, or where it
/// fails and did not, or the other way round.
fn changed(before: &OpCase, now: &OpCase) -> Vec<String> {
    let mut changed = Vec::new();
    let mut note = |what: &str, differs: bool| {
        if differs {
            changed.push(what.to_owned());
        }
    };
    note("operands", before.case_sha256 != now.case_sha256);
    note("text", before.text_sha256 != now.text_sha256);
    note("mlx", before.mlx.sha256 != now.mlx.sha256);
    let sides = |case: &OpCase| -> BTreeMap<String, Option<String>> {
        let sides = case.compared();
        sides
            .map(|(name, side): (String, &OpSide)| (name, side.sha256.clone()))
            .collect()
    };
    let (before, now) = (sides(before), sides(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for name in names {
        note(name, before.get(name) != now.get(name));
    }
    changed
}

/// The parts of both fingerprints that differ.
fn fingerprint(before: &Ops, now: &Ops) -> Vec<Difference> {
    let (before, now) = (parts(before), parts(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let of = |parts: &BTreeMap<String, String>, name: &String| {
        parts
            .get(name)
            .cloned()
            .unwrap_or_else(|| "none".to_owned())
    };
    names
        .into_iter()
        .map(|name| Difference {
            what: name.clone(),
            before: of(&before, name),
            now: of(&now, name),
        })
        .filter(|difference| difference.before != difference.now)
        .collect()
}

/// A run's fingerprint as names and texts.
fn parts(ops: &Ops) -> BTreeMap<String, String> {
    let Fingerprint {
        mlx,
        iree,
        host,
        gpu,
    } = &ops.fingerprint;
    let mut parts = BTreeMap::new();
    let mut put = |name: &str, value: String| {
        parts.insert(name.to_owned(), value);
    };
    put("qualify.version", ops.tool.version.clone());
    put("qualify.commit", ops.tool.commit.clone());
    if let Some(mlx) = mlx {
        put("mlx.version", mlx.version.clone());
        put("mlx.library_sha256", mlx.library_sha256.clone());
        put("mlx.device", mlx.device.clone());
        for (name, value) in &mlx.env {
            put(&format!("mlx.env.{name}"), value.clone());
        }
    }
    if let Some(iree) = iree {
        put("iree.compiler", iree.compiler.clone());
        put("iree.runtime", iree.runtime.clone());
        put("iree.device", iree.device.clone());
    }
    for target in &ops.targets {
        let flags = target.flags.join(" ");
        put(&format!("iree.flags.{}", target.name), flags);
    }
    put("host.cpu", host.cpu.clone());
    put("host.features", host.features.join(" "));
    put("host.os", host.os.clone());
    put("host.glibc", host.glibc.clone().unwrap_or_default());
    put("host.libm_sample", host.libm_sample.clone());
    put("host.threads", host.threads.to_string());
    if let Some(gpu) = gpu {
        put(
            "gpu",
            format!("{} {} {}", gpu.name, gpu.architecture, gpu.driver),
        );
    }
    parts
}
