//! That no primitive and no dtype is forgotten.

use std::collections::BTreeSet;

use emitter::lower::domain;
use fixtures::data_dir;
use stages::{
    AudioConfig, DType, Profile, Shape,
    graph::{BitwiseKind, Op, ReduceKind},
    model::gemma3n_audio::{Frames, audio_encoder},
};

use probes::catalogue::{Family, Size, computes_in, form};

/// Names all primitives; does not compile if level one gains one that is not listed.
macro_rules! primitives {
    ($($name:ident)*) => {
        const PRIMITIVES: &[&str] = &[$(stringify!($name)),*];

        fn listed(op: &Op) -> &'static str {
            match op {
                $(Op::$name { .. } => stringify!($name),)*
            }
        }
    };
}

primitives! {
    Input Weight Constant Arange Full
    Add Subtract Multiply Divide Maximum Minimum Power LogAddExp GreaterEqual LogicalAnd LogicalNot
    BitwiseBinary Negative Square Sqrt Sigmoid Tanh Exp Log Sin Cos AsType Select
    Reduce Scan Softmax Matmul AddMM QuantizedMatmul Convolution
    Broadcast ExpandDims Squeeze Transpose Reshape Flatten Unflatten Slice Pad Concatenate Split
    GatherAxis
}

/// An example of every form.
fn examples() -> Vec<Op> {
    let name = || "x".to_owned();
    let shape = Shape::scalar;
    let mut examples = vec![
        Op::Input { name: name() },
        Op::Weight { name: name() },
        Op::Constant { value: 0.0 },
        Op::Arange {
            start: 0.0,
            step: 1.0,
            len: 1,
        },
        Op::Full { shape: shape() },
        Op::Add,
        Op::Subtract,
        Op::Multiply,
        Op::Divide,
        Op::Maximum,
        Op::Minimum,
        Op::Power,
        Op::LogAddExp,
        Op::GreaterEqual,
        Op::LogicalAnd,
        Op::LogicalNot,
        Op::Negative,
        Op::Square,
        Op::Sqrt { reciprocal: false },
        Op::Sqrt { reciprocal: true },
        Op::Sigmoid,
        Op::Tanh,
        Op::Exp,
        Op::Log,
        Op::Sin,
        Op::Cos,
        Op::Select,
        Op::Softmax { precise: false },
        Op::Softmax { precise: true },
        Op::Matmul,
        Op::AddMM {
            alpha: 1.0,
            beta: 1.0,
        },
        Op::QuantizedMatmul {
            group_size: 64,
            bits: 4,
            transpose: true,
        },
        Op::Convolution {
            strides: vec![1],
            low: vec![0],
            high: vec![0],
            kernel_dilation: vec![1],
            input_dilation: vec![1],
            groups: 1,
            flip: false,
        },
        Op::Broadcast { shape: shape() },
        Op::ExpandDims { axes: vec![] },
        Op::Squeeze { axes: vec![] },
        Op::Transpose { axes: vec![] },
        Op::Reshape { shape: shape() },
        Op::Flatten { start: 0, end: 0 },
        Op::Unflatten {
            axis: 0,
            shape: shape(),
        },
        Op::Slice {
            start: vec![],
            stop: vec![],
            strides: vec![],
        },
        Op::Pad {
            axes: vec![],
            low: vec![],
            high: vec![],
        },
        Op::Concatenate { axis: 0 },
        Op::Split {
            indices: vec![],
            axis: 0,
            part: 0,
        },
        Op::GatherAxis { axis: 0 },
    ];
    examples.extend(DTYPES.map(|dtype| Op::AsType { dtype }));
    for kind in [BitwiseKind::LeftShift, BitwiseKind::RightShift] {
        examples.push(Op::BitwiseBinary { kind });
    }
    for kind in [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min] {
        examples.push(Op::Reduce { kind, axes: vec![] });
    }
    for (reverse, inclusive) in [(false, false), (false, true), (true, false), (true, true)] {
        examples.push(Op::Scan {
            axis: 0,
            reverse,
            inclusive,
        });
    }
    examples
}

const DTYPES: [DType; 6] = [
    DType::Bool,
    DType::I32,
    DType::U32,
    DType::F16,
    DType::BF16,
    DType::F32,
];

/// The forms and dtypes that there are cases of.
fn tried() -> BTreeSet<(String, DType)> {
    let cases = Family::ALL.map(|family| family.cases(Size::Short).unwrap());
    let cases = cases.iter().flatten();
    cases
        .map(|case| (form(&case.node().op), case.dtype()))
        .collect()
}

#[test]
fn every_form_and_dtype_with_a_lowering_has_a_case() {
    let examples = examples();
    let named: BTreeSet<&str> = examples.iter().map(listed).collect();
    assert_eq!(named, PRIMITIVES.iter().copied().collect());

    let tried = tried();
    let missing: Vec<_> = examples
        .iter()
        .flat_map(|op| DTYPES.map(|dtype| (op, dtype)))
        .filter(|(op, dtype)| domain(op, *dtype).is_some())
        .map(|(op, dtype)| (form(op), dtype))
        .filter(|key| !tried.contains(key))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn every_form_and_dtype_of_the_models_has_a_case() {
    let mut used: BTreeSet<(String, DType)> = BTreeSet::new();
    for fixture in ["tiny", "tiny-4bit", "encoder-real-2"] {
        let config = AudioConfig::read(&data_dir().unwrap().join(fixture)).unwrap();
        for profile in Profile::ALL {
            for frames in [Frames::Exact(1099), Frames::bucket_of(1099).unwrap()] {
                let graph = audio_encoder(&config, profile, 2, frames).unwrap();
                let nodes = graph.nodes();
                used.extend(nodes.map(|(_, node)| (form(&node.op), computes_in(&graph, node))));
            }
        }
    }
    // A model that states nothing would have cases for all.
    assert!(used.len() > 40, "{used:?}");
    let tried = tried();
    let missing: Vec<_> = used.difference(&tried).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
