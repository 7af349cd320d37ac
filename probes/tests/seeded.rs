//! A fault that is put in on purpose is found by probe, catalogue and controls alike: an operation
//! that is emitted with another tree of additions than MLX's.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::{collections::BTreeMap, path::Path};

use emitter::{
    Contract, Cut,
    emit::{EmitError, Emitted, emit},
};
use oracle::{MlxSide, iree::IreeSide};
use probes::{
    catalogue::{Bench, Case, Family, Outcome, Size, under_contract},
    controls::{Candidate, Inputs, Mutated, Scene, Step, mutations},
    ops::{OpError, Site, iree::Compiled, mlx::OnMlx},
    order::{Form, Sums, Tree, reveal},
};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::{Boundary, BoundaryId, DType::F32, Graph, Tensor};

fn open() -> IreeSide {
    let store = Store::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("seeded")).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap()
}

/// Values whose sums depend on the order, from a small generator.
fn uneven(shape: &[usize], seed: u32) -> Tensor {
    let mut state = seed;
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        })
        .collect();
    Tensor::from_f32(shape, &values).unwrap()
}

/// The step that gives a graph's boundary with the mistake of that name in it.
fn mistaken(graph: &Graph, result: &Boundary, fault: &str) -> Step {
    let step = Step::of(graph, result).unwrap();
    let value = uneven(graph.info(result.value).shape.dims(), 1);
    let all = mutations(&step, &value).into_iter();
    let is_it = |mutated: &Mutated| mutated.name == fault;
    all.into_iter().find(is_it).unwrap().step
}

/// What is emitted for a boundary where that mistake is made.
fn faulty(graph: &Graph, result: &Boundary, fault: &str) -> Result<Emitted, EmitError> {
    let step = mistaken(graph, result, fault);
    let cut = Cut::step(step.graph(), step.result());
    emit(step.graph(), &cut, Contract::MlxCpu)
}

/// MLX's tree, and that of what is emitted.
fn trees(site: Site, emit: &dyn Fn(&Graph, &Boundary) -> Result<Emitted, OpError>) -> [Tree; 2] {
    let (mlx, iree) = (MlxSide::new().unwrap(), open());
    let sites = [site];
    let compiled = Compiled::emitting(&iree, &sites, emit).unwrap();
    let mut on_mlx = OnMlx::new(&mlx, &sites[0]);
    let mut on_iree = compiled.site(0).unwrap();
    let ops: [&mut dyn Sums<Error = OpError>; 2] = [&mut on_mlx, &mut on_iree];
    ops.map(|op| reveal(op).unwrap().tree)
}

/// What the catalogue says of a case that is emitted so, and of it as it is.
fn outcomes(
    family: Family,
    name: &str,
    emit: &(dyn Fn(&Case) -> Result<Emitted, EmitError> + Sync),
) -> [Outcome; 2] {
    let (mlx, iree) = (MlxSide::new().unwrap(), open());
    let cases = family.cases(Size::Short).unwrap();
    let case = cases.iter().find(|case| case.name() == name);
    let case = case.unwrap_or_else(|| panic!("no case {name}"));
    let bench = Bench::new(&mlx, &iree);
    [bench.emitting(emit), bench].map(|bench| {
        let mut found = None;
        bench.run(&[case], &mut |_, outcome| found = Some(outcome));
        found.unwrap()
    })
}

/// How many elements the controls find differing at the sum's boundary, of the graph as it is
/// emitted under a contract, and of that with the mistake in it.
fn guarded(graph: &Graph, contract: Contract, candidate: Candidate<'_>, fault: &str) -> [u64; 2] {
    let mlx = MlxSide::new().unwrap();
    let mut inputs = BTreeMap::new();
    let mut weights = BTreeMap::new();
    for (seed, (value, node)) in (1..).zip(graph.nodes()) {
        let shape = graph.info(value).shape.dims();
        match &node.op {
            stages::graph::Op::Input { name } => inputs.insert(name.clone(), uneven(shape, seed)),
            stages::graph::Op::Weight { name } => weights.insert(name.clone(), uneven(shape, seed)),
            _ => None,
        };
    }
    let weight = |name: &str| weights.get(name).cloned();
    let wanted: Vec<&Boundary> = graph.boundaries().iter().collect();
    let reference = mlx.capture(graph, &weight, &inputs, &wanted, &mut |_| {});
    let scene = Scene {
        kind: Inputs::Own,
        graph,
        contract,
        weights: &weight,
        inputs: &inputs,
        reference: &reference.unwrap(),
        mlx: &mlx,
    };
    let result = wanted.last().unwrap();
    let is_it = |id: &BoundaryId, name: &str| *id == result.id && name == fault;
    let count = |a: &Tensor, b: &Tensor| {
        let (a, b) = (a.as_f32().unwrap(), b.as_f32().unwrap());
        Ok(a.iter()
            .zip(b)
            .filter(|(a, b)| a.to_bits() != b.to_bits())
            .count() as u64)
    };
    let found = scene.apply(&[result], candidate, &is_it, &count).unwrap();
    let tried = found[0].tried.first().map_or(0, |tried| tried.differing);
    [found[0].differing, tried]
}

