//! A case: one primitive, perhaps on views, and the values it is applied to.

use std::collections::BTreeMap;

use stages::{
    DType, Graph, Tensor,
    graph::{Builder, GraphError, Node, ValueId},
};

/// One primitive and its inputs. The graph's last node is the primitive and its one boundary.
pub struct Case {
    /// What distinguishes it, for messages.
    pub name: String,
    /// Inputs, movements that make views of them, and the primitive.
    pub graph: Graph,
    /// Values of the inputs.
    pub inputs: BTreeMap<String, Tensor>,
    /// Values of the weights.
    pub weights: BTreeMap<String, Tensor>,
}

impl Case {
    /// The primitive under test.
    pub fn node(&self) -> &Node {
        self.graph.node(self.graph.boundaries()[0].value)
    }

    /// The dtype that the primitive's domain depends on: that of what is computed with.
    pub fn dtype(&self) -> DType {
        use stages::graph::Op;
        let node = self.node();
        let operand = match node.op {
            Op::Select => node.inputs.get(1),
            _ => node.inputs.first(),
        };
        operand.map_or(node.info.dtype, |&operand| self.graph.info(operand).dtype)
    }
}

/// A case on inputs: `build` adds the primitive and gives it.
pub fn case(
    name: impl Into<String>,
    inputs: &[Tensor],
    build: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError>,
) -> Case {
    case_with_weights(name, inputs, &[], build)
}

/// A case on inputs and then weights.
pub fn case_with_weights(
    name: impl Into<String>,
    inputs: &[Tensor],
    weights: &[Tensor],
    build: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError>,
) -> Case {
    let name = name.into();
    let mut b = Builder::new();
    let mut values = Vec::new();
    let named = |kind: &str, tensors: &[Tensor]| -> BTreeMap<String, Tensor> {
        // Not the same in two cases: the device keeps arguments by name.
        let named = |(i, tensor): (usize, &Tensor)| (format!("{name}/{kind}{i}"), tensor.clone());
        tensors.iter().enumerate().map(named).collect()
    };
    let (inputs, weights) = (named("x", inputs), named("w", weights));
    for (name, tensor) in &inputs {
        values.push(b.input(name, tensor.shape().clone(), tensor.dtype()));
    }
    for (name, tensor) in &weights {
        values.push(b.weight(name, tensor.shape().clone(), tensor.dtype()));
    }
    let value = build(&mut b, &values).unwrap_or_else(|error| panic!("{name}: {error}"));
    b.boundary("result", value, "").unwrap();
    Case {
        name,
        graph: b.finish(),
        inputs,
        weights,
    }
}
