//! An answer, for people.

use std::fmt::Write;

use probes::contract::{Answer, Candidate, Line, Statement, Unstated};

use super::{ContractArgs, asked::Asked};

/// Others that are shown of each primitive.
const OTHERS: usize = 3;

/// What the emitter states of a primitive, beside what was found.
#[derive(Debug)]
pub enum Own {
    /// The same.
    Same,
    /// Another that gives the same captured values.
    NotToldApart(Statement),
    /// Another that does not.
    Other(Statement),
    /// It is not told.
    Unstated(Unstated),
}

impl Own {
    /// What the emitter states beside a line of the contract.
    pub fn of(line: &Line, stated: Result<Statement, Unstated>) -> Own {
        match stated {
            Ok(stated) if stated == line.statement => Own::Same,
            Ok(stated) if line.others.contains(&stated) => Own::NotToldApart(stated),
            Ok(stated) => Own::Other(stated),
            Err(reason) => Own::Unstated(reason),
        }
    }
}

/// The whole text.
pub fn text(args: &ContractArgs, asked: &Asked, answer: &Answer, own: &[Own]) -> String {
    let mut text = format!("{}, side {}\n", asked.name, asked.side);
    match (answer.contract(), answer.ranking.first()) {
        (Some(contract), _) => winner(&mut text, args, answer, contract, own),
        (None, Some(best)) => none(&mut text, answer, best, own),
        (None, None) => text.push_str("nothing was tried\n"),
    }
    ranking(&mut text, args, asked, answer);
    if !own.iter().all(|own| matches!(own, Own::Same)) || answer.contract().is_none() {
        compared(&mut text, args, answer, own);
    }
    open(&mut text, args, asked, answer);
    text
}

fn winner(
    text: &mut String,
    args: &ContractArgs,
    answer: &Answer,
    contract: &Candidate,
    own: &[Own],
) {
    let sample = if answer.all_elements {
        ""
    } else {
        " of a sample"
    };
    let _ = writeln!(
        text,
        "{}  {} of {} elements{sample}:",
        answer.evidence(),
        contract.explained,
        contract.elements
    );
    for (line, own) in contract.lines.iter().zip(own) {
        let mark = match own {
            Own::Same => "",
            Own::NotToldApart(_) | Own::Other(_) | Own::Unstated(_) => "  *",
        };
        let _ = writeln!(text, "  {line}{mark}");
        let zero = |other: &&Statement| other.differs_only_in_zero(&line.statement);
        let others: Vec<&Statement> = line.others.iter().filter(|other| !zero(other)).collect();
        let shown = if args.all { others.len() } else { OTHERS };
        for other in others.iter().take(shown) {
            let _ = writeln!(text, "      or {other}");
        }
        if others.len() > shown {
            let _ = writeln!(text, "      or one of {} others", others.len() - shown);
        }
    }
    if contract.lines.is_empty() {
        text.push_str("  each primitive has one arithmetic only\n");
    }
}

fn none(text: &mut String, answer: &Answer, best: &Candidate, own: &[Own]) {
    let _ = writeln!(
        text,
        "{}  no contract that was tried gives every element; the best gives {} of {}:",
        answer.evidence(),
        best.explained,
        best.elements
    );
    for (line, own) in best.lines.iter().zip(own) {
        let mark = if matches!(own, Own::Same) { "" } else { "  *" };
        let _ = writeln!(text, "  {line}{mark}");
    }
}

/// Contracts by what they explain: of each the lines in which it is not the best.
fn ranking(text: &mut String, args: &ContractArgs, asked: &Asked, answer: &Answer) {
    // Those that explain everything too stand above, primitive by primitive.
    let others = answer.ranking.iter().skip(1);
    let others = others.filter(|other| args.all || other.refuted.is_some());
    let others: Vec<&Candidate> = others.collect();
    if others.is_empty() {
        return;
    }
    text.push_str("explained  contract\n");
    let best = &answer.ranking[0];
    let width = best.elements.to_string().len();
    let _ = writeln!(
        text,
        "{:>width$} of {}  as above",
        best.explained, best.elements
    );
    for other in others {
        let differs = |line: &&Line| {
            !best
                .lines
                .iter()
                .any(|own| own.value == line.value && own.statement == line.statement)
        };
        let lines: Vec<String> = other
            .lines
            .iter()
            .filter(differs)
            .map(Line::to_string)
            .collect();
        let refuted = match &other.refuted {
            Some(refuted) => {
                let case = match asked.cases.get(refuted.case) {
                    Some(case) if asked.cases.len() > 1 => format!("{case} "),
                    _ => String::new(),
                };
                format!(
                    "; not {case}element {}: {:?} for {:?}",
                    refuted.element, refuted.gives, refuted.observed
                )
            }
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "{:>width$} of {}  {}{refuted}",
            other.explained,
            other.elements,
            lines.join("; ")
        );
    }
}

/// Where the emitter states otherwise.
fn compared(text: &mut String, args: &ContractArgs, answer: &Answer, own: &[Own]) {
    let lines = answer.ranking.first().map_or(&[][..], |best| &best.lines);
    let contract = args.model.contract;
    for (line, own) in lines.iter().zip(own) {
        let op = line.op;
        let _ = match own {
            Own::Same => Ok(()),
            Own::NotToldApart(stated) => writeln!(
                text,
                "* {op}: the emitter states {stated} under {contract}, which gives the same here"
            ),
            Own::Other(stated) => writeln!(
                text,
                "* {op}: the emitter states {stated} under {contract}: cause contract"
            ),
            Own::Unstated(reason) => {
                writeln!(
                    text,
                    "* {op}: what the emitter states under {contract} is not told: {reason}"
                )
            }
        };
    }
}

/// How much was tried, and what is open.
fn open(text: &mut String, args: &ContractArgs, asked: &Asked, answer: &Answer) {
    let choices = answer.choices;
    let _ = match answer.exhaustive {
        true => write!(text, "all {choices} choices tried"),
        false => write!(text, "{} of {choices} choices tried", answer.tried),
    };
    if answer.cut_short {
        text.push_str(", cut short by --seconds");
    }
    if answer.contract().is_some() {
        let more = match answer.unjudged {
            0 => String::new(),
            more => format!(", {more} more on a sample"),
        };
        let _ = write!(text, "; {} give every element{more}", answer.complete);
    }
    text.push('\n');
    if !answer.all_elements {
        let judged = answer.ranking.first().map_or(0, |best| best.elements);
        let _ = writeln!(
            text,
            "judged on {judged} of {} elements, drawn at random; --all judges every one",
            answer.captured
        );
    }
    let apart = answer.contract().is_some_and(|contract| {
        contract.lines.iter().all(|line| {
            let mut others = line.others.iter();
            others.all(|other| other.differs_only_in_zero(&line.statement))
        })
    });
    if answer.complete > 1 && apart {
        text.push_str("sums begin with +0 or with their first term: no sum of zeros tells which\n");
    } else if answer.complete > 1 {
        text.push_str("these cannot be told apart on these captures; the plainest stands first\n");
        if args.from.is_none()
            && asked.cases.len() == 1
            && !matches!(args.side, crate::cli::Side::Recorded(_))
        {
            text.push_str("random values may tell more of them apart: --inputs random\n");
        }
    }
}
