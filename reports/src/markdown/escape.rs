//! Text that is not ours, put in Markdown so that it stays text.

use crate::wording::{clipped, visible};

/// A text as code: `<code>` with every character that Markdown or HTML knows as a reference, on one
/// line, also in a cell of a table. Characters nobody sees are written out. What is in `<code>` is
/// taken for no mention and no link to an issue.
#[must_use]
pub fn code(text: &str, characters: usize) -> String {
    let text = visible(text);
    format!("<code>{}</code>", self::text(&clipped(&text, characters)))
}

/// A text in which no character means anything to Markdown or HTML.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // Between letters an underscore emphasises nothing.
        let inside = c == '_' && letter(before) && letter(rest.peek().copied());
        before = Some(c);
        let known = c.is_ascii_alphanumeric() || " .,;/=+-()%".contains(c);
        let plain = !c.is_ascii() || known || inside;
        if plain && !c.is_control() {
            out.push(c);
        } else {
            out.push_str(&format!("&#{};", u32::from(c)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a browser makes of references.
    fn decoded(text: &str) -> String {
        let mut parts = text.split("&#");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once(';').unwrap();
            out.push(char::from_u32(number.parse().unwrap()).unwrap());
            out.push_str(rest);
        }
        out
    }

    proptest! {
        #[test]
        fn nothing_is_left_that_means_something_and_nothing_is_lost(given: String) {
            let escaped = text(&given);
            prop_assert_eq!(decoded(&escaped), given.as_str());
            let bare = escaped.replace("&#", "").replace(';', "");
            prop_assert!(!bare.contains(|c: char| "<>|`*[]\\\"'!#@~{}&:\n\r".contains(c)), "{bare}");
            let alone = |at: usize| {
                let near = |at: Option<usize>| {
                    let byte = at.and_then(|at| bare.as_bytes().get(at));
                    byte.is_some_and(u8::is_ascii_alphanumeric)
                };
                !near(at.checked_sub(1)) || !near(Some(at + 1))
            };
            prop_assert!(!bare.match_indices('_').any(|(at, _)| alone(at)), "{bare}");
            let code = code(&given, 50);
            prop_assert!(!code.contains('\n') && code.ends_with("</code>"));
        }
    }

    #[test]
    fn a_name_cannot_leave_its_cell() {
        assert_eq!(
            code("a|b`</code>\n@me", 100),
            "<code>a&#124;b&#96;&#60;/code&#62;&#92;n&#64;me</code>"
        );
        assert_eq!(code("abcdef", 3), "<code>ab…</code>");
    }
}
