//! Single operations of a level-one graph as sums under test.
//!
//! A [`Site`] is a graph with one operation that adds, and says where its terms go and where the
//! sum stands. [`mlx`] and [`iree`] run the same site; each is a probe of the operation as it
//! would run in a model, not of a stand-in.

pub mod iree;
pub mod mlx;

use emitter::emit::EmitError;
use half::bf16;
use oracle::{MlxError, iree::IreeError};
use stages::{
    Boundary, BoundaryId, DType, Graph, Shape, Tensor, TensorError,
    graph::{Builder, GraphError, Op, ValueId},
};

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
    /// Another number of terms than the site has.
    #[error("add {given} terms: the operation adds {taken}")]
    Terms {
        /// Terms given.
        given: usize,
        /// Terms that the site has.
        taken: usize,
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

/// One operation that adds, with all that is not a term of one of its sums set to 1.
#[derive(Clone, Debug)]
pub struct Site {
    name: String,
    graph: Graph,
    dtype: DType,
    /// The tensor that the terms are part of.
    shape: Shape,
    /// Where in it each term goes.
    places: Vec<usize>,
    /// Where in the result the sum stands.
    at: usize,
}

impl Site {
    /// A site whose graph `build` makes from the tensor that the terms are part of.
    fn new(
        name: String,
        dtype: DType,
        shape: Shape,
        places: Vec<usize>,
        at: usize,
        build: impl FnOnce(&mut Builder, ValueId) -> Result<ValueId, GraphError>,
    ) -> Result<Site, GraphError> {
        let mut b = Builder::new();
        let terms = b.input(TERMS, shape.clone(), dtype);
        // A boundary, so that a step takes it as it is at each call.
        b.boundary(TERMS, terms, "what is added")?;
        let result = build(&mut b, terms)?;
        b.boundary(RESULT, result, "the sum")?;
        let graph = b.finish();
        Ok(Site {
            name,
            graph,
            dtype,
            shape,
            places,
            at,
        })
    }

    /// The sum over the last axis of `[2, n]`, in the second row.
    ///
    /// # Errors
    /// When the dtype has no sums.
    pub fn sum(n: usize, dtype: DType) -> Result<Site, GraphError> {
        let places = (n..2 * n).collect();
        let name = format!("sum {dtype} [2,{n}] over 1");
        Site::new(name, dtype, [2, n].into(), places, 1, |b, x| b.sum(x, &[1]))
    }

    /// The sum over some axes of a tensor of `shape`, for index 0 of the others. Terms count
    /// with the last of `axes` fastest.
    ///
    /// # Errors
    /// When the axes are not the shape's.
    pub fn sum_over(
        shape: impl Into<Shape>,
        axes: &[usize],
        dtype: DType,
    ) -> Result<Site, GraphError> {
        let shape = shape.into();
        let strides = shape.strides();
        let mut places = vec![0];
        for &axis in axes.iter().filter(|&&axis| axis < shape.rank()) {
            let stride = strides[axis];
            let along = |place| (0..shape[axis]).map(move |i| place + i * stride);
            places = places.into_iter().flat_map(along).collect();
        }
        let name = format!("sum {dtype} {shape} over {axes:?}");
        Site::new(name, dtype, shape, places, 0, |b, x| b.sum(x, axes))
    }

    /// The product `[1, n]·[n, 1]`; the second factor is a weight.
    ///
    /// # Errors
    /// When the dtype has no products.
    pub fn dot(n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("dot {dtype} [1,{n}]x[{n},1]");
        let places = (0..n).collect();
        Site::new(name, dtype, [1, n].into(), places, 0, |b, x| {
            let w = weight(b, [n, 1].into(), dtype);
            b.apply(Op::Matmul, &[x, w])
        })
    }

    /// The last element of the cumulative sum over `[1, n]`.
    ///
    /// # Errors
    /// When `n` is 0.
    pub fn cumsum(n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("cumsum {dtype} [1,{n}]");
        let (places, at) = ((0..n).collect(), n.saturating_sub(1));
        Site::new(name, dtype, [1, n].into(), places, at, |b, x| {
            b.cumsum(x, 1)
        })
    }

    /// The one output of a convolution of `[1, kernel.., channels]` with one filter of that size,
    /// without padding. Terms count in row-major order.
    ///
    /// # Errors
    /// When the kernel is none that convolutions have.
    pub fn convolution(
        kernel: &[usize],
        channels: usize,
        dtype: DType,
    ) -> Result<Site, GraphError> {
        let shape: Shape = [&[1], kernel, &[channels]].concat().into();
        let name = format!("convolution {dtype} {shape}");
        let places = (0..shape.elements()).collect();
        let axes = kernel.len();
        Site::new(name, dtype, shape.clone(), places, 0, |b, x| {
            let w = weight(b, shape, dtype);
            let op = Op::Convolution {
                strides: vec![1; axes],
                low: vec![0; axes],
                high: vec![0; axes],
                kernel_dilation: vec![1; axes],
                input_dilation: vec![1; axes],
                groups: 1,
                flip: false,
            };
            b.apply(op, &[x, w])
        })
    }

    /// What is added, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many terms the sum has.
    pub fn terms(&self) -> usize {
        self.places.len()
    }

    /// The graph: the operation and its operands.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    fn result(&self) -> Option<&Boundary> {
        self.graph.boundary(&BoundaryId::new(RESULT))
    }

    /// The operand with the terms in it.
    fn operand(&self, terms: &[f32]) -> Result<Tensor, OpError> {
        if terms.len() != self.places.len() {
            let (given, taken) = (terms.len(), self.places.len());
            return Err(OpError::Terms { given, taken });
        }
        let mut values = vec![1.0; self.shape.elements()];
        for (&place, &term) in self.places.iter().zip(terms) {
            values[place] = term;
        }
        floats(self.dtype, &self.shape, &values)
    }

    /// The weight of that name: all ones.
    fn weight(&self, name: &str) -> Option<Tensor> {
        let is_it = |op: &Op| matches!(op, Op::Weight { name: own } if own == name);
        let (_, node) = self.graph.nodes().find(|(_, node)| is_it(&node.op))?;
        let shape = &node.info.shape;
        floats(node.info.dtype, shape, &vec![1.0; shape.elements()]).ok()
    }

    /// The sum in a result.
    fn read(&self, result: Option<&Tensor>) -> Result<f32, OpError> {
        let values = result.and_then(Tensor::to_f32);
        let sum = values.and_then(|values| values.get(self.at).copied());
        sum.ok_or(OpError::NoResult(self.at))
    }
}

/// A weight of ones, named by what it is: a device keeps weights by name.
fn weight(b: &mut Builder, shape: Shape, dtype: DType) -> ValueId {
    b.weight(&format!("ones {dtype} {shape}"), shape, dtype)
}

fn floats(dtype: DType, shape: &Shape, values: &[f32]) -> Result<Tensor, OpError> {
    match dtype {
        DType::F32 => Ok(Tensor::from_f32(shape.clone(), values)?),
        DType::BF16 => {
            let values: Vec<bf16> = values.iter().copied().map(bf16::from_f32).collect();
            Ok(Tensor::from_bf16(shape.clone(), &values)?)
        }
        other => Err(OpError::DType(other)),
    }
}
