//! An answer, for programs. Its schema: `qualify/schema/probe-contract.schema.json`.

use probes::contract::{Answer, Candidate, ContractError, Line, Statement};
use reports::verdict::ExitCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ContractArgs, asked::Asked, text::Own};

/// The whole answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Wire {
    /// 1.
    pub schema_version: u32,
    /// Boundary or file, and shape.
    pub name: String,
    /// Why there is no answer; all that follows is then missing.
    pub not_told: Option<String>,
    /// What was found.
    pub answer: Option<Found>,
    /// The exit code.
    pub exit_code: u8,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Whose results.
    pub side: String,
    /// The contract that the emitter was asked about.
    pub contract: String,
    /// `E3` if one contract gives every element, else `E0`.
    pub evidence: String,
    /// Sets of captured values: `captured`, `random`.
    pub cases: Vec<String>,
    /// Captured elements.
    pub elements: usize,
    /// Whether all of them were judged, or a sample.
    pub all_elements: bool,
    /// Choices of statements that there are.
    pub choices: f64,
    /// Choices that were tried.
    pub tried: usize,
    /// Whether these are all.
    pub exhaustive: bool,
    /// Whether time ran out.
    pub cut_short: bool,
    /// Choices that give every element.
    pub complete: usize,
    /// Choices that give a sample and were not tried on every element.
    pub unjudged: usize,
    /// Contracts, the best first. If `evidence` is `E3`, the first is the answer.
    pub ranking: Vec<Ranked>,
    /// Beside the first: what the emitter states of each primitive.
    pub emitter: Vec<Stated>,
}

/// One contract.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ranked {
    /// Its statements.
    pub lines: Vec<Said>,
    /// Elements that come out as captured.
    pub explained: usize,
    /// Of how many.
    pub elements: usize,
    /// The first that does not.
    pub refuted: Option<Refuted>,
}

/// The arithmetic of one primitive.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Said {
    /// Its place in the step.
    pub node: usize,
    /// The primitive.
    pub op: String,
    /// Its arithmetic.
    pub statement: String,
    /// Other arithmetic in its place with which every element comes out too.
    pub others: Vec<String>,
}

/// An element that a contract does not give.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Refuted {
    /// Of which set of captured values.
    pub case: String,
    /// Its row-major index.
    pub element: usize,
    /// The bits that come out.
    pub gives: String,
    /// The captured bits.
    pub observed: String,
}

/// What the emitter states of one primitive.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stated {
    /// The primitive's place in the step.
    pub node: usize,
    /// Its arithmetic, if it is told.
    pub statement: Option<String>,
    /// Why it is not.
    pub not_told: Option<String>,
    /// `same`, `not_told_apart`, `other` or `not_told`.
    pub relation: String,
}

/// That there is no answer.
pub fn untold(name: &str, error: &ContractError, code: ExitCode) -> Wire {
    Wire {
        schema_version: 1,
        name: name.to_owned(),
        not_told: Some(format!("failed to {error}")),
        answer: None,
        exit_code: code.code(),
    }
}

/// An answer.
pub fn wire(
    args: &ContractArgs,
    asked: &Asked,
    answer: &Answer,
    own: &[Own],
    code: ExitCode,
) -> Wire {
    let lines = answer.ranking.first().map_or(&[][..], |best| &best.lines);
    Wire {
        schema_version: 1,
        name: asked.name.clone(),
        not_told: None,
        answer: Some(Found {
            side: asked.side.clone(),
            contract: args.model.contract.to_string(),
            evidence: answer.evidence().name().to_owned(),
            cases: asked.cases.clone(),
            elements: answer.captured,
            all_elements: answer.all_elements,
            choices: answer.choices,
            tried: answer.tried,
            exhaustive: answer.exhaustive,
            cut_short: answer.cut_short,
            complete: answer.complete,
            unjudged: answer.unjudged,
            ranking: answer.ranking.iter().map(|c| ranked(asked, c)).collect(),
            emitter: lines
                .iter()
                .zip(own)
                .map(|(line, own)| emitted(line, own))
                .collect(),
        }),
        exit_code: code.code(),
    }
}

fn ranked(asked: &Asked, candidate: &Candidate) -> Ranked {
    let said = |line: &Line| Said {
        node: line.value,
        op: line.op.to_owned(),
        statement: line.statement.to_string(),
        others: line.others.iter().map(Statement::to_string).collect(),
    };
    let bits = |x: f32| format!("{:#010x}", x.to_bits());
    Ranked {
        lines: candidate.lines.iter().map(said).collect(),
        explained: candidate.explained,
        elements: candidate.elements,
        refuted: candidate.refuted.map(|refuted| Refuted {
            case: asked.cases.get(refuted.case).cloned().unwrap_or_default(),
            element: refuted.element,
            gives: bits(refuted.gives),
            observed: bits(refuted.observed),
        }),
    }
}

fn emitted(line: &Line, own: &Own) -> Stated {
    let (statement, not_told, relation) = match own {
        Own::Same => (Some(line.statement.to_string()), None, "same"),
        Own::NotToldApart(stated) => (Some(stated.to_string()), None, "not_told_apart"),
        Own::Other(stated) => (Some(stated.to_string()), None, "other"),
        Own::Unstated(reason) => (None, Some(reason.to_string()), "not_told"),
    };
    Stated {
        node: line.value,
        statement,
        not_told,
        relation: relation.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_current() {
        let schema = schemars::schema_for!(Wire);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/schema/probe-contract.schema.json"
        );
        if std::env::var_os("QUALIFY_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(file, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
}
