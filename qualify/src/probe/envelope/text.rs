//! An answer, for people.

use std::fmt::Write;

use probes::{
    envelope::{EnvelopeError, Interval, Reachable, accumulator},
    order::Rounding,
};

use super::answer::{Account, Answer, Shown};

/// Names of schedules in a line.
const NAMES: usize = 4;

/// Results in a line, and in a column of a table.
const RESULTS: usize = 8;
const IN_TABLE: usize = 3;

/// Rows of a table.
const ROWS: usize = 8;

/// The whole text.
pub fn text(answer: &Answer) -> String {
    let mut text = head(answer);
    match &answer.shown[..] {
        [one] => {
            for (rounding, (interval, set)) in answer.settings.roundings.iter().zip(&one.envelopes)
            {
                let _ = writeln!(text, "{}", envelope(*rounding, interval, set));
            }
        }
        several => table(&mut text, answer, several),
    }
    for (side, name) in answer.sides.iter().enumerate() {
        let one = match &answer.shown[..] {
            [one] => format!(" {}", bits(one.asked.observed[side])),
            _ => String::new(),
        };
        let _ = writeln!(text, "{name}{one}");
        for (rounding, accounts) in answer.settings.roundings.iter().zip(&answer.accounts) {
            let _ = writeln!(text, "  {}", account(answer, *rounding, &accounts[side]));
        }
    }
    text
}

fn head(answer: &Answer) -> String {
    let [fewest, most] = answer.terms;
    let mut head = answer.name.clone();
    if answer.count > 1 || answer.stated.is_some() {
        let _ = match fewest == most {
            true => write!(head, " of {most} terms"),
            false => write!(head, " of {fewest} to {most} terms"),
        };
    }
    if let Some(stated) = &answer.stated {
        let _ = write!(head, "; stated: {stated}");
    }
    head.push('\n');
    for told in &answer.told {
        let _ = match &told.schedule {
            Ok(schedule) => writeln!(head, "revealed on {}: {schedule}", told.side),
            Err(reason) => writeln!(head, "not revealed on {}: failed to {reason}", told.side),
        };
    }
    head
}

/// What one sum can give.
fn envelope(
    rounding: Rounding,
    interval: &Interval,
    set: &Result<Reachable, EnvelopeError>,
) -> String {
    let reached = match set {
        Ok(set) => {
            let count = set.values().len();
            let noun = if count == 1 { "result" } else { "results" };
            let values: Vec<String> = set.values().iter().map(|&x| bits(x)).collect();
            match count {
                0..=RESULTS => format!("{count} {noun}: {}", values.join(", ")),
                _ => format!("{count} {noun} from {} to {}", values[0], values[count - 1]),
            }
        }
        Err(error @ EnvelopeError::TooManyTerms { .. }) => {
            format!("not told: failed to {error} (--max-n)")
        }
        Err(error) => format!("not told: failed to {error}"),
    };
    let Interval {
        exact, condition, ..
    } = interval;
    let (low, high) = interval.ends();
    format!(
        "{}: {reached}; interval [{}, {}], exact {exact:?}, condition {condition:.3}",
        accumulator(rounding),
        number(low),
        number(high),
    )
}

fn table(text: &mut String, answer: &Answer, sums: &[Shown]) {
    // Of sums that are too long for it nothing is reached.
    let told = sums
        .iter()
        .any(|sum| sum.envelopes.iter().any(|(_, set)| set.is_ok()));
    let column = |rounding: &Rounding| format!("reachable, {}", accumulator(*rounding));
    let columns = answer
        .settings
        .roundings
        .iter()
        .map(column)
        .filter(|_| told);
    let first = ["sum".to_owned()].into_iter().chain(columns);
    let mut rows: Vec<Vec<String>> = vec![first.chain(answer.sides.iter().cloned()).collect()];
    let sums = &sums[..sums.len().min(ROWS)];
    for sum in sums {
        let reached = sum
            .envelopes
            .iter()
            .filter(|_| told)
            .map(|(_, set)| match set {
                Ok(set) if set.values().len() <= IN_TABLE => {
                    let values: Vec<String> = set.values().iter().map(|&x| number(x)).collect();
                    format!("{{{}}}", values.join(", "))
                }
                Ok(set) => format!("{} results", set.values().len()),
                Err(_) => "not told".to_owned(),
            });
        let label = [sum.label.to_string()].into_iter();
        let observed = sum.asked.observed.iter().map(|&x| number(x));
        rows.push(label.chain(reached).chain(observed).collect());
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|i| {
            rows.iter()
                .map(|row| row[i].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let line: Vec<String> = cells
            .map(|(cell, &width)| format!("{cell:<width$}"))
            .collect();
        let _ = writeln!(text, "{}", line.join("  ").trim_end());
    }
    if answer.count > sums.len() {
        let _ = writeln!(text, "… {} more", answer.count - sums.len());
    }
}

/// What explains one side's results in one accumulator.
fn account(answer: &Answer, rounding: Rounding, account: &Account) -> String {
    let (evidence, words) = (account.evidence, accumulator(rounding));
    let mut line = format!("{evidence}  {words}: ");
    let names: Vec<String> = account
        .joint
        .survivors()
        .map(|schedule| short(&schedule.to_string(), words))
        .collect();
    let asked = names.len() + account.joint.rejected().count();
    let all = match answer.count {
        1 => "it".to_owned(),
        count => format!("all {count}"),
    };
    if !names.is_empty() {
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        let shown = names[..names.len().min(NAMES)].join("; ");
        let _ = write!(line, "{shown}{more}");
        if !answer.complete {
            let _ = write!(
                line,
                " (of {asked} schedules; no evidence, as this is not all outputs)"
            );
        }
        return line;
    }
    let alone = answer.count == 1;
    let _ = match &account.order {
        Some(Ok(None)) => {
            let units = match rounding {
                Rounding::Bf16 => "",
                Rounding::F32 | Rounding::Bf16Once => ", and no matrix unit that is known,",
            };
            write!(line, "no order of additions{units} gives {all}")
        }
        Some(Ok(Some(order))) => {
            write!(
                line,
                "no schedule with a name gives {all}, but this order: {}",
                order.tree
            )
        }
        Some(Err(error)) => write!(
            line,
            "none of {asked} schedules gives {all}; of other orders it is not told: failed to {error}"
        ),
        None => write!(line, "none of {asked} schedules gives {all}"),
    };
    let _ = match (account.reachable, account.inside) {
        (Some(true), _) if alone => Ok(()),
        (Some(true), _) => write!(line, ", each result is reachable by itself"),
        (Some(false), _) => write!(line, ", not every result is reachable"),
        (None, Some(true)) => write!(line, ", each result lies inside its interval"),
        (None, Some(false)) => write!(line, ", not every result lies inside its interval"),
        (None, None) => Ok(()),
    };
    let last = account.joint.rejected().max_by_key(|(_, r)| r.element);
    if let (Some((schedule, rejection)), false) = (last, alone) {
        let name = short(&schedule.to_string(), words);
        let gives = rejection.gives.map_or("nothing".to_owned(), number);
        let sum = answer.label(rejection.element);
        let _ = write!(
            line,
            "; the last to fail: {name}, at sum {sum}, with {gives}"
        );
    }
    line
}

/// A schedule's name without what is said before it.
fn short(name: &str, accumulator: &str) -> String {
    name.replacen(&format!(", {accumulator}"), "", 1)
}

/// A number as people write it, so that it reads back as the same F32.
fn number(x: f32) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A number with its bits.
fn bits(x: f32) -> String {
    format!("{} ({:#010x})", number(x), x.to_bits())
}
