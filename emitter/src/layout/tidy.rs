//! Drops operations nobody reads and writes equal ones once. Arguments are kept only if read.

use std::collections::HashMap;

use crate::program::{Node, Program, Value};

/// The same program without dead and repeated operations.
pub(super) fn tidy(program: &Program) -> Program {
    let mut live = vec![false; program.values.len()];
    for output in &program.outputs {
        live[output.value.index()] = true;
    }
    for node in program.nodes.iter().rev() {
        if live[node.output.index()] {
            for input in &node.inputs {
                live[input.index()] = true;
            }
        }
    }

    let mut tidied = Program::new();
    let mut renamed: HashMap<Value, Value> = HashMap::new();
    for arg in program.args.iter().filter(|arg| live[arg.value.index()]) {
        let info = program.info(arg.value).clone();
        let value = tidied.arg(arg.source.clone(), arg.prepare.clone(), info);
        renamed.insert(arg.value, value);
    }
    let mut known: HashMap<(crate::program::Op, Vec<Value>), Vec<Value>> = HashMap::new();
    for Node { op, inputs, output } in &program.nodes {
        if !live[output.index()] {
            continue;
        }
        let inputs: Vec<Value> = inputs
            .iter()
            .filter_map(|value| renamed.get(value).copied())
            .collect();
        let info = program.info(*output);
        let same = known.entry((op.clone(), inputs.clone())).or_default();
        let value = match same.iter().find(|&&value| tidied.info(value) == info) {
            Some(&value) => value,
            None => {
                let value = tidied.push(op.clone(), inputs, info.clone());
                same.push(value);
                value
            }
        };
        renamed.insert(*output, value);
    }
    for output in &program.outputs {
        if let Some(&value) = renamed.get(&output.value) {
            tidied.output(output.name.clone(), value);
        }
    }
    tidied
}
