//! Captured boundaries, and their file: safetensors with the boundaries in evaluation order.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, Permissions},
    io::{BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use memmap2::Mmap;
use safetensors::Dtype;
use stages::{
    BoundaryId, DType, Tensor, TensorError,
    checkpoint::{
        HeaderError,
        header::{self, Entry},
    },
    tensor::SharedBytes,
};

/// Notes about a capture as a whole, by key.
pub type Notes = BTreeMap<String, String>;

/// Why captures cannot be written or read. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be written.
    #[error("write captures to {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be read.
    #[error("read captures from {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not safetensors.
    #[error("read captures from {path}: {source}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        source: HeaderError,
    },
    /// A tensor's element type is none of level one's.
    #[error("read {name} from {path}: its dtype {dtype} is not supported")]
    DType {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its dtype as safetensors spells it.
        dtype: String,
    },
    /// A tensor's bytes do not fit its header.
    #[error("read {name} from {path}: {source}")]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Why.
        source: TensorError,
    },
    /// A boundary whose name the format keeps for itself.
    #[error("write captures: no boundary can be called {0}")]
    ReservedName(&'static str),
}

/// The key of the notes in a safetensors header.
const NOTES: &str = "__metadata__";

/// Tensors by boundary, in evaluation order (the order of insertion).
#[derive(Clone, Debug, Default)]
pub struct Captures {
    entries: Vec<(BoundaryId, Tensor)>,
    index: HashMap<BoundaryId, usize>,
}

impl Captures {
    /// No captures.
    pub fn new() -> Self {
        Captures::default()
    }

    /// Adds a boundary's values, or replaces them where they stand.
    pub fn insert(&mut self, id: BoundaryId, tensor: Tensor) {
        match self.index.get(&id) {
            Some(&at) => self.entries[at].1 = tensor,
            None => {
                self.index.insert(id.clone(), self.entries.len());
                self.entries.push((id, tensor));
            }
        }
    }

    /// The values of a boundary.
    pub fn get(&self, id: &BoundaryId) -> Option<&Tensor> {
        self.index.get(id).map(|&at| &self.entries[at].1)
    }

    /// All boundaries and their values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&BoundaryId, &Tensor)> {
        self.entries.iter().map(|(id, tensor)| (id, tensor))
    }

    /// How many boundaries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes a safetensors file: all of it or, on an error, none. The header names the
    /// boundaries in their order; the values lie widest dtype first, so that each is aligned.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path, notes: &Notes) -> Result<(), CaptureError> {
        if self.entries.iter().any(|(id, _)| id.as_str() == NOTES) {
            return Err(CaptureError::ReservedName(NOTES));
        }
        self.write(path, notes)
            .map_err(|source| CaptureError::Write {
                path: path.to_owned(),
                source,
            })
    }

    fn write(&self, path: &Path, notes: &Notes) -> std::io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        let mut out = BufWriter::new(file.as_file_mut());
        self.write_into(&mut out, notes)?;
        out.flush()?;
        drop(out);
        file.persist(path)?;
        Ok(())
    }

    /// The file that [`Captures::save`] would write, in memory.
    ///
    /// # Errors
    /// When a boundary has the name the format keeps for itself.
    pub fn to_bytes(&self, notes: &Notes) -> std::io::Result<Vec<u8>> {
        let values: usize = self
            .entries
            .iter()
            .map(|(_, tensor)| tensor.bytes().len())
            .sum();
        let mut bytes = Vec::with_capacity(values + 4096);
        self.write_into(&mut bytes, notes)?;
        Ok(bytes)
    }

    fn write_into(&self, out: &mut impl Write, notes: &Notes) -> std::io::Result<()> {
        let (header, layout) = self.header(notes)?;
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(header.as_bytes())?;
        layout
            .into_iter()
            .try_for_each(|at| out.write_all(self.entries[at].1.bytes()))
    }

    /// The header and the order in which the values follow it.
    fn header(&self, notes: &Notes) -> std::io::Result<(String, Vec<usize>)> {
        let mut layout: Vec<usize> = (0..self.entries.len()).collect();
        layout.sort_by_key(|&at| std::cmp::Reverse(self.entries[at].1.dtype().size()));
        let mut starts = vec![0; self.entries.len()];
        let mut end = 0;
        for &at in &layout {
            starts[at] = end;
            end += self.entries[at].1.bytes().len();
        }

        let mut parts = Vec::with_capacity(self.entries.len() + 1);
        if !notes.is_empty() {
            parts.push(format!("{:?}:{}", NOTES, serde_json::to_string(notes)?));
        }
        for ((id, tensor), start) in self.entries.iter().zip(&starts) {
            parts.push(format!(
                r#"{}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}}"#,
                serde_json::to_string(id)?,
                tensor.dtype().name(),
                serde_json::to_string(tensor.shape())?,
                start,
                start + tensor.bytes().len(),
            ));
        }
        let mut header = format!("{{{}}}", parts.join(","));
        // The format pads with spaces, so that values are aligned in the file.
        let padding = header.len().next_multiple_of(8) - header.len();
        header.extend(std::iter::repeat_n(' ', padding));
        Ok((header, layout))
    }

    /// Reads a file that [`Captures::save`] or any other writer of safetensors wrote, without
    /// trusting it. Values stay in the file, which is mapped, until they are looked at.
    ///
    /// # Errors
    /// When the file cannot be read, is malformed or holds a dtype that level one lacks.
    pub fn load(path: &Path) -> Result<(Captures, Notes), CaptureError> {
        Captures::of(CaptureFile::open(path)?)
    }

    /// Reads what [`Captures::to_bytes`] wrote, in place; `origin` names it in errors.
    ///
    /// # Errors
    /// As [`Captures::load`].
    pub fn from_shared(
        origin: &Path,
        bytes: SharedBytes,
    ) -> Result<(Captures, Notes), CaptureError> {
        Captures::of(CaptureFile::parse(origin.to_owned(), bytes)?)
    }

    fn of(file: CaptureFile) -> Result<(Captures, Notes), CaptureError> {
        let mut captures = Captures::new();
        for name in &file.names {
            captures.insert(BoundaryId::new(name.clone()), file.tensor(name)?);
        }
        Ok((captures, file.notes))
    }
}

