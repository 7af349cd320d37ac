//! A report as one HTML page that needs nothing else: no network, no other file.
//!
//! The report is data in the page, and a script draws it: names and numbers are put in as text and
//! never parsed as HTML. The page's policy admits this one script and this one style by their
//! digests and forbids every connection, so that even what got into it otherwise could not run or
//! call anybody. What is said of a boundary is parsed when it is looked at.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::verdict::{Cause, FirstDivergence, Origin, Verdict};
use crate::wire::{Bits, Boundary, EvidenceLevel, Flag, Number, Policy, Report, WorstElement};
use crate::wording::{self, label};

const BODY: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    "\"use strict\";\n{\n",
    include_str!("script/1-text.js"),
    include_str!("script/2-data.js"),
    include_str!("script/3-map.js"),
    include_str!("script/4-list.js"),
    include_str!("script/5-charts.js"),
    include_str!("script/6-detail.js"),
    include_str!("script/7-main.js"),
    "}\n"
);

/// Why a report was not put in the form of a page. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("write the report as HTML")]
pub struct HtmlError(#[from] serde_json::Error);

/// What the page draws at once.
#[derive(Serialize)]
struct Head<'a> {
    verdict: Verdict,
    exit_code: u8,
    counts: String,
    facts: Vec<(&'static str, String)>,
    interference: String,
    first_divergence: &'a FirstDivergence,
    policy: &'a Policy,
    command: String,
    fingerprint: Vec<(String, String)>,
    words: Words,
    index: Vec<Entry<'a>>,
}

/// Name, stage, number of the verdict, grid, elements; elements that differ, local and inherited;
/// largest distance or what there is instead; whether the error is only inherited.
type Entry<'a> = (
    &'a str,
    &'a str,
    usize,
    &'static str,
    u64,
    Option<u64>,
    Option<u64>,
    Distance,
    bool,
);

#[derive(Serialize)]
#[serde(untagged)]
enum Distance {
    Steps(Option<u64>),
    Instead(&'static str),
}

/// Names of the format, and what they are called.
#[derive(Serialize)]
struct Words {
    verdicts: [(Verdict, &'static str); 6],
    cause: Dictionary<Cause>,
    origin: Dictionary<Origin>,
    evidence: Dictionary<EvidenceLevel>,
    flags: Dictionary<Flag>,
}

/// Written as an object.
struct Dictionary<K>(Vec<(K, &'static str)>);

impl<K: Serialize> Serialize for Dictionary<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, text)| (key, text)))
    }
}

impl Words {
    fn new() -> Self {
        use EvidenceLevel::{E1, E2, E3, E4};
        let cause = [Cause::Backend, Cause::Contract, Cause::Both];
        let origin = [Origin::Local, Origin::Inherited, Origin::Both];
        let flags = [Flag::OffGrid, Flag::NonFinite, Flag::Unguarded];
        let evidence = [E1, E2, E3, E4].into_iter();
        let evidence = evidence.filter_map(|level| Some((level, wording::evidence(level)?)));
        Self {
            verdicts: Verdict::ALL.map(|verdict| (verdict, label(verdict))),
            cause: Dictionary(cause.map(|c| (c, wording::cause(c))).to_vec()),
            origin: Dictionary(origin.map(|o| (o, wording::origin(o))).to_vec()),
            evidence: Dictionary(evidence.collect()),
            flags: Dictionary(flags.map(|f| (f, wording::flag(f))).to_vec()),
        }
    }
}

impl<'a> Head<'a> {
    fn new(report: &'a Report) -> Self {
        let model = &report.model;
        let mut facts = vec![
            ("model", model.kind.clone()),
            ("profile", model.profile.clone()),
            ("contract", model.contract.clone()),
            ("frames", model.bucket.to_string()),
            ("clips", model.clips.to_string()),
            ("created", report.created.clone()),
            (
                "by",
                format!("{} {}", report.tool.name, report.tool.version),
            ),
        ];
        facts.extend(wording::planted(report).map(|said| ("", said)));
        let repeated = report.repeat.iter().map(wording::repeated);
        facts.extend(repeated.map(|said| ("", said)));
        Self {
            verdict: report.verdict,
            exit_code: report.exit_code,
            counts: wording::counts(report),
            facts,
            interference: wording::interference(report.non_interference),
            first_divergence: &report.first_divergence,
            policy: &report.policy,
            command: wording::command(&report.command),
            fingerprint: report.fingerprint.entries(),
            words: Words::new(),
            index: report.boundaries.iter().map(entry).collect(),
        }
    }
}

