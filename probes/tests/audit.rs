//! What the compiler makes of a small step, for the CPU and for a GPU that need not be here.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use emitter::{Contract, Cut, emit::emit, program::Program, target::TargetClass};
use probes::audit::{Audited, Sign, Target, audit};
use runtime::{Compiler, Native};
use stages::{
    DType,
    graph::{Builder, GraphError, Op, ValueId},
};

fn program(
    dtype: DType,
    contract: Contract,
    build: impl FnOnce(&mut Builder, ValueId) -> Result<ValueId, GraphError>,
) -> Program {
    let mut b = Builder::new();
    let x = b.input("x", [48, 64], dtype);
    let y = build(&mut b, x).unwrap();
    b.boundary("y", y, "The result.").unwrap();
    let graph = b.finish();
    let cut = Cut::step(&graph, &graph.boundaries()[0]);
    emit(&graph, &cut, contract).unwrap().laid_out
}

fn audited(program: &Program, target: Target, class: TargetClass) -> Audited {
    let compiler = Compiler::new(&Native::locate().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let audited = audit(&compiler, program, target, class, folder.path()).unwrap();
    assert!(audited.instructions > 0);
    audited
}

fn found(audited: &Audited) -> Vec<Sign> {
    audited
        .findings
        .iter()
        .map(|finding| finding.sign)
        .collect()
}

const GPU: Target = Target::Cuda("sm_89");

/// A product and a sum, each rounded.
fn separate(b: &mut Builder, x: ValueId) -> Result<ValueId, GraphError> {
    let scaled = b.binary_scalar(Op::Multiply, x, 0.3)?;
    b.binary(Op::Add, scaled, x)
}

#[test]
fn separate_roundings_stay_separate() {
    let program = program(DType::F32, Contract::MlxCpu, separate);
    for target in [Target::Cpu, GPU] {
        let audited = audited(&program, target, TargetClass::Full);
        assert_eq!(found(&audited), [], "{target}: {:?}", audited.findings);
    }
}

/// Products of F32 values, each rounded on its own: only the right class of target keeps them so.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_product_that_fuses_is_found() {
    if !std::arch::is_x86_feature_detected!("fma") {
        return;
    }
    let program = program(DType::F32, Contract::MlxCpu, |b, x| {
        let weight = b.weight("w", [32, 64], DType::F32);
        b.linear(x, weight)
    });
    assert_eq!(TargetClass::of(&program), TargetClass::NoFma);
    let right = audited(&program, Target::Cpu, TargetClass::NoFma);
    assert_eq!(found(&right), []);
    let wrong = audited(&program, Target::Cpu, TargetClass::Full);
    assert_eq!(found(&wrong), [Sign::Fused]);
    assert!(wrong.findings[0].found.first.starts_with("vf"));
}

#[test]
fn what_a_gpu_does_in_its_own_order_is_found() {
    let root = program(DType::F32, Contract::MlxCpu, |b, x| {
        let sum = b.sum(x, &[1])?;
        b.apply(Op::Sqrt { reciprocal: true }, &[sum])
    });
    let audited_root = audited(&root, GPU, TargetClass::Full);
    let signs = found(&audited_root);
    assert!(signs.contains(&Sign::Approximate), "{signs:?}");
    assert!(signs.contains(&Sign::Exchange), "{signs:?}");
}

#[test]
fn where_nothing_is_stated_nothing_goes_against_it() {
    let program = program(DType::F32, Contract::Native, separate);
    let audited = audited(&program, Target::Cpu, TargetClass::Full);
    assert_eq!(found(&audited), []);
}
