//! The reference side: level one, op by op, by MLX itself.
//!
//! Every node becomes exactly one call of the MLX function whose primitive it names, on the
//! arrays MLX gave before: transposed, sliced and broadcast operands stay the views they are,
//! because some of MLX's schedules depend on them. Nothing goes through MLX's compiler, so the
//! result does not depend on a C++ compiler at run time.
//!
//! # Threads
//! A stream of MLX belongs to the thread that made it, and an array that is not yet evaluated can
//! be evaluated on that thread only. So every call here runs from start to end on the calling
//! thread's own default CPU stream, and what it returns holds no array of MLX. An [`MlxSide`] may
//! be shared, and calls on several threads do not disturb each other. MLX computes on one thread
//! a stream: a capture keeps one core busy.

mod error;
mod ffi;
#[cfg(test)]
mod tests;
mod walk;

use std::{collections::BTreeMap, path::PathBuf};

use stages::{Boundary, Graph, Tensor, graph::Op};

pub use error::MlxError;

use crate::Captures;

/// The version of MLX whose arithmetic the `mlx-cpu` contract states.
pub const VERSION: &str = "0.32.2";

/// MLX on CPU.
#[derive(Clone, Copy, Debug)]
pub struct MlxSide(());

impl MlxSide {
    /// Checks that MLX is there.
    ///
    /// # Errors
    /// When the library is not MLX [`VERSION`] or has no CPU stream.
    pub fn new() -> Result<Self, MlxError> {
        let found = ffi::version().map_err(MlxError::Start)?;
        if found != VERSION {
            return Err(MlxError::Version {
                found,
                pinned: VERSION,
            });
        }
        ffi::Session::new().map_err(MlxError::Start)?;
        Ok(MlxSide(()))
    }

    /// The version of the library in use.
    pub fn version(&self) -> &'static str {
        VERSION
    }

    /// The file that MLX was loaded from, if the system tells.
    pub fn library(&self) -> Option<PathBuf> {
        // Lines of this file end in the path of what is mapped there.
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        maps.lines()
            .filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])))
            .find(|path| path.file_name().is_some_and(|name| name == "libmlx.so"))
    }

    /// The values of the wanted boundaries of `graph`, in evaluation order. `progress` is told
    /// each boundary as soon as its values are there. Nodes that no wanted boundary needs do not
    /// run; values are let go of after their last use.
    ///
    /// # Errors
    /// When an input or weight is missing or not what the graph declares, or MLX refuses an op:
    /// the error names op and boundary.
    pub fn capture(
        &self,
        graph: &Graph,
        weights: &dyn Fn(&str) -> Option<Tensor>,
        inputs: &BTreeMap<String, Tensor>,
        wanted: &[&Boundary],
        progress: &mut dyn FnMut(&Boundary),
    ) -> Result<Captures, MlxError> {
        walk::capture(graph, weights, inputs, wanted, progress)
    }

    /// One primitive on host tensors, all row-major.
    ///
    /// # Errors
    /// When the operands do not fit the primitive, it is a source, or MLX refuses it.
    pub fn run_op(&self, op: &Op, inputs: &[Tensor]) -> Result<Tensor, MlxError> {
        walk::run_op(op, inputs)
    }
}
