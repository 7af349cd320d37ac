//! Boundaries at every arithmetic result.

use std::collections::HashSet;

use super::{Boundary, BoundaryId, Graph, Op, ValueId};

impl Graph {
    /// The same graph with a boundary at every result of arithmetic that has none. Its name is
    /// `boundary/k.Primitive`: the first boundary that is computed from it, its number among that
    /// boundary's, from 1 in evaluation order, and the primitive. Results nothing registered is
    /// computed from, sources and movement get none.
    pub fn with_every_op(mut self) -> Graph {
        let mut seen: HashSet<ValueId> = self.boundaries.iter().map(|b| b.value).collect();
        let mut taps = Vec::new();
        for boundary in &self.boundaries {
            let mut found = Vec::new();
            let mut stack = self.node(boundary.value).inputs.clone();
            while let Some(value) = stack.pop() {
                if seen.insert(value) {
                    stack.extend(&self.node(value).inputs);
                    found.push(value);
                }
            }
            found.sort_unstable();
            found.retain(|&value| is_arithmetic(&self.node(value).op));
            for (k, value) in found.into_iter().enumerate() {
                let name = self.node(value).op.name();
                taps.push(Boundary {
                    id: BoundaryId::new(format!("{}/{}.{name}", boundary.id, k + 1)),
                    stage: boundary.stage.clone(),
                    value,
                    about: format!("The result of {name}."),
                });
            }
        }
        self.boundaries.extend(taps);
        self.boundaries.sort_by_key(|boundary| boundary.value);
        self
    }
}

fn is_arithmetic(op: &Op) -> bool {
    let source = matches!(
        op,
        Op::Input { .. }
            | Op::Weight { .. }
            | Op::Constant { .. }
            | Op::Arange { .. }
            | Op::Full { .. }
    );
    !source && !op.is_movement()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, graph::Builder};

    #[test]
    fn every_arithmetic_result_is_named_after_the_next_boundary() {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::F32);
        let square = b.apply(Op::Square, &[x]).unwrap();
        let mean = b.mean(square, 1).unwrap();
        b.boundary("mean", mean, "Mean.").unwrap();
        let shifted = b.binary_scalar(Op::Add, mean, 1.0).unwrap();
        let left = b.transpose(shifted, &[1, 0]).unwrap();
        let root = b.apply(Op::Sqrt { reciprocal: true }, &[left]).unwrap();
        b.boundary("root", root, "Root.").unwrap();
        let unused = b.binary(Op::Add, root, root).unwrap();
        let graph = b.finish().with_every_op();
        let names: Vec<_> = graph.boundaries().iter().map(|b| b.id.as_str()).collect();
        assert_eq!(
            names,
            [
                "mean/1.Square",
                "mean/2.Reduce",
                "mean",
                "root/1.Add",
                "root"
            ]
        );
        assert!(graph.boundaries().iter().all(|b| b.value != unused));
        assert_eq!(graph.parents(&graph.boundaries()[2]).len(), 1);
    }
}