/// A mapped safetensors file whose header was checked.
pub(crate) struct CaptureFile {
    path: PathBuf,
    bytes: SharedBytes,
    pub names: Vec<String>,
    pub entries: HashMap<String, Entry>,
    pub notes: Notes,
}

impl CaptureFile {
    pub fn open(path: &Path) -> Result<CaptureFile, CaptureError> {
        let path = path.to_owned();
        // SAFETY: the mapping is private and read-only. A file that another program cuts short
        // while it is mapped ends this one; captures are written under another name and renamed.
        let mapped = File::open(&path).and_then(|file| unsafe { Mmap::map(&file) });
        match mapped {
            Ok(bytes) => CaptureFile::parse(path, Arc::new(bytes)),
            Err(source) => Err(CaptureError::Read { path, source }),
        }
    }

    fn parse(path: PathBuf, shared: SharedBytes) -> Result<CaptureFile, CaptureError> {
        let header = match header::read((*shared).as_ref()) {
            Ok(header) => header,
            Err(source) => return Err(CaptureError::Format { path, source }),
        };
        let names = header.entries.iter().map(|e| e.name.clone()).collect();
        let entries = header.entries.into_iter();
        Ok(CaptureFile {
            path,
            bytes: shared,
            names,
            entries: entries.map(|e| (e.name.clone(), e)).collect(),
            notes: header.metadata.into_iter().collect(),
        })
    }

    /// The tensor of that name, which must be one of [`CaptureFile::names`].
    pub fn tensor(&self, name: &str) -> Result<Tensor, CaptureError> {
        let fail = |dtype: String| CaptureError::DType {
            path: self.path.clone(),
            name: name.to_owned(),
            dtype,
        };
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| fail("none".to_owned()))?;
        let dtype =
            from_safetensors(entry.dtype).ok_or_else(|| fail(format!("{:?}", entry.dtype)))?;
        let (shape, bytes) = (entry.shape.clone(), self.bytes.clone());
        Tensor::shared(dtype, shape, bytes, entry.bytes.clone()).map_err(|source| {
            CaptureError::Tensor {
                path: self.path.clone(),
                name: name.to_owned(),
                source,
            }
        })
    }
}

pub(crate) fn from_safetensors(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::BOOL => DType::Bool,
        Dtype::I32 => DType::I32,
        Dtype::U32 => DType::U32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Captures {
        let mut captures = Captures::new();
        let flags = Tensor::from_bool([3], &[true, false, true]).unwrap();
        captures.insert(BoundaryId::new("z.mask"), flags);
        let values = Tensor::from_f32([2, 1], &[f32::NAN, -0.0]).unwrap();
        captures.insert(BoundaryId::new("a \"quoted\" name"), values);
        captures.insert(
            BoundaryId::new("empty"),
            Tensor::from_i32([0, 4], &[]).unwrap(),
        );
        captures
    }

    #[test]
    fn what_is_saved_is_loaded_bit_for_bit_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.safetensors");
        let notes = Notes::from([("profile".to_owned(), "bf16".to_owned())]);
        sample().save(&path, &notes).unwrap();
        let (loaded, read) = Captures::load(&path).unwrap();
        assert_eq!(read, notes);
        assert_eq!(loaded.len(), 3);
        for ((id, tensor), (other_id, other)) in sample().iter().zip(loaded.iter()) {
            assert_eq!(id, other_id);
            assert_eq!(
                (tensor.dtype(), tensor.shape()),
                (other.dtype(), other.shape())
            );
            assert_eq!(tensor.bytes(), other.bytes());
        }
        // Nothing but the file is left in the folder.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_cut_or_foreign_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.safetensors");
        sample().save(&path, &Notes::new()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for len in [0, 7, 20, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..len]).unwrap();
            let error = Captures::load(&path).unwrap_err().to_string();
            assert!(error.contains("c.safetensors"), "{error}");
        }
        assert!(matches!(
            Captures::load(&folder.path().join("none")),
            Err(CaptureError::Read { .. })
        ));
        assert!(matches!(
            sample().save(&folder.path().join("no/folder/c"), &Notes::new()),
            Err(CaptureError::Write { .. })
        ));
    }

    #[test]
    fn an_unknown_dtype_is_an_error_that_names_the_tensor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.safetensors");
        let header = r#"{"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend([0; 8]);
        std::fs::write(&path, bytes).unwrap();
        let error = Captures::load(&path).unwrap_err().to_string();
        assert!(
            error.contains("read x from") && error.contains("F64"),
            "{error}"
        );
    }
}
