//! The walk against direct calls of mlx-rs, and its errors.

use std::collections::BTreeMap;

use half::bf16;
use mlx_rs::{Array, ops};
use stages::{
    Boundary, BoundaryId, DType, Graph, Shape, Tensor,
    graph::{Builder, Op, ReduceKind, View},
};

use super::*;

fn inputs(entries: &[(&str, &Tensor)]) -> BTreeMap<String, Tensor> {
    entries
        .iter()
        .map(|(name, tensor)| ((*name).to_owned(), (*tensor).clone()))
        .collect()
}

fn capture(graph: &Graph, given: &[(&str, &Tensor)]) -> Result<Captures, MlxError> {
    let wanted: Vec<&Boundary> = graph.boundaries().iter().collect();
    let weights = |name: &str| inputs(given).get(name).cloned();
    MlxSide::new()
        .unwrap()
        .capture(graph, &weights, &inputs(given), &wanted, &mut |_| {})
}

fn ramp(shape: impl Into<Shape>) -> Tensor {
    let shape = shape.into();
    let values: Vec<f32> = (0..shape.elements())
        .map(|i| (i as f32 * 0.7).sin() * 3.0)
        .collect();
    Tensor::from_f32(shape, &values).unwrap()
}

fn array_of(tensor: &Tensor) -> Array {
    let dims: Vec<i32> = tensor.shape().dims().iter().map(|&d| d as i32).collect();
    Array::from_slice(tensor.as_f32().unwrap(), &dims)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn a_graph_gives_what_direct_calls_of_mlx_give() {
    let mut b = Builder::new();
    let x = b.input("x", [4, 6], DType::F32);
    let w = b.weight("w", [5, 6], DType::F32);
    let y = b.linear(x, w).unwrap();
    b.boundary("y", y, "product").unwrap();
    let s = b.sum(y, &[1]).unwrap();
    let d = b.binary(Op::Divide, y, s).unwrap();
    let d = b.transpose(d, &[1, 0]).unwrap();
    b.boundary("d", d, "a transposed view").unwrap();
    let p = b.apply(Op::Softmax { precise: true }, &[d]).unwrap();
    b.boundary("p", p, "softmax of a view").unwrap();
    let graph = b.finish();
    let (x, w) = (ramp([4, 6]), ramp([5, 6]));
    let captures = capture(&graph, &[("x", &x), ("w", &w)]).unwrap();

    let y = ops::matmul(array_of(&x), array_of(&w).transpose().unwrap()).unwrap();
    let d = ops::divide(&y, ops::sum_axis(&y, 1, true).unwrap()).unwrap();
    let d = d.transpose().unwrap();
    let p = ops::softmax_axis(&d, -1, true).unwrap();
    let names: Vec<_> = captures.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(names, ["y", "d", "p"]);
    for ((id, tensor), direct) in captures.iter().zip([y, d, p]) {
        let direct = direct.contiguous().unwrap();
        let direct = bits(direct.as_slice::<f32>());
        assert_eq!(bits(tensor.as_f32().unwrap()), direct, "{id}");
    }
}

#[test]
fn only_needed_nodes_run_and_progress_names_boundaries_in_order() {
    let mut b = Builder::new();
    let x = b.input("x", [3], DType::F32);
    let never = b.weight("never", [3], DType::F32);
    let e = b.apply(Op::Exp, &[x]).unwrap();
    b.boundary("e", e, "").unwrap();
    let unused = b.binary(Op::Add, e, never).unwrap();
    b.boundary("unused", unused, "").unwrap();
    let n = b.apply(Op::Negative, &[e]).unwrap();
    b.boundary("n", n, "").unwrap();
    let graph = b.finish();
    let [e, _, n] = graph.boundaries() else {
        panic!()
    };
    let mut told = Vec::new();
    let captures = MlxSide::new()
        .unwrap()
        .capture(
            &graph,
            &|_| None,
            &inputs(&[("x", &ramp([3]))]),
            &[n, e],
            &mut |b| {
                told.push(b.id.to_string());
            },
        )
        .unwrap();
    assert_eq!(told, ["e", "n"]);
    assert_eq!(captures.len(), 2);
}

#[test]
fn what_is_given_must_be_what_the_graph_declares() {
    let mut b = Builder::new();
    let x = b.input("x", [3], DType::F32);
    let e = b.apply(Op::Exp, &[x]).unwrap();
    b.boundary("e", e, "").unwrap();
    let graph = b.finish();
    let missing = capture(&graph, &[]).unwrap_err().to_string();
    assert_eq!(missing, "find input x");
    let wrong = capture(&graph, &[("x", &ramp([1, 3]))])
        .unwrap_err()
        .to_string();
    assert_eq!(
        wrong,
        "use input x: it is F32 [1,3], the graph declares F32 [3]"
    );
    let stranger = Boundary {
        value: graph.boundaries()[0].value,
        ..graph.boundaries()[0].clone()
    };
    let other = Builder::new().finish();
    let result =
        MlxSide::new()
            .unwrap()
            .capture(&other, &|_| None, &inputs(&[]), &[&stranger], &mut |_| {});
    assert!(matches!(result, Err(MlxError::UnknownBoundary(id)) if id == BoundaryId::new("e")));
}

#[test]
fn an_op_that_mlx_refuses_is_an_error_that_names_op_and_boundary() {
    // MLX has no convolution over four spatial axes; level one does not care how many there are.
    let mut b = Builder::new();
    let x = b.input("x", [1, 2, 2, 2, 2, 1], DType::F32);
    let w = b.input("w", [1, 1, 1, 1, 1, 1], DType::F32);
    let one = vec![1; 4];
    let op = Op::Convolution {
        strides: one.clone(),
        low: vec![0; 4],
        high: vec![0; 4],
        kernel_dilation: one.clone(),
        input_dilation: one,
        groups: 1,
        flip: false,
    };
    let y = b.apply(op, &[x, w]).unwrap();
    b.boundary("far", y, "").unwrap();
    let graph = b.finish();
    let given = [
        ("x", &ramp([1, 2, 2, 2, 2, 1])),
        ("w", &ramp([1, 1, 1, 1, 1, 1])),
    ];
    let error = capture(&graph, &given).unwrap_err().to_string();
    assert!(error.starts_with("run Convolution for far: "), "{error}");
    assert!(!error.contains("no reason"), "{error}");
}

#[test]
fn given_memory_is_not_written_to() {
    // Chains in which MLX may reuse an operand's memory for the result.
    let x = ramp([64]);
    let before = x.bytes().to_vec();
    let mut b = Builder::new();
    let v = b.input("x", [64], DType::F32);
    let e = b.apply(Op::Exp, &[v]).unwrap();
    let n = b.apply(Op::Negative, &[e]).unwrap();
    b.boundary("n", n, "").unwrap();
    let graph = b.finish();
    capture(&graph, &[("x", &x)]).unwrap();
    MlxSide::new()
        .unwrap()
        .run_op(&Op::Negative, std::slice::from_ref(&x))
        .unwrap();
    assert_eq!(x.bytes(), before);
}

#[test]
fn a_mapped_file_is_read_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let mut captures = Captures::new();
    captures.insert(BoundaryId::new("x"), ramp([64]));
    captures.save(&path, &crate::Notes::new()).unwrap();
    // Writing to this memory would end the process.
    let (mapped, _) = Captures::load(&path).unwrap();
    let x = mapped.get(&BoundaryId::new("x")).unwrap().clone();
    let y = MlxSide::new().unwrap().run_op(&Op::Negative, &[x]).unwrap();
    let expected: Vec<f32> = ramp([64]).as_f32().unwrap().iter().map(|v| -v).collect();
    assert_eq!(y.as_f32().unwrap(), expected);
}

