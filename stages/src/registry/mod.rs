//! Choosing boundaries by name, and listing them.
//!
//! The one registry of boundaries is the graph's; nothing is listed a second time here.

mod glob;
mod selector;
mod tree;

pub use glob::Glob;
pub use selector::Selector;
pub use tree::{BoundaryView, StageView, Tree};

use std::collections::BTreeSet;

use crate::{Boundary, Graph};

/// A selector that selects nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("find a boundary named {selector}{}", suggestion(.nearest))]
pub struct UnknownBoundary {
    /// The selector as given.
    pub selector: String,
    /// Names that resemble it, the nearest first.
    pub nearest: Vec<String>,
}

fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [rest @ .., last] => format!("; did you mean {} or {last}?", rest.join(", ")),
    }
}

/// The boundaries that any of `selectors` selects, in evaluation order, each once. No selectors
/// select every boundary.
///
/// Selected is what a [`Selector`] selects by its name: `sscp_conv_1.norm` also selects
/// `sscp_conv_1.norm.mean`, and `conformer.*.attention` everything below the attention of every
/// block.
///
/// # Errors
/// When a selector selects nothing.
pub fn select<'g, S: AsRef<str>>(
    graph: &'g Graph,
    selectors: &[S],
) -> Result<Vec<&'g Boundary>, UnknownBoundary> {
    let boundaries = graph.boundaries();
    let mut chosen = vec![selectors.is_empty(); boundaries.len()];
    for selector in selectors {
        let selector = selector.as_ref();
        let compiled = Selector::new(selector);
        let mut any = false;
        for (chosen, boundary) in chosen.iter_mut().zip(boundaries) {
            let selected = compiled.selects(boundary.id.as_str());
            any |= selected;
            *chosen |= selected;
        }
        if !any {
            return Err(UnknownBoundary {
                selector: selector.to_owned(),
                nearest: nearest(boundaries, selector),
            });
        }
    }
    Ok(boundaries
        .iter()
        .zip(chosen)
        .filter_map(|(boundary, chosen)| chosen.then_some(boundary))
        .collect())
}

/// A boundary's name and the names above it.
fn at_or_above(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices(['.', '/']).map(|(end, _)| &name[..end]);
    ends.chain([name])
}

/// Every name a selector can be: those of boundaries and what stands before a dot in them.
fn names(boundaries: &[Boundary]) -> BTreeSet<&str> {
    boundaries
        .iter()
        .map(|boundary| boundary.id.as_str())
        .flat_map(at_or_above)
        .collect()
}

/// At most three names that resemble `selector`, the nearest first.
fn nearest(boundaries: &[Boundary], selector: &str) -> Vec<String> {
    const ALIKE: f64 = 0.75;
    // The resemblance is quadratic in the length; no name is this long.
    let short: String = selector.chars().take(128).collect();
    let mut scored: Vec<(f64, &str)> = names(boundaries)
        .into_iter()
        .map(|name| {
            let last = name.rsplit('.').next().unwrap_or(name);
            let whole = strsim::jaro_winkler(&short, name);
            (whole.max(strsim::jaro_winkler(&short, last)), name)
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let nearest = scored.into_iter().take(3);
    nearest.map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Profile,
        config::tests::{parse, small},
        model::gemma3n_audio::{Frames, audio_encoder},
    };

    fn graph() -> Graph {
        audio_encoder(
            &parse(&small()).unwrap(),
            Profile::Bf16,
            1,
            Frames::Exact(8),
        )
        .unwrap()
    }

    fn selected(selectors: &[&str]) -> Vec<String> {
        let graph = graph();
        let selected = select(&graph, selectors).unwrap();
        selected.iter().map(|b| b.id.to_string()).collect()
    }

    #[test]
    fn a_name_selects_itself_and_everything_below_it() {
        assert_eq!(selected(&["mel_cast"]), ["mel_cast"]);
        assert_eq!(selected(&["sscp_conv_1"]).len(), 10);
        assert_eq!(selected(&["sscp_conv_1.norm"]).len(), 8);
        assert_eq!(selected(&["conformer.0"]).len(), 2 * 6 + 18 + 9 + 1);
        assert_eq!(selected(&[]).len(), graph().boundaries().len());
        assert!(select(&graph(), &["sscp_conv"]).is_err());
    }

    #[test]
    fn one_star_stays_between_dots_and_two_cross_them() {
        assert_eq!(selected(&["sscp_conv_*"]).len(), 20);
        assert_eq!(selected(&["sscp_conv_0.*"]).len(), 9);
        assert_eq!(selected(&["conformer.*.attention"]).len(), 18);
        assert_eq!(
            selected(&["**.norm.mean"]),
            ["sscp_conv_0.norm.mean", "sscp_conv_1.norm.mean"]
        );
        assert_eq!(selected(&["*.norm.mean"]), selected(&["**.norm.mean"]));
        assert!(select(&graph(), &["*.mean"]).is_err());
        assert_eq!(selected(&["**"]).len(), graph().boundaries().len());
    }

    #[test]
    fn primitives_lie_below_their_boundary() {
        let graph = graph().with_every_op();
        let selected = select(&graph, &["sscp_conv_0.norm.mean"]).unwrap();
        let names: Vec<_> = selected.iter().map(|b| b.id.as_str()).collect();
        assert_eq!(names.last(), Some(&"sscp_conv_0.norm.mean"));
        assert!(
            names[0].starts_with("sscp_conv_0.norm.mean/1."),
            "{names:?}"
        );
    }

    #[test]
    fn selections_add_up_in_evaluation_order() {
        assert_eq!(
            selected(&["input_projection", "mel_*", "mel_cast"]),
            ["mel_cast", "input_projection"]
        );
    }

    #[test]
    fn an_unknown_name_is_an_error_with_suggestions() {
        let message = |selector: &str| select(&graph(), &[selector]).unwrap_err().to_string();
        assert_eq!(
            message("input_projektion"),
            "find a boundary named input_projektion; did you mean input_projection?"
        );
        assert!(message("sscp_conv_3").contains("did you mean sscp_conv_"));
        assert!(message("cumulative_sums").contains("sscp_conv_0.norm.cumulative_sum"));
        assert_eq!(message("~"), "find a boundary named ~");
        assert!(select(&graph(), &[""]).is_err());
    }
}
