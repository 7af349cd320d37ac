//! A sample of the result's elements, and which elements of every value lead to them.

use std::collections::HashMap;

use stages::{
    Graph, Shape,
    graph::{Node, Op, ReduceKind, ValueId},
};

use super::{
    ContractError,
    question::{Question, splat},
    reads::{self, NOWHERE, Reads},
};

/// Elements of the result with all that leads to them. Elements of inputs and weights are named by
/// their row-major index, those of other values by their place among the needed ones.
#[derive(Debug)]
pub(super) struct Plan {
    /// The result's elements, ascending.
    pub wanted: Vec<u32>,
    /// By value, inputs and weights left out.
    pub nodes: HashMap<ValueId, Planned>,
}

/// What is needed of a value, and what that reads.
#[derive(Debug)]
pub(super) struct Planned {
    /// How many elements.
    pub count: usize,
    /// The elements, for sources without operands.
    pub places: Vec<u32>,
    /// What they read. Operands of products that may be fused stand behind the primitive's own.
    pub reads: Reads,
}

/// The operands of a primitive, and those of products that it may be fused with.
#[derive(Clone, Debug)]
pub(super) struct Operands {
    /// Its own, then the products'.
    pub values: Vec<ValueId>,
    /// Of each product: the operand that it is, and where its own two operands stand.
    pub products: Vec<(usize, [usize; 2])>,
}

impl Operands {
    pub fn of(graph: &Graph, node: &Node) -> Operands {
        let mut values = node.inputs.clone();
        let mut products = Vec::new();
        let fuses = match &node.op {
            Op::Add | Op::Subtract => true,
            Op::Reduce { kind, .. } => *kind == ReduceKind::Sum,
            _ => false,
        };
        if fuses && node.info.dtype.is_float() {
            for (i, input) in node.inputs.iter().enumerate() {
                let made = graph.node(*input);
                let factors = match (&made.op, &made.inputs[..]) {
                    (Op::Multiply, &[a, b]) => [a, b],
                    (Op::Square, &[a]) => [a, a],
                    (Op::Power, &[a, b]) if splat(graph, b) == Some(2f32.to_bits()) => [a, a],
                    _ => continue,
                };
                products.push((i, [values.len(), values.len() + 1]));
                values.extend(factors);
            }
        }
        Operands { values, products }
    }
}

/// The most elements that a plan reads.
const MOST: usize = 1 << 26;

impl Plan {
    /// The plan for elements of the result, ascending.
    ///
    /// # Errors
    /// When it would read too much.
    pub fn new(question: &Question, wanted: Vec<u32>) -> Result<Plan, ContractError> {
        let graph = &question.graph;
        let mut needed: HashMap<ValueId, Vec<u32>> = HashMap::new();
        needed.insert(question.result, wanted.clone());
        let mut nodes = HashMap::new();
        let mut total = 0usize;
        for value in question.slice().into_iter().rev() {
            let node = graph.node(value);
            if is_leaf(node) {
                continue;
            }
            let mut places = needed.remove(&value).unwrap_or_default();
            places.sort_unstable();
            places.dedup();
            let infos: Vec<_> = node.inputs.iter().map(|&v| graph.info(v)).collect();
            let mut reads = reads::of(node, &infos, &places)?;
            let operands = Operands::of(graph, node);
            for (own, slots) in &operands.products {
                for _ in slots {
                    reads.each.push(reads.each[*own].clone());
                    reads.rows.push(reads.rows[*own].clone());
                }
            }
            let lists = reads.each.iter().chain(&reads.rows).flatten();
            total += lists.map(Vec::len).sum::<usize>();
            if total > MOST {
                return Err(ContractError::TooLarge {
                    rows: places.len(),
                    width: reads.width.max(1),
                });
            }
            if let Some(from) = &reads.from {
                for (&operand, &at) in from.iter().zip(reads.each[0].iter().flatten()) {
                    let input = node.inputs[usize::from(operand)];
                    needed.entry(input).or_default().push(at);
                }
            } else {
                for (i, &operand) in operands.values.iter().enumerate() {
                    if is_leaf(graph.node(operand)) {
                        continue;
                    }
                    let entry = needed.entry(operand).or_default();
                    for list in [reads.each.get(i), reads.rows.get(i)].into_iter().flatten() {
                        entry.extend(list.iter().flatten().filter(|&&at| at != NOWHERE));
                    }
                }
            }
            let planned = Planned {
                count: places.len(),
                places,
                reads,
            };
            nodes.insert(value, planned);
        }
        let mut plan = Plan { wanted, nodes };
        plan.number(question);
        Ok(plan)
    }

    /// How many elements it reads.
    pub fn work(&self) -> usize {
        let lists = |planned: &Planned| {
            let reads = planned.reads.each.iter().chain(&planned.reads.rows);
            reads.flatten().map(Vec::len).sum::<usize>()
        };
        self.nodes.values().map(lists).sum()
    }

    /// Turns row-major indices into places among the needed elements.
    fn number(&mut self, question: &Question) {
        let graph = &question.graph;
        let values: Vec<ValueId> = self.nodes.keys().copied().collect();
        for value in values {
            let node = graph.node(value);
            let operands = Operands::of(graph, node).values;
            let Some(mut reads) = self
                .nodes
                .get_mut(&value)
                .map(|p| std::mem::take(&mut p.reads))
            else {
                continue;
            };
            if let Some(from) = &reads.from {
                let ranks: Vec<Rank> = node.inputs.iter().map(|&v| self.rank(graph, v)).collect();
                for (at, &operand) in reads.each[0].iter_mut().flatten().zip(from) {
                    *at = ranks[usize::from(operand)].of(*at);
                }
            } else {
                for (i, &operand) in operands.iter().enumerate() {
                    let rank = self.rank(graph, operand);
                    let lists = [reads.each.get_mut(i), reads.rows.get_mut(i)];
                    for at in lists.into_iter().flatten().flatten().flatten() {
                        if *at != NOWHERE {
                            *at = rank.of(*at);
                        }
                    }
                }
            }
            if let Some(planned) = self.nodes.get_mut(&value) {
                planned.reads = reads;
            }
        }
        for (value, planned) in &mut self.nodes {
            if !graph.node(*value).inputs.is_empty() {
                planned.places = Vec::new();
            }
        }
    }

    fn rank(&self, graph: &Graph, value: ValueId) -> Rank {
        match self.nodes.get(&value) {
            None => Rank::Same,
            Some(planned) => Rank::new(&planned.places, &graph.info(value).shape),
        }
    }
}

/// Whether a value is captured.
pub(super) fn is_leaf(node: &Node) -> bool {
    matches!(node.op, Op::Input { .. } | Op::Weight { .. })
}

/// Places of elements among the needed ones.
enum Rank {
    Same,
    Table(Vec<u32>),
    Sorted(Vec<u32>),
}

impl Rank {
    fn new(places: &[u32], shape: &Shape) -> Rank {
        let elements = shape.elements();
        if elements == places.len() {
            return Rank::Same;
        }
        if elements > 16 * places.len() + 4096 {
            return Rank::Sorted(places.to_vec());
        }
        let mut table = vec![0; elements];
        for (i, &place) in places.iter().enumerate() {
            table[place as usize] = i as u32;
        }
        Rank::Table(table)
    }

    fn of(&self, at: u32) -> u32 {
        match self {
            Rank::Same => at,
            Rank::Table(table) => table[at as usize],
            Rank::Sorted(places) => places.partition_point(|&place| place < at) as u32,
        }
    }
}
