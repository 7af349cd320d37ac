use std::{io::Write, os::unix::fs::symlink, sync::Mutex, thread, time::Duration};

use super::*;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("a/b")).unwrap();
    (folder, store)
}

fn key(text: &str) -> Key {
    KeyHasher::new().part("text", text.as_bytes()).finish()
}

fn path(store: &Store, text: &str) -> PathBuf {
    store.root().join(Store::name("module", &key(text)))
}

#[test]
fn what_was_put_is_got() {
    let (_folder, store) = store();
    assert!(store.get("module", &key("x")).unwrap().is_none());
    for content in [&b""[..], b"content"] {
        store.put("module", &key("x"), content).unwrap();
        assert_eq!(&*store.get("module", &key("x")).unwrap().unwrap(), content);
    }
    assert!(store.get("capture", &key("x")).unwrap().is_none());
}

#[test]
fn nothing_is_written_while_the_stores_are_held() {
    let (folder, store) = store();
    let hold = Store::hold();
    thread::scope(|scope| {
        let put = scope.spawn(|| store.put("module", &key("x"), b"content"));
        thread::sleep(Duration::from_millis(50));
        let root = folder.path().join("a/b");
        assert_eq!(fs::read_dir(root).unwrap().count(), 0);
        drop(hold);
        put.join().unwrap().unwrap();
    });
    assert!(store.get("module", &key("x")).unwrap().is_some());
}

#[test]
fn an_entry_outlives_its_replacement() {
    let (_folder, store) = store();
    store.put("module", &key("x"), b"old").unwrap();
    let old = store.get("module", &key("x")).unwrap().unwrap();
    store.put("module", &key("x"), b"new").unwrap();
    assert_eq!(&*old, b"old");
}

#[test]
fn torn_tampered_and_moved_entries_count_as_absent() {
    let (_folder, store) = store();
    store.put("module", &key("x"), b"content").unwrap();
    let path_x = path(&store, "x");
    let whole = fs::read(&path_x).unwrap();
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    let longer = [&whole[..], b"more"].concat();
    for bad in [
        &flipped[..],
        &whole[..whole.len() - 1],
        &whole[1..],
        &whole[..8],
        &longer,
        b"",
    ] {
        fs::write(&path_x, bad).unwrap();
        assert!(store.get("module", &key("x")).unwrap().is_none());
    }
    // Two entries that changed places.
    store.put("module", &key("x"), b"content").unwrap();
    store.put("module", &key("y"), b"other").unwrap();
    let path_y = path(&store, "y");
    fs::rename(&path_x, path_y.with_extension("x")).unwrap();
    fs::rename(&path_y, &path_x).unwrap();
    fs::rename(path_y.with_extension("x"), &path_y).unwrap();
    for name in ["x", "y"] {
        assert!(store.get("module", &key(name)).unwrap().is_none());
        store.put("module", &key(name), b"again").unwrap();
        assert_eq!(
            &*store.get("module", &key(name)).unwrap().unwrap(),
            b"again"
        );
    }
}

/// Waiting for a pipe's other end would be for ever; a link's target is another's.
#[test]
fn what_is_no_file_is_never_read_and_gives_way() {
    let (folder, store) = store();
    store.put("module", &key("x"), b"content").unwrap();
    let place = path(&store, "x");
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&place, &elsewhere).unwrap();
    let kinds: [&dyn Fn(); 4] = [
        &|| symlink(&elsewhere, &place).unwrap(),
        &|| symlink("/dev/zero", &place).unwrap(),
        &|| nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).unwrap(),
        &|| fs::create_dir_all(place.join("below")).unwrap(),
    ];
    for make in kinds {
        make();
        assert!(store.get("module", &key("x")).unwrap().is_none());
        store.put("module", &key("x"), b"content").unwrap();
        assert_eq!(
            &*store.get("module", &key("x")).unwrap().unwrap(),
            b"content"
        );
        fs::remove_file(&place).unwrap();
    }
    assert!(elsewhere.is_file());
}

#[test]
fn what_a_killed_writer_left_is_removed_and_what_is_being_written_is_not() {
    let (_folder, store) = store();
    store.put("module", &key("x"), b"content").unwrap();
    let partial = store.root().join("partial");
    fs::write(partial.join(".tmpLeft"), "half").unwrap();
    let (_written, name) = partial::begin(store.root()).unwrap();
    Store::open(store.root()).unwrap();
    let left: Vec<PathBuf> = fs::read_dir(&partial)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left, [name.to_path_buf()]);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for place in [&file.join("x"), &file] {
        assert!(matches!(
            Store::open(place),
            Err(CacheError::Unwritable { .. })
        ));
    }
}

