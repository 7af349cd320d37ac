//! Walking a graph: which nodes run, when, and how long their values live.

use std::collections::BTreeMap;

use stages::{
    Boundary, BoundaryId, Graph, Tensor,
    graph::{Node, Op, ValueInfo, View, infer},
};

use super::{
    MlxError,
    ffi::{Session, Value},
};
use crate::Captures;

pub(super) fn capture(
    graph: &Graph,
    weights: &dyn Fn(&str) -> Option<Tensor>,
    inputs: &BTreeMap<String, Tensor>,
    wanted: &[&Boundary],
    progress: &mut dyn FnMut(&Boundary),
) -> Result<Captures, MlxError> {
    let nodes: Vec<&Node> = graph.nodes().map(|(_, node)| node).collect();
    let mut wanted = wanted.to_vec();
    wanted.sort_by_key(|boundary| boundary.value);
    if let Some(stranger) = wanted.iter().find(|b| b.value.index() >= nodes.len()) {
        return Err(MlxError::UnknownBoundary(stranger.id.clone()));
    }

    let mut uses = count_uses(&nodes, &wanted);
    let session = Session::new().map_err(MlxError::Start)?;
    let mut values: Vec<Option<Value<'_>>> = nodes.iter().map(|_| None).collect();
    let mut captures = Captures::new();
    let mut pending = wanted.into_iter().peekable();

    for (index, node) in nodes.iter().enumerate() {
        let Some(next) = pending.peek() else { break };
        if uses[index] == 0 {
            continue;
        }
        let value = match &node.op {
            Op::Input { name } => {
                let tensor = inputs.get(name).cloned();
                give(&session, "input", name, tensor, &node.info)?
            }
            Op::Weight { name } => give(&session, "weight", name, weights(name), &node.info)?,
            op => {
                let operands: Vec<&Value<'_>> = node
                    .inputs
                    .iter()
                    .filter_map(|input| values[input.index()].as_ref())
                    .collect();
                run(&session, op, &operands, &node.info, &next.id)?
            }
        };
        for input in &node.inputs {
            release(&mut values, &mut uses, input.index());
        }
        values[index] = Some(value);
        while let Some(boundary) = pending.next_if(|boundary| boundary.value.index() == index) {
            if let Some(value) = &values[index] {
                let tensor = read(&session, value, &node.info, &boundary.id)?;
                captures.insert(boundary.id.clone(), tensor);
                progress(boundary);
            }
            release(&mut values, &mut uses, index);
        }
    }
    Ok(captures)
}

/// How often each value is read, by nodes that run and by the caller; 0 for nodes that do not.
fn count_uses(nodes: &[&Node], wanted: &[&Boundary]) -> Vec<usize> {
    let mut uses = vec![0; nodes.len()];
    for boundary in wanted {
        uses[boundary.value.index()] += 1;
    }
    for index in (0..nodes.len()).rev() {
        if uses[index] > 0 {
            for input in &nodes[index].inputs {
                uses[input.index()] += 1;
            }
        }
    }
    uses
}

/// Notes that a value was read once, and lets go of it if that was the last time.
fn release(values: &mut [Option<Value<'_>>], uses: &mut [usize], index: usize) {
    uses[index] -= 1;
    if uses[index] == 0 {
        values[index] = None;
    }
}

fn give<'s>(
    session: &'s Session,
    kind: &'static str,
    name: &str,
    tensor: Option<Tensor>,
    info: &ValueInfo,
) -> Result<Value<'s>, MlxError> {
    let name = name.to_owned();
    let Some(tensor) = tensor else {
        return Err(MlxError::Missing { kind, name });
    };
    if tensor.dtype() != info.dtype || *tensor.shape() != info.shape {
        return Err(MlxError::Given {
            kind,
            name,
            dtype: tensor.dtype(),
            shape: tensor.shape().clone(),
            declared: format!("{} {}", info.dtype, info.shape),
        });
    }
    session
        .import(&tensor)
        .map_err(|reason| MlxError::Import { kind, name, reason })
}

fn run<'s>(
    session: &'s Session,
    op: &Op,
    operands: &[&Value<'s>],
    info: &ValueInfo,
    boundary: &BoundaryId,
) -> Result<Value<'s>, MlxError> {
    let boundary = || boundary.clone();
    let value = session
        .apply(op, operands, info)
        .map_err(|message| MlxError::Op {
            op: op.name(),
            boundary: boundary(),
            message,
        })?;
    let (shape, dtype) = value.kind();
    if dtype != Some(info.dtype) || shape != info.shape {
        let dtype = dtype.map_or("another dtype", |dtype| dtype.name());
        return Err(MlxError::Inference {
            op: op.name(),
            boundary: boundary(),
            found: format!("{dtype} {shape}"),
            inferred: format!("{} {}", info.dtype, info.shape),
        });
    }
    Ok(value)
}

fn read(
    session: &Session,
    value: &Value<'_>,
    info: &ValueInfo,
    boundary: &BoundaryId,
) -> Result<Tensor, MlxError> {
    session
        .evaluate(value)
        .and_then(|()| session.read(value, info.dtype, &info.shape))
        .map_err(|message| MlxError::Evaluate {
            boundary: boundary.clone(),
            message,
        })
}

pub(super) fn run_op(op: &Op, inputs: &[Tensor]) -> Result<Tensor, MlxError> {
    let of = |tensor: &Tensor| ValueInfo {
        shape: tensor.shape().clone(),
        dtype: tensor.dtype(),
        view: View::Contiguous,
    };
    let infos: Vec<ValueInfo> = inputs.iter().map(of).collect();
    let info = infer(op, &infos.iter().collect::<Vec<_>>())?;
    let boundary = BoundaryId::new(op.name());
    let session = Session::new().map_err(MlxError::Start)?;
    let mut operands = Vec::new();
    for (i, tensor) in inputs.iter().enumerate() {
        operands.push(give(
            &session,
            "operand",
            &i.to_string(),
            Some(tensor.clone()),
            &infos[i],
        )?);
    }
    let value = run(
        &session,
        op,
        &operands.iter().collect::<Vec<_>>(),
        &info,
        &boundary,
    )?;
    read(&session, &value, &info, &boundary)
}
