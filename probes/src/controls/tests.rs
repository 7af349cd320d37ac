//! Each rule: which mutations a primitive has, and what they compute.

use emitter::{Contract, Cut, interp::interpret, lower::lower, prepare, program::Source};
use half::bf16;
use stages::{
    DType, Tensor,
    graph::{Builder, GraphError, Op, ReduceKind, ValueId},
};

use super::{Mutated, Step, mutations};

/// The step that `build` makes of boundaries `x` and `y` of these shapes.
fn step(
    x: &[usize],
    y: &[usize],
    dtype: DType,
    build: impl FnOnce(&mut Builder, ValueId, ValueId) -> Result<ValueId, GraphError>,
) -> Step {
    let mut b = Builder::new();
    let mut given = |name: &str, shape: &[usize]| {
        let value = b.input(name, shape, dtype);
        b.boundary(name, value, "Given.").unwrap()
    };
    let (x, y) = (given("x", x), given("y", y));
    let result = build(&mut b, x, y).unwrap();
    b.boundary("result", result, "The result.").unwrap();
    let graph = b.finish();
    Step::of(&graph, graph.boundaries().last().unwrap()).unwrap()
}

fn ones(step: &Step) -> Tensor {
    let info = step.graph().info(step.result().value);
    let count = info.shape.elements();
    match info.dtype {
        DType::Bool => Tensor::from_bool(info.shape.clone(), &vec![true; count]).unwrap(),
        DType::I32 => Tensor::from_i32(info.shape.clone(), &vec![1; count]).unwrap(),
        _ => Tensor::from_f32(info.shape.clone(), &vec![1.0; count]).unwrap(),
    }
}

fn all(step: &Step) -> Vec<Mutated> {
    mutations(step, &ones(step))
}

/// The names of the mutations that are not of what is handed in or of the result.
fn names(step: &Step) -> Vec<String> {
    let names = all(step).into_iter().map(|mutated| mutated.name);
    names
        .filter(|n| !n.contains("@Input") && n != "one-ulp")
        .collect()
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.to_f32().unwrap().into_owned()
}

/// What a step gives for these `x` and `y`.
fn run(step: &Step, x: &Tensor, y: &Tensor) -> Vec<f32> {
    let graph = step.graph();
    let cut = Cut::step(graph, step.result());
    let program = lower(graph, &cut, Contract::MlxCpu).unwrap();
    let args: Vec<Tensor> = program
        .args()
        .iter()
        .map(|arg| {
            let tensor = match &arg.source {
                Source::Boundary(name) if name == "x" => x,
                _ => y,
            };
            prepare::apply(&arg.prepare, tensor).unwrap()
        })
        .collect();
    values(&interpret(&program, &args).unwrap()[0])
}

fn f32s(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_f32(shape, values).unwrap()
}