fn entry(b: &Boundary) -> Entry<'_> {
    let sides = [b.local.as_ref(), Some(&b.inherited)];
    let steps = sides
        .into_iter()
        .flatten()
        .filter_map(|m| Some(m.ulp.as_ref()?.max));
    let distance = if b.flags.contains(&Flag::OffGrid) {
        Distance::Instead("off grid")
    } else {
        Distance::Steps(steps.max())
    };
    (
        &b.name,
        &b.stage,
        Verdict::ALL
            .iter()
            .position(|&v| v == b.verdict)
            .unwrap_or(0),
        b.grid.name(),
        b.elements,
        b.local.as_ref().and_then(|local| local.differing),
        b.inherited.differing,
        distance,
        b.verdict == Verdict::Diverged && b.origin == Some(Origin::Inherited),
    )
}

/// A report as a page.
///
/// # Errors
/// None in practice: memory takes every line.
pub fn render(report: &Report) -> Result<String, HtmlError> {
    let mut page = String::with_capacity(BODY.len() + STYLE.len() + SCRIPT.len() + 4096);
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; \
         base-uri 'none'; form-action 'none'",
        digest(SCRIPT),
        digest(STYLE)
    );
    let title = escaped(&format!("{} {}", report.tool.name, wording::counts(report)));
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{BODY}"
    );
    page.push_str("<script type=\"application/json\" id=\"report\">");
    data(&mut page, &Head::new(report))?;
    page.push_str("</script>\n<script type=\"application/x-ndjson\" id=\"boundaries\">\n");
    let lines = report.boundaries.par_iter().map(line);
    for line in lines.collect::<Result<Vec<String>, HtmlError>>()? {
        page.push_str(&line);
        page.push('\n');
    }
    page.push_str("</script>\n<script>");
    page.push_str(SCRIPT);
    page.push_str("</script>\n</body>\n</html>\n");
    Ok(page)
}

/// All that is said of a boundary, as in the report, but for its elements, which are most of it:
/// each is a list of its members, bits without `0x`.
fn line(boundary: &Boundary) -> Result<String, HtmlError> {
    let mut value = serde_json::to_value(boundary)?;
    let sides = [
        ("local", boundary.local.as_ref()),
        ("inherited", Some(&boundary.inherited)),
    ];
    for (side, m) in sides.into_iter().filter_map(|(side, m)| Some((side, m?))) {
        value[side]["worst"] = m.worst.iter().map(members).collect();
        value[side]["max_abs_at"] = m.max_abs_at.as_ref().map(members).into();
    }
    let mut line = String::new();
    data(&mut line, &value)?;
    Ok(line)
}

/// Index, both values, both bits; truth and condition.
fn members(e: &WorstElement) -> Value {
    let bits = |bits: Bits| format!("{:08x}", bits.0);
    json!([
        e.index,
        number(e.reference),
        number(e.candidate),
        bits(e.reference_bits),
        bits(e.candidate_bits),
        e.truth,
        e.condition,
    ])
}

/// A value with the digits that the report has for it: as a `Value` a binary32 would be widened
/// and have those of a binary64.
fn number(number: Number) -> Value {
    match number {
        Number::Float(value) if value.is_finite() => number
            .to_string()
            .parse::<f64>()
            .map_or(Value::Null, Value::from),
        Number::Float(_) => number.to_string().into(),
        Number::Int(value) => value.into(),
    }
}

/// Adds JSON in which nothing ends a script, begins a comment, or ends a line: characters that could
/// stand in strings alone, where they may be written by their numbers.
fn data(page: &mut String, value: &impl Serialize) -> Result<(), HtmlError> {
    let text = serde_json::to_string(value)?;
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        page.push_str(&rest[..at]);
        let mut behind = rest[at..].chars();
        if let Some(c) = behind.next() {
            let _ = write!(page, "\\u{:04x}", u32::from(c));
        }
        rest = behind.as_str();
    }
    page.push_str(rest);
    Ok(())
}

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The digest of a script or style, as policies name it.
fn digest(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn data_ends_nothing_and_reads_back(text: String, more in "[<>&/!\u{2028}\u{2029}script-]*") {
            let given = [text, more];
            let mut page = String::new();
            data(&mut page, &given).unwrap();
            let ending = ['<', '>', '&', '\n', '\u{2028}', '\u{2029}'];
            prop_assert!(!page.contains(ending), "{}", page);
            let read: [String; 2] = serde_json::from_str(&page).unwrap();
            prop_assert_eq!(read, given);
        }
    }

    #[test]
    fn the_script_and_the_style_end_nothing_themselves() {
        for text in [SCRIPT, STYLE] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }
}
