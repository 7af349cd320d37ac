//! A mistake planted in a whole model: what a run makes of it is known before.

use std::collections::HashMap;

use stages::{
    Boundary, Graph, Tensor, TensorError,
    graph::{Builder, GraphError, Op, ValueId},
};

use super::{
    Mutated, mutations,
    step::{Step, again},
};

/// Why nothing was planted; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum PlantError {
    /// The mutated model does not fit together.
    #[error("plant a mistake: {0}")]
    Graph(#[from] GraphError),
    /// The boundary is too large.
    #[error("plant a mistake: {0}")]
    Tensor(#[from] TensorError),
    /// There is no mutation of that name.
    #[error("plant {name} in {boundary}; there are {}", .there.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The boundary.
        boundary: String,
        /// The names there are.
        there: Vec<String>,
    },
}

/// The graph with a mutation in the step of one boundary. All other steps stay what they are: the
/// planted result has the boundary's dtype.
///
/// # Errors
/// When the step has no mutation of that name.
pub fn planted(graph: &Graph, boundary: &Boundary, name: &str) -> Result<Graph, PlantError> {
    let step = Step::of(graph, boundary)?;
    let all = mutations(&step, &ones(graph, boundary)?);
    match all.iter().find(|mutated| mutated.name == name) {
        Some(mutated) => Ok(grafted(graph, boundary, mutated)?),
        None => Err(PlantError::Unknown {
            name: name.to_owned(),
            boundary: boundary.id.to_string(),
            there: all.into_iter().map(|mutated| mutated.name).collect(),
        }),
    }
}

/// Something of the boundary's shape: mutations look for an element that is not zero.
fn ones(graph: &Graph, boundary: &Boundary) -> Result<Tensor, PlantError> {
    let shape = &graph.info(boundary.value).shape;
    let ones = vec![1.0; shape.elements()];
    Ok(Tensor::from_f32(shape.clone(), &ones)?)
}

fn grafted(graph: &Graph, boundary: &Boundary, mutated: &Mutated) -> Result<Graph, GraphError> {
    let named: HashMap<ValueId, Vec<&Boundary>> =
        graph
            .boundaries()
            .iter()
            .fold(HashMap::new(), |mut all, b| {
                all.entry(b.value).or_default().push(b);
                all
            });
    let mut b = Builder::new();
    let mut known: Vec<ValueId> = Vec::new();
    let mut sources: HashMap<String, ValueId> = HashMap::new();
    let mut boundaries: HashMap<String, ValueId> = HashMap::new();
    for (value, node) in graph.nodes() {
        let new = if value == boundary.value {
            let dtype = node.info.dtype;
            let result = splice(&mut b, &mutated.step, &mut sources, &boundaries)?;
            b.astype(result, dtype)?
        } else {
            let inputs: Vec<ValueId> = node.inputs.iter().map(|v| known[v.index()]).collect();
            again(&mut b, node, &inputs)?
        };
        if let Op::Input { name } | Op::Weight { name } = &node.op {
            sources.insert(name.clone(), new);
        }
        for own in named.get(&value).into_iter().flatten() {
            b.enter_stage(own.stage.as_str());
            b.boundary(own.id.as_str(), new, &own.about)?;
            boundaries.insert(Step::input_of(&own.id), new);
        }
        known.push(new);
    }
    Ok(b.finish())
}

/// Adds the nodes of a step to a model in which what it takes is known by name.
fn splice(
    b: &mut Builder,
    step: &Step,
    sources: &mut HashMap<String, ValueId>,
    boundaries: &HashMap<String, ValueId>,
) -> Result<ValueId, GraphError> {
    let mut known: Vec<ValueId> = Vec::new();
    for (_, node) in step.graph().nodes() {
        let there = match &node.op {
            Op::Input { name } | Op::Weight { name } => {
                boundaries.get(name).or_else(|| sources.get(name)).copied()
            }
            _ => None,
        };
        let new = match there {
            Some(value) => value,
            None => {
                let inputs: Vec<ValueId> = node.inputs.iter().map(|v| known[v.index()]).collect();
                again(b, node, &inputs)?
            }
        };
        if let Op::Input { name } | Op::Weight { name } = &node.op {
            sources.insert(name.clone(), new);
        }
        known.push(new);
    }
    Ok(known[step.result().value.index()])
}

#[cfg(test)]
mod tests {
    use stages::{BoundaryId, DType};

    use super::*;

    fn chain() -> Graph {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::BF16);
        let sum = b.sum(x, &[1]).unwrap();
        b.boundary("sum", sum, "").unwrap();
        let half = b.binary_scalar(Op::Multiply, sum, 0.5).unwrap();
        b.boundary("half", half, "").unwrap();
        b.finish()
    }

    #[test]
    fn only_the_step_of_the_boundary_changes() {
        let graph = chain();
        let sum = graph.boundary(&BoundaryId::new("sum")).unwrap();
        let mutant = planted(&graph, sum, "without-last-1@Reduce.1").unwrap();
        let names: Vec<_> = mutant.boundaries().iter().map(|b| b.id.as_str()).collect();
        assert_eq!(names, ["sum", "half"]);
        let step = |graph: &Graph, name: &str| {
            let boundary = graph.boundary(&BoundaryId::new(name)).unwrap();
            Step::of(graph, boundary).unwrap().graph().clone()
        };
        assert_eq!(step(&graph, "half"), step(&mutant, "half"));
        assert_ne!(step(&graph, "sum"), step(&mutant, "sum"));
    }

    #[test]
    fn a_name_there_is_not_is_answered_with_those_there_are() {
        let graph = chain();
        let half = graph.boundary(&BoundaryId::new("half")).unwrap();
        let error = planted(&graph, half, "wrong-eps").unwrap_err();
        assert!(error.to_string().contains("one-ulp"), "{error}");
    }
}
