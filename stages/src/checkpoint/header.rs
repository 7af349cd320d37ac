//! The header of a safetensors file: which tensors it holds and where.
//!
//! Read here rather than by the `safetensors` crate, because version 0.8.0 adds the end of the
//! last tensor to the header's length unchecked, takes the last of two tensors of one name, and
//! does not tell a hole from an overlap. Its dtypes are used; a property test compares the two.

use std::{collections::HashMap, fmt, ops::Range};

use safetensors::Dtype;
use serde::{
    Deserialize,
    de::{IntoDeserializer, MapAccess, Visitor, value::Error as PlainError},
};

use crate::Shape;

const LENGTH: usize = 8;
const MAX_HEADER: u64 = 100_000_000;

/// Why a file is not safetensors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Fewer bytes than the header's length takes.
    #[error("the file has {0} bytes, too few for a header")]
    Short(usize),
    /// A header beyond the format's limit.
    #[error("the header claims {0} bytes, more than {MAX_HEADER}")]
    TooLarge(u64),
    /// A header that reaches beyond the file.
    #[error("the header claims {claimed} bytes, the file has {file}")]
    Truncated {
        /// Length of the header as the file gives it.
        claimed: u64,
        /// Length of the file.
        file: usize,
    },
    /// A header that is not UTF-8.
    #[error("the header is not UTF-8")]
    Utf8(#[from] std::str::Utf8Error),
    /// A header that is not JSON of the format's form.
    #[error("the header is malformed")]
    Json(#[from] serde_json::Error),
    /// Two tensors of one name.
    #[error("the header names tensor {0} twice")]
    Duplicate(String),
    /// A dtype the format does not have.
    #[error("tensor {name} has unknown dtype {dtype:?}")]
    DType {
        /// The tensor.
        name: String,
        /// Its dtype as the file gives it.
        dtype: String,
    },
    /// More elements than memory can hold.
    #[error("tensor {name} of shape {shape} has more bytes than can be counted")]
    Overflow {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Shape,
    },
    /// Offsets that do not span what dtype and shape need.
    #[error("tensor {name} needs {needed} bytes and has offsets {start}..{end}")]
    Size {
        /// The tensor.
        name: String,
        /// Bytes that dtype and shape need.
        needed: usize,
        /// Its first byte.
        start: usize,
        /// One behind its last byte.
        end: usize,
    },
    /// A tensor that reaches beyond the file.
    #[error("tensor {name} ends at byte {end} of {data} bytes of data")]
    Outside {
        /// The tensor.
        name: String,
        /// One behind its last byte.
        end: usize,
        /// Bytes behind the header.
        data: usize,
    },
    /// Two tensors that share bytes.
    #[error("tensors {first} and {second} overlap")]
    Overlap {
        /// One tensor.
        first: String,
        /// The other.
        second: String,
    },
    /// Bytes that belong to no tensor.
    #[error("bytes {start}..{end} of the data belong to no tensor")]
    Hole {
        /// The first of them.
        start: usize,
        /// One behind the last.
        end: usize,
    },
}

/// One tensor of a file.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its extents.
    pub shape: Shape,
    /// Where its values are, counted from the beginning of the file.
    pub bytes: Range<usize>,
}

/// What a file's header says, checked: every entry lies within the file, and its length is what
/// dtype and shape need.
#[derive(Debug)]
pub struct Header {
    /// The tensors, in the header's order.
    pub entries: Vec<Entry>,
    /// `__metadata__`.
    pub metadata: HashMap<String, String>,
}

#[derive(Deserialize)]
struct RawEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

