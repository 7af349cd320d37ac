//! Primitives with one result only, by the emitter's interpreter: comparisons, selections,
//! integers and their conversions.

use emitter::{Contract, Cut, interp::interpret, lower::lower, prepare};
use stages::{
    DType, Tensor,
    graph::{Builder, Node},
};

use super::{ContractError, inputs::Inputs, question::Question};

/// The elements of an elementwise primitive.
///
/// # Errors
/// When the emitter does not state it.
pub(super) fn compute(
    question: &Question,
    node: &Node,
    inputs: &Inputs<'_>,
    count: usize,
) -> Result<Vec<u32>, ContractError> {
    let op = node.op.name();
    let failed = |error: &dyn std::fmt::Display| ContractError::Compute {
        op,
        reason: error.to_string(),
    };
    let mut b = Builder::new();
    let mut tensors = Vec::new();
    let mut values = Vec::new();
    for (i, &input) in node.inputs.iter().enumerate() {
        // Copies and comparisons of BF16 are those of F32; values may be off the grid here.
        let dtype = match question.graph.info(input).dtype {
            DType::BF16 => DType::F32,
            other => other,
        };
        values.push(b.input(&i.to_string(), [count], dtype));
        tensors.push(tensor(dtype, &inputs.each(i)).map_err(|e| failed(&e))?);
    }
    let value = b.apply(node.op.clone(), &values).map_err(|e| failed(&e))?;
    b.boundary("result", value, "").map_err(|e| failed(&e))?;
    let graph = b.finish();
    let cut = Cut::step(&graph, &graph.boundaries()[0]);
    let program = lower(&graph, &cut, Contract::MlxCpu).map_err(|e| failed(&e))?;
    let mut args = Vec::new();
    for arg in program.args() {
        let number = match &arg.source {
            emitter::program::Source::Input(name) => name.parse::<usize>().ok(),
            _ => None,
        };
        let tensor = number.and_then(|i| tensors.get(i));
        let tensor = tensor.ok_or(ContractError::Unsupported(op))?;
        args.push(prepare::apply(&arg.prepare, tensor).map_err(|e| failed(&e))?);
    }
    let results = interpret(&program, &args).map_err(|e| failed(&e))?;
    let result = results.first().ok_or(ContractError::Unsupported(op))?;
    let bits = match result.dtype() {
        DType::F32 => result
            .as_f32()
            .map(|x| x.iter().map(|x| x.to_bits()).collect()),
        DType::I32 => result
            .as_i32()
            .map(|x| x.iter().map(|x| x.cast_unsigned()).collect()),
        DType::Bool => result
            .as_bool()
            .map(|x| x.iter().map(|&x| u32::from(x != 0)).collect()),
        _ => None,
    };
    bits.ok_or(ContractError::DType(result.dtype()))
}

fn tensor(dtype: DType, bits: &[u32]) -> Result<Tensor, stages::TensorError> {
    let shape = [bits.len()];
    match dtype {
        DType::I32 => {
            let values: Vec<i32> = bits.iter().map(|x| x.cast_signed()).collect();
            Tensor::from_i32(shape, &values)
        }
        DType::U32 => Tensor::from_u32(shape, bits),
        DType::Bool => {
            let values: Vec<bool> = bits.iter().map(|&x| x != 0).collect();
            Tensor::from_bool(shape, &values)
        }
        _ => {
            let values: Vec<f32> = bits.iter().map(|&x| f32::from_bits(x)).collect();
            Tensor::from_f32(shape, &values)
        }
    }
}
