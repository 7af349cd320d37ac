//! Sites on IREE.

use emitter::{
    Contract, Cut,
    emit::emit,
    program::{Program, Source},
};
use oracle::iree::{IreeSide, Unit, tensor};
use stages::Tensor;

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
        let programs = sites
            .iter()
            .map(|site| program(site, contract))
            .collect::<Result<Vec<_>, _>>()?;
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

fn program(site: &Site, contract: Contract) -> Result<Program, OpError> {
    let result = site.result().ok_or(OpError::NoResult(site.at))?;
    Ok(emit(&site.graph, &Cut::step(&site.graph, result), contract)?.laid_out)
}
