//! Movements: every form, on plain and on transposed operands, for every dtype.

use stages::{
    DType,
    graph::{Builder, GraphError, Op, ValueId},
};

use super::{
    case::{Stated, case, case_with_weights},
    values::{CARRIED, any, indices},
};

/// Movements of one operand of shape [4, 6, 5].
fn forms() -> Vec<Op> {
    vec![
        Op::Broadcast {
            shape: [2, 4, 6, 5].into(),
        },
        Op::ExpandDims {
            axes: vec![0, 2, 4],
        },
        Op::Transpose {
            axes: vec![2, 0, 1],
        },
        Op::Transpose {
            axes: vec![0, 2, 1],
        },
        Op::Reshape {
            shape: [10, 12].into(),
        },
        Op::Flatten { start: 0, end: 1 },
        Op::Flatten { start: 1, end: 2 },
        Op::Unflatten {
            axis: 1,
            shape: [2, 3].into(),
        },
        Op::Slice {
            start: vec![0, 1, 2],
            stop: vec![4, 6, 5],
            strides: vec![1, 2, 1],
        },
        Op::Slice {
            start: vec![1, 0, 0],
            stop: vec![2, 6, 5],
            strides: vec![1, 1, 1],
        },
        Op::Slice {
            start: vec![0, 3, 0],
            stop: vec![4, 3, 5],
            strides: vec![1, 1, 1],
        },
        Op::Split {
            indices: vec![2, 3],
            axis: 1,
            part: 0,
        },
        Op::Split {
            indices: vec![2, 3],
            axis: 1,
            part: 1,
        },
        Op::Split {
            indices: vec![2, 3],
            axis: 1,
            part: 2,
        },
        Op::Split {
            indices: vec![],
            axis: 2,
            part: 0,
        },
    ]
}

fn of_view(op: &Op) -> impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError> + '_ {
    |b, x| {
        let turned = b.transpose(x[0], &[1, 2, 0])?;
        b.apply(op.clone(), &[turned])
    }
}

pub(super) fn cases() -> Vec<Stated> {
    let mut cases = Vec::new();
    for dtype in CARRIED {
        for (i, op) in forms().iter().enumerate() {
            let x = any(dtype, [4, 6, 5], i as u64);
            let weight = [any(dtype, [4, 6, 5], 50)];
            let name = |of: &str| format!("{op:?} of {of} {dtype}");
            cases.push(case(name("an input"), &[x], |b, x| b.apply(op.clone(), x)));
            // The view has the shape the forms are for.
            let x = any(dtype, [5, 4, 6], 100 + i as u64);
            cases.push(case(name("a view"), &[x], of_view(op)));
            if i < 6 {
                cases.push(case_with_weights(name("a weight"), &[], &weight, |b, x| {
                    b.apply(op.clone(), x)
                }));
            }
        }
        cases.extend(others(dtype));
    }
    cases
}

fn others(dtype: DType) -> Vec<Stated> {
    let x = |seed: u64| any(dtype, [4, 6, 5], seed);
    vec![
        case(
            format!("Broadcast of a column {dtype}"),
            &[any(dtype, [4, 1], 1)],
            |b, x| b.broadcast_to(x[0], &[3, 4, 5].into()),
        ),
        case(
            format!("Squeeze {dtype}"),
            &[any(dtype, [1, 4, 1, 5], 2)],
            |b, x| b.apply(Op::Squeeze { axes: vec![0, 2] }, x),
        ),
        case(
            format!("Full of an input {dtype}"),
            &[any(dtype, [0; 0], 3)],
            |b, x| {
                b.apply(
                    Op::Full {
                        shape: [3, 2].into(),
                    },
                    x,
                )
            },
        ),
        case(format!("Pad {dtype}"), &[x(4)], |b, x| {
            b.pad(x[0], &[(0, 1, 0), (2, 2, 3)], 1.0)
        }),
        case(format!("Pad of a view {dtype}"), &[x(5)], |b, x| {
            let turned = b.transpose(x[0], &[2, 1, 0])?;
            b.pad(turned, &[(1, 0, 2)], 0.0)
        }),
        case(
            format!("Concatenate {dtype}"),
            &[x(6), any(dtype, [4, 2, 5], 7), any(dtype, [5, 1, 4], 8)],
            |b, x| {
                let turned = b.transpose(x[2], &[2, 1, 0])?;
                b.apply(Op::Concatenate { axis: 1 }, &[x[0], x[1], turned])
            },
        ),
        case(
            format!("Concatenate rows {dtype}"),
            &[x(9), x(10)],
            |b, x| b.apply(Op::Concatenate { axis: 0 }, x),
        ),
        case(
            format!("GatherAxis along the middle {dtype}"),
            &[x(11), indices([4, 9, 5], 6, 12)],
            |b, x| b.apply(Op::GatherAxis { axis: 1 }, x),
        ),
        case(
            format!("GatherAxis along the last of a view {dtype}"),
            &[x(13), indices([4, 5, 3], 6, 14)],
            |b, x| {
                let turned = b.transpose(x[0], &[0, 2, 1])?;
                b.apply(Op::GatherAxis { axis: 2 }, &[turned, x[1]])
            },
        ),
    ]
}