#[test]
fn the_default_folder_follows_the_environment() {
    let root = |set: &[(&str, &str)]| {
        let set = set.to_vec();
        default_root(move |name| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.into())
        })
    };
    let all = [
        ("QUALIFY_CACHE", "/c"),
        ("XDG_CACHE_HOME", "/x"),
        ("HOME", "/h"),
    ];
    assert_eq!(root(&all), Some("/c".into()));
    assert_eq!(root(&all[1..]), Some("/x/qualify".into()));
    assert_eq!(root(&all[2..]), Some("/h/.cache/qualify".into()));
    assert_eq!(root(&[("HOME", "")]), None);
}

/// A shared store in memory, which may be made to fail.
#[derive(Debug, Default)]
struct Memory {
    objects: Mutex<Vec<(String, Vec<u8>)>>,
    fails: bool,
    asked: Mutex<usize>,
}

impl Memory {
    fn asked(&self, what: &str) -> Result<(), SharedError> {
        *self.asked.lock().unwrap() += 1;
        if !self.fails {
            return Ok(());
        }
        Err(SharedError {
            doing: "reach",
            what: what.to_owned(),
            source: "nobody there".into(),
        })
    }
}

impl Shared for Memory {
    fn place(&self) -> &str {
        "memory:"
    }

    fn fetch(&self, name: &str, into: &mut dyn Write) -> Result<bool, SharedError> {
        self.asked(name)?;
        let objects = self.objects.lock().unwrap();
        let Some((_, object)) = objects.iter().rev().find(|(there, _)| there == name) else {
            return Ok(false);
        };
        into.write_all(object).unwrap();
        Ok(true)
    }

    fn keep(&self, name: &str, object: Object) -> Result<(), SharedError> {
        self.asked(name)?;
        let object = object.as_ref().to_vec();
        self.objects.lock().unwrap().push((name.to_owned(), object));
        Ok(())
    }

    fn leaves_files(&self) -> bool {
        false
    }
}

const SHARED: &[&str] = &["reference"];

fn machines(memory: &Arc<Memory>) -> [(tempfile::TempDir, Store); 2] {
    [(), ()].map(|()| {
        let (folder, store) = store();
        (folder, store.sharing(SHARED, memory.clone()))
    })
}

#[test]
fn what_one_machine_put_another_gets_and_keeps() {
    let memory = Arc::new(Memory::default());
    let [(_a, here), (_b, there)] = machines(&memory);
    here.put("reference", &key("x"), b"content").unwrap();
    here.put("module", &key("x"), b"code").unwrap();
    assert_eq!(
        &*there.get("reference", &key("x")).unwrap().unwrap(),
        b"content"
    );
    // Of other kinds nothing leaves the machine.
    assert!(there.get("module", &key("x")).unwrap().is_none());
    memory.objects.lock().unwrap().clear();
    assert_eq!(
        &*there.get("reference", &key("x")).unwrap().unwrap(),
        b"content"
    );
}

#[test]
fn a_damaged_object_is_not_kept_and_is_replaced() {
    let memory = Arc::new(Memory::default());
    let [(_a, here), (_b, there)] = machines(&memory);
    here.put("reference", &key("x"), b"content").unwrap();
    let name = Store::name("reference", &key("x"));
    let whole = memory.objects.lock().unwrap()[0].1.clone();
    for damaged in [&whole[1..], &whole[..9], b"", b"other"] {
        *memory.objects.lock().unwrap() = vec![(name.clone(), damaged.to_vec())];
        assert!(there.get("reference", &key("x")).unwrap().is_none());
        assert!(!there.root().join(&name).exists());
    }
    there.put("reference", &key("x"), b"content").unwrap();
    assert_eq!(memory.objects.lock().unwrap().last().unwrap().1, whole);
}

#[test]
fn a_store_that_fails_is_left_alone_from_then_on() {
    let memory = Arc::new(Memory {
        fails: true,
        ..Memory::default()
    });
    let [(_a, here), _] = machines(&memory);
    for _ in 0..3 {
        assert!(here.clone().get("reference", &key("x")).unwrap().is_none());
    }
    here.put("reference", &key("x"), b"content").unwrap();
    assert_eq!(*memory.asked.lock().unwrap(), 1);
    assert_eq!(
        &*here.get("reference", &key("x")).unwrap().unwrap(),
        b"content"
    );
}
