//! Products of matrices: sizes, batches, transposed operands and, for `AddMM`, its scalings.

use stages::{
    DType,
    graph::{Builder, GraphError, Op, ValueId},
};

use super::{
    case::{Stated, case, case_with_weights},
    values::{FLOATS, Operand, noise, spiked_values, tensor},
};

/// The last two axes exchanged.
fn turn(b: &mut Builder, x: ValueId) -> Result<ValueId, GraphError> {
    let rank = b.shape(x).rank();
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.swap(rank - 2, rank - 1);
    b.transpose(x, &axes)
}

/// `[M, K]·[K, N]` by their extents.
const SIZES: [(usize, usize, usize); 10] = [
    (5, 24, 7),
    (1, 300, 9),
    (8, 64, 16),
    (17, 130, 33),
    (3, 3000, 5),
    (9, 1, 4),
    (1, 7, 1),
    (4, 40, 1),
    (1, 200, 1),
    (32, 256, 48),
];

pub(super) fn cases() -> Vec<Stated> {
    let mut cases = Vec::new();
    for dtype in FLOATS {
        for (i, (m, k, n)) in SIZES.into_iter().enumerate() {
            let seed = 10 * i as u64;
            let (a, b) = (noise(dtype, [m, k], seed), noise(dtype, [k, n], seed + 1));
            let w = noise(dtype, [n, k], seed + 2);
            let name = |form: &str| format!("Matmul {form} {m}x{k}x{n} {dtype}");
            cases.push(case(name("plain"), &[a.clone(), b], |b, x| {
                b.apply(Op::Matmul, x)
            }));
            cases.push(case_with_weights(name("linear"), &[a], &[w], |b, x| {
                let turned = turn(b, x[1])?;
                b.apply(Op::Matmul, &[x[0], turned])
            }));
        }
        cases.extend(views(dtype));
        cases.extend(addmm(dtype));
    }
    cases
}

fn views(dtype: DType) -> Vec<Stated> {
    let product = |b: &mut Builder, x: &[ValueId]| b.apply(Op::Matmul, x);
    let with_specials = |shape: [usize; 2], seed: u64| {
        let values = spiked_values(shape[0] * shape[1], seed);
        // Most rows finite, so that not everything is NaN.
        let values: Vec<f32> = values
            .iter()
            .enumerate()
            .map(|(i, &x)| {
                if i % 3 == 0 || x.is_finite() && x.abs() < 1e15 {
                    x
                } else {
                    1.5
                }
            })
            .collect();
        tensor(dtype, shape, &values)
    };
    vec![
        case(
            format!("Matmul of transposes {dtype}"),
            &[noise(dtype, [50, 6], 1), noise(dtype, [7, 50], 2)],
            |b, x| {
                let (l, r) = (turn(b, x[0])?, turn(b, x[1])?);
                b.apply(Op::Matmul, &[l, r])
            },
        ),
        case(
            format!("Matmul in batches {dtype}"),
            &[
                noise(dtype, [2, 3, 5, 20], 3),
                noise(dtype, [2, 3, 20, 6], 4),
            ],
            product,
        ),
        case(
            format!("Matmul in batches by transposes {dtype}"),
            &[
                noise(dtype, [2, 3, 5, 20], 5),
                noise(dtype, [2, 3, 6, 20], 6),
            ],
            |b, x| {
                let r = turn(b, x[1])?;
                b.apply(Op::Matmul, &[x[0], r])
            },
        ),
        case(
            format!("Matmul of heads {dtype}"),
            &[
                noise(dtype, [2, 5, 3, 20], 7),
                noise(dtype, [2, 6, 3, 20], 8),
            ],
            |b, x| {
                let l = b.transpose(x[0], &[0, 2, 1, 3])?;
                let r = b.transpose(x[1], &[0, 2, 3, 1])?;
                b.apply(Op::Matmul, &[l, r])
            },
        ),
        case(
            format!("Matmul by a broadcast {dtype}"),
            &[noise(dtype, [4, 5, 20], 9), noise(dtype, [20, 6], 10)],
            |b, x| {
                let r = b.broadcast_to(x[1], &[4, 20, 6].into())?;
                b.apply(Op::Matmul, &[x[0], r])
            },
        ),
        case(
            format!("Matmul of slices {dtype}"),
            &[noise(dtype, [9, 40], 11), noise(dtype, [40, 12], 12)],
            |b, x| {
                let l = b.apply(
                    Op::Slice {
                        start: vec![1, 3],
                        stop: vec![9, 37],
                        strides: vec![2, 2],
                    },
                    &x[..1],
                )?;
                let r = b.apply(
                    Op::Slice {
                        start: vec![0, 0],
                        stop: vec![34, 12],
                        strides: vec![2, 1],
                    },
                    &x[1..],
                )?;
                b.apply(Op::Matmul, &[l, r])
            },
        ),
        case(
            format!("Matmul of special values {dtype}"),
            &[with_specials([24, 10], 13), with_specials([10, 9], 14)],
            product,
        ),
        case(
            format!("Matmul of zeros and denormals {dtype}"),
            &[
                tensor(dtype, [2, 3], &[-0.0, 0.0, -0.0, 1e-25, -1e-20, 1e-22]),
                tensor(dtype, [3, 2], &[1.0, 1e-20, -1.0, 1e-22, 1.0, 1e-19]),
            ],
            product,
        ),
    ]
}