#[test]
fn captures_on_several_threads_are_equal() {
    let side = MlxSide::new().unwrap();
    let x = ramp([33, 17]);
    let op = Op::Reduce {
        kind: ReduceKind::Sum,
        axes: vec![0],
    };
    let here = side.run_op(&op, std::slice::from_ref(&x)).unwrap();
    std::thread::scope(|scope| {
        let run = || {
            side.run_op(&op, std::slice::from_ref(&x))
                .unwrap()
                .bytes()
                .to_vec()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), here.bytes());
        }
    });
}

#[test]
fn scalars_are_rounded_to_f32_first_and_ranges_have_their_length() {
    let mut b = Builder::new();
    // Just above the middle of two BF16 values, and on it in F32.
    let tie = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    let c = b.scalar(tie, DType::BF16);
    b.boundary("c", c, "").unwrap();
    let r = b.arange(12.0, -1.0, 13, DType::I32);
    b.boundary("r", r, "").unwrap();
    let empty = b.arange(0.0, 1.0, 0, DType::F32);
    b.boundary("empty", empty, "").unwrap();
    let captures = capture(&b.finish(), &[]).unwrap();
    let get = |name: &str| captures.get(&BoundaryId::new(name)).unwrap();
    assert_eq!(get("c").as_bf16().unwrap(), [bf16::from_f32(1.0)]);
    assert_eq!(
        get("r").as_i32().unwrap(),
        (0..=12).rev().collect::<Vec<_>>()
    );
    assert_eq!(get("empty").shape(), &Shape::from([0]));
}

