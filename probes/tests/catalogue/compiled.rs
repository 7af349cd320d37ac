//! The conformer's functions as they are compiled, on 2²⁷ F32, MLX against IREE, with and without
//! fused multiply-add. The values are every 32nd bit pattern: all exponents, both signs.
//!
//! `cargo test --release -p probes --test catalogue -- --ignored --nocapture compiled`

use emitter::{Contract, Cut, emit::emit, program::Source};
use oracle::{
    MlxSide,
    iree::{IreeSide, tensor},
};
use probes::catalogue::carried;
use runtime::{CompileOptions, DeviceKind, ElementType, Native, Target, Toolchain};
use stages::{
    Boundary, Tensor,
    graph::{Builder, GraphError, Op, ValueId},
};

use crate::{INPUT, function};

/// Values in one piece.
const PIECE: u32 = 1 << 22;

/// Distance between the bit patterns.
const STEP: u32 = 32;

type Build = fn(&mut Builder, ValueId) -> Result<ValueId, GraphError>;

const FUNCTIONS: [(&str, Build); 12] = [
    ("exp", |b, x| b.apply(Op::Exp, &[x])),
    ("sigmoid", |b, x| b.apply(Op::Sigmoid, &[x])),
    ("tanh", |b, x| b.apply(Op::Tanh, &[x])),
    ("sin", |b, x| b.apply(Op::Sin, &[x])),
    ("cos", |b, x| b.apply(Op::Cos, &[x])),
    ("rsqrt", |b, x| b.apply(Op::Sqrt { reciprocal: true }, &[x])),
    ("power 2", |b, x| b.binary_scalar(Op::Power, x, 2.0)),
    ("softplus", |b, x| b.binary_scalar(Op::LogAddExp, x, 0.0)),
    ("silu", |b, x| b.silu(x)),
    ("glu", |b, x| b.glu(x)),
    ("clip", |b, x| {
        let bounds = [-1e10, 1e10].map(|bound| b.scalar(bound, stages::DType::F32));
        b.clip(x, bounds[0], bounds[1])
    }),
    ("soft cap", |b, x| {
        let small = b.binary_scalar(Op::Divide, x, 50.0)?;
        let bent = b.apply(Op::Tanh, &[small])?;
        b.binary_scalar(Op::Multiply, bent, 50.0)
    }),
];

fn agrees(name: &str, build: Build) {
    let shape = [PIECE as usize / 2, 2];
    let graph = function(shape, build);
    let boundary: &Boundary = &graph.boundaries()[0];
    let cut = Cut::step(&graph, boundary);
    let program = emit(&graph, &cut, Contract::MlxCpu).unwrap().laid_out;
    let toolchain = Toolchain::new(&Native::locate().unwrap(), None);
    let iree = IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap();
    let units = [Target::HostAll, Target::NoFma].map(|target| {
        let options = CompileOptions::new(target);
        iree.build_as("f", vec![program.clone()], &options).unwrap()
    });
    let mlx = MlxSide::new().unwrap();
    let mut wrong = [0; 2];
    for piece in 0..u32::MAX / PIECE / STEP + 1 {
        let bits = |i: u32| (piece * PIECE + i) * STEP + piece % STEP;
        let values: Vec<f32> = (0..PIECE).map(|i| f32::from_bits(bits(i))).collect();
        let x = Tensor::from_f32(shape, &values).unwrap();
        let inputs = [(INPUT.to_owned(), x.clone())].into();
        let captures = mlx
            .capture(&graph, &|_| None, &inputs, &[boundary], &mut |_| {})
            .unwrap();
        let expected = carried(captures.get(&boundary.id).unwrap()).unwrap();
        let own = iree
            .device()
            .upload(ElementType::F32, &shape, x.bytes())
            .unwrap();
        for (unit, wrong) in units.iter().zip(&mut wrong) {
            let on_device = |_: &Source| Some(own.clone());
            let found = iree.call(unit, 0, &|_: &Source| None, &on_device).unwrap();
            let found = carried(&tensor(&found[0]).unwrap()).unwrap();
            for (i, (a, b)) in (0..).zip(expected.iter().zip(&found)) {
                if a != b {
                    *wrong += 1;
                    if *wrong <= 10 {
                        eprintln!("{name} element {i} of piece {piece}: mlx {a:08x} iree {b:08x}");
                    }
                }
            }
        }
    }
    assert_eq!(wrong, [0; 2], "{name}");
    eprintln!("{name}: 2^27 F32 agree");
}

#[test]
#[ignore = "takes minutes"]
fn compiled_functions_agree_on_many_f32() {
    for (name, build) in FUNCTIONS {
        agrees(name, build);
    }
}
