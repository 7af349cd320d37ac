//! Programs as a whole: arguments, outputs, refusals, threads.

use super::*;

#[test]
fn outputs_may_be_arguments_repeat_and_outlive_their_last_reader() {
    let x = tensor(&[4], 1);
    let mut program = Program::new();
    let value = input(&mut program, &x);
    let barrier = program.push(Op::Barrier, vec![value], f32_info(&[4]));
    let reshaped = program.push(Op::Reshape, vec![barrier], f32_info(&[2, 2]));
    for (name, value) in [
        ("a", value),
        ("b", reshaped),
        ("c", barrier),
        ("d", reshaped),
    ] {
        program.output(name, value);
    }
    let given = interpret(&program, std::slice::from_ref(&x)).unwrap();
    let shapes: Vec<&Shape> = given.iter().map(Tensor::shape).collect();
    assert_eq!(
        shapes,
        [&[4].into(), &[2, 2].into(), &[4].into(), &[2, 2].into()]
    );
    assert!(given.iter().all(|y| floats(y) == floats(&x)));
}

#[test]
fn arguments_of_another_kind_and_inexact_programs_are_refused() {
    let x = tensor(&[2, 2], 1);
    let mut program = Program::new();
    let value = input(&mut program, &x);
    let order = Order::Any;
    let op = Op::Dot {
        order,
        fused: false,
    };
    let y = program.push(op, vec![value, value], f32_info(&[2, 2]));
    program.output("y", y);
    assert!(matches!(
        interpret(&program, std::slice::from_ref(&x)),
        Err(InterpError::NotExact { node: 0, op: "Dot" })
    ));
    let mut program = Program::new();
    let value = input(&mut program, &x);
    program.output("x", value);
    assert!(matches!(
        interpret(&program, &[]),
        Err(InterpError::Count { .. })
    ));
    let wrong = interpret(&program, &[tensor(&[4], 1)]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "interpret argument 0: it is F32 [4], not F32 [2,2]"
    );
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let (a, b) = (tensor(&[50, 300], 1), tensor(&[70, 300], 2));
    let mut program = Program::new();
    let (x, w) = (input(&mut program, &a), input(&mut program, &b));
    let op = Op::Dot {
        order: Order::Sequential,
        fused: false,
    };
    let y = program.push(op, vec![x, w], f32_info(&[50, 70]));
    let mut k = KernelBuilder::new();
    let v = k.operand(0, Scalar::F32);
    let r = k.round(RoundTo::Bf16, v);
    let op = Op::Map {
        kernel: k.finish(r),
        maps: vec![IndexMap::identity(2)],
    };
    let y = program.push(op, vec![y], f32_info(&[50, 70]));
    program.output("y", y);
    let mut seen = HashMap::new();
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let args = [a.clone(), b.clone()];
        let given = pool.install(|| interpret(&program, &args)).unwrap();
        *seen.entry(floats(&given[0])).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 1);
}
