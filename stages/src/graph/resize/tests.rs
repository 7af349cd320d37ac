use super::*;
use crate::{
    DType, Profile,
    config::tests::{parse, small},
    graph::{Builder, ReduceKind},
    model::gemma3n_audio::{Frames, audio_encoder},
    truth,
};

/// A norm over channels between two products, with a mean whose 1/n is a constant.
fn graph() -> Graph {
    let mut b = Builder::new();
    let x = b.input("x", [1, 6, 8], DType::F32);
    b.boundary("before", x, "what it starts from").unwrap();
    let w = b.weight("w", [4, 8], DType::F32);
    let sum = b.sum(x, &[2]).unwrap();
    let mean = b.binary_scalar(Op::Multiply, sum, 0.125).unwrap();
    let centred = b.binary(Op::Subtract, x, mean).unwrap();
    let y = b.linear(centred, w).unwrap();
    let y = b.reshape(y, [1, 6, 2, 2]).unwrap();
    b.boundary("after", y, "the step").unwrap();
    b.finish()
}

fn step() -> Alone {
    let graph = graph();
    let boundary = graph.boundary(&crate::BoundaryId::new("after")).unwrap();
    Alone::step(&graph, boundary).unwrap()
}

fn numbers(shape: &[usize]) -> Tensor {
    let n = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..n).map(|i| (i * 37 % 101) as f32 / 8.0 - 6.0).collect();
    Tensor::from_f32(shape, &values).unwrap()
}

fn truth_of(step: &Alone, give: impl Fn(&str) -> Tensor) -> Vec<f64> {
    let given = |value| match &step.graph.node(value).op {
        Op::Input { name } | Op::Weight { name } => Some(give(name)),
        _ => None,
    };
    let result = step.graph.boundaries()[0].value;
    truth::evaluate(&step.graph, result, &given, false)
        .unwrap()
        .values
}

#[test]
fn a_step_alone_starts_from_inputs_of_its_parents_names() {
    let step = step();
    let inputs: Vec<_> = step
        .graph
        .nodes()
        .filter_map(|(_, node)| match &node.op {
            Op::Input { name } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(inputs, ["before"]);
    assert_eq!(step.result().shape, [1, 6, 2, 2].into());
}

#[test]
fn rows_channels_and_batches_can_be_cut_and_a_split_axis_cannot() {
    let extents: Vec<usize> = step().classes().iter().map(|class| class.extent).collect();
    assert_eq!(extents, [8, 6]);
}

#[test]
fn a_cut_of_rows_leaves_the_other_rows_as_they_were() {
    let step = step();
    let give = |name: &str| match name {
        "before" => numbers(&[1, 6, 8]),
        _ => numbers(&[4, 8]),
    };
    let whole = truth_of(&step, give);
    let rows = step.classes().iter().position(|c| c.extent == 6).unwrap();
    let cut = step.cut(rows, 2..5).unwrap();
    let part = truth_of(&cut.step, |name| cut.part(name, &give(name)).unwrap());
    assert_eq!(part, whole[2 * 4..5 * 4]);
}

#[test]
fn a_cut_of_the_summed_axis_cuts_both_operands() {
    let step = step();
    let channels = step.classes().iter().position(|c| c.extent == 8).unwrap();
    let cut = step.cut(channels, 0..4).unwrap();
    assert_eq!(
        cut.part("before", &numbers(&[1, 6, 8])).unwrap().shape(),
        &[1, 6, 4].into()
    );
    assert_eq!(
        cut.part("w", &numbers(&[4, 8])).unwrap().shape(),
        &[4, 4].into()
    );
    assert_eq!(cut.step.result().shape, [1, 6, 2, 2].into());
    // And again, down to one.
    let once = cut.step.cut(0, 0..1).unwrap();
    assert!(once.step.classes().iter().all(|class| class.extent >= 2));
    assert!(matches!(
        step.cut(channels, 3..9),
        Err(ResizeError::Window(..))
    ));
    assert!(matches!(
        step.cut(channels, 3..3),
        Err(ResizeError::Window(..))
    ));
}

#[test]
fn places_of_a_convolution_and_padded_axes_are_fixed() {
    let mut b = Builder::new();
    let x = b.input("x", [2, 9, 3], DType::F32);
    let w = b.weight("w", [4, 3, 3], DType::F32);
    let x = b.pad(x, &[(1, 1, 0)], 0.0).unwrap();
    let conv = Op::Convolution {
        strides: vec![1],
        low: vec![0],
        high: vec![0],
        kernel_dilation: vec![1],
        input_dilation: vec![1],
        groups: 1,
        flip: false,
    };
    let y = b.apply(conv, &[x, w]).unwrap();
    let reduce = Op::Reduce {
        kind: ReduceKind::Max,
        axes: vec![0],
    };
    let y = b.apply(reduce, &[y]).unwrap();
    b.boundary("y", y, "").unwrap();
    let graph = b.finish();
    let step = Alone::step(&graph, &graph.boundaries()[0]).unwrap();
    let extents: Vec<usize> = step.classes().iter().map(|class| class.extent).collect();
    assert_eq!(extents, [4, 3, 2]);
}

/// Every step of the encoder can be cut to one of everything that is free, and still fits together.
#[test]
fn every_step_of_a_model_can_be_cut_down() {
    let config = parse(&small()).unwrap();
    let graph = audio_encoder(&config, Profile::Bf16, 2, Frames::Exact(10)).unwrap();
    for boundary in graph.boundaries() {
        let mut step = Alone::step(&graph, boundary).unwrap();
        let before = step.result().shape.elements();
        while !step.classes().is_empty() {
            let extent = step.classes()[0].extent;
            step = step.cut(0, extent - 1..extent).unwrap().step;
        }
        assert!(step.result().shape.elements() <= before, "{}", boundary.id);
    }
}
