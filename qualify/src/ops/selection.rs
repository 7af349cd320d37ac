//! Which cases are run.

use probes::catalogue::{Case, Family, Size};
use reports::wire::{OpCase, Selection};
use stages::registry::Glob;

use crate::failure::{Failure, Kind, OrFail};

/// Families and patterns; none of either stand for all.
pub struct Selector<'a> {
    families: &'a [Family],
    ops: Vec<(&'a str, Glob)>,
}

/// A family by its name.
pub fn of_family(text: &str) -> Result<Family, String> {
    let family = Family::ALL.into_iter().find(|family| family.name() == text);
    family.ok_or_else(|| {
        let names = Family::ALL.map(Family::name);
        format!("it must be one of {}", names.join(", "))
    })
}

impl<'a> Selector<'a> {
    /// Of any of these families that match any of these patterns.
    pub fn new(families: &'a [Family], ops: &'a [String]) -> Selector<'a> {
        let ops = ops.iter().map(|text| (text.as_str(), Glob::new(text)));
        Selector {
            families,
            ops: ops.collect(),
        }
    }

    /// The cases that are selected, in the catalogue's order.
    ///
    /// # Errors
    /// When a family or a pattern selects none.
    pub fn select(&self, size: Size) -> Result<Vec<(Family, Case)>, Failure> {
        let mut all = Vec::new();
        for family in Family::ALL {
            let cases = family.cases(size).or_fail(Kind::Environment)?;
            all.extend(cases.into_iter().map(|case| (family, case)));
        }
        for (text, glob) in &self.ops {
            let names = || {
                all.iter()
                    .map(|(_, case)| (case.primitive(), case.dtype().name()))
            };
            if !names().any(|(primitive, dtype)| matches(glob, primitive, dtype)) {
                return Err(unknown(text, names().map(|(primitive, _)| primitive)));
            }
        }
        all.retain(|(family, case)| {
            self.takes_any(family.name(), case.primitive(), case.dtype().name())
        });
        if all.is_empty() {
            let message = "no case is of such a family and matches such a pattern at once";
            return Err(Failure::usage(message));
        }
        Ok(all)
    }

    /// Whether a case of an earlier run would be selected.
    pub fn takes(&self, case: &OpCase) -> bool {
        self.takes_any(&case.family, &case.primitive, &case.dtype)
    }

    fn takes_any(&self, family: &str, primitive: &str, dtype: &str) -> bool {
        let families = &self.families;
        (families.is_empty() || families.iter().any(|own| own.name() == family))
            && (self.ops.is_empty()
                || self
                    .ops
                    .iter()
                    .any(|(_, glob)| matches(glob, primitive, dtype)))
    }

    /// As reports have it.
    pub fn described(&self) -> Selection {
        Selection {
            families: self.families.iter().map(|f| f.name().to_owned()).collect(),
            ops: self
                .ops
                .iter()
                .map(|(text, _)| (*text).to_owned())
                .collect(),
        }
    }
}

/// A pattern is of a primitive, or of primitive and dtype with a dot between.
fn matches(glob: &Glob, primitive: &str, dtype: &str) -> bool {
    glob.matches(primitive) || glob.matches(&format!("{primitive}.{dtype}"))
}

/// A pattern that matches nothing, and what there is.
fn unknown<'n>(text: &str, primitives: impl Iterator<Item = &'n str>) -> Failure {
    let mut names: Vec<&str> = Vec::new();
    for primitive in primitives {
        if !names.contains(&primitive) {
            names.push(primitive);
        }
    }
    let (base, _) = text.split_once('.').unwrap_or((text, ""));
    let alike = names.iter().find(|name| name.eq_ignore_ascii_case(base));
    let way_out = match alike {
        Some(name) if *name == base => {
            format!("{name} has no cases in that dtype")
        }
        Some(name) => format!("did you mean {name}?"),
        None => format!("there are {}", names.join(", ")),
    };
    Failure::new(
        Kind::Usage,
        format!("find an operation named {text}; {way_out}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(families: &[Family], ops: &[&str]) -> Result<usize, String> {
        let ops: Vec<String> = ops.iter().map(|&op| op.to_owned()).collect();
        let found = Selector::new(families, &ops).select(Size::Short);
        found.map(|cases| cases.len()).map_err(|e| e.to_string())
    }

    #[test]
    fn families_and_patterns_narrow_each_other() {
        let all = count(&[], &[]).unwrap();
        let reductions = count(&[Family::Reduction], &[]).unwrap();
        let softmax = count(&[], &["Softmax"]).unwrap();
        let narrow = count(&[Family::Reduction], &["Softmax.BF16"]).unwrap();
        assert!(all > 500 && all > reductions && reductions > softmax && softmax == 2 * narrow);
        let both = count(&[Family::Unary, Family::Reduction], &[]).unwrap();
        assert_eq!(both, reductions + count(&[Family::Unary], &[]).unwrap());
        assert_eq!(count(&[], &["S*", "Sin"]), count(&[], &["S*"]));
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_refused_with_what_there_is() {
        let error = count(&[], &["softmax"]).unwrap_err();
        assert_eq!(
            error,
            "failed to find an operation named softmax; did you mean Softmax?"
        );
        let error = count(&[], &["Softmax.I32"]).unwrap_err();
        assert!(
            error.ends_with("Softmax has no cases in that dtype"),
            "{error}"
        );
        let error = count(&[], &["Sine"]).unwrap_err();
        assert!(error.contains("; there are Negative, Square, "), "{error}");
        let error = count(&[Family::Unary], &["Matmul"]).unwrap_err();
        assert!(error.contains("at once"), "{error}");
    }
}
