//! Colours, and marks that say the same without them.

use std::borrow::Cow;

use crate::verdict::Verdict;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Doubtful,
    Bad,
}

/// Whether to colour at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    color: bool,
}

impl Style {
    pub const fn new(color: bool) -> Self {
        Self { color }
    }

    pub fn paint(self, tone: Tone, text: &str) -> Cow<'_, str> {
        let code = match tone {
            Tone::Plain => return text.into(),
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Doubtful => "33",
            Tone::Bad => "1;31",
        };
        if self.color {
            format!("\x1b[{code}m{text}\x1b[0m").into()
        } else {
            text.into()
        }
    }
}

pub(super) const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::BitExact | Verdict::OrderExplained => Tone::Good,
        Verdict::WithinPolicy | Verdict::Vacuous | Verdict::Inconclusive => Tone::Doubtful,
        Verdict::Diverged => Tone::Bad,
    }
}
