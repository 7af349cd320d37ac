//! The values of a step under a choice of statements, for the elements of a plan.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
};

use stages::graph::{Op, ValueId};

use super::{
    ContractError,
    inputs::Inputs,
    plan::{Operands, Plan, is_leaf},
    question::{Case, Column, Question},
    space::{Pick, Space},
    statement::Statement,
};
use crate::envelope::Term;

/// What was computed so far, by value and what its statements are.
type Known = HashMap<(ValueId, u64), Column>;

/// Elements that are kept.
const MOST_KEPT: usize = 1 << 25;

/// A sample of one case, with what was computed of it.
pub(super) struct Sample<'q> {
    question: &'q Question,
    case: &'q Case,
    /// Which case.
    pub number: usize,
    /// Its elements and all that leads to them.
    pub plan: Plan,
    known: Mutex<(Known, usize)>,
}

impl<'q> Sample<'q> {
    /// Elements of a case, ascending.
    pub fn new(
        question: &'q Question,
        number: usize,
        wanted: Vec<u32>,
    ) -> Result<Sample<'q>, ContractError> {
        Ok(Sample {
            question,
            case: &question.cases[number],
            number,
            plan: Plan::new(question, wanted)?,
            known: Mutex::default(),
        })
    }

    /// What was observed, element by element.
    pub fn observed(&self) -> impl Iterator<Item = f32> {
        let observed = &self.case.observed;
        let wanted = self.plan.wanted.iter();
        wanted.map(|&at| f32::from_bits(observed[at as usize]))
    }

    /// The result under a choice of statements.
    pub fn result(&self, space: &Space, pick: &Pick) -> Result<Column, ContractError> {
        self.value(space, pick, self.question.result).map(|v| v.0)
    }

    /// Under a statement of the result's primitive, what is added for the first element, and the
    /// addend.
    pub fn terms(
        &self,
        space: &Space,
        statement: &Statement,
    ) -> Result<(Vec<Term>, f32), ContractError> {
        let node = self.question.graph.node(self.question.result);
        let planned = self.plan.nodes.get(&self.question.result);
        let planned = planned.ok_or(ContractError::Unsupported("a value out of reach"))?;
        let operands = Operands::of(&self.question.graph, node);
        let plain = vec![0; space.free.len()];
        let columns = operands
            .values
            .iter()
            .map(|&operand| Ok(Some(self.value(space, &plain, operand)?.0)))
            .collect::<Result<Vec<_>, ContractError>>()?;
        let input = Inputs {
            question: self.question,
            planned,
            operands: &operands,
            columns: &columns,
        };
        let addend = match node.op {
            Op::AddMM { .. } => input.each_float(0).first().copied().unwrap_or(0.0),
            _ => 0.0,
        };
        Ok((input.terms(node, statement)(0), addend))
    }

    /// A value and what stands for its statements and those of all that it is computed from.
    fn value(
        &self,
        space: &Space,
        pick: &Pick,
        value: ValueId,
    ) -> Result<(Column, u64), ContractError> {
        let node = self.question.graph.node(value);
        if is_leaf(node) {
            let column = self.case.leaves.get(&value).cloned();
            let column = column.ok_or(ContractError::Unsupported("an input"))?;
            return Ok((column, value.index() as u64));
        }
        let planned = self.plan.nodes.get(&value);
        let planned = planned.ok_or(ContractError::Unsupported("a value out of reach"))?;
        let operands = Operands::of(&self.question.graph, node);
        let statement = space.statement(value, pick);
        let used = space.used(node, &operands, statement);
        let mut hasher = DefaultHasher::new();
        (value.index(), space.choice(value, pick)).hash(&mut hasher);
        let mut columns: Vec<Option<Column>> = vec![None; operands.values.len()];
        for i in used {
            let (column, key) = self.value(space, pick, operands.values[i])?;
            key.hash(&mut hasher);
            columns[i] = Some(column);
        }
        let key = (value, hasher.finish());
        if let Ok(known) = self.known.lock()
            && let Some(column) = known.0.get(&key)
        {
            return Ok((column.clone(), key.1));
        }
        let input = Inputs {
            question: self.question,
            planned,
            operands: &operands,
            columns: &columns,
        };
        let column = Arc::new(input.compute(node, statement)?);
        if let Ok(mut known) = self.known.lock() {
            if known.1 > MOST_KEPT {
                *known = Default::default();
            }
            known.1 += column.len() + 64;
            known.0.insert(key, column.clone());
        }
        Ok((column, key.1))
    }
}
