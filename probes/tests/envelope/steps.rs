//! The terms of a step's elements, added as the contract states it, are the step's own results.

use std::collections::BTreeMap;

use emitter::{
    Contract, Cut,
    emit::emit,
    interp::interpret,
    prepare,
    program::{Program, Source},
};
use half::bf16;
use probes::{
    envelope::{Pattern, Rules, Schedule, Start, Step, StepError, Sum, Term},
    order::{Form, Rounding},
};
use stages::{
    DType, Shape, Tensor,
    graph::{Builder, GraphError, Op, Quantized, ValueId},
};

type Build<'a> = &'a dyn Fn(&mut Builder) -> Result<ValueId, GraphError>;

/// Numbers of either sign and several magnitudes, none like the other.
fn tensor(name: &str, shape: &Shape, dtype: DType) -> Tensor {
    let seed: usize = name.bytes().map(usize::from).sum();
    let number = |i: usize| {
        let x = ((i * 7 + seed) as f32 * 0.7311).sin();
        x * 4f32.powi((i * 5 + seed) as i32 % 4)
    };
    let values: Vec<f32> = (0..shape.elements()).map(number).collect();
    match dtype {
        DType::F32 => Tensor::from_f32(shape.clone(), &values).unwrap(),
        DType::BF16 => {
            let values: Vec<bf16> = values.into_iter().map(bf16::from_f32).collect();
            Tensor::from_bf16(shape.clone(), &values).unwrap()
        }
        DType::U32 => {
            let words: Vec<u32> = (0..shape.elements() as u32)
                .map(|i| (i + 1).wrapping_mul(0x9e37_79b9))
                .collect();
            Tensor::from_u32(shape.clone(), &words).unwrap()
        }
        other => panic!("no test tensor of {other}"),
    }
}

/// A graph's one boundary as a program, with its arguments.
fn program(build: Build<'_>) -> (Program, Vec<Tensor>) {
    let mut b = Builder::new();
    let result = build(&mut b).unwrap();
    b.boundary("result", result, "what is made").unwrap();
    let graph = b.finish();
    let cut = Cut::step(&graph, &graph.boundaries()[0]);
    let program = emit(&graph, &cut, Contract::MlxCpu).unwrap().stated;
    let mut kinds = BTreeMap::new();
    for (_, node) in graph.nodes() {
        if let Op::Input { name } | Op::Weight { name } = &node.op {
            kinds.insert(name.clone(), node.info.clone());
        }
    }
    let args = program.args().iter().map(|arg| {
        let (Source::Input(name) | Source::Weight(name) | Source::Boundary(name)) = &arg.source;
        let kind = &kinds[name];
        prepare::apply(&arg.prepare, &tensor(name, &kind.shape, kind.dtype)).unwrap()
    });
    let args = args.collect();
    (program, args)
}

/// Checks every element; gives the first one's sum and how it is stated.
fn check(build: Build<'_>) -> (Sum, Schedule) {
    let (program, args) = program(build);
    let step = Step::of(&program, &args).unwrap_or_else(|error| panic!("failed to {error}"));
    let expected = interpret(&program, &args).unwrap();
    let expected = expected[0].to_f32().unwrap();
    assert_eq!(step.elements(), expected.len());
    for (element, expected) in expected.iter().enumerate() {
        let sum = step.sum(element).unwrap();
        let own = step.stated().sum(&sum.terms).unwrap();
        let found = sum.finish(&[own, own]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].to_bits(), expected.to_bits(), "element {element}");
        assert_eq!(found[0].to_bits(), found[1].to_bits());
    }
    (step.sum(0).unwrap(), step.stated().clone())
}

const DTYPES: [DType; 2] = [DType::F32, DType::BF16];

