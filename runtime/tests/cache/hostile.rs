//! A full disk, and a folder that can only be read.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use runtime::{CacheError, Key, KeyHasher, Store};

use crate::process;

fn key(text: &str) -> Key {
    KeyHasher::new().part("text", text.as_bytes()).finish()
}

fn partial(folder: &Path) -> usize {
    fs::read_dir(folder.join("partial")).unwrap().count()
}

/// A limit to the size of files fails in the middle of a write as a full disk does.
#[test]
fn an_entry_that_does_not_fit_leaves_nothing_and_harms_none() {
    let Some(folder) = process::given() else {
        let folder = tempfile::tempdir().unwrap();
        // Where the signal is ignored the write itself fails. Units of 512 bytes.
        let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""];
        let test = "hostile::an_entry_that_does_not_fit_leaves_nothing_and_harms_none";
        process::passes(&limited, test, folder.path());
        return;
    };
    let store = Store::open(&folder).unwrap();
    store.put("reference", &key("x"), b"small").unwrap();
    let big = vec![7; 1 << 20];
    for name in ["x", "y"] {
        let error = store.put("reference", &key(name), &big).unwrap_err();
        assert!(matches!(&error, CacheError::Unwritable { .. }), "{error}");
        assert!(error.to_string().contains(&*folder.to_string_lossy()));
        assert_eq!(partial(&folder), 0);
    }
    assert_eq!(
        &*store.get("reference", &key("x")).unwrap().unwrap(),
        b"small"
    );
    assert!(store.get("reference", &key("y")).unwrap().is_none());
}

/// Whoever is root may write anywhere, unless the capability is taken away.
#[test]
fn of_a_folder_that_can_only_be_read_entries_are_got() {
    let test = "hostile::of_a_folder_that_can_only_be_read_entries_are_got";
    let Some(folder) = process::given() else {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.put("reference", &key("x"), b"content").unwrap();
        store.put("reference", &key("damaged"), b"content").unwrap();
        let damaged = key("damaged").to_string();
        let damaged = format!("reference/{}/{}", &damaged[..2], &damaged[2..]);
        fs::write(folder.path().join(damaged), "other").unwrap();
        let each = ["partial", "reference", ""].map(|name| folder.path().join(name));
        let allow = |mode| {
            for folder in &each {
                fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
            }
        };
        allow(0o555);
        let root = nix::unistd::geteuid().is_root();
        let humble = [
            "setpriv",
            "--bounding-set=-dac_override",
            "--inh-caps=-dac_override",
        ];
        process::passes(if root { &humble } else { &[] }, test, folder.path());
        allow(0o755);
        return;
    };
    let store = Store::open(&folder).unwrap();
    assert!(store.read_only().is_some());
    assert_eq!(
        &*store.get("reference", &key("x")).unwrap().unwrap(),
        b"content"
    );
    for lacking in [
        store.get("reference", &key("y")).map(|_| ()),
        store.get("reference", &key("damaged")).map(|_| ()),
        store.put("reference", &key("x"), b"content"),
    ] {
        let Err(CacheError::ReadOnly { path, .. }) = lacking else {
            unreachable!("{lacking:?}");
        };
        assert_eq!(path, folder);
    }
    // Nothing is in it yet, so nothing can be got: found out before any work.
    let empty = folder.join("partial");
    assert!(matches!(
        Store::open(empty),
        Err(CacheError::Unwritable { .. })
    ));
}