#[test]
fn boolean_bytes_other_than_0_and_1_are_refused() {
    let bad = Tensor::from_bytes(DType::Bool, [2].into(), &[1, 2]).unwrap();
    let error = MlxSide::new()
        .unwrap()
        .run_op(&Op::LogicalNot, &[bad])
        .unwrap_err();
    assert!(
        error.to_string().starts_with("hand operand 0 to MLX: "),
        "{error}"
    );
}

/// Row-major strides of the axes in the order a view says they lie.
fn strides_of(view: &View, shape: &Shape) -> Option<Vec<usize>> {
    let order: Vec<usize> = match view {
        View::Contiguous => (0..shape.rank()).collect(),
        View::Permuted(order) => order.clone(),
        View::Strided => return None,
    };
    let mut strides = vec![0; shape.rank()];
    let mut step = 1;
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step *= shape[axis];
    }
    Some(strides)
}

#[test]
fn views_are_those_that_level_one_infers() {
    let session = ffi::Session::new().unwrap();
    let x = ramp([2, 3, 4]);
    let mut b = Builder::new();
    let mut seen = Vec::new();
    let v = b.input("x", [2, 3, 4], DType::F32);
    seen.push(v);
    let t = b.transpose(v, &[2, 0, 1]).unwrap();
    seen.push(t);
    seen.push(b.apply(Op::Exp, &[t]).unwrap());
    seen.push(b.binary(Op::Add, t, t).unwrap());
    seen.push(b.sum(t, &[1]).unwrap());
    seen.push(b.cumsum(t, 1).unwrap());
    seen.push(b.apply(Op::Softmax { precise: false }, &[t]).unwrap());
    seen.push(b.reshape(t, [4, 6]).unwrap());
    seen.push(b.apply(Op::Flatten { start: 0, end: 1 }, &[t]).unwrap());
    seen.push(b.astype(t, DType::BF16).unwrap());
    let u = b.transpose(t, &[1, 2, 0]).unwrap();
    seen.push(u);
    seen.push(b.binary(Op::Add, v, u).unwrap());
    let m = b.reshape(v, [6, 4]).unwrap();
    let m = b.transpose(m, &[1, 0]).unwrap();
    seen.push(m);
    let n = b.reshape(v, [6, 4]).unwrap();
    seen.push(b.apply(Op::Matmul, &[m, n]).unwrap());
    seen.push(b.binary(Op::Add, m, m).unwrap());
    seen.push(b.reshape(t, [2, 2, 6]).unwrap());
    seen.push(b.reshape(t, [8, 3]).unwrap());
    // The last axis stays the innermost one in memory.
    let r = b.transpose(v, &[1, 0, 2]).unwrap();
    seen.push(b.apply(Op::Softmax { precise: false }, &[r]).unwrap());
    seen.push(b.apply(Op::Softmax { precise: true }, &[r]).unwrap());
    seen.push(b.cumsum(r, 2).unwrap());
    seen.push(b.cumsum(r, 0).unwrap());
    let c = b.binary(Op::GreaterEqual, r, r).unwrap();
    seen.push(b.apply(Op::Select, &[c, r, r]).unwrap());
    let w = b.binary_scalar(Op::Multiply, r, 2.0).unwrap();
    seen.push(w);
    let graph = b.finish();

    let mut values: Vec<ffi::Value<'_>> = Vec::new();
    for (_, node) in graph.nodes() {
        let operands: Vec<_> = node.inputs.iter().map(|i| &values[i.index()]).collect();
        let value = match node.op {
            Op::Input { .. } => session.import(&x).unwrap(),
            ref op => session.apply(op, &operands, &node.info).unwrap(),
        };
        values.push(value);
    }
    for value in &values {
        session.evaluate(value).unwrap();
    }
    for id in seen {
        let node = graph.node(id);
        let Some(expected) = strides_of(&node.info.view, &node.info.shape) else {
            continue;
        };
        let strides = values[id.index()].strides();
        for (axis, &extent) in node.info.shape.dims().iter().enumerate() {
            if extent > 1 {
                assert_eq!(
                    strides[axis],
                    expected[axis],
                    "{} axis {axis}",
                    node.op.name()
                );
            }
        }
    }
}