#[test]
fn sums_over_axes_their_means_and_running_sums() {
    for dtype in DTYPES {
        let each = match dtype {
            DType::BF16 => Rounding::Bf16,
            _ => Rounding::F32,
        };
        let (sum, stated) = check(&|b| {
            let x = b.input("x", [3, 11], dtype);
            b.sum(x, &[1])
        });
        assert_eq!((sum.terms.len(), stated.rounding), (11, each));
        assert_eq!(stated.pattern, Pattern::Form(Form::Sequential));
        assert_eq!((stated.start, sum.is_result()), (Start::Zero, true));

        // Two levels: runs over the last axis, then over the first.
        let (sum, stated) = check(&|b| {
            let x = b.input("x", [4, 3, 5], dtype);
            b.sum(x, &[0, 2])
        });
        assert_eq!(stated.pattern.to_string(), "runs of 5, then sequential");
        assert_eq!(sum.terms.len(), 20);

        let (sum, _) = check(&|b| {
            let x = b.input("x", [2, 7, 3], dtype);
            let x = b.transpose(x, &[0, 2, 1])?;
            b.mean(x, 2)
        });
        assert_eq!((sum.terms.len(), sum.is_result()), (7, false));

        for (reverse, inclusive) in [(false, true), (true, true), (false, false), (true, false)] {
            let (sum, stated) = check(&|b| {
                let x = b.input("x", [2, 6, 3], dtype);
                let axis = 1;
                b.apply(
                    Op::Scan {
                        axis,
                        reverse,
                        inclusive,
                    },
                    &[x],
                )
            });
            let first = match (reverse, inclusive) {
                (false, true) => 1,
                (true, true) => 6,
                (false, false) => 0,
                (true, false) => 5,
            };
            assert_eq!((sum.terms.len(), stated.rounding), (first, each));
        }
    }
}

#[test]
fn products_of_matrices() {
    for dtype in DTYPES {
        let once = match dtype {
            DType::BF16 => Rounding::Bf16Once,
            _ => Rounding::F32,
        };
        let (sum, stated) = check(&|b| {
            let x = b.input("x", [2, 3, 9], dtype);
            let w = b.input("w", [2, 9, 4], dtype);
            b.matmul(x, w)
        });
        assert_eq!((sum.terms.len(), stated.rounding), (9, once));
        assert!(
            sum.terms
                .iter()
                .all(|term| matches!(term, Term::Product(..)))
        );
        assert!(sum.is_result());
        let (sum, stated) = check(&|b| {
            let x = b.input("x", [3, 9], dtype);
            let w = b.weight("w", [4, 9], dtype);
            b.linear(x, w)
        });
        assert_eq!((sum.terms.len(), stated.rounding), (9, once));
        // The bias begins the sum, or comes after it.
        for transposed in [false, true] {
            let (sum, _) = check(&|b| {
                let x = b.input("x", [3, 9], dtype);
                let c = b.input("c", [3, 4], dtype);
                let w = if transposed {
                    let w = b.weight("w", [4, 9], dtype);
                    b.transpose(w, &[1, 0])?
                } else {
                    b.weight("w", [9, 4], dtype)
                };
                let (alpha, beta) = (1.0, 1.0);
                b.apply(Op::AddMM { alpha, beta }, &[c, x, w])
            });
            let seeded = !transposed && dtype == DType::F32;
            assert_eq!(sum.terms.len(), if seeded { 10 } else { 9 });
            assert_eq!(sum.is_result(), seeded);
        }
    }
}

#[test]
fn products_with_a_quantised_matrix_round_each_time() {
    for dtype in DTYPES {
        let (sum, stated) = check(&|b| {
            let x = b.input("x", [3, 64], dtype);
            let matrix = Quantized {
                words: b.weight("words", [4, 8], DType::U32),
                scales: b.weight("scales", [4, 2], dtype),
                biases: b.weight("biases", [4, 2], dtype),
                group_size: 32,
                bits: 4,
            };
            b.quantized_linear(x, matrix)
        });
        let each = match dtype {
            DType::BF16 => Rounding::Bf16,
            _ => Rounding::F32,
        };
        assert_eq!((sum.terms.len(), stated.rounding), (64, each));
    }
}

fn convolution(groups: usize, dilation: usize) -> Op {
    Op::Convolution {
        strides: vec![2, 1],
        low: vec![1, 0],
        high: vec![1, 2],
        kernel_dilation: vec![dilation; 2],
        input_dilation: vec![1, 1],
        groups,
        flip: false,
    }
}

