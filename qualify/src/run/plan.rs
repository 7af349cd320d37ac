//! What has to be emitted for the selected boundaries.

use std::collections::BTreeSet;

use emitter::{
    Cut,
    emit::{EmitError, Emitted, emit},
    program::{Op, Program},
};
use stages::{Boundary, BoundaryId, Graph};

use crate::model::Model;

/// The programs of a run.
#[derive(Debug)]
pub struct Plan {
    /// From the model's inputs to the last selected boundaries, nothing else returned.
    pub production: Emitted,
    /// The same with all of [`Plan::tapped_ids`] returned.
    pub tapped: Emitted,
    /// One step a selected boundary, on its parents' values.
    pub steps: Vec<Emitted>,
    /// What the tapped program returns, in order: the selected boundaries and those that their
    /// steps start from.
    pub tapped_ids: Vec<BoundaryId>,
}

impl Plan {
    /// Emits everything.
    ///
    /// # Errors
    /// When a primitive has no lowering under the contract.
    pub fn of(model: &Model) -> Result<Plan, EmitError> {
        Plan::on(model, &model.graph)
    }

    /// Emits the same boundaries of another graph, which has all of the model's.
    ///
    /// # Errors
    /// As [`Plan::of`].
    pub fn on(model: &Model, graph: &Graph) -> Result<Plan, EmitError> {
        let named = |of: Vec<&Boundary>| -> Vec<&Boundary> {
            let ids = of.into_iter().map(|b| &b.id);
            ids.filter_map(|id| graph.boundary(id)).collect()
        };
        let selected = named(model.selected());
        let emitted = |cut: &Cut| emit(graph, cut, model.contract);
        let cuts: Vec<Cut> = selected.iter().map(|b| Cut::step(graph, b)).collect();
        let captured = named(with_parents(model));
        Ok(Plan {
            production: emitted(&Cut::production(graph, &selected))?,
            tapped: emitted(&Cut::tapped(graph, &captured))?,
            steps: cuts.iter().map(emitted).collect::<Result<_, _>>()?,
            tapped_ids: captured.iter().map(|b| b.id.clone()).collect(),
        })
    }

    /// The boundaries of [`Plan::tapped_ids`].
    pub fn tapped<'m>(&self, model: &'m Model) -> Vec<&'m Boundary> {
        let ids = self.tapped_ids.iter();
        ids.filter_map(|id| model.graph.boundary(id)).collect()
    }

    /// Multiply-adds of interpreting all steps.
    pub fn multiply_adds(&self) -> u64 {
        self.steps
            .iter()
            .map(|step| multiply_adds(&step.stated))
            .sum()
    }
}

/// The selected boundaries and those that their steps start from, in evaluation order.
pub fn with_parents(model: &Model) -> Vec<&Boundary> {
    let graph = &model.graph;
    let selected = model.selected();
    let parents = selected.iter().flat_map(|b| graph.parents(b));
    let wanted: BTreeSet<&BoundaryId> = parents
        .chain(selected.iter().copied())
        .map(|b| &b.id)
        .collect();
    let all = graph.boundaries().iter();
    all.filter(|b| wanted.contains(&b.id)).collect()
}

fn multiply_adds(program: &Program) -> u64 {
    let dots = program
        .nodes()
        .iter()
        .filter(|node| matches!(node.op, Op::Dot { .. }));
    dots.map(|node| {
        let k = program
            .info(node.inputs[0])
            .shape
            .dims()
            .last()
            .copied()
            .unwrap_or(0);
        (program.info(node.output).shape.elements() as u64).saturating_mul(k as u64)
    })
    .sum()
}
