//! Sites on MLX.

use std::collections::BTreeMap;

use oracle::MlxSide;

use super::{OpError, Site, TERMS};

/// The sum of a site's terms by MLX, on the graph as it stands: operands are the views they are.
///
/// # Errors
/// When there are not as many terms as the site has, or MLX refuses the operation.
pub fn sum(side: &MlxSide, site: &Site, terms: &[f32]) -> Result<f32, OpError> {
    let inputs = BTreeMap::from([(TERMS.to_owned(), site.operand(terms)?)]);
    let wanted: Vec<_> = site.result().into_iter().collect();
    let weights = |name: &str| site.weight(name);
    let captures = side.capture(&site.graph, &weights, &inputs, &wanted, &mut |_| {})?;
    site.read(wanted.first().and_then(|result| captures.get(&result.id)))
}