#[derive(Default)]
struct RawHeader {
    entries: Vec<(String, RawEntry)>,
    metadata: HashMap<String, String>,
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = RawHeader;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
                let mut header = RawHeader::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        header.metadata = map.next_value()?;
                    } else {
                        header.entries.push((name, map.next_value()?));
                    }
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Reads the header of a whole file's bytes.
///
/// # Errors
/// When the bytes are not a safetensors file, whole and without anything else in it.
pub fn read(file: &[u8]) -> Result<Header, HeaderError> {
    let (length, rest) = file
        .split_first_chunk::<LENGTH>()
        .ok_or(HeaderError::Short(file.len()))?;
    let claimed = u64::from_le_bytes(*length);
    if claimed > MAX_HEADER {
        return Err(HeaderError::TooLarge(claimed));
    }
    let (header, data) = usize::try_from(claimed)
        .ok()
        .and_then(|n| rest.split_at_checked(n))
        .ok_or(HeaderError::Truncated {
            claimed,
            file: file.len(),
        })?;
    let raw: RawHeader = serde_json::from_str(std::str::from_utf8(header)?)?;
    let base = LENGTH + header.len();
    let entries = raw
        .entries
        .into_iter()
        .map(|(name, raw)| entry(name, raw, base, data.len()))
        .collect::<Result<Vec<_>, _>>()?;
    check_names(&entries)?;
    check_cover(&entries, base, data.len())?;
    Ok(Header {
        entries,
        metadata: raw.metadata,
    })
}

fn entry(name: String, raw: RawEntry, base: usize, data: usize) -> Result<Entry, HeaderError> {
    let parsed: Result<Dtype, PlainError> =
        Dtype::deserialize(raw.dtype.as_str().into_deserializer());
    let Ok(dtype) = parsed else {
        let dtype = raw.dtype;
        return Err(HeaderError::DType { name, dtype });
    };
    let shape = Shape::from(raw.shape);
    let (start, end) = raw.data_offsets;
    let Some(bits) = shape
        .checked_elements()
        .and_then(|n| n.checked_mul(dtype.bitsize()))
    else {
        return Err(HeaderError::Overflow { name, shape });
    };
    let needed = bits.div_ceil(8);
    if end.checked_sub(start) != Some(needed) {
        return Err(HeaderError::Size {
            name,
            needed,
            start,
            end,
        });
    }
    if end > data {
        return Err(HeaderError::Outside { name, end, data });
    }
    Ok(Entry {
        name,
        dtype,
        shape,
        bytes: base + start..base + end,
    })
}

fn check_names(entries: &[Entry]) -> Result<(), HeaderError> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| &entry.name);
    match entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
        Some(pair) => Err(HeaderError::Duplicate(pair[0].name.clone())),
        None => Ok(()),
    }
}

