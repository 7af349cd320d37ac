//! A case: one primitive, perhaps on views, and the values it is applied to.

use std::collections::BTreeMap;

use stages::{
    Boundary, BoundaryId, DType, Graph,
    graph::{Builder, GraphError, Node, Op, ValueId},
};

use super::values::Operand;

/// One primitive and its inputs. The graph's last node is the primitive and its one boundary.
#[derive(Clone, Debug)]
pub struct Case {
    name: String,
    composite: Option<&'static str>,
    graph: Graph,
    result: Boundary,
    inputs: BTreeMap<String, Operand>,
    weights: BTreeMap<String, Operand>,
}

/// Why a case cannot be stated; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("state the case {name}")]
pub struct CaseError {
    /// The case.
    pub name: String,
    /// Why.
    #[source]
    pub error: GraphError,
}

/// A case, or why it is none.
pub(super) type Stated = Result<Case, CaseError>;

impl Case {
    /// A case on inputs and then weights: `build` adds the primitive and gives it.
    ///
    /// # Errors
    /// When the operands do not fit.
    pub fn new(
        name: impl Into<String>,
        inputs: &[Operand],
        weights: &[Operand],
        build: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError>,
    ) -> Result<Case, CaseError> {
        let name = name.into();
        // Not the same in two cases: the device keeps weights by name.
        let named = |kind: &str, operands: &[Operand]| -> BTreeMap<String, Operand> {
            let named = operands.iter().enumerate();
            let named = named.map(|(i, operand)| (format!("{name}/{kind}{i:02}"), operand.clone()));
            named.collect()
        };
        let (inputs, weights) = (named("x", inputs), named("w", weights));
        let mut b = Builder::new();
        let mut values = Vec::new();
        for (name, operand) in &inputs {
            values.push(b.input(name, operand.shape().clone(), operand.dtype()));
        }
        for (name, operand) in &weights {
            values.push(b.weight(name, operand.shape().clone(), operand.dtype()));
        }
        let built = build(&mut b, &values);
        let built = built.and_then(|value| b.boundary(RESULT, value, ABOUT));
        match built {
            Ok(value) => Ok(Case {
                name,
                composite: None,
                graph: b.finish(),
                result: Boundary {
                    id: BoundaryId::new(RESULT),
                    stage: String::new(),
                    value,
                    about: ABOUT.to_owned(),
                },
                inputs,
                weights,
            }),
            Err(error) => Err(CaseError { name, error }),
        }
    }

    /// The same case, of something that MLX puts together from several primitives.
    #[must_use]
    pub fn of(mut self, composite: &'static str) -> Case {
        self.composite = Some(composite);
        self
    }

    /// What distinguishes it from every other.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Inputs, movements that make views of them, and the primitive.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The inputs by name.
    pub fn inputs(&self) -> &BTreeMap<String, Operand> {
        &self.inputs
    }

    /// The weights by name.
    pub fn weights(&self) -> &BTreeMap<String, Operand> {
        &self.weights
    }

    /// The one boundary.
    pub fn result(&self) -> &Boundary {
        &self.result
    }

    /// The primitive under test.
    pub fn node(&self) -> &Node {
        self.graph.node(self.result.value)
    }

    /// The name of the primitive, or of what is put together.
    pub fn primitive(&self) -> &'static str {
        self.composite.unwrap_or_else(|| self.node().op.name())
    }

    /// The dtype that the primitive computes in.
    pub fn dtype(&self) -> DType {
        computes_in(&self.graph, self.node())
    }
}

/// The name of a case's boundary.
const RESULT: &str = "result";
const ABOUT: &str = "The result.";

/// The dtype that a primitive's domain depends on: that of what is computed with.
pub fn computes_in(graph: &Graph, node: &Node) -> DType {
    let operand = match node.op {
        Op::Select => node.inputs.get(1),
        _ => node.inputs.first(),
    };
    operand.map_or(node.info.dtype, |&operand| graph.info(operand).dtype)
}

/// What has a lowering of its own: the primitive and the arguments that choose another one.
pub fn form(op: &Op) -> String {
    match op {
        Op::Sqrt { .. } | Op::AsType { .. } | Op::Softmax { .. } | Op::BitwiseBinary { .. } => {
            format!("{op:?}")
        }
        Op::Reduce { kind, .. } => format!("Reduce {kind:?}"),
        Op::Scan {
            reverse, inclusive, ..
        } => format!("Scan {reverse} {inclusive}"),
        _ => op.name().to_owned(),
    }
}

/// A case on inputs.
pub(super) fn case(
    name: impl Into<String>,
    inputs: &[Operand],
    build: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError>,
) -> Stated {
    Case::new(name, inputs, &[], build)
}

/// A case on inputs and then weights.
pub(super) fn case_with_weights(
    name: impl Into<String>,
    inputs: &[Operand],
    weights: &[Operand],
    build: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError>,
) -> Stated {
    Case::new(name, inputs, weights, build)
}
