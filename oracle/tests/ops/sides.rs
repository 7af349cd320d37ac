//! The three sides of a case, and their comparison.

use std::{collections::BTreeSet, fmt::Write, path::Path};

use emitter::{
    Contract, Cut,
    layout::lay_out,
    lint::lint,
    lower::lower,
    program::{Elem, Op, Order, Program, Source, ValueInfo},
    target::TargetClass,
    validate::validate,
};
use oracle::{
    MlxSide, interp,
    iree::{self, IreeSide, Unit},
};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::{Boundary, DType, Tensor};

use crate::case::Case;

/// A case lowered, in the interpreter's form and in the compiler's.
struct Emitted {
    stated: Program,
    laid_out: Program,
}

fn emit(case: &Case) -> Result<Emitted, String> {
    let cut = Cut::step(&case.graph, &case.graph.boundaries()[0]);
    let stated = lower(&case.graph, &cut, Contract::MlxCpu).map_err(|e| e.to_string())?;
    validate(&stated).map_err(|e| e.to_string())?;
    let laid_out = lay_out(&stated);
    validate(&laid_out).map_err(|e| format!("laid out: {e}"))?;
    let findings = lint(&laid_out, Contract::MlxCpu);
    match findings.first() {
        None => Ok(Emitted { stated, laid_out }),
        Some(finding) => Err(finding.to_string()),
    }
}

fn mlx(case: &Case) -> Tensor {
    let wanted: Vec<&Boundary> = case.graph.boundaries().iter().collect();
    let weights = |name: &str| case.weights.get(name).cloned();
    let captures = MlxSide::new()
        .unwrap()
        .capture(&case.graph, &weights, &case.inputs, &wanted, &mut |_| {})
        .unwrap_or_else(|error| panic!("{}: failed to {error}", case.name));
    captures.get(&wanted[0].id).unwrap().clone()
}

/// A device, and a compiler with a cache below the target folder.
fn open() -> IreeSide {
    let store = Store::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("ops")).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap()
}

/// Cases compiled for one target as one module, and where each stands in it.
struct Batch {
    class: TargetClass,
    unit: Unit,
    cases: Vec<usize>,
}

/// For each target: a model whose products must not fuse is compiled without FMA as a whole, so
/// all cases are tried there, and those that may have FMA with it too.
fn build(side: &IreeSide, emitted: &[(&Case, Emitted)]) -> Vec<Batch> {
    [TargetClass::Full, TargetClass::NoFma]
        .into_iter()
        .map(|class| {
            let allowed = |i: &usize| TargetClass::of(&emitted[*i].1.laid_out) <= class;
            let cases: Vec<usize> = (0..emitted.len()).filter(allowed).collect();
            let mut programs: Vec<Program> = cases
                .iter()
                .map(|&i| emitted[i].1.laid_out.clone())
                .collect();
            if TargetClass::joint(&programs) != class {
                programs.push(unfusable());
            }
            assert_eq!(TargetClass::joint(&programs), class);
            let unit = side.build("ops", programs);
            let unit = unit.unwrap_or_else(|error| panic!("failed to {error}"));
            Batch { class, unit, cases }
        })
        .collect()
}

/// A program that makes its module one without FMA.
fn unfusable() -> Program {
    let info = || ValueInfo {
        shape: [1, 1].into(),
        elem: Elem::F32,
        grid: DType::F32,
    };
    let mut program = Program::new();
    let x = program.arg(Source::Input("x".into()), vec![], info());
    let dot = Op::Dot {
        order: Order::Sequential,
        fused: false,
    };
    let product = program.push(dot, vec![x, x], info());
    program.output("product", product);
    program
}

/// Elements by their bits as level two carries them; all NaNs are one.
pub fn carried(tensor: &Tensor) -> Vec<u32> {
    match tensor.dtype() {
        DType::Bool => tensor.bytes().iter().map(|&byte| byte.into()).collect(),
        DType::U32 => tensor.as_u32().unwrap().to_vec(),
        DType::I32 => tensor
            .as_i32()
            .unwrap()
            .iter()
            .map(|v| v.cast_unsigned())
            .collect(),
        _ => {
            let canonical = |x: &f32| {
                if x.is_nan() {
                    f32::NAN.to_bits()
                } else {
                    x.to_bits()
                }
            };
            tensor.to_f32().unwrap().iter().map(canonical).collect()
        }
    }
}

/// Where the sides differ, with operands where they are as many as results; empty if nowhere.
fn differences(case: &Case, mlx: &Tensor, interp: &Tensor, iree: &Tensor) -> String {
    let shapes = [mlx, interp, iree].map(|side| side.shape().to_string());
    if shapes[0] != shapes[1] || shapes[0] != shapes[2] {
        return format!("{}: shapes {}", case.name, shapes.join(" "));
    }
    let [mlx, interp, iree] = [mlx, interp, iree].map(carried);
    let differ = |i: &usize| mlx[*i] != interp[*i] || mlx[*i] != iree[*i];
    let wrong: Vec<usize> = (0..mlx.len()).filter(differ).collect();
    if wrong.is_empty() {
        return String::new();
    }
    let count = |side: &[u32]| mlx.iter().zip(side).filter(|(a, b)| a != b).count();
    let mut text = format!(
        "{}: of {} elements interp differs in {}, iree in {}",
        case.name,
        mlx.len(),
        count(&interp),
        count(&iree)
    );
    for &i in wrong.iter().take(5) {
        let operands: Vec<String> = case
            .inputs
            .values()
            .map(carried)
            .filter(|values| values.len() == mlx.len())
            .map(|values| format!("{:08x}", values[i]))
            .collect();
        let (m, p, r) = (mlx[i], interp[i], iree[i]);
        let _ = write!(
            text,
            "\n  [{i}] {} -> mlx {m:08x} interp {p:08x} iree {r:08x}",
            operands.join(" ")
        );
    }
    text
}

/// Runs all cases on all sides and fails with every difference there is.
pub fn agree(cases: &[Case]) {
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(
        names.len(),
        cases.len(),
        "cases share a name, so they would share arguments"
    );
    let mut failures = Vec::new();
    let mut emitted = Vec::new();
    for case in cases {
        match emit(case) {
            Ok(programs) => emitted.push((case, programs)),
            Err(error) => failures.push(format!("{}: failed to {error}", case.name)),
        }
    }
    let side = open();
    for Batch { class, unit, cases } in build(&side, &emitted) {
        for (index, i) in cases.into_iter().enumerate() {
            let (case, programs) = &emitted[i];
            let supply = |source: &Source| match source {
                Source::Input(name) => case.inputs.get(name).cloned(),
                Source::Weight(name) => case.weights.get(name).cloned(),
                Source::Boundary(_) => None,
            };
            let interp = interp::run(&programs.stated, &supply);
            let interp = interp.unwrap_or_else(|error| panic!("{}: failed to {error}", case.name));
            let buffers = side.call(&unit, index, &supply, &|_| None);
            let buffers =
                buffers.unwrap_or_else(|error| panic!("{}: failed to {error}", case.name));
            let iree = iree::tensor(&buffers[0]).unwrap();
            let text = differences(case, &mlx(case), &interp[0], &iree);
            if !text.is_empty() {
                failures.push(format!("{class:?}: {text}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} cases fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