fn addmm(dtype: DType) -> Vec<Stated> {
    let mut cases = Vec::new();
    let scales = [
        (1.0, 1.0),
        (0.3, 1.0),
        (1.0, 0.7),
        (-1.7, 0.3),
        (1.0, 0.0),
        (2.0, -1.0),
    ];
    let inputs = |m: usize, k: usize, n: usize, b: [usize; 2]| -> [Operand; 3] {
        [
            noise(dtype, [m, n], 1),
            noise(dtype, [m, k], 2),
            noise(dtype, b, 3),
        ]
    };
    for (alpha, beta) in scales {
        let op = Op::AddMM { alpha, beta };
        let sizes = [(5, 24, 7), (1, 40, 9), (9, 300, 3)];
        let tried = if (alpha, beta) == (1.0, 1.0) { 3 } else { 1 };
        for (m, k, n) in sizes.into_iter().take(tried) {
            let name = |form: &str| format!("AddMM {alpha} {beta} {form} {m}x{k}x{n} {dtype}");
            cases.push(case(name("plain"), &inputs(m, k, n, [k, n]), |b, x| {
                b.apply(op.clone(), x)
            }));
            cases.push(case(name("linear"), &inputs(m, k, n, [n, k]), |b, x| {
                let turned = turn(b, x[2])?;
                b.apply(op.clone(), &[x[0], x[1], turned])
            }));
        }
    }
    let op = Op::AddMM {
        alpha: 1.0,
        beta: 1.0,
    };
    // Matrices of one row, where both orders are the same.
    for (m, k, n) in [(3, 1, 8), (1, 1, 5), (2, 1, 1)] {
        let name = |form: &str| format!("AddMM {form} {m}x{k}x{n} {dtype}");
        cases.push(case(name("plain"), &inputs(m, k, n, [k, n]), |b, x| {
            b.apply(op.clone(), x)
        }));
        cases.push(case(name("linear"), &inputs(m, k, n, [n, k]), |b, x| {
            let turned = turn(b, x[2])?;
            b.apply(op.clone(), &[x[0], x[1], turned])
        }));
    }
    cases.push(case(
        format!("AddMM of a row {dtype}"),
        &{
            let [_, a, b] = inputs(6, 30, 5, [5, 30]);
            [noise(dtype, [5], 4), a, b]
        },
        |b, x| {
            let c = b.broadcast_to(x[0], &[6, 5].into())?;
            let turned = turn(b, x[2])?;
            b.apply(op.clone(), &[c, x[1], turned])
        },
    ));
    cases.push(case(
        format!("AddMM in batches {dtype}"),
        &[
            noise(dtype, [2, 6, 5], 5),
            noise(dtype, [2, 6, 30], 6),
            noise(dtype, [2, 30, 5], 7),
        ],
        |b, x| b.apply(op.clone(), x),
    ));
    cases.push(case(
        format!("AddMM of a transpose on the left {dtype}"),
        &[
            noise(dtype, [6, 5], 8),
            noise(dtype, [30, 6], 9),
            noise(dtype, [30, 5], 10),
        ],
        |b, x| {
            let turned = turn(b, x[1])?;
            b.apply(op.clone(), &[x[0], turned, x[2]])
        },
    ));
    cases.push(case(
        format!("AddMM by the exponential of a transpose {dtype}"),
        &[
            noise(dtype, [6, 5], 8),
            noise(dtype, [6, 30], 9),
            noise(dtype, [5, 30], 10),
        ],
        |b, x| {
            let turned = turn(b, x[2])?;
            let e = b.apply(Op::Tanh, &[turned])?;
            b.apply(op.clone(), &[x[0], x[1], e])
        },
    ));
    cases
}
