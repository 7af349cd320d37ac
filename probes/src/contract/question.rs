//! What is asked: a step on level one, what it was handed, and what came out.

use std::{collections::HashMap, sync::Arc};

use stages::{
    DType, Graph, Tensor,
    graph::{Node, Op, ValueId},
};

use super::ContractError;

/// Values of a tensor by their bits: floats as F32, Booleans as 0 and 1.
pub(super) type Column = Arc<Vec<u32>>;

/// A step with captured values. Nothing else is known of the implementation.
#[derive(Clone, Debug)]
pub struct Question {
    pub(super) graph: Graph,
    pub(super) result: ValueId,
    pub(super) cases: Vec<Case>,
}

/// One set of captured values.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Inputs and weights.
    pub leaves: HashMap<ValueId, Column>,
    /// The result's elements.
    pub observed: Column,
}

impl Question {
    /// A step whose inputs and weights are the leaves of `graph`.
    ///
    /// # Errors
    /// When the result holds no floats, has no elements, or nothing that leads to it rounds.
    pub fn new(graph: &Graph, result: ValueId) -> Result<Question, ContractError> {
        let info = graph.info(result);
        if !matches!(info.dtype, DType::F32 | DType::BF16) {
            return Err(ContractError::NotFloat(info.dtype));
        }
        if info.shape.elements() == 0 {
            return Err(ContractError::Empty(info.shape.clone()));
        }
        Ok(Question {
            graph: graph.clone(),
            result,
            cases: Vec::new(),
        })
    }

    /// Takes in one set of captured values: those of inputs and weights by name, and the result.
    ///
    /// # Errors
    /// When a tensor is missing or not what the step declares.
    pub fn observe(
        &mut self,
        leaves: &dyn Fn(&Op) -> Option<Tensor>,
        result: &Tensor,
    ) -> Result<(), ContractError> {
        let mut found = HashMap::new();
        for value in self.slice() {
            let node = self.graph.node(value);
            if let Op::Input { name } | Op::Weight { name } = &node.op {
                let tensor =
                    leaves(&node.op).ok_or_else(|| ContractError::Missing(name.clone()))?;
                fits(name, &tensor, node, false)?;
                found.insert(value, column(&tensor)?);
            }
        }
        fits("the result", result, self.graph.node(self.result), true)?;
        self.cases.push(Case {
            leaves: found,
            observed: column(result)?,
        });
        Ok(())
    }

    /// Takes in values of inputs that are named by number, and no result.
    pub(super) fn draw(&mut self, tensors: &[Option<Tensor>]) -> Result<(), ContractError> {
        let mut leaves = HashMap::new();
        for (value, node) in self.graph.nodes() {
            if let Op::Input { name } = &node.op {
                let found = name
                    .parse()
                    .ok()
                    .and_then(|i: usize| tensors.get(i)?.as_ref());
                let tensor = found.ok_or_else(|| ContractError::Missing(name.clone()))?;
                leaves.insert(value, column(tensor)?);
            }
        }
        let observed = Arc::new(Vec::new());
        self.cases.push(Case { leaves, observed });
        Ok(())
    }

    /// The values that lead to the result, in evaluation order.
    pub(super) fn slice(&self) -> Vec<ValueId> {
        let mut needed = vec![false; self.result.index() + 1];
        needed[self.result.index()] = true;
        let nodes: Vec<(ValueId, &Node)> = self.graph.nodes().take(needed.len()).collect();
        for (value, node) in nodes.iter().rev() {
            if needed[value.index()] {
                for input in &node.inputs {
                    needed[input.index()] = true;
                }
            }
        }
        let values = nodes.into_iter().map(|(value, _)| value);
        values.filter(|value| needed[value.index()]).collect()
    }

    /// How many elements were captured.
    pub fn elements(&self) -> usize {
        self.cases.iter().map(|case| case.observed.len()).sum()
    }

    /// The element of a constant with all elements equal, by its bits.
    pub(super) fn splat(&self, value: ValueId) -> Option<u32> {
        splat(&self.graph, value)
    }
}

/// The element of a constant with all elements equal, by its bits.
pub(super) fn splat(graph: &Graph, value: ValueId) -> Option<u32> {
    let node = graph.node(value);
    let dtype = node.info.dtype;
    match &node.op {
        Op::Constant { value } => literal(*value, dtype),
        Op::Full { .. }
        | Op::Broadcast { .. }
        | Op::ExpandDims { .. }
        | Op::Squeeze { .. }
        | Op::Transpose { .. }
        | Op::Reshape { .. }
        | Op::Flatten { .. }
        | Op::Unflatten { .. } => splat(graph, *node.inputs.first()?),
        Op::AsType { .. } => {
            let from = *node.inputs.first()?;
            let bits = splat(graph, from)?;
            let floats = [DType::F32, DType::BF16];
            let both = floats.contains(&graph.info(from).dtype) && floats.contains(&dtype);
            both.then(|| onto(f32::from_bits(bits), dtype).to_bits())
        }
        _ => None,
    }
}

/// Whether a tensor is what a node declares; a result may be wider than that.
fn fits(name: &str, tensor: &Tensor, node: &Node, wider: bool) -> Result<(), ContractError> {
    let declared = node.info.dtype;
    let same = tensor.dtype() == declared || (wider && tensor.dtype() == DType::F32);
    if same && *tensor.shape() == node.info.shape {
        return Ok(());
    }
    Err(ContractError::Unfit {
        name: name.to_owned(),
        found: format!("{} {}", tensor.dtype(), tensor.shape()),
        declared: format!("{declared} {}", node.info.shape),
    })
}

fn column(tensor: &Tensor) -> Result<Column, ContractError> {
    let dtype = tensor.dtype();
    let bits = match dtype {
        DType::F32 | DType::BF16 => {
            let floats = tensor.to_f32().ok_or(ContractError::DType(dtype))?;
            floats.iter().map(|x| x.to_bits()).collect()
        }
        DType::I32 => {
            let values = tensor.as_i32().unwrap_or_default().iter();
            values.map(|x| x.cast_unsigned()).collect()
        }
        DType::U32 => tensor.as_u32().unwrap_or_default().to_vec(),
        DType::Bool => {
            let values = tensor.as_bool().unwrap_or_default().iter();
            values.map(|&x| u32::from(x != 0)).collect()
        }
        DType::F16 => return Err(ContractError::DType(dtype)),
    };
    Ok(Arc::new(bits))
}

/// A Python number as an array's element, by its bits.
pub(super) fn literal(value: f64, dtype: DType) -> Option<u32> {
    Some(match dtype {
        DType::F32 | DType::BF16 => onto(value as f32, dtype).to_bits(),
        DType::I32 => (value as i32).cast_unsigned(),
        DType::U32 => value as u32,
        DType::Bool => u32::from(value != 0.0),
        DType::F16 => return None,
    })
}

fn onto(x: f32, dtype: DType) -> f32 {
    match dtype {
        DType::BF16 => super::expr::onto_bf16(x),
        _ => x,
    }
}