#[test]
fn convolutions_short_long_and_grouped() {
    for dtype in DTYPES {
        for (channels, filters, groups, dilation, terms) in [
            (1, 4, 1, 1, 9),
            (3, 4, 1, 1, 27),
            (3, 2, 1, 2, 27),
            (4, 4, 4, 1, 9),
            (4, 6, 2, 1, 18),
        ] {
            let (sum, stated) = check(&|b| {
                let x = b.input("x", [2, 7, 6, channels], dtype);
                let w = b.weight("w", [filters, 3, 3, channels / groups], dtype);
                b.apply(convolution(groups, dilation), &[x, w])
            });
            assert_eq!(sum.terms.len(), terms);
            assert_eq!(stated.pattern, Pattern::Form(Form::Sequential));
            assert_eq!((stated.start, sum.is_result()), (Start::Zero, true));
            assert!(
                sum.terms
                    .iter()
                    .all(|term| matches!(term, Term::Product(..)))
            );
        }
    }
}

#[test]
fn squares_are_products_and_what_follows_is_run() {
    let (sum, _) = check(&|b| {
        let x = b.input("x", [3, 8], DType::F32);
        let squares = b.apply(Op::Square, &[x])?;
        let mean = b.mean(squares, 1)?;
        let some = b.binary_scalar(Op::Add, mean, 1e-3)?;
        let rest = b.apply(Op::Sqrt { reciprocal: true }, &[some])?;
        let y = b.input("y", [3, 1], DType::F32);
        b.binary(Op::Multiply, rest, y)
    });
    assert!(
        sum.terms
            .iter()
            .all(|term| matches!(term, Term::Product(a, b) if a == b))
    );
    assert!(!sum.is_result());
    for (dtype, precise) in [
        (DType::F32, true),
        (DType::BF16, true),
        (DType::BF16, false),
    ] {
        let (sum, _) = check(&|b| {
            let x = b.input("x", [3, 8], dtype);
            b.apply(Op::Softmax { precise }, &[x])
        });
        assert_eq!(sum.terms.len(), 8);
    }
}

#[test]
fn a_convolution_of_nine_taps_has_its_exact_set() {
    let (sum, stated) = check(&|b| {
        let x = b.input("x", [1, 7, 6, 1], DType::BF16);
        let w = b.weight("w", [2, 3, 3, 1], DType::BF16);
        b.apply(convolution(1, 1), &[x, w])
    });
    let rules = Rules {
        rounding: stated.rounding,
        ..Rules::default()
    };
    let set = rules.reachable(&sum.terms, 12).unwrap();
    let own = stated.sum(&sum.terms).unwrap();
    assert!(set.contains(own));
}

#[test]
fn steps_without_one_sum_are_refused() {
    let refused = |build: Build<'_>| {
        let (program, args) = program(build);
        Step::of(&program, &args).unwrap_err()
    };
    let none = refused(&|b| {
        let x = b.input("x", [3], DType::F32);
        b.apply(Op::Square, &[x])
    });
    assert!(matches!(none, StepError::NoSum), "{none}");
    let none = refused(&|b| {
        let x = b.input("x", [3], DType::F32);
        let y = b.input("y", [3], DType::F32);
        b.binary(Op::Add, x, y)
    });
    assert!(matches!(none, StepError::NoSum), "{none}");
    let several = refused(&|b| {
        let x = b.input("x", [3, 4], DType::F32);
        let y = b.input("y", [3, 4], DType::F32);
        let (x, y) = (b.sum(x, &[1])?, b.sum(y, &[1])?);
        b.binary(Op::Divide, x, y)
    });
    assert!(matches!(several, StepError::SeveralSums), "{several}");
    let joined = refused(&|b| {
        let x = b.input("x", [3, 4], DType::F32);
        let sum = b.sum(x, &[1])?;
        b.concatenate(&[sum, x], 1)
    });
    assert_eq!(
        joined.to_string(),
        "follow an element back through Concatenate"
    );
    let (program, args) = program(&|b| {
        let x = b.input("x", [3, 4], DType::F32);
        b.sum(x, &[1])
    });
    let beyond = Step::of(&program, &args).unwrap().sum(3).unwrap_err();
    assert_eq!(beyond.to_string(), "find element 3: the boundary has 3");
    let missing = Step::of(&program, &[]).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "run the step: it takes 1 arguments, not 0"
    );
}
