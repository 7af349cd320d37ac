//! The shared tier against a real S3 server on loopback, and against what is none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod server;

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use remote::{SharedStore, StoreError};
use runtime::{Key, KeyHasher, Shared, Store};
use server::{Server, files, store};
use tempfile::TempDir;

const KIND: &str = "reference";

fn key(text: &str) -> Key {
    KeyHasher::new().part("text", text.as_bytes()).finish()
}

/// A folder of its own before a shared store.
struct Machine {
    store: Store,
    folder: TempDir,
}

impl Machine {
    fn new(shared: SharedStore) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let store = store.sharing(&[KIND], Arc::new(shared));
        Machine { store, folder }
    }

    fn put(&self, text: &str, content: &[u8]) {
        self.store.put(KIND, &key(text), content).unwrap();
    }

    #[track_caller]
    fn gets(&self, text: &str, content: &[u8]) {
        let entry = self.store.get(KIND, &key(text)).unwrap().unwrap();
        assert!(*entry == *content);
    }

    #[track_caller]
    fn lacks(&self, text: &str) {
        assert!(self.store.get(KIND, &key(text)).unwrap().is_none());
    }
}

/// More than one part of a body.
fn long() -> Vec<u8> {
    (0..3_000_000_u32)
        .map(|i| (i.wrapping_mul(i) >> 7) as u8)
        .collect()
}

#[test]
fn what_one_machine_put_another_gets() {
    let server = Server::start();
    let [here, there] = [(), ()].map(|()| Machine::new(server.store()));
    there.lacks("x");
    here.put("x", &long());
    here.store.put("module", &key("x"), b"code").unwrap();
    there.gets("x", &long());
    // Code that others wrote is not run.
    assert_eq!(files(&server.objects()).len(), 1);
    // From now on it needs no store.
    drop(server);
    there.gets("x", &long());
}

#[test]
fn machines_that_write_the_same_at_once_do_no_harm() {
    let server = Server::start();
    let contents: Vec<Vec<u8>> = (0..4_u8).map(|name| vec![name; 300_000]).collect();
    thread::scope(|scope| {
        for first in 0..8 {
            let (server, contents) = (&server, &contents);
            scope.spawn(move || {
                for index in (0..4).map(|round| (first + round) % 4) {
                    let machine = Machine::new(server.store());
                    let (name, content) = (index.to_string(), &contents[index]);
                    // Each either finds the whole of what another put, or puts it.
                    match machine.store.get(KIND, &key(&name)).unwrap() {
                        Some(entry) => assert!(*entry == **content),
                        None => machine.put(&name, content),
                    }
                }
            });
        }
    });
    let last = Machine::new(server.store());
    for (index, content) in contents.iter().enumerate() {
        last.gets(&index.to_string(), content);
    }
    assert_eq!(files(&server.objects()).len(), 4);
}

#[test]
fn objects_that_were_tampered_with_are_rebuilt() {
    let server = Server::start();
    Machine::new(server.store()).put("x", b"content");
    Machine::new(server.store()).put("y", b"other");
    let objects = files(&server.objects());
    let [first, second] = [&objects[0], &objects[1]].map(|path| fs::read(path).unwrap());
    let mut flipped = first.clone();
    flipped[2] ^= 1;
    for tampered in [&flipped, &second, &first[..20].to_vec(), &Vec::new()] {
        for path in &objects {
            fs::write(path, tampered).unwrap();
        }
        let machine = Machine::new(server.store());
        for (name, content) in [("x", &b"content"[..]), ("y", b"other")] {
            // The second object is in its own place where it is the one both are replaced by.
            if machine.store.get(KIND, &key(name)).unwrap().is_none() {
                machine.put(name, content);
            }
            Machine::new(server.store()).gets(name, content);
        }
    }
    assert_eq!(fs::read(&objects[0]).unwrap(), first);
}

#[test]
fn without_the_right_secret_the_folder_alone_is_used() {
    let server = Server::start();
    Machine::new(server.store()).put("x", b"content");
    let stranger = Machine::new(server.store_of_a_stranger());
    stranger.lacks("x");
    stranger.put("x", b"own");
    stranger.gets("x", b"own");
    Machine::new(server.store()).gets("x", b"content");
    let error = server.store_of_a_stranger().check().unwrap_err();
    assert_eq!(error.doing, "write");
    server.store().check().unwrap();
    assert_eq!(files(&server.objects()).len(), 1);
}

#[test]
fn where_nobody_answers_the_folder_alone_is_used() {
    // Whoever had this port is gone.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let machine = Machine::new(store(&address, "any"));
    let begun = Instant::now();
    machine.lacks("x");
    let first = begun.elapsed();
    assert!(first < Duration::from_secs(15), "{first:?}");
    machine.put("x", b"content");
    machine.gets("x", b"content");
    machine.lacks("y");
    assert!(begun.elapsed() < first + Duration::from_secs(1));
}

#[test]
fn a_body_that_breaks_off_is_not_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"1\"\r\n\
                        Last-Modified: Sun, 29 Nov 2026 22:00:00 GMT\r\n\r\nhalf";
            let _ = socket.write_all(head.as_bytes());
        }
    });
    let machine = Machine::new(store(&address, "any"));
    machine.lacks("x");
    assert!(files(machine.folder.path()).is_empty());
}

#[test]
fn a_folder_is_a_store_too_if_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("a b");
    let url = url::Url::from_file_path(&place).unwrap();
    let open = || SharedStore::open(url.as_str(), []).unwrap();
    let early = Machine::new(open());
    early.lacks("x");
    early.put("x", b"content");
    assert!(!place.exists());
    let error = open().check().unwrap_err();
    assert!(error.source.to_string().contains("no such folder"));

    fs::create_dir(&place).unwrap();
    open().check().unwrap();
    Machine::new(open()).put("x", &long());
    Machine::new(open()).gets("x", &long());
    let name = key("x").to_string();
    let name = format!("{KIND}/{}/{}", &name[..2], &name[2..]);
    assert_eq!(files(&place), [place.join(name)]);
}

#[test]
fn what_names_no_store_is_refused() {
    let open = |url: &str| SharedStore::open(url, []);
    assert!(matches!(open("cache"), Err(StoreError::NotUrl { .. })));
    for url in [
        "https://example.com/cache",
        "gs://cache",
        "s3:",
        "s3:///entries",
        "s3://user:secret@cache/entries",
        "s3://cache/entries?x=1",
        "file://host/folder",
    ] {
        assert!(
            matches!(open(url), Err(StoreError::Unknown { .. })),
            "{url}"
        );
    }
    let variables = [("AWS_ALLOW_HTTP".to_owned(), "perhaps".to_owned())];
    let error = SharedStore::open("s3://cache", variables).unwrap_err();
    assert!(matches!(error, StoreError::Settings { .. }), "{error}");
    assert_eq!(open("s3://cache").unwrap().place(), "s3://cache");
}
