//! Cuts: the part of a level-one graph between two sets of values.
//!
//! Production is the smallest cut from the model's inputs to the last selected boundaries; the
//! tapped cut is the same with every selected boundary returned; a step is the backward slice
//! from one boundary to the nearest registered ones. Cutting comes before lowering, and lowering
//! never looks across ops, so all three compute the same bits.

use std::collections::{BTreeSet, HashMap};

use stages::{
    Boundary, BoundaryId, Graph,
    graph::{Op, ValueId},
};

/// The ops between two sets of values of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Boundaries handed in, in evaluation order.
    pub given: Vec<(BoundaryId, ValueId)>,
    /// The nodes to evaluate, in evaluation order; sources (inputs, weights, constants) included,
    /// given values not.
    pub nodes: Vec<ValueId>,
    /// What is returned, by name, in evaluation order.
    pub outputs: Vec<(String, ValueId)>,
}

impl Cut {
    /// From the model's inputs to the last of the selected boundaries: those that no other
    /// selected boundary is computed from.
    pub fn production(graph: &Graph, selected: &[&Boundary]) -> Cut {
        let mut used = BTreeSet::new();
        for boundary in selected {
            let below = slice(graph, &[boundary.value], &HashMap::new());
            used.extend(below.into_iter().filter(|&value| value != boundary.value));
        }
        let last = selected.iter().filter(|b| !used.contains(&b.value));
        Cut::new(graph, &HashMap::new(), last.map(|b| named(b)).collect())
    }

    /// From the model's inputs to all selected boundaries.
    pub fn tapped(graph: &Graph, selected: &[&Boundary]) -> Cut {
        Cut::new(
            graph,
            &HashMap::new(),
            selected.iter().map(|b| named(b)).collect(),
        )
    }

    /// From the nearest registered boundaries to one boundary.
    pub fn step(graph: &Graph, boundary: &Boundary) -> Cut {
        let given = graph
            .boundaries()
            .iter()
            .filter(|b| b.value != boundary.value)
            .map(|b| (b.value, b.id.clone()))
            .collect();
        Cut::new(graph, &given, vec![named(boundary)])
    }

    fn new(
        graph: &Graph,
        given: &HashMap<ValueId, BoundaryId>,
        mut outputs: Vec<(String, ValueId)>,
    ) -> Cut {
        outputs.sort_by_key(|(_, value)| *value);
        let roots: Vec<ValueId> = outputs.iter().map(|(_, value)| *value).collect();
        let (handed, nodes): (Vec<_>, Vec<_>) = slice(graph, &roots, given)
            .into_iter()
            .partition(|value| given.contains_key(value));
        let given = handed
            .into_iter()
            .map(|value| (given[&value].clone(), value))
            .collect();
        Cut {
            given,
            nodes,
            outputs,
        }
    }

    /// The checkpoint tensors the cut reads, in evaluation order.
    pub fn weights<'g>(&self, graph: &'g Graph) -> Vec<&'g str> {
        self.nodes
            .iter()
            .filter_map(|&value| match &graph.node(value).op {
                Op::Weight { name } => Some(name.as_str()),
                _ => None,
            })
            .collect()
    }
}

fn named(boundary: &Boundary) -> (String, ValueId) {
    (boundary.id.as_str().to_owned(), boundary.value)
}

/// Everything `roots` are computed from, themselves included, in evaluation order; given values
/// are part of it, what lies behind them is not.
fn slice(
    graph: &Graph,
    roots: &[ValueId],
    given: &HashMap<ValueId, BoundaryId>,
) -> BTreeSet<ValueId> {
    let mut found = BTreeSet::new();
    let mut stack = roots.to_vec();
    while let Some(value) = stack.pop() {
        if found.insert(value) && !given.contains_key(&value) {
            stack.extend(&graph.node(value).inputs);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use stages::{DType, graph::Builder};

    use super::*;

    fn chain() -> Graph {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::F32);
        let w = b.weight("w", [3], DType::F32);
        let s = b.sum(x, &[1]).unwrap();
        b.boundary("s", s, "sum").unwrap();
        let d = b.binary(Op::Subtract, x, s).unwrap();
        b.boundary("d", d, "deviation").unwrap();
        let y = b.binary(Op::Multiply, d, w).unwrap();
        b.boundary("y", y, "scaled").unwrap();
        b.finish()
    }

    #[test]
    fn a_step_takes_the_nearest_boundaries_inputs_and_weights() {
        let graph = chain();
        let step = Cut::step(&graph, &graph.boundaries()[1]);
        assert_eq!(
            step.given,
            [(BoundaryId::new("s"), graph.boundaries()[0].value)]
        );
        assert!(step.weights(&graph).is_empty());
        let step = Cut::step(&graph, &graph.boundaries()[2]);
        assert_eq!(step.given.len(), 1);
        assert_eq!(step.weights(&graph), ["w"]);
    }

    #[test]
    fn production_returns_only_what_no_selected_boundary_uses() {
        let graph = chain();
        let all: Vec<&Boundary> = graph.boundaries().iter().collect();
        let names = |cut: &Cut| cut.outputs.iter().map(|o| o.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&Cut::production(&graph, &all)), ["y"]);
        assert_eq!(names(&Cut::tapped(&graph, &all)), ["s", "d", "y"]);
        assert_eq!(names(&Cut::production(&graph, &all[..2])), ["d"]);
        assert_eq!(Cut::production(&graph, &all[..1]).nodes.len(), 2);
    }
}
