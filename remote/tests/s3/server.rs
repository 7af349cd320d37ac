//! An S3 server on loopback, which checks signatures and keeps objects as files.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
};

use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use remote::SharedStore;
use s3s::{auth::SimpleAuth, service::S3ServiceBuilder};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const USER: &str = "qualify";
const SECRET: &str = "only on loopback";

/// A server with one bucket, `cache`; it ends when this is dropped.
pub struct Server {
    folder: TempDir,
    address: String,
    _runtime: Runtime,
}

impl Server {
    pub fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("cache")).unwrap();
        let mut service = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(USER, SECRET));
        let service = service.build().into_shared();

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let runtime = Runtime::new().unwrap();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let service = service.clone();
                tokio::spawn(async move {
                    let http = Builder::new(TokioExecutor::new());
                    let _ = http.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Server {
            folder,
            address,
            _runtime: runtime,
        }
    }

    /// The store in its bucket, below `entries`.
    pub fn store(&self) -> SharedStore {
        store(&self.address, SECRET)
    }

    /// The same with a secret that is not the right one.
    pub fn store_of_a_stranger(&self) -> SharedStore {
        store(&self.address, "guessed")
    }

    /// Where the objects of the store lie.
    pub fn objects(&self) -> PathBuf {
        self.folder.path().join("cache/entries")
    }
}

/// The store at an address.
pub fn store(address: &str, secret: &str) -> SharedStore {
    let variables = [
        ("AWS_ENDPOINT_URL", address),
        ("AWS_ACCESS_KEY_ID", USER),
        ("AWS_SECRET_ACCESS_KEY", secret),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ALLOW_HTTP", "true"),
        ("HOME", "/nowhere"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    SharedStore::open("s3://cache/entries", variables).unwrap()
}

/// The files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    files.sort();
    files
}
