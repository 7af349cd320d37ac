//! Objects to and from the store.

use std::{
    error::Error,
    future::Future,
    io::{self, Write},
    time::Duration,
};

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::{GetResult, ObjectStoreExt, PutPayload, path::Path};
use runtime::{Object, Shared, SharedError};
use tokio::time::timeout;

use crate::SharedStore;

/// What S3 takes in one request; a larger object is nobody's entry.
const LARGEST: u64 = 5 << 30;

/// For how long nothing may come.
const SILENCE: Duration = Duration::from_secs(30);

/// Bytes per second, below which a transfer is given up.
const SLOWEST: u64 = 256 << 10;

type Cause = Box<dyn Error + Send + Sync>;

/// What comes in time, or an error.
async fn within<T, E: Into<Cause>>(
    limit: Duration,
    result: impl Future<Output = Result<T, E>>,
) -> Result<T, Cause> {
    match timeout(limit, result).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => {
            let message = format!("no answer within {} s", limit.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
        }
    }
}

impl SharedStore {
    /// Writes an object of its own, reads it and removes it.
    ///
    /// # Errors
    /// What cannot be done.
    pub fn check(&self) -> Result<(), SharedError> {
        let path = self.path(&format!("doctor/{}", std::process::id()));
        let said = format!("{path}");
        let failed = |doing| {
            let what = said.clone();
            move |source| SharedError {
                doing,
                what,
                source,
            }
        };
        self.there().map_err(failed("find"))?;
        let payload = Bytes::from_static(b"written to see whether that is possible");
        self.runtime.block_on(async {
            within(SILENCE, self.store.put(&path, payload.clone().into()))
                .await
                .map_err(failed("write"))?;
            let read = async { self.store.get(&path).await?.bytes().await };
            let read = within(SILENCE, read).await.map_err(failed("read"))?;
            within(SILENCE, self.store.delete(&path))
                .await
                .map_err(failed("remove"))?;
            if read == payload {
                Ok(())
            } else {
                Err(failed("read")("it is not what was written".into()))
            }
        })
    }

    fn path(&self, name: &str) -> Path {
        self.prefix
            .parts()
            .chain(Path::from(name).parts())
            .collect()
    }

    /// A folder that is not there is not made: something was to be mounted.
    fn there(&self) -> Result<(), Cause> {
        match &self.folder {
            Some(folder) if !folder.is_dir() => Err("there is no such folder".into()),
            _ => Ok(()),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<GetResult>, Cause> {
        self.there()?;
        let found = async {
            match self.store.get(&self.path(name)).await {
                Ok(found) => Ok(Some(found)),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        within(SILENCE, found).await
    }

    /// Writes what comes, but nothing of what is too large to be an entry.
    async fn copy(found: GetResult, into: &mut dyn Write) -> Result<(), Cause> {
        if found.meta.size > LARGEST {
            return Ok(());
        }
        let mut left = found.meta.size;
        let mut parts = found.into_stream();
        while let Some(part) = within(SILENCE, async { parts.next().await.transpose() }).await? {
            left = left
                .checked_sub(part.len() as u64)
                .ok_or("more came than was said")?;
            into.write_all(&part)?;
        }
        Ok(())
    }
}

impl Shared for SharedStore {
    fn place(&self) -> &str {
        &self.url
    }

    fn fetch(&self, name: &str, into: &mut dyn Write) -> Result<bool, SharedError> {
        let fetched = self.runtime.block_on(async {
            let Some(found) = self.get(name).await? else {
                return Ok(false);
            };
            Self::copy(found, into).await?;
            Ok(true)
        });
        fetched.map_err(|source| SharedError {
            doing: "fetch",
            what: name.to_owned(),
            source,
        })
    }

    fn keep(&self, name: &str, object: Object) -> Result<(), SharedError> {
        let size = object.as_ref().len() as u64;
        let limit = SILENCE + Duration::from_secs(size / SLOWEST);
        let kept = self.there().and_then(|()| {
            if size > LARGEST {
                return Err(format!("{size} bytes are more than fit into one request").into());
            }
            let payload = PutPayload::from(Bytes::from_owner(object));
            let path = self.path(name);
            // Entries of one name are alike, so it does not matter whose comes last; and one that is
            // damaged has to give way.
            let put = within(limit, self.store.put(&path, payload));
            self.runtime.block_on(async { put.await.map(|_| ()) })
        });
        kept.map_err(|source| SharedError {
            doing: "keep",
            what: name.to_owned(),
            source,
        })
    }

    fn leaves_files(&self) -> bool {
        self.folder.is_some()
    }
}
