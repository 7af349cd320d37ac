//! `--bucket`.

use std::{fmt, str::FromStr};

use stages::model::gemma3n_audio::{BUCKETS, Frames};

/// How the number of frames of the graph follows from the batch's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bucket {
    /// The smallest bucket that holds it.
    #[default]
    Auto,
    /// No bucket.
    Exact,
    /// This one.
    Of(usize),
}

/// A value that is no bucket, or one that does not hold the batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// Neither a name nor a number in the list.
    #[error("choose bucket {given}: auto, exact or one of {}", list())]
    Unknown {
        /// What was given.
        given: String,
    },
    /// Too few frames.
    #[error("choose bucket {bucket}: the batch has {frames} frames")]
    TooSmall {
        /// Frames of the bucket.
        bucket: usize,
        /// Frames of the batch.
        frames: usize,
    },
}

fn list() -> String {
    BUCKETS.map(|bucket| bucket.to_string()).join(", ")
}

impl Bucket {
    /// Frames of the graph for a batch of `frames`.
    ///
    /// # Errors
    /// When the bucket does not hold it.
    pub fn of(self, frames: usize) -> Result<Frames, BucketError> {
        match self {
            Bucket::Exact => Ok(Frames::Exact(frames)),
            Bucket::Of(bucket) if bucket >= frames => Ok(Frames::Bucket(bucket)),
            Bucket::Of(bucket) => Err(BucketError::TooSmall { bucket, frames }),
            Bucket::Auto => Frames::bucket_of(frames).ok_or(BucketError::TooSmall {
                bucket: BUCKETS[BUCKETS.len() - 1],
                frames,
            }),
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bucket::Auto => f.write_str("auto"),
            Bucket::Exact => f.write_str("exact"),
            Bucket::Of(frames) => write!(f, "{frames}"),
        }
    }
}

impl FromStr for Bucket {
    type Err = BucketError;

    fn from_str(text: &str) -> Result<Bucket, BucketError> {
        match text {
            "auto" => Ok(Bucket::Auto),
            "exact" => Ok(Bucket::Exact),
            _ => text
                .parse()
                .ok()
                .filter(|frames| BUCKETS.contains(frames))
                .map(Bucket::Of)
                .ok_or_else(|| BucketError::Unknown {
                    given: text.to_owned(),
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_back() {
        for text in ["auto", "exact", "96", "2997"] {
            assert_eq!(text.parse::<Bucket>().unwrap().to_string(), text);
        }
        let error = "97".parse::<Bucket>().unwrap_err().to_string();
        assert!(error.starts_with("choose bucket 97: auto, exact or one of 96, 192,"));
    }

    #[test]
    fn a_batch_is_put_where_it_fits() {
        assert_eq!(Bucket::Auto.of(97), Ok(Frames::Bucket(192)));
        assert_eq!(Bucket::Exact.of(97), Ok(Frames::Exact(97)));
        assert_eq!(Bucket::Of(960).of(97), Ok(Frames::Bucket(960)));
        assert!(Bucket::Of(96).of(97).is_err());
        assert!(Bucket::Auto.of(2998).is_err());
    }
}
