//! The side `recorded:FILE`: boundaries that any implementation captured.

use std::{fmt, path::Path};

use stages::{Boundary, BoundaryId, DType, Graph, Shape};

use crate::captures::{CaptureError, CaptureFile, Captures, Notes, from_safetensors};

/// Why a recording cannot stand for a graph's boundaries. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] CaptureError),
    /// Boundaries that are not there or not what the graph says.
    #[error("use recording {file}: {}", list(problems))]
    Unfit {
        /// The file.
        file: String,
        /// What is wrong with it, in evaluation order.
        problems: Vec<Problem>,
    },
}

/// What is wrong with one boundary of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The boundary.
    pub boundary: BoundaryId,
    /// What the recording has under that name, as `DTYPE [shape]`; nothing if `None`.
    pub found: Option<String>,
    /// The graph's dtype.
    pub dtype: DType,
    /// The graph's shape.
    pub shape: Shape,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            boundary,
            dtype,
            shape,
            ..
        } = self;
        match &self.found {
            None => write!(f, "{boundary} is missing"),
            Some(found) => write!(f, "{boundary} is {found}, not {dtype} {shape}"),
        }
    }
}

/// All problems if they are few, else the first ones and how many more.
fn list(problems: &[Problem]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<_> = problems
        .iter()
        .take(SHOWN)
        .map(Problem::to_string)
        .collect();
    match problems.len().saturating_sub(SHOWN) {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}

/// A file of captured boundaries.
pub struct Recorded {
    name: String,
    file: CaptureFile,
}

impl Recorded {
    /// Opens a safetensors file, whose tensors are named as boundaries are.
    ///
    /// # Errors
    /// When it cannot be read or is malformed.
    pub fn open(path: &Path) -> Result<Recorded, RecordedError> {
        Ok(Recorded {
            name: path.display().to_string(),
            file: CaptureFile::open(path)?,
        })
    }

    /// The notes in the file.
    pub fn notes(&self) -> &Notes {
        &self.file.notes
    }

    /// The recorded values of the wanted boundaries of `graph`, in evaluation order. F32 may
    /// stand for a narrower float: values off its grid are for the comparison to see.
    ///
    /// # Errors
    /// When a boundary is missing or has another shape or dtype; the error lists them all.
    pub fn capture(&self, graph: &Graph, wanted: &[&Boundary]) -> Result<Captures, RecordedError> {
        let mut wanted = wanted.to_vec();
        wanted.sort_by_key(|boundary| boundary.value);
        let problems: Vec<_> = wanted
            .iter()
            .filter_map(|b| self.problem(graph, b))
            .collect();
        if !problems.is_empty() {
            return Err(RecordedError::Unfit {
                file: self.name.clone(),
                problems,
            });
        }
        let mut captures = Captures::new();
        for boundary in wanted {
            captures.insert(boundary.id.clone(), self.file.tensor(boundary.id.as_str())?);
        }
        Ok(captures)
    }

    fn problem(&self, graph: &Graph, boundary: &Boundary) -> Option<Problem> {
        let info = graph.info(boundary.value);
        let entry = self.file.entries.get(boundary.id.as_str());
        let fits = entry.is_some_and(|entry| {
            let dtype = from_safetensors(entry.dtype);
            let widened = dtype == Some(DType::F32) && info.dtype.is_float();
            entry.shape == info.shape && (widened || dtype == Some(info.dtype))
        });
        (!fits).then(|| Problem {
            boundary: boundary.id.clone(),
            found: entry.map(|entry| format!("{:?} {}", entry.dtype, entry.shape)),
            dtype: info.dtype,
            shape: info.shape.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use stages::{
        Tensor,
        graph::{Builder, Op},
    };

    use super::*;

    fn graph() -> Graph {
        let mut b = Builder::new();
        let x = b.input("x", [2], DType::BF16);
        for (name, op) in [("exp", Op::Exp), ("sin", Op::Sin)] {
            let y = b.apply(op, &[x]).unwrap();
            b.boundary(name, y, "").unwrap();
        }
        b.finish()
    }

    #[test]
    fn missing_and_unfit_boundaries_are_all_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.safetensors");
        let mut captures = Captures::new();
        captures.insert(
            BoundaryId::new("exp"),
            Tensor::from_f32([2], &[1.0, 2.0]).unwrap(),
        );
        captures.save(&path, &Notes::new()).unwrap();
        let graph = graph();
        let recorded = Recorded::open(&path).unwrap();
        let [exp, sin] = graph.boundaries() else {
            panic!()
        };
        assert_eq!(recorded.capture(&graph, &[exp]).unwrap().len(), 1);
        let error = recorded
            .capture(&graph, &[sin, exp])
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("r.safetensors: sin is missing"), "{error}");

        captures.insert(
            BoundaryId::new("exp"),
            Tensor::from_i32([1, 2], &[1, 2]).unwrap(),
        );
        captures.save(&path, &Notes::new()).unwrap();
        let error = Recorded::open(&path)
            .unwrap()
            .capture(&graph, &[exp, sin])
            .unwrap_err();
        let text = "exp is I32 [1,2], not BF16 [2]; sin is missing";
        assert!(error.to_string().ends_with(text), "{error}");
    }
}
