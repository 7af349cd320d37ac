//! A store of cache entries that several machines share: a folder or a bucket of S3's kind.
//!
//! `QUALIFY_STORE` names it, as `file:///FOLDER` or `s3://BUCKET/PREFIX`. For a bucket the usual
//! variables say the rest: `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`,
//! `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_ALLOW_HTTP`.
//!
//! Objects are what the cache's files are, and are believed as little: each carries a digest of its
//! content and of what it is kept under. The digest tells damage. It is no signature: whoever may
//! write the store can make entries that hold.
//!
//! A crate of its own, so that whatever does not share its cache has no HTTP and no TLS in it.

#![deny(unsafe_code)]

mod open;
mod transfer;

pub use open::{SharedStore, StoreError, VARIABLE};
