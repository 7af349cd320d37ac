//! From a URL and the environment to a store.

use std::{env, fmt, path::PathBuf, sync::Arc, time::Duration};

use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    local::LocalFileSystem,
    path::Path,
};
use tokio::runtime::{Builder, Runtime};
use url::Url;

/// The variable that names the store.
pub const VARIABLE: &str = "QUALIFY_STORE";

/// After which a machine that says nothing is taken for not there.
const CONNECT: Duration = Duration::from_secs(3);

/// For how long a request that failed is made again.
const RETRY: Duration = Duration::from_secs(6);

/// Why a store cannot be made of its URL; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is no URL.
    #[error("read the URL {url:?} of the shared store: write s3://BUCKET/PREFIX or file:///FOLDER")]
    NotUrl {
        /// As it was given.
        url: String,
        /// Why.
        source: url::ParseError,
    },
    /// It is a URL of something else.
    #[error("use {url:?} as the shared store: write s3://BUCKET/PREFIX or file:///FOLDER")]
    Unknown {
        /// As it was given.
        url: String,
    },
    /// The URL or a variable says what cannot be.
    #[error("open the shared store {url}: look at the variables AWS_*")]
    Settings {
        /// The URL.
        url: String,
        /// Why.
        source: object_store::Error,
    },
    /// The variable is not text.
    #[error("read {VARIABLE}: it is not UTF-8")]
    NotText,
    /// There is nothing to wait on.
    #[error("wait for the shared store {url}")]
    Waiting {
        /// The URL.
        url: String,
        /// Why.
        source: std::io::Error,
    },
}

/// A folder or a bucket that is open to whatever shares the cache.
pub struct SharedStore {
    pub(crate) url: String,
    /// Before each name.
    pub(crate) prefix: Path,
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The folder, if it is one.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) runtime: Runtime,
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedStore({})", self.url)
    }
}

impl SharedStore {
    /// The store that the environment names, if it names one.
    ///
    /// # Errors
    /// As [`SharedStore::open`].
    pub fn from_environment() -> Result<Option<SharedStore>, StoreError> {
        let Some(url) = env::var_os(VARIABLE).filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let url = url.into_string().map_err(|_| StoreError::NotText)?;
        let text = env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        SharedStore::open(&url, text).map(Some)
    }

    /// The store at `url`; of the variables those count that begin with `AWS_`. Nothing is asked
    /// of it yet.
    ///
    /// # Errors
    /// When the URL or a variable makes no sense.
    pub fn open(
        url: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<SharedStore, StoreError> {
        let parsed = Url::parse(url).map_err(|source| StoreError::NotUrl {
            url: url.to_owned(),
            source,
        })?;
        let unknown = || StoreError::Unknown {
            url: url.to_owned(),
        };
        let settings = |source| StoreError::Settings {
            url: url.to_owned(),
            source,
        };
        let plain = parsed.query().is_none()
            && parsed.fragment().is_none()
            && parsed.username().is_empty()
            && parsed.password().is_none()
            && parsed.port().is_none();
        if !plain {
            return Err(unknown());
        }
        let (store, prefix, folder): (Arc<dyn ObjectStore>, Path, Option<PathBuf>) =
            match parsed.scheme() {
                "file" => {
                    let folder = parsed.to_file_path().map_err(|()| unknown())?;
                    let prefix = Path::from_absolute_path(&folder);
                    let prefix = prefix.map_err(|error| settings(error.into()))?;
                    (Arc::new(LocalFileSystem::new()), prefix, Some(folder))
                }
                "s3" => {
                    let bucket = parsed.host_str().filter(|bucket| !bucket.is_empty());
                    let bucket = bucket.ok_or_else(unknown)?;
                    let prefix = Path::from_url_path(parsed.path());
                    let prefix = prefix.map_err(|error| settings(error.into()))?;
                    let store = bucket_of(bucket, variables).map_err(settings)?;
                    (Arc::new(store), prefix, None)
                }
                _ => return Err(unknown()),
            };
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(SharedStore {
            runtime: runtime.map_err(|source| StoreError::Waiting {
                url: url.to_owned(),
                source,
            })?,
            url: url.to_owned(),
            prefix,
            store,
            folder,
        })
    }
}

fn bucket_of(
    bucket: &str,
    variables: impl IntoIterator<Item = (String, String)>,
) -> object_store::Result<object_store::aws::AmazonS3> {
    // A transfer takes as long as it takes; whether it goes on is watched where it is made.
    let client = ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(CONNECT);
    let retry = RetryConfig {
        backoff: BackoffConfig {
            max_backoff: Duration::from_secs(1),
            ..BackoffConfig::default()
        },
        max_retries: 3,
        retry_timeout: RETRY,
    };
    let mut builder = AmazonS3Builder::new().with_client_options(client);
    for (name, value) in variables {
        let name = name.to_ascii_lowercase();
        if name.starts_with("aws_")
            && let Ok(setting) = name.parse::<AmazonS3ConfigKey>()
        {
            builder = builder.with_config(setting, value);
        }
    }
    builder.with_bucket_name(bucket).with_retry(retry).build()
}