/// A mistake in the order of an operation's additions, found in all three ways.
fn is_found(site: &Site, family: Family, name: &str, fault: &str) {
    let n = site.terms();
    let [mlx, iree] = trees(site.clone(), &|graph, result| {
        Ok(faulty(graph, result, fault)?)
    });
    assert_eq!(mlx, Form::Sequential.tree(n));
    assert_ne!(mlx, iree, "{iree}");

    let [wrong, right] = outcomes(family, name, &|case| {
        faulty(case.graph(), case.result(), fault)
    });
    assert!(right.is_equal());
    for side in wrong.compared() {
        assert!(side.as_ref().unwrap().differing > Some(0), "{side:?}");
    }
    assert_eq!(wrong.first[0].interp, Some(wrong.first[0].iree[0].1));

    let iree = open();
    for candidate in [Candidate::Interp, Candidate::Iree(&iree)] {
        let [right, wrong] = guarded(site.graph(), Contract::MlxCpu, candidate, fault);
        assert!(right == 0 && wrong > 0, "{candidate:?}: {right} {wrong}");
    }
}

#[test]
fn a_sum_in_another_order_is_found() {
    let site = Site::sum(16, 256, F32).unwrap();
    let name = "Sum [5, 2048] over [1] F32";
    is_found(&site, Family::Reduction, name, "descending@Reduce.1");
}

#[test]
fn a_product_in_two_halves_is_found() {
    let site = Site::product(16, 256, 1, F32).unwrap();
    let name = "Matmul plain 1x200x1 F32";
    is_found(&site, Family::Contraction, name, "halves@Matmul.1");
}

#[test]
fn an_order_left_to_the_compiler_is_found() {
    let site = Site::sum(16, 1152, F32).unwrap();
    let [mlx, iree] = trees(site.clone(), &|graph, result| {
        Ok(emit(graph, &Cut::step(graph, result), Contract::Native)?)
    });
    assert_eq!(mlx, Form::Sequential.tree(1152));
    assert_ne!(mlx, iree);

    let native = |case: &Case| {
        let cut = Cut::step(case.graph(), case.result());
        emit(case.graph(), &cut, Contract::Native)
    };
    let name = "Sum [5, 2048] over [1] F32";
    let [wrong, right] = outcomes(Family::Reduction, name, &native);
    assert!(right.is_equal() && wrong.interp.is_none());
    for side in wrong.compared() {
        assert!(side.as_ref().unwrap().differing > Some(0), "{side:?}");
    }

    // The step differs without any mistake in the graph.
    let side = open();
    let on = Candidate::Iree(&side);
    let [differing, _] = guarded(site.graph(), Contract::Native, on, "none");
    assert!(differing > 0);
    assert_eq!(guarded(site.graph(), Contract::MlxCpu, on, "none")[0], 0);
}

#[test]
fn what_is_emitted_under_the_contract_has_mlxs_tree() {
    for site in [Site::sum(16, 256, F32), Site::product(16, 256, 1, F32)] {
        let [mlx, iree] = trees(site.unwrap(), &|graph, result| {
            Ok(emit(graph, &Cut::step(graph, result), Contract::MlxCpu)?)
        });
        assert_eq!(mlx, iree);
    }
    let sum = Family::Reduction.cases(Size::Short).unwrap();
    assert!(under_contract(&sum[0]).unwrap().stated.is_exact());
}
