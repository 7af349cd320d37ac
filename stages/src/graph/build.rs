//! Building a graph: one method for a function of MLX's array API, adding the primitives that
//! function adds (broadcasts and dtype promotions included).

use super::{
    Boundary, BoundaryId, Graph, GraphError, Node, Op, ReduceKind, ValueId, ValueInfo, View, infer,
};
use crate::{DType, Shape};

/// Grows a [`Graph`].
#[derive(Debug, Default)]
pub struct Builder {
    graph: Graph,
    stage: String,
}

type Built = Result<ValueId, GraphError>;

impl Builder {
    /// An empty graph.
    pub fn new() -> Self {
        Builder::default()
    }

    /// The graph, its boundaries in order of their values.
    pub fn finish(self) -> Graph {
        let mut graph = self.graph;
        graph.boundaries.sort_by_key(|boundary| boundary.value);
        graph
    }

    /// Shape of a value.
    pub fn shape(&self, value: ValueId) -> &Shape {
        &self.graph.info(value).shape
    }

    /// Dtype of a value.
    pub fn dtype(&self, value: ValueId) -> DType {
        self.graph.info(value).dtype
    }

    /// Boundaries registered from here on belong to this stage.
    pub fn enter_stage(&mut self, stage: impl Into<String>) {
        self.stage = stage.into();
    }

    /// Registers `value` under a name, with one sentence about it.
    ///
    /// # Errors
    /// When the name is taken.
    pub fn boundary(&mut self, name: impl Into<String>, value: ValueId, about: &str) -> Built {
        let id = BoundaryId::new(name);
        if self.graph.boundary(&id).is_some() {
            return Err(GraphError::DuplicateBoundary(id));
        }
        let (stage, about) = (self.stage.clone(), about.to_owned());
        self.graph.boundaries.push(Boundary {
            id,
            stage,
            value,
            about,
        });
        Ok(value)
    }

    fn push(&mut self, op: Op, inputs: Vec<ValueId>, info: ValueInfo) -> ValueId {
        let id = ValueId(self.graph.nodes.len() as u32);
        self.graph.nodes.push(Node { op, inputs, info });
        id
    }

    /// Adds one primitive.
    ///
    /// # Errors
    /// When the operands do not fit it.
    pub fn apply(&mut self, op: Op, inputs: &[ValueId]) -> Built {
        let infos: Vec<&ValueInfo> = inputs.iter().map(|&v| self.graph.info(v)).collect();
        let info = infer(&op, &infos)?;
        Ok(self.push(op, inputs.to_vec(), info))
    }

    fn source(&mut self, op: Op, shape: Shape, dtype: DType) -> ValueId {
        self.push(
            op,
            Vec::new(),
            ValueInfo {
                shape,
                dtype,
                view: View::Contiguous,
            },
        )
    }

    /// A tensor the caller gives at run time.
    pub fn input(&mut self, name: &str, shape: impl Into<Shape>, dtype: DType) -> ValueId {
        self.source(
            Op::Input {
                name: name.to_owned(),
            },
            shape.into(),
            dtype,
        )
    }

    /// A checkpoint tensor.
    pub fn weight(&mut self, name: &str, shape: impl Into<Shape>, dtype: DType) -> ValueId {
        self.source(
            Op::Weight {
                name: name.to_owned(),
            },
            shape.into(),
            dtype,
        )
    }

    /// A value handed in where a graph was cut: of the memory order it had where it was made.
    pub fn given(&mut self, name: &str, info: ValueInfo) -> ValueId {
        let name = name.to_owned();
        self.push(Op::Input { name }, Vec::new(), info)
    }

    /// A scalar of the given dtype, as a Python number becomes one beside an array.
    pub fn scalar(&mut self, value: f64, dtype: DType) -> ValueId {
        self.source(Op::Constant { value }, Shape::scalar(), dtype)
    }

    /// `mx.arange`.
    pub fn arange(&mut self, start: f64, step: f64, len: usize, dtype: DType) -> ValueId {
        self.source(Op::Arange { start, step, len }, [len].into(), dtype)
    }

    /// `mx.full` of a scalar.
    ///
    /// # Errors
    /// Never for a scalar.
    pub fn full(&mut self, shape: impl Into<Shape>, value: f64, dtype: DType) -> Built {
        let value = self.scalar(value, dtype);
        self.apply(
            Op::Full {
                shape: shape.into(),
            },
            &[value],
        )
    }

    /// `mx.broadcast_to`; nothing where the shape is the same.
    ///
    /// # Errors
    /// When the shapes do not fit.
    pub fn broadcast_to(&mut self, x: ValueId, shape: &Shape) -> Built {
        if self.shape(x) == shape {
            return Ok(x);
        }
        self.apply(
            Op::Broadcast {
                shape: shape.clone(),
            },
            &[x],
        )
    }

    /// `array.astype`; nothing where the dtype is the same.
    ///
    /// # Errors
    /// Never.
    pub fn astype(&mut self, x: ValueId, dtype: DType) -> Built {
        if self.dtype(x) == dtype {
            return Ok(x);
        }
        self.apply(Op::AsType { dtype }, &[x])
    }

