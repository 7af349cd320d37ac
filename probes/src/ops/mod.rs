//! Single operations of a level-one graph as sums under test.
//!
//! A [`Site`] is a graph with one operation that adds, and says where its terms go and where the
//! sum stands. [`mlx`] and [`iree`] run the same site; each is a probe of the operation as it
//! would run in a model, not of a stand-in.

mod boundary;
pub mod iree;
pub mod mlx;
mod named;
mod positive;
mod whole;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use emitter::emit::EmitError;
use half::bf16;
use oracle::{MlxError, iree::IreeError};
use stages::{
    Boundary, BoundaryId, DType, Graph, Shape, Tensor, TensorError,
    graph::{Builder, GraphError, Op, ValueId},
};

pub use positive::{Absorbing, EPS, Of, Whole};
pub use whole::{Finish, check_whole_rows, confirm_whole};

/// Why an operation gives no sum; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// MLX gives no values.
    #[error(transparent)]
    Mlx(#[from] MlxError),
    /// The graph cannot be emitted.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// IREE does not compile or run it.
    #[error(transparent)]
    Iree(#[from] IreeError),
    /// The terms are no tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The operation cannot be stated.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Another number of terms than the site has.
    #[error("add {given} terms: the operation adds rows of {taken}, at most {rows}")]
    Terms {
        /// Terms given.
        given: usize,
        /// Terms that a row of the site has.
        taken: usize,
        /// Rows that the site has.
        rows: usize,
    },
    /// The operation does not add, or not what masks can stand for.
    #[error("probe {what}: {reason}")]
    Unanswerable {
        /// The operation.
        what: String,
        /// Why not.
        reason: String,
    },
    /// Terms are F32 or BF16.
    #[error("probe a sum in {0}: terms are F32 or BF16")]
    DType(DType),
    /// There is no sum where the site says.
    #[error("read the sum: the result has no element {0} that is a float")]
    NoResult(usize),
}

/// The name of the value that the terms are part of, and of the result.
const TERMS: &str = "terms";
const RESULT: &str = "result";

/// One operation that adds rows of terms. All that is neither a term nor multiplied by one is 1.
#[derive(Clone, Debug)]
pub struct Site {
    name: String,
    graph: Graph,
    make: Make,
    dtype: DType,
    /// The tensor that the terms are part of.
    shape: Shape,
    /// Where in it each term of the first row goes.
    places: Vec<usize>,
    /// Where in the result the first row's sum stands.
    at: usize,
    rows: usize,
    /// Elements of the operand and of the result from one row to the next.
    strides: (usize, usize),
    /// Which term each element of the weight multiplies, if the operation has a weight.
    multiplies: Vec<usize>,
    /// What the terms are multiplied by; nothing if it has none.
    factors: Vec<f32>,
    weight: Option<Tensor>,
    /// What the sum is multiplied by.
    scale: Option<f32>,
    /// What is added, if not the terms.
    of: Option<Of>,
}

/// Makes a site's graph, with its weight under that name.
#[derive(Clone)]
struct Make(Arc<MakeGraph>);

type MakeGraph = dyn Fn(&str) -> Result<Graph, GraphError> + Send + Sync;

impl std::fmt::Debug for Make {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Make")
    }
}

/// Where a site's terms are.
#[derive(Clone, Debug, Default)]
struct Layout {
    places: Vec<usize>,
    at: usize,
    rows: usize,
    strides: (usize, usize),
    multiplies: Vec<usize>,
}

impl Site {
    /// A site whose graph `build` makes from the tensor that the terms are part of.
    fn new(
        name: String,
        dtype: DType,
        shape: Shape,
        layout: Layout,
        build: impl Fn(&mut Builder, ValueId, &str) -> Result<ValueId, GraphError>
        + Send
        + Sync
        + 'static,
    ) -> Result<Site, GraphError> {
        let operand = shape.clone();
        let make = Make(Arc::new(move |weight: &str| {
            let mut b = Builder::new();
            let terms = b.input(TERMS, operand.clone(), dtype);
            // A boundary, so that a step takes it as it is at each call.
            b.boundary(TERMS, terms, "what is added")?;
            let result = build(&mut b, terms, weight)?;
            b.boundary(RESULT, result, "the sum")?;
            Ok(b.finish())
        }));
        let graph = (make.0)("factors")?;
        let Layout {
            places,
            at,
            rows,
            strides,
            multiplies,
        } = layout;
        let site = Site {
            name,
            graph,
            make,
            dtype,
            shape,
            at,
            rows,
            strides,
            multiplies,
            factors: Vec::new(),
            weight: None,
            scale: None,
            of: None,
            places,
        };
        let ones = vec![1.0; site.terms()];
        Ok(site.with_factors(&ones))
    }

