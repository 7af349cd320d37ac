//! Values from inside a program, computed by the interpreter.

use std::collections::HashMap;

use emitter::{
    interp::interpret,
    program::{Elem, Program, Value},
};
use half::bf16;
use stages::Tensor;

use super::StepError;

/// Tensors by value.
#[derive(Debug)]
pub(super) struct Values(HashMap<Value, Tensor>);

impl Values {
    /// The elements of a float tensor.
    pub fn floats(&self, value: Value) -> Floats<'_> {
        let tensor = self.0.get(&value);
        match (
            tensor.and_then(Tensor::as_f32),
            tensor.and_then(Tensor::as_bf16),
        ) {
            (Some(wide), _) => Floats::F32(wide),
            (None, Some(narrow)) => Floats::Bf16(narrow),
            (None, None) => Floats::F32(&[]),
        }
    }

    /// An element by its bits, floats widened.
    pub fn bits(&self, value: Value, elem: Elem, at: usize) -> u32 {
        let tensor = self.0.get(&value);
        match elem {
            Elem::F32 | Elem::Bf16 => self.floats(value).at(at).to_bits(),
            Elem::I32 => {
                let found = tensor.and_then(Tensor::as_i32).map(|x| x[at]);
                found.unwrap_or(0).cast_unsigned()
            }
            Elem::Bool => tensor
                .and_then(Tensor::as_bool)
                .map_or(0, |x| u32::from(x[at] != 0)),
        }
    }
}

/// Elements of a float tensor.
#[derive(Clone, Copy)]
pub(super) enum Floats<'a> {
    F32(&'a [f32]),
    Bf16(&'a [bf16]),
}

impl Floats<'_> {
    /// An element, widened; NaN where there is none.
    pub fn at(self, at: usize) -> f32 {
        let found = match self {
            Floats::F32(values) => values.get(at).copied(),
            Floats::Bf16(values) => values.get(at).map(|x| x.to_f32()),
        };
        found.unwrap_or(f32::NAN)
    }
}

/// The wanted values: of the program no more than leads to them is run.
pub(super) fn excerpt(
    program: &Program,
    args: &[Tensor],
    wanted: &[Value],
) -> Result<Values, StepError> {
    if args.len() != program.args().len() {
        return Err(StepError::Arguments {
            expected: program.args().len(),
            given: args.len(),
        });
    }
    let mut values = HashMap::new();
    let mut needed = vec![false; program.values().len()];
    let mut computed = Vec::new();
    for &value in wanted {
        match program.args().iter().position(|arg| arg.value == value) {
            Some(arg) => {
                values.insert(value, args[arg].clone());
            }
            None if !computed.contains(&value) => {
                computed.push(value);
                needed[value.index()] = true;
            }
            None => {}
        }
    }
    if computed.is_empty() {
        return Ok(Values(values));
    }
    for node in program.nodes().iter().rev() {
        if needed[node.output.index()] {
            for input in &node.inputs {
                needed[input.index()] = true;
            }
        }
    }
    let mut part = Program::new();
    let mut own: HashMap<Value, Value> = HashMap::new();
    let mut given = Vec::new();
    for (arg, tensor) in program.args().iter().zip(args) {
        if needed[arg.value.index()] {
            let info = program.info(arg.value).clone();
            let value = part.arg(arg.source.clone(), arg.prepare.clone(), info);
            own.insert(arg.value, value);
            given.push(tensor.clone());
        }
    }
    for node in program.nodes() {
        if needed[node.output.index()] {
            let inputs = node.inputs.iter().filter_map(|input| own.get(input));
            let inputs = inputs.copied().collect();
            let info = program.info(node.output).clone();
            let value = part.push(node.op.clone(), inputs, info);
            own.insert(node.output, value);
        }
    }
    for (i, value) in computed.iter().enumerate() {
        if let Some(&value) = own.get(value) {
            part.output(format!("value {i}"), value);
        }
    }
    let results = interpret(&part, &given)?;
    values.extend(computed.into_iter().zip(results));
    Ok(Values(values))
}