    /// A binary function: promotion, broadcasting, then the primitive.
    ///
    /// # Errors
    /// When shapes or dtypes do not meet.
    pub fn binary(&mut self, op: Op, a: ValueId, b: ValueId) -> Built {
        let infos = (self.graph.info(a).clone(), self.graph.info(b).clone());
        let dtype = infos
            .0
            .dtype
            .promote(infos.1.dtype)
            .ok_or_else(|| GraphError::DType {
                op: op.name(),
                dtypes: format!("{} and {}", infos.0.dtype, infos.1.dtype),
                reason: "the common dtype is not supported".into(),
            })?;
        let shape = infos
            .0
            .shape
            .broadcast(&infos.1.shape)
            .ok_or_else(|| GraphError::Shape {
                op: op.name(),
                shapes: format!("{} and {}", infos.0.shape, infos.1.shape),
                reason: "they do not broadcast".into(),
            })?;
        let a = self.astype(a, dtype)?;
        let b = self.astype(b, dtype)?;
        let a = self.broadcast_to(a, &shape)?;
        let b = self.broadcast_to(b, &shape)?;
        self.apply(op, &[a, b])
    }

    /// A binary function of an array and a Python number, which takes the array's dtype.
    ///
    /// # Errors
    /// As [`Builder::binary`].
    pub fn binary_scalar(&mut self, op: Op, a: ValueId, b: f64) -> Built {
        let b = self.scalar(b, self.dtype(a));
        self.binary(op, a, b)
    }

    /// `mx.sum(x, axes, keepdims=True)`.
    ///
    /// # Errors
    /// When the axes are not the operand's.
    pub fn sum(&mut self, x: ValueId, axes: &[usize]) -> Built {
        self.apply(
            Op::Reduce {
                kind: ReduceKind::Sum,
                axes: axes.to_vec(),
            },
            &[x],
        )
    }

    /// `mx.cumsum(x, axis)`.
    ///
    /// # Errors
    /// When the axis is not the operand's.
    pub fn cumsum(&mut self, x: ValueId, axis: usize) -> Built {
        self.apply(
            Op::Scan {
                axis,
                reverse: false,
                inclusive: true,
            },
            &[x],
        )
    }

    /// `mx.pad` with a constant.
    ///
    /// # Errors
    /// When the axes are not the operand's.
    pub fn pad(&mut self, x: ValueId, axes: &[(usize, usize, usize)], value: f64) -> Built {
        let value = self.scalar(value, self.dtype(x));
        let op = Op::Pad {
            axes: axes.iter().map(|a| a.0).collect(),
            low: axes.iter().map(|a| a.1).collect(),
            high: axes.iter().map(|a| a.2).collect(),
        };
        self.apply(op, &[x, value])
    }

    /// `mx.reshape`.
    ///
    /// # Errors
    /// When the element counts differ.
    pub fn reshape(&mut self, x: ValueId, shape: impl Into<Shape>) -> Built {
        self.apply(
            Op::Reshape {
                shape: shape.into(),
            },
            &[x],
        )
    }

    /// `mx.transpose`.
    ///
    /// # Errors
    /// When the axes are no permutation.
    pub fn transpose(&mut self, x: ValueId, axes: &[usize]) -> Built {
        self.apply(
            Op::Transpose {
                axes: axes.to_vec(),
            },
            &[x],
        )
    }

    /// `nn.Linear` without bias: `x @ weight.T`. An operand of more than two axes is flattened
    /// to a matrix and the product unflattened, as `mx.matmul` does with a matrix on the right.
    ///
    /// # Errors
    /// When the extents do not fit.
    pub fn linear(&mut self, x: ValueId, weight: ValueId) -> Built {
        let transposed = self.transpose(weight, &[1, 0])?;
        let dims = self.shape(x).dims().to_vec();
        let Some(lead) = dims.len().checked_sub(2).filter(|&n| n > 0) else {
            return self.apply(Op::Matmul, &[x, transposed]);
        };
        let dtype = self
            .dtype(x)
            .promote(self.dtype(transposed))
            .unwrap_or(DType::F32);
        let x = self.astype(x, dtype)?;
        let transposed = self.astype(transposed, dtype)?;
        let flat = self.apply(
            Op::Flatten {
                start: 0,
                end: lead,
            },
            &[x],
        )?;
        let product = self.apply(Op::Matmul, &[flat, transposed])?;
        let shape = dims[..=lead].to_vec().into();
        self.apply(Op::Unflatten { axis: 0, shape }, &[product])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_function_adds_promotion_and_broadcast_as_primitives() {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::BF16);
        let y = b.input("y", [3], DType::F32);
        let sum = b.binary(Op::Add, x, y).unwrap();
        let names: Vec<_> = b.finish().nodes().map(|(_, n)| n.op.name()).collect();
        assert_eq!(names, ["Input", "Input", "AsType", "Broadcast", "Add"]);
        assert_eq!(sum.index(), 4);
    }

    #[test]
    fn shapes_that_do_not_fit_are_errors_that_name_op_and_shapes() {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::F32);
        let y = b.input("y", [4], DType::F32);
        let error = b.binary(Op::Add, x, y).unwrap_err().to_string();
        assert_eq!(error, "apply Add to [2,3] and [4]: they do not broadcast");
        assert!(b.apply(Op::Matmul, &[x, x]).is_err());
        assert!(b.apply(Op::Transpose { axes: vec![0, 0] }, &[x]).is_err());
    }

    #[test]
    fn parents_are_the_nearest_boundaries_below_a_value() {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::F32);
        b.enter_stage("s");
        let s = b.sum(x, &[1]).unwrap();
        b.boundary("s.sum", s, "sum").unwrap();
        let c = b.cumsum(s, 0).unwrap();
        let d = b.binary(Op::Subtract, x, c).unwrap();
        b.boundary("s", d, "deviation").unwrap();
        assert!(b.boundary("s", d, "again").is_err());
        let graph = b.finish();
        let parents = graph.parents(&graph.boundaries()[1]);
        assert_eq!(
            parents.iter().map(|p| p.id.as_str()).collect::<Vec<_>>(),
            ["s.sum"]
        );
        assert!(graph.parents(&graph.boundaries()[0]).is_empty());
    }
}
