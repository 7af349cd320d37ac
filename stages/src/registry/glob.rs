//! Patterns over dotted names.

/// A pattern: `*` stands for any characters but dots, `**` for any characters at all, everything
/// else for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Is(char),
    WithinDots,
    Anything,
}

impl Glob {
    /// Reads a pattern; every text is one. More than two stars in a row are as good as two.
    pub fn new(pattern: &str) -> Glob {
        let mut tokens = Vec::new();
        for c in pattern.chars() {
            match (c, tokens.last_mut()) {
                ('*', Some(last @ (Token::WithinDots | Token::Anything))) => {
                    *last = Token::Anything;
                }
                ('*', _) => tokens.push(Token::WithinDots),
                (c, _) => tokens.push(Token::Is(c)),
            }
        }
        Glob { tokens }
    }

    /// Whether the pattern matches the whole of `name`. Takes time proportional to the product of
    /// the two lengths, whatever the pattern.
    pub fn matches(&self, name: &str) -> bool {
        // reached[i]: the tokens before i can match what was read of the name.
        let mut reached = vec![false; self.tokens.len() + 1];
        reached[0] = true;
        self.skip_stars(&mut reached);
        for c in name.chars() {
            let mut next = vec![false; reached.len()];
            for (i, token) in self.tokens.iter().enumerate().filter(|(i, _)| reached[*i]) {
                match token {
                    Token::Is(own) => next[i + 1] |= *own == c,
                    Token::WithinDots => next[i] |= c != '.',
                    Token::Anything => next[i] = true,
                }
            }
            self.skip_stars(&mut next);
            reached = next;
        }
        reached.last().copied().unwrap_or(false)
    }

    /// Stars also match nothing.
    fn skip_stars(&self, reached: &mut [bool]) {
        for (i, token) in self.tokens.iter().enumerate() {
            if reached[i] && !matches!(token, Token::Is(_)) {
                reached[i + 1] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::new(pattern).matches(name)
    }

    /// The definition, word for word; exponential.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        let splits = |rest: &[char], within: bool| {
            (0..=name.len())
                .filter(|&n| !within || !name[..n].contains(&'.'))
                .any(|n| by_definition(rest, &name[n..]))
        };
        match pattern {
            [] => name.is_empty(),
            ['*', '*', rest @ ..] => splits(rest, false),
            ['*', rest @ ..] => splits(rest, true),
            [c, rest @ ..] => name.first() == Some(c) && by_definition(rest, &name[1..]),
        }
    }

    #[test]
    fn stars_match_as_documented() {
        assert!(matches("a.*.c", "a.b.c") && !matches("a.*.c", "a.b.b.c"));
        assert!(matches("a.**.c", "a.b.b.c") && !matches("a.**.c", "a.c"));
        assert!(matches("*", "") && matches("*", "ab") && !matches("*", "a.b"));
        assert!(matches("**", "a.b") && matches("***", "a.b"));
        assert!(matches("", "") && !matches("", "a"));
    }

    #[test]
    fn no_pattern_takes_long() {
        let (pattern, name) = ("*a".repeat(2000), "a".repeat(3000));
        assert!(!matches(&format!("{pattern}b"), &name));
    }

    proptest! {
        #[test]
        fn the_matcher_is_the_definition(pattern in "[ab.*]{0,8}", name in "[ab.]{0,8}") {
            // The definition reads three stars as two and one, which is the same.
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(
                matches(&pattern, &name),
                by_definition(&chars(&pattern), &chars(&name))
            );
        }
    }
}
