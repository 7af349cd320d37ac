//! Sites on MLX.

use std::collections::BTreeMap;

use oracle::MlxSide;
use stages::Tensor;

use super::{OpError, Site, TERMS, Whole};
use crate::order::Sums;

/// A site run by MLX, on the graph as it stands: operands are the views they are.
#[derive(Clone, Copy, Debug)]
pub struct OnMlx<'s> {
    side: &'s MlxSide,
    site: &'s Site,
}

impl<'s> OnMlx<'s> {
    /// That site on MLX.
    pub fn new(side: &'s MlxSide, site: &'s Site) -> OnMlx<'s> {
        OnMlx { side, site }
    }
}

impl Sums for OnMlx<'_> {
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

impl Whole for OnMlx<'_> {
    fn whole(&mut self, rows: &[f32]) -> Result<Vec<f32>, OpError> {
        self.site.read_whole(self.result(rows)?.as_ref(), rows)
    }
}

impl OnMlx<'_> {
    fn result(&self, rows: &[f32]) -> Result<Option<Tensor>, OpError> {
        let site = self.site;
        let inputs = BTreeMap::from([(TERMS.to_owned(), site.operand(rows)?)]);
        let wanted: Vec<_> = site.result().into_iter().collect();
        let weights = |name: &str| site.weight(name);
        let captures = self
            .side
            .capture(&site.graph, &weights, &inputs, &wanted, &mut |_| {})?;
        let result = wanted.first().and_then(|result| captures.get(&result.id));
        Ok(result.cloned())
    }
}
