//! What a text selects by name.

use super::Glob;

/// A [`Glob`] that selects a name if it matches it or a name of a stage above it. The results of
/// single primitives lie below their boundary.
///
/// ```
/// use stages::registry::Selector;
/// let attention = Selector::new("conformer.*.attention");
/// assert!(attention.selects("conformer.0.attention"));
/// assert!(attention.selects("conformer.0.attention.softcap/2.Tanh"));
/// assert!(!attention.selects("conformer.0"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Without stars, which is compared instead of matched: a policy may name thousands.
    Name(String),
    Glob(Glob),
}

impl Selector {
    /// Reads a selector; every text is one.
    pub fn new(text: &str) -> Selector {
        Selector(if text.contains('*') {
            Kind::Glob(Glob::new(text))
        } else {
            Kind::Name(text.to_owned())
        })
    }

    /// Whether it selects the boundary of that name.
    pub fn selects(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Name(own) => name
                .strip_prefix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/'])),
            Kind::Glob(glob) => super::at_or_above(name).any(|name| glob.matches(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_selects_what_its_glob_does(own in "[ab./]{0,4}", name in "[ab./]{0,6}") {
            let glob = Selector(Kind::Glob(Glob::new(&own)));
            prop_assert_eq!(Selector::new(&own).selects(&name), glob.selects(&name));
        }
    }
}