/// The format wants every byte behind the header in exactly one tensor.
fn check_cover(entries: &[Entry], base: usize, data: usize) -> Result<(), HeaderError> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| (entry.bytes.start, entry.bytes.end));
    if let Some(pair) = entries
        .windows(2)
        .find(|pair| pair[1].bytes.start < pair[0].bytes.end)
    {
        return Err(HeaderError::Overlap {
            first: pair[0].name.clone(),
            second: pair[1].name.clone(),
        });
    }
    let starts = entries.iter().map(|entry| entry.bytes.start);
    let ends = entries.iter().map(|entry| entry.bytes.end);
    let hole = std::iter::once(base)
        .chain(ends)
        .zip(starts.chain([base + data]))
        .find(|(end, start)| end < start);
    match hole {
        Some((end, start)) => Err(HeaderError::Hole {
            start: end - base,
            end: start - base,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(header: &str, data: usize) -> Vec<u8> {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.resize(file.len() + data, 0);
        file
    }

    fn message(header: &str, data: usize) -> String {
        read(&file(header, data)).unwrap_err().to_string()
    }

    #[test]
    fn a_header_gives_names_kinds_and_places() {
        let text = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}"#;
        let header = read(&file(text, 8)).unwrap();
        assert_eq!(header.metadata["format"], "pt");
        let base = 8 + text.len();
        assert_eq!(header.entries[0].name, "b");
        assert_eq!(header.entries[0].bytes, base + 4..base + 8);
        assert_eq!(header.entries[1].name, "a");
    }

    #[test]
    fn lengths_that_lie_are_errors() {
        assert_eq!(
            read(&[0; 7]).unwrap_err().to_string(),
            "the file has 7 bytes, too few for a header"
        );
        assert!(matches!(
            read(&[0xff; 64]),
            Err(HeaderError::TooLarge(u64::MAX))
        ));
        let mut truncated = file("{}", 0);
        truncated[0] = 3;
        assert!(matches!(
            read(&truncated),
            Err(HeaderError::Truncated {
                claimed: 3,
                file: 10
            })
        ));
        let mut mangled = file("{ }", 0);
        mangled[9] = 0xff;
        assert!(matches!(read(&mangled), Err(HeaderError::Utf8(_))));
        assert!(matches!(read(&file("[]", 0)), Err(HeaderError::Json(_))));
        assert!(matches!(
            read(&file("{\"a\":", 0)),
            Err(HeaderError::Json(_))
        ));
    }

    #[test]
    fn offsets_that_lie_are_errors_that_name_the_tensor() {
        let one = |shape: &str, start: u64, end: u64| {
            format!(r#"{{"a":{{"dtype":"BF16","shape":{shape},"data_offsets":[{start},{end}]}}}}"#)
        };
        assert_eq!(
            message(&one("[2]", 0, 2), 2),
            "tensor a needs 4 bytes and has offsets 0..2"
        );
        assert_eq!(
            message(&one("[2]", 4, 0), 4),
            "tensor a needs 4 bytes and has offsets 4..0"
        );
        assert_eq!(
            message(&one("[2]", 0, 4), 2),
            "tensor a ends at byte 4 of 2 bytes of data"
        );
        assert_eq!(
            message(&one("[2]", 2, 6), 6),
            "bytes 0..2 of the data belong to no tensor"
        );
        assert_eq!(
            message(&one("[2]", 0, 4), 9),
            "bytes 4..9 of the data belong to no tensor"
        );
        assert!(message(&one("[4294967296,4294967296]", 0, 4), 4).contains("more bytes"));
        let max = u64::MAX;
        assert!(message(&one("[2]", max - 4, max), 4).starts_with("tensor a ends at byte"));
        assert!(message(&one("[9223372036854775807]", 0, max - 1), 4).contains("more bytes"));
    }

    /// The safetensors crate overflows here.
    #[test]
    fn offsets_that_add_up_to_all_of_memory_are_errors() {
        let size = (1u64 << 61) - 1;
        let entry = |i: u64| {
            let (start, end) = (i * size, (i + 1) * size);
            format!(r#""t{i}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{start},{end}]}}"#)
        };
        let entries: Vec<String> = (0..8).map(entry).collect();
        let message = message(&format!("{{{}}}", entries.join(",")), 64);
        assert!(message.starts_with("tensor t0 ends at byte"), "{message}");
    }

    #[test]
    fn two_tensors_of_one_name_or_place_are_errors() {
        let a = r#""a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
        let b = r#""b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}"#;
        assert_eq!(
            message(&format!("{{{a},{a}}}"), 2),
            "the header names tensor a twice"
        );
        assert_eq!(
            message(&format!("{{{a},{b}}}"), 3),
            "tensors a and b overlap"
        );
        let odd = r#"{"a":{"dtype":"F12","shape":[2],"data_offsets":[0,3]}}"#;
        assert_eq!(message(odd, 3), "tensor a has unknown dtype \"F12\"");
    }

    fn tensors() -> impl Strategy<Value = Vec<(u8, Vec<usize>, usize, usize)>> {
        prop::collection::vec(
            (
                0u8..4,
                prop::collection::vec(0usize..3, 0..3),
                0usize..12,
                0usize..12,
            ),
            0..4,
        )
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
            let _ = read(&bytes);
            let mut with_length = (bytes.len() as u64 / 2).to_le_bytes().to_vec();
            with_length.extend(bytes);
            let _ = read(&with_length);
        }

        /// Where both read a file they agree; the crate takes nothing that is refused here, but
        /// files in which a name stands twice.
        #[test]
        fn the_safetensors_crate_agrees(tensors in tensors(), data in 0usize..12) {
            let entries: Vec<String> = tensors
                .iter()
                .enumerate()
                .map(|(i, (dtype, shape, start, end))| {
                    let dtype = ["U8", "BF16", "F32", "F99"][usize::from(*dtype)];
                    format!(r#""t{i}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#)
                })
                .collect();
            let file = file(&format!("{{{}}}", entries.join(",")), data);
            let theirs = safetensors::SafeTensors::read_metadata(&file);
            let ours = read(&file);
            prop_assert_eq!(ours.is_ok(), theirs.is_ok());
            if let (Ok(ours), Ok((_, theirs))) = (ours, theirs) {
                for entry in &ours.entries {
                    let info = theirs.info(&entry.name).unwrap();
                    prop_assert_eq!(info.dtype, entry.dtype);
                    prop_assert_eq!(&info.shape[..], entry.shape.dims());
                }
            }
        }
    }
}
