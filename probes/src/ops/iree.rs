//! Sites on IREE.

use emitter::{
    Contract, Cut,
    emit::emit,
    program::{Program, Source},
};
use oracle::iree::{IreeSide, Unit, tensor};
use stages::Tensor;

use super::{OpError, Site};

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

    /// The sum of the terms of the `index`-th site, by the compiled program.
    ///
    /// # Errors
    /// When there are not as many terms as the site has, or the call fails.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn sum(&self, index: usize, terms: &[f32]) -> Result<f32, OpError> {
        let site = &self.sites[index];
        let operand = site.operand(terms)?;
        let supply = |source: &Source| -> Option<Tensor> {
            match source {
                Source::Boundary(_) => Some(operand.clone()),
                Source::Weight(name) => site.weight(name),
                Source::Input(_) => None,
            }
        };
        let results = self.side.call(&self.unit, index, &supply, &|_| None)?;
        let result = results.first().map(tensor).transpose()?;
        site.read(result.as_ref())
    }
}

fn program(site: &Site, contract: Contract) -> Result<Program, OpError> {
    let result = site.result().ok_or(OpError::NoResult(site.at))?;
    Ok(emit(&site.graph, &Cut::step(&site.graph, result), contract)?.laid_out)
}
