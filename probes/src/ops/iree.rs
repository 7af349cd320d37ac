//! Sites on IREE.

use emitter::{
    Contract, Cut,
    emit::{Emitted, emit},
    program::Source,
};
use oracle::iree::{IreeSide, Unit, tensor};
use stages::{Boundary, Graph, Tensor};

use super::{OpError, Site, Whole};
use crate::order::Sums;

/// Sites emitted under a contract and compiled, all in one module.
#[derive(Debug)]
pub struct Compiled<'s> {
    side: &'s IreeSide,
    sites: &'s [Site],
    unit: Unit,
}

impl<'s> Compiled<'s> {
    /// Emits and compiles sites. All are compiled for the same target: one without FMA if any
    /// site needs that.
    ///
    /// # Errors
    /// When a site has no lowering under the contract, or the compiler refuses the module.
    pub fn new(
        side: &'s IreeSide,
        sites: &'s [Site],
        contract: Contract,
    ) -> Result<Compiled<'s>, OpError> {
        Compiled::emitting(side, sites, &|graph, result| {
            Ok(emit(graph, &Cut::step(graph, result), contract)?)
        })
    }

    /// Compiles sites emitted in another way: to find out what a probe notices. What is emitted for
    /// a graph takes the boundary and the weight that the graph has.
    ///
    /// # Errors
    /// As [`Compiled::new`], and what `emit` says.
    pub fn emitting(
        side: &'s IreeSide,
        sites: &'s [Site],
        emit: &dyn Fn(&Graph, &Boundary) -> Result<Emitted, OpError>,
    ) -> Result<Compiled<'s>, OpError> {
        let program = |site: &Site| {
            let result = site.result().ok_or(OpError::NoResult(site.at))?;
            Ok(emit(&site.graph, result)?.laid_out)
        };
        let programs = sites.iter().map(program).collect::<Result<_, OpError>>()?;
        let unit = side.build("order", programs)?;
        Ok(Compiled { side, sites, unit })
    }

    /// One of the sites, if there is such a one.
    pub fn site(&self, index: usize) -> Option<OnIree<'_>> {
        let site = self.sites.get(index)?;
        Some(OnIree {
            compiled: self,
            index,
            site,
        })
    }
}

/// A site run by its compiled program.
#[derive(Clone, Copy, Debug)]
pub struct OnIree<'c> {
    compiled: &'c Compiled<'c>,
    index: usize,
    site: &'c Site,
}

impl Sums for OnIree<'_> {
    type Error = OpError;

    fn terms(&self) -> usize {
        self.site.terms()
    }

    fn rows(&self) -> usize {
        self.site.rows()
    }

    fn sums(&mut self, rows: &[f32]) -> Result<Vec<f32>, OpError> {
        self.site.read(self.result(rows)?.as_ref(), rows)
    }
}

impl Whole for OnIree<'_> {
    fn whole(&mut self, rows: &[f32]) -> Result<Vec<f32>, OpError> {
        self.site.read_whole(self.result(rows)?.as_ref(), rows)
    }
}

impl OnIree<'_> {
    fn result(&self, rows: &[f32]) -> Result<Option<Tensor>, OpError> {
        let Compiled { side, unit, .. } = self.compiled;
        let operand = self.site.operand(rows)?;
        let supply = |source: &Source| -> Option<Tensor> {
            match source {
                Source::Boundary(_) => Some(operand.clone()),
                Source::Weight(name) => self.site.weight(name),
                Source::Input(_) => None,
            }
        };
        let results = side.call(unit, self.index, &supply, &|_| None)?;
        Ok(results.first().map(tensor).transpose()?)
    }
}
