//! Keeps the order of sums over several axes.
//!
//! The compiler pulls transposes through producers into the loops of a reduction, and takes the
//! loops of a sum for interchangeable: a sum over two axes then runs in the order of the memory
//! behind the transpose. So where a transpose may reach such a sum, its operand is written out
//! first. Sums over one axis have one loop, which stays as it is.

use std::collections::HashMap;

use crate::program::{Combine, Node, Op, Order, Program, Value};

/// The same program with barriers before sums that a transpose could reorder.
pub(super) fn order(program: &Program) -> Program {
    let mut kept = Program {
        nodes: Vec::new(),
        ..program.clone()
    };
    let mut turned = vec![false; program.values.len()];
    let mut behind: HashMap<Value, Value> = HashMap::new();
    for node in &program.nodes {
        let mut node = node.clone();
        if over_several_axes(program, &node)
            && let [operand] = &mut node.inputs[..]
            && turned[operand.index()]
        {
            let source = *operand;
            *operand = *behind.entry(source).or_insert_with(|| {
                let info = program.info(source).clone();
                kept.push(Op::Barrier, vec![source], info)
            });
        }
        turned[node.output.index()] = matches!(node.op, Op::Transpose { .. })
            || node
                .inputs
                .iter()
                .any(|&input| turned.get(input.index()) == Some(&true));
        kept.nodes.push(node);
    }
    kept
}

fn over_several_axes(program: &Program, node: &Node) -> bool {
    let Op::Reduce {
        axes,
        combine: Combine::Sum {
            order: Order::Sequential,
            ..
        },
    } = &node.op
    else {
        return false;
    };
    let shape = &program.info(node.inputs[0]).shape;
    axes.iter().filter(|&&axis| shape[axis] != 1).count() > 1
}

#[cfg(test)]
mod tests {
    use stages::DType;

    use super::*;
    use crate::program::{Elem, Source, ValueInfo};

    fn sum_of_transpose(axes: Vec<usize>) -> Program {
        let info = |shape: &[usize]| ValueInfo {
            shape: shape.into(),
            elem: Elem::F32,
            grid: DType::F32,
        };
        let mut program = Program::new();
        let x = program.arg(Source::Input("x".into()), vec![], info(&[2, 3, 4]));
        let turned = program.push(
            Op::Transpose {
                axes: vec![2, 0, 1],
            },
            vec![x],
            info(&[4, 2, 3]),
        );
        let shape: Vec<usize> = (0..3)
            .filter(|a| !axes.contains(a))
            .map(|a| [4, 2, 3][a])
            .collect();
        let combine = Combine::Sum {
            order: Order::Sequential,
            round_each: None,
        };
        let sum = program.push(Op::Reduce { axes, combine }, vec![turned], info(&shape));
        program.output("sum", sum);
        program
    }

    #[test]
    fn a_sum_over_two_axes_behind_a_transpose_gets_a_barrier() {
        let ops = |program: &Program| -> Vec<_> {
            order(program)
                .nodes()
                .iter()
                .map(|node| node.op.name())
                .collect()
        };
        assert_eq!(
            ops(&sum_of_transpose(vec![0, 1])),
            ["Transpose", "Barrier", "Reduce"]
        );
        assert_eq!(ops(&sum_of_transpose(vec![1])), ["Transpose", "Reduce"]);
    }
}