/// What the mutation of that name makes of `x` alone.
fn mutated(step: &Step, name: &str, x: &Tensor) -> Vec<f32> {
    let found = all(step).into_iter().find(|m| m.name == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {:?}", names(step)));
    assert!(found.about.ends_with('.'), "{}", found.about);
    run(&found.step, x, x)
}

const F32: DType = DType::F32;

#[test]
fn a_step_is_the_same_graph_with_what_it_is_handed() {
    let step = step(&[2, 3], &[3], F32, |b, x, y| b.binary(Op::Add, x, y));
    let given: Vec<&str> = step.given().map(|b| b.id.as_str()).collect();
    assert_eq!(given, ["x", "y"]);
    let ops: Vec<_> = step.nodes().map(|(_, n)| n.op.name()).collect();
    assert_eq!(ops, ["Input", "Input", "Broadcast", "Add"]);
}

#[test]
fn one_unit_is_one_unit_in_both_floats() {
    for dtype in [F32, DType::BF16] {
        let step = step(&[256], &[1], dtype, |b, x, _| {
            b.binary_scalar(Op::Multiply, x, 1.0)
        });
        for start in [1.0f32, 1.5, -3.0, 1e-30] {
            let x: Vec<f32> = (0..256).map(|i| start * (1.0 + i as f32 / 256.0)).collect();
            let narrow: Vec<bf16> = x.iter().map(|v| bf16::from_f32(*v)).collect();
            let x = match dtype {
                F32 => f32s(&[256], &x),
                _ => Tensor::from_bf16([256], &narrow).unwrap(),
            };
            let (before, after) = (run(&step, &x, &x), mutated(&step, "one-ulp", &x));
            let unit = if dtype == F32 { 1 } else { 1 << 16 };
            for (i, (a, b)) in before.iter().zip(&after).enumerate() {
                let apart = a.to_bits().abs_diff(b.to_bits());
                assert_eq!(apart, if i == 128 { unit } else { 0 }, "{a} {b}");
            }
        }
    }
}

#[test]
fn what_is_handed_in_is_shifted_and_reversed() {
    let step = step(&[1, 3], &[1], F32, |b, x, _| b.apply(Op::Square, &[x]));
    let x = f32s(&[1, 3], &[1.0, 2.0, 3.0]);
    assert_eq!(mutated(&step, "late-1@Input.1", &x), [0.0, 1.0, 4.0]);
    assert_eq!(mutated(&step, "early-1@Input.1", &x), [4.0, 9.0, 0.0]);
    assert_eq!(mutated(&step, "reversed-1@Input.1", &x), [9.0, 4.0, 1.0]);
    assert_eq!(
        mutated(&step, "only-operand-0@Square.1", &x),
        [1.0, 2.0, 3.0]
    );
}

#[test]
fn functions_of_two_values_lose_an_operand_or_swap_them() {
    let of = |op: Op| names(&step(&[3], &[3], F32, |b, x, y| b.binary(op, x, y)));
    let both = ["only-operand-0@Add.1", "only-operand-1@Add.1"];
    assert_eq!(of(Op::Add), both);
    assert_eq!(
        of(Op::Subtract),
        ["only-operand-0@Subtract.1", "swapped@Subtract.1"]
    );
    assert_eq!(
        of(Op::Divide),
        ["only-operand-0@Divide.1", "inverse@Divide.1"]
    );
    assert_eq!(
        of(Op::Maximum),
        ["only-operand-0@Maximum.1", "minimum-instead@Maximum.1"]
    );
    assert_eq!(
        of(Op::Minimum),
        ["only-operand-0@Minimum.1", "maximum-instead@Minimum.1"]
    );
    assert_eq!(
        of(Op::Power),
        ["only-operand-0@Power.1", "square-instead@Power.1"]
    );
    assert_eq!(
        of(Op::LogAddExp),
        ["only-operand-0@LogAddExp.1", "maximum-instead@LogAddExp.1"]
    );
    let and = step(&[3], &[3], DType::Bool, |b, x, y| {
        b.binary(Op::LogicalAnd, x, y)
    });
    assert_eq!(
        names(&and),
        ["only-operand-0@LogicalAnd.1", "only-operand-1@LogicalAnd.1"]
    );
    let order = step(&[3], &[3], F32, |b, x, y| b.binary(Op::GreaterEqual, x, y));
    assert_eq!(names(&order), ["swapped@GreaterEqual.1"]);
}

#[test]
fn functions_of_one_value_are_left_out_or_others() {
    let of = |op: Op| names(&step(&[3], &[3], F32, |b, x, _| b.apply(op, &[x])));
    assert_eq!(
        of(Op::Sigmoid),
        ["only-operand-0@Sigmoid.1", "tanh-instead@Sigmoid.1"]
    );
    assert_eq!(
        of(Op::Tanh),
        ["only-operand-0@Tanh.1", "sigmoid-instead@Tanh.1"]
    );
    assert_eq!(of(Op::Exp), ["only-operand-0@Exp.1"]);
    assert_eq!(of(Op::Log), ["only-operand-0@Log.1"]);
    assert_eq!(of(Op::Sin), ["cos-instead@Sin.1"]);
    assert_eq!(of(Op::Cos), ["sin-instead@Cos.1"]);
    assert_eq!(of(Op::Negative), ["only-operand-0@Negative.1"]);
    let root = Op::Sqrt { reciprocal: true };
    assert_eq!(
        of(root),
        [
            "only-operand-0@Sqrt.1",
            "sqrt-reciprocal-false-instead@Sqrt.1"
        ]
    );
}

#[test]
fn constants_are_other_numbers_and_neutral_ones_stay() {
    let plus = |n| {
        step(&[1], &[1], F32, move |b, x, _| {
            b.binary_scalar(Op::Add, x, n)
        })
    };
    let x = f32s(&[1], &[0.0]);
    let constant = "constant@Constant.1";
    assert_eq!(mutated(&plus(1e-6), constant, &x), [1024e-6]);
    assert_eq!(mutated(&plus(1e10), constant, &x), [1.0 / 64.0]);
    assert_eq!(mutated(&plus(-1e9), constant, &x), [-1.0 / 64.0]);
    assert_eq!(mutated(&plus(3.0), constant, &x), [3.0 + 3.0 / 64.0]);
    assert_eq!(mutated(&plus(0.0), constant, &x), [1.0]);
    assert_eq!(names(&plus(0.0)), [constant]);
    assert_eq!(names(&plus(3.0)), [constant, "only-operand-0@Add.1"]);
    let times = |n| {
        step(&[1], &[1], F32, move |b, x, _| {
            b.binary_scalar(Op::Multiply, x, n)
        })
    };
    assert_eq!(names(&times(1.0)), [constant]);
    assert_eq!(names(&times(0.25)), [constant, "only-operand-0@Multiply.1"]);
    let mean = [constant, "only-operand-0@Multiply.1", "division@Multiply.1"];
    assert_eq!(names(&times(1.0 / 3.0)), mean);
}

#[test]
fn ranges_are_shifted_and_zero() {
    let step = step(&[3], &[1], F32, |b, x, _| {
        let places = b.arange(2.0, -1.0, 3, F32);
        b.binary(Op::Add, x, places)
    });
    let x = f32s(&[3], &[0.0; 3]);
    assert_eq!(mutated(&step, "off-by-one@Arange.1", &x), [1.0, 0.0, -1.0]);
    assert_eq!(mutated(&step, "zeros@Arange.1", &x), [0.0; 3]);
}

#[test]
fn a_choice_is_one_of_its_branches() {
    let step = step(&[2], &[2], F32, |b, x, y| {
        let condition = b.binary(Op::GreaterEqual, x, y)?;
        let zero = b.scalar(0.0, F32);
        b.select(condition, zero, x)
    });
    let x = f32s(&[2], &[1.0, 2.0]);
    assert_eq!(mutated(&step, "only-operand-1@Select.1", &x), [0.0, 0.0]);
    assert_eq!(mutated(&step, "only-operand-2@Select.1", &x), [1.0, 2.0]);
}

#[test]
fn casts_are_left_out_unless_promotion_brings_them_back() {
    let kept = step(&[2], &[2], F32, |b, x, y| {
        let sum = b.binary(Op::Add, x, y)?;
        b.astype(sum, DType::BF16)
    });
    let x = f32s(&[2], &[1.001, 2.0]);
    assert_eq!(mutated(&kept, "only-operand-0@AsType.1", &x), [2.002, 4.0]);
    let inside = step(&[2], &[2], DType::BF16, |b, x, _| {
        let wide = b.astype(x, F32)?;
        let square = b.apply(Op::Square, &[wide])?;
        b.astype(square, DType::BF16)
    });
    assert!(names(&inside).contains(&"only-operand-0@AsType.1".to_owned()));
    let promoted = step(&[2], &[2], DType::BF16, |b, x, y| {
        let wide = b.astype(x, F32)?;
        let square = b.apply(Op::Square, &[wide])?;
        b.binary(Op::Multiply, square, y)
    });
    assert!(!names(&promoted).contains(&"only-operand-0@AsType.2".to_owned()));
    let rounded = step(&[2], &[2], DType::BF16, |b, x, y| {
        let wide = b.astype(x, F32)?;
        let product = b.binary_scalar(Op::Multiply, wide, 0.3)?;
        let narrow = b.astype(product, DType::BF16)?;
        b.binary(Op::Add, narrow, y)
    });
    assert!(names(&rounded).contains(&"only-operand-0@AsType.2".to_owned()));
    // A number takes the dtype of what it meets: the sum is then in BF16.
    let weak = step(&[1], &[1], DType::BF16, |b, x, _| {
        let wide = b.astype(x, F32)?;
        b.binary_scalar(Op::Add, wide, 1.0 / 512.0)
    });
    let x = Tensor::from_bf16([1], &[bf16::ONE]).unwrap();
    assert_eq!(mutated(&weak, "only-operand-0@AsType.1", &x), [1.0]);
}

#[test]
fn sums_lose_terms_and_axes_and_are_rounded() {
    let step = step(&[2, 3], &[1], F32, |b, x, _| b.sum(x, &[1]));
    let x = f32s(&[2, 3], &[1.0, 2.0, 4.0, 8.0, 16.0, 1.0 / 64.0]);
    assert_eq!(mutated(&step, "without-last-1@Reduce.1", &x), [3.0, 24.0]);
    assert_eq!(
        mutated(&step, "without-first-1@Reduce.1", &x),
        [6.0, 16.015625]
    );
    assert_eq!(mutated(&step, "bf16-accumulator@Reduce.1", &x), [7.0, 24.0]);
    let swallowed = f32s(&[2, 3], &[16_777_216.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(run(&step, &swallowed, &swallowed)[0], 16_777_216.0);
    let descending = mutated(&step, "descending@Reduce.1", &swallowed);
    assert_eq!(descending[0], 16_777_218.0);
}

#[test]
fn sums_over_axes_are_over_fewer_or_others() {
    let step = step(&[2, 2, 2], &[1], F32, |b, x, _| b.sum(x, &[1, 2]));
    let x = f32s(&[2, 2, 2], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    assert_eq!(mutated(&step, "without-axis-1@Reduce.1", &x), [3.0, 48.0]);
    assert_eq!(mutated(&step, "without-axis-2@Reduce.1", &x), [5.0, 80.0]);
    assert_eq!(mutated(&step, "axis-0-for-1@Reduce.1", &x), [51.0, 51.0]);
}

#[test]
fn running_sums_run_backwards_or_leave_their_own_out() {
    let step = step(&[1, 3], &[1], F32, |b, x, _| b.cumsum(x, 1));
    let x = f32s(&[1, 3], &[1.0, 2.0, 4.0]);
    assert_eq!(
        mutated(&step, "reverse-scan-instead@Scan.1", &x),
        [7.0, 6.0, 4.0]
    );
    assert_eq!(
        mutated(&step, "exclusive-scan-instead@Scan.1", &x),
        [0.0, 1.0, 3.0]
    );
    assert!(names(&step).contains(&"bf16-accumulator@Scan.1".to_owned()));
}

#[test]
fn softmax_is_narrow_or_not_precise() {
    let op = |precise| Op::Softmax { precise };
    let wide = step(&[1, 3], &[1], F32, |b, x, _| b.apply(op(false), &[x]));
    assert_eq!(names(&wide), ["bf16-accumulator@Softmax.1"]);
    let precise = step(&[1, 3], &[1], DType::BF16, |b, x, _| {
        b.apply(op(true), &[x])
    });
    assert_eq!(names(&precise), ["softmax-precise-false-instead@Softmax.1"]);
}

#[test]
fn products_are_added_in_halves_and_descending() {
    let step = step(&[1, 4], &[4, 1], F32, |b, x, y| b.matmul(x, y));
    let expected = [
        "rounded-halves@Matmul.1",
        "halves@Matmul.1",
        "descending@Matmul.1",
    ];
    assert_eq!(names(&step), expected);
    let (x, y) = (
        f32s(&[1, 4], &[16_777_216.0, 1.0, 1.0, 1.0]),
        f32s(&[4, 1], &[1.0; 4]),
    );
    let of = |name: &str| {
        let found = all(&step).into_iter().find(|m| m.name == name).unwrap();
        run(&found.step, &x, &y)[0]
    };
    assert_eq!(run(&step, &x, &y)[0], 16_777_216.0);
    assert_eq!(of("halves@Matmul.1"), 16_777_218.0);
    assert_eq!(of("descending@Matmul.1"), 16_777_220.0);
}

#[test]
fn convolutions_are_added_in_halves_of_the_kernel() {
    let convolution = |groups| Op::Convolution {
        strides: vec![2, 1],
        low: vec![0, 0],
        high: vec![0, 0],
        kernel_dilation: vec![1, 1],
        input_dilation: vec![1, 1],
        groups,
        flip: false,
    };
    let step = step(&[1, 7, 3, 2], &[3, 3, 2, 2], F32, |b, x, y| {
        b.apply(convolution(1), &[x, y])
    });
    let expected = [
        "rounded-halves@Convolution.1",
        "halves@Convolution.1",
        "descending@Convolution.1",
    ];
    assert_eq!(names(&step), expected);
    let count = |n: usize| (0..n).map(|i| (i % 7) as f32 - 3.0).collect::<Vec<_>>();
    let (x, y) = (
        f32s(&[1, 7, 3, 2], &count(42)),
        f32s(&[3, 3, 2, 2], &count(36)),
    );
    // Small integers: any order gives the same sums.
    let right = run(&step, &x, &y);
    for mutated in all(&step)
        .iter()
        .filter(|m| m.name.contains("@Convolution"))
    {
        assert_eq!(run(&mutated.step, &x, &y), right, "{}", mutated.name);
    }
}

#[test]
fn windows_and_paddings_move_by_one() {
    let strided = step(&[4], &[1], F32, |b, x, _| b.slice(x, 0, 0..4, 2));
    let x = f32s(&[4], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(mutated(&strided, "moved-0@Slice.1", &x), [2.0, 4.0]);
    let cut = step(&[4], &[1], F32, |b, x, _| b.slice(x, 0, 2..4, 1));
    assert_eq!(mutated(&cut, "moved-0@Slice.1", &x), [2.0, 3.0]);
    let padded = step(&[4], &[1], F32, |b, x, _| b.pad(x, &[(0, 2, 0)], 0.0));
    let other_side = [1.0, 2.0, 3.0, 4.0, 0.0, 0.0];
    assert_eq!(mutated(&padded, "other-side-0@Pad.1", &x), other_side);
    let moved = [0.0, 1.0, 2.0, 3.0, 4.0, 0.0];
    assert_eq!(mutated(&padded, "moved-0@Pad.1", &x), moved);
}

#[test]
fn parts_of_splits_and_of_joins_change_places() {
    let gated = step(&[4], &[1], F32, |b, x, _| b.glu(x));
    let x = f32s(&[4], &[1.0, 2.0, 3.0, 4.0]);
    let gate = |a: f32, b: f32| a / (1.0 + (-b).exp());
    let close = |found: Vec<f32>, expected: [f32; 2]| {
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    };
    close(
        mutated(&gated, "parts-swapped", &x),
        [gate(3.0, 1.0), gate(4.0, 2.0)],
    );
    let first = mutated(&gated, "part-1-instead@Split.1", &x);
    close(first, [gate(3.0, 3.0), gate(4.0, 4.0)]);
    let joined = step(&[2], &[2], F32, |b, x, y| {
        let squared = b.apply(Op::Square, &[y])?;
        b.concatenate(&[x, squared], 0)
    });
    let x = f32s(&[2], &[2.0, 3.0]);
    assert_eq!(
        mutated(&joined, "swapped@Concatenate.1", &x),
        [4.0, 9.0, 2.0, 3.0]
    );
}

#[test]
fn square_matrices_go_without_their_transposition() {
    let step = step(&[2, 2], &[1], F32, |b, x, _| b.transpose(x, &[1, 0]));
    let x = f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(
        mutated(&step, "only-operand-0@Transpose.1", &x),
        [1.0, 2.0, 3.0, 4.0]
    );
}

#[test]
fn the_relative_shift_is_left_out() {
    let step = step(&[2, 3], &[1], F32, |b, x, _| {
        let padded = b.pad(x, &[(1, 0, 2)], 0.0)?;
        let flat = b.reshape(padded, [10])?;
        let cut = b.slice(flat, 0, 0..8, 1)?;
        b.reshape(cut, [2, 4])
    });
    let x = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(run(&step, &x, &x), [1.0, 2.0, 3.0, 0.0, 0.0, 4.0, 5.0, 6.0]);
    let unshifted = mutated(&step, "no-relative-shift@Reshape.2", &x);
    assert_eq!(unshifted, [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0]);
}

#[test]
fn a_mutation_of_another_shape_is_none() {
    let step = step(&[2, 3], &[1], F32, |b, x, _| {
        let moved = b.transpose(x, &[1, 0])?;
        let kind = ReduceKind::Max;
        b.apply(
            Op::Reduce {
                kind,
                axes: vec![0],
            },
            &[moved],
        )
    });
    let expected = [
        "without-last-0@Reduce.1",
        "without-first-0@Reduce.1",
        "descending@Reduce.1",
    ];
    assert_eq!(names(&step), expected);
}