    /// The same operation with other factors, one for each term. Of one that multiplies by
    /// nothing, it is the same.
    #[must_use]
    pub fn with_factors(&self, factors: &[f32]) -> Site {
        let mut site = self.clone();
        if site.multiplies.is_empty() {
            return site;
        }
        site.factors = factors.to_vec();
        // A device keeps weights by name.
        let mut hasher = DefaultHasher::new();
        factors
            .iter()
            .for_each(|factor| factor.to_bits().hash(&mut hasher));
        let name = format!("factors {:016x} of {}", hasher.finish(), self.name);
        if let Ok(graph) = (self.make.0)(&name) {
            site.graph = graph;
        }
        let is_it = |op: &Op| matches!(op, Op::Weight { .. });
        let node = self.graph.nodes().find(|(_, node)| is_it(&node.op));
        site.weight = node.and_then(|(_, node)| {
            let values: Vec<f32> = self.multiplies.iter().map(|&term| factors[term]).collect();
            floats(node.info.dtype, &node.info.shape, |row| {
                row.copy_from_slice(&values);
            })
            .ok()
        });
        site
    }

    /// What is added, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dtype of terms and result.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How many terms each sum has.
    pub fn terms(&self) -> usize {
        self.places.len()
    }

    /// How many sums there are in a call.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What the terms are multiplied by, if anything.
    pub fn factors(&self) -> Option<&[f32]> {
        (!self.factors.is_empty()).then_some(&self.factors)
    }

    /// What is added, if not the terms: then [`Absorbing`] probes it, and it is no plain sum.
    pub fn of(&self) -> Option<Of> {
        self.of
    }

    fn that_adds(mut self, of: Of) -> Site {
        self.of = Some(of);
        self
    }

    /// What the sum is multiplied by, if anything.
    pub fn scale(&self) -> Option<f32> {
        self.scale
    }

    /// The graph: the operation and its operands.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    fn result(&self) -> Option<&Boundary> {
        self.graph.boundary(&BoundaryId::new(RESULT))
    }

    /// The operand with rows of terms in it.
    fn operand(&self, terms: &[f32]) -> Result<Tensor, OpError> {
        let n = self.terms();
        let given = terms.len().checked_div(n).unwrap_or(0);
        if terms.len() != given * n || given > self.rows {
            let (given, taken, rows) = (terms.len(), n, self.rows);
            return Err(OpError::Terms { given, taken, rows });
        }
        let gapless = self.strides.0 == n && self.places.iter().enumerate().all(|(i, &p)| i == p);
        floats(self.dtype, &self.shape, |values| {
            if gapless {
                values[..terms.len()].copy_from_slice(terms);
                values[terms.len()..].fill(1.0);
                return;
            }
            values.fill(1.0);
            for (row, terms) in terms.chunks(n.max(1)).enumerate() {
                for (&place, &term) in self.places.iter().zip(terms) {
                    values[row * self.strides.0 + place] = term;
                }
            }
        })
    }

    /// The site's weight; its name tells nothing that the site does not know.
    fn weight(&self, _name: &str) -> Option<Tensor> {
        self.weight.clone()
    }

    /// The sums in a result, as many as there are rows of terms.
    fn read(&self, result: Option<&Tensor>, terms: &[f32]) -> Result<Vec<f32>, OpError> {
        let values = result.and_then(Tensor::to_f32);
        let values = values.ok_or(OpError::NoResult(self.at))?;
        let rows = if terms.is_empty() {
            1
        } else {
            terms.len() / self.terms().max(1)
        };
        (0..rows)
            .map(|row| {
                let at = self.at + row * self.strides.1;
                values.get(at).copied().ok_or(OpError::NoResult(at))
            })
            .collect()
    }
}

/// A tensor whose values `write` fills in.
fn floats(dtype: DType, shape: &Shape, write: impl FnOnce(&mut [f32])) -> Result<Tensor, OpError> {
    match dtype {
        DType::F32 => Ok(Tensor::written(dtype, shape.clone(), write)?),
        DType::BF16 => {
            let mut wide = vec![0.0; shape.elements()];
            write(&mut wide);
            Ok(Tensor::written(
                dtype,
                shape.clone(),
                |values: &mut [bf16]| {
                    for (value, wide) in values.iter_mut().zip(wide) {
                        *value = bf16::from_f32(wide);
                    }
                },
            )?)
        }
        other => Err(OpError::DType(other)),
    }
}
