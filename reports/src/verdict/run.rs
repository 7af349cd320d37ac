//! The verdict of a run and the first boundary that diverges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdict;

/// The worst verdict of all boundaries.
///
/// A run that judged nothing is inconclusive: an empty selection must not pass.
#[must_use]
pub fn run_verdict(boundaries: impl IntoIterator<Item = Verdict>) -> Verdict {
    boundaries
        .into_iter()
        .max()
        .unwrap_or(Verdict::Inconclusive)
}

/// The first boundaries, in graph order, whose verdict is worse than `order_explained`; vacuous
/// ones, in which no bit differs, not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstDivergence {
    /// By the local verdict: where to look. Local errors are independent of each other.
    pub local: Option<String>,
    /// By the inherited verdict: where the whole model first goes astray.
    pub inherited: Option<String>,
}

impl FirstDivergence {
    /// Finds both among (name, local verdict, inherited verdict) in graph order.
    #[must_use]
    pub fn among<'a>(
        boundaries: impl IntoIterator<Item = (&'a str, Option<Verdict>, Verdict)>,
    ) -> Self {
        let is_suspect = |verdict: Verdict| verdict.is_suspect() && verdict != Verdict::Vacuous;
        let mut first = Self::default();
        for (name, local, inherited) in boundaries {
            if first.local.is_none() && local.is_some_and(is_suspect) {
                first.local = Some(name.to_owned());
            }
            if first.inherited.is_none() && is_suspect(inherited) {
                first.inherited = Some(name.to_owned());
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{BitExact, Diverged, Inconclusive, OrderExplained, Vacuous};
    use super::*;

    #[test]
    fn local_and_inherited_are_found_apart() {
        let first = FirstDivergence::among([
            ("a", Some(BitExact), OrderExplained),
            ("b", Some(OrderExplained), Diverged),
            ("c", Some(BitExact), Diverged),
            ("d", Some(Vacuous), Diverged),
            ("e", Some(Diverged), Diverged),
        ]);
        assert_eq!(first.local.as_deref(), Some("e"));
        assert_eq!(first.inherited.as_deref(), Some("b"));
        assert_eq!(
            FirstDivergence::among([("a", Some(BitExact), BitExact)]),
            FirstDivergence::default()
        );
    }

    #[test]
    fn a_run_is_as_good_as_its_worst_boundary_and_an_empty_one_does_not_pass() {
        assert_eq!(run_verdict([BitExact, Vacuous, OrderExplained]), Vacuous);
        assert_eq!(run_verdict([Diverged, Inconclusive]), Diverged);
        assert_eq!(run_verdict([]), Inconclusive);
    }
}
