//! All statements that a step's primitives may have.

use std::collections::HashMap;

use stages::graph::{Node, ValueId};

use super::{
    ContractError,
    plan::{Operands, is_leaf},
    question::Question,
    statement::{Statement, Sum},
    statements::statements,
};

/// A statement for each primitive with several, by number.
pub(super) type Pick = Vec<u16>;

/// The primitives of a step with the statements each may have, from the plainest on.
#[derive(Debug)]
pub(super) struct Space {
    /// The primitives with more than one.
    pub free: Vec<Free>,
    numbers: HashMap<ValueId, usize>,
    only: HashMap<ValueId, Statement>,
}

/// A primitive and its statements.
#[derive(Debug)]
pub(super) struct Free {
    /// Its result.
    pub value: ValueId,
    /// Its name.
    pub op: &'static str,
    /// Its statements.
    pub statements: Vec<Statement>,
}

static EXACT: Statement = Statement::Exact;

impl Space {
    /// All statements of a step.
    ///
    /// # Errors
    /// When a primitive has no arithmetic here.
    pub fn new(question: &Question) -> Result<Space, ContractError> {
        let mut space = Space {
            free: Vec::new(),
            numbers: HashMap::new(),
            only: HashMap::new(),
        };
        let mut rounds = false;
        for value in question.slice() {
            let node = question.graph.node(value);
            if is_leaf(node) {
                continue;
            }
            let mut statements = statements(question, node)?;
            rounds |= statements.iter().any(|s| *s != Statement::Exact);
            if statements.len() == 1 {
                space.only.insert(value, statements.remove(0));
                continue;
            }
            statements.truncate(usize::from(u16::MAX));
            space.numbers.insert(value, space.free.len());
            space.free.push(Free {
                value,
                op: node.op.name(),
                statements,
            });
        }
        if !rounds {
            return Err(ContractError::NoArithmetic);
        }
        Ok(space)
    }

    /// The statement of a value's primitive.
    pub fn statement(&self, value: ValueId, pick: &Pick) -> &Statement {
        match self.numbers.get(&value) {
            Some(&number) => &self.free[number].statements[usize::from(pick[number])],
            None => self.only.get(&value).unwrap_or(&EXACT),
        }
    }

    /// Its number.
    pub fn choice(&self, value: ValueId, pick: &Pick) -> u16 {
        self.numbers.get(&value).map_or(0, |&number| pick[number])
    }

    /// Which operands a statement reads.
    pub fn used(&self, node: &Node, operands: &Operands, statement: &Statement) -> Vec<usize> {
        let own = 0..node.inputs.len();
        match statement {
            Statement::Each(expr) => (0..operands.values.len())
                .filter(|&i| expr.reads(i))
                .collect(),
            Statement::Sum(Sum { fused: Some(i), .. }) => operands
                .products
                .get(*i)
                .map_or(vec![], |(_, slots)| slots.to_vec()),
            _ => own.collect(),
        }
    }

    /// The primitives that a choice really computes: not those whose result is fused away.
    pub fn live(&self, question: &Question, pick: &Pick) -> Vec<usize> {
        let mut stack = vec![question.result];
        let mut seen = std::collections::HashSet::new();
        while let Some(value) = stack.pop() {
            let node = question.graph.node(value);
            if !seen.insert(value) || is_leaf(node) {
                continue;
            }
            let operands = Operands::of(&question.graph, node);
            let statement = self.statement(value, pick);
            let used = self.used(node, &operands, statement);
            stack.extend(used.into_iter().map(|i| operands.values[i]));
        }
        let live = |number: &usize| seen.contains(&self.free[*number].value);
        (0..self.free.len()).filter(live).collect()
    }

    /// The choice with the plainest statements where a result is fused away: it makes no difference
    /// there.
    pub fn without_dead(&self, question: &Question, mut pick: Pick) -> Pick {
        let live = self.live(question, &pick);
        for (number, choice) in pick.iter_mut().enumerate() {
            if !live.contains(&number) {
                *choice = 0;
            }
        }
        pick
    }

    /// How many choices there are.
    pub fn choices(&self) -> f64 {
        self.free
            .iter()
            .map(|free| free.statements.len() as f64)
            .product()
    }

    /// How far a choice is from the plainest one.
    pub fn plainness(&self, pick: &Pick) -> usize {
        pick.iter().map(|&i| usize::from(i)).sum()
    }
}
