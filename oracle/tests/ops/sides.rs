//! The three sides of a case, and their comparison.

use std::{collections::BTreeMap, fmt::Write, sync::OnceLock};

use emitter::{
    Contract, Cut,
    interp::interpret,
    layout::lay_out,
    lint::lint,
    lower::lower,
    mlir::{Function, print_module},
    prepare,
    program::{Program, Source},
    target::TargetClass,
    validate::validate,
};
use oracle::MlxSide;
use runtime::{CompileOptions, Device, DeviceKind, ElementType, Module, Native, Store, Target, Toolchain};
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

fn arguments(case: &Case, program: &Program) -> Vec<Tensor> {
    program
        .args()
        .iter()
        .map(|arg| {
            let tensor = match &arg.source {
                Source::Input(name) => &case.inputs[name],
                Source::Weight(name) => &case.weights[name],
                Source::Boundary(name) => panic!("{}: takes boundary {name}", case.name),
            };
            prepare::apply(&arg.prepare, tensor).unwrap()
        })
        .collect()
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

/// The compiler with a cache below the target folder, and the device.
fn iree() -> &'static (Toolchain, Device) {
    static IREE: OnceLock<(Toolchain, Device)> = OnceLock::new();
    IREE.get_or_init(|| {
        let store = Store::open(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("ops")).unwrap();
        let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
        let device = Device::open(DeviceKind::LocalTask, None, &toolchain).unwrap();
        (toolchain, device)
    })
}

/// All programs of one target class as one module, a function each.
fn compile(programs: &[(String, &Program)], class: TargetClass) -> Module {
    let (toolchain, device) = iree();
    let functions: Vec<Function<'_>> =
        programs.iter().map(|(name, program)| Function { name, program }).collect();
    let text = print_module("ops", &functions);
    let target = match class {
        TargetClass::Full => Target::HostAll,
        TargetClass::NoFma => Target::NoFma,
    };
    let code = toolchain
        .compile(&text, &CompileOptions::new(target))
        .unwrap_or_else(|error| panic!("failed to {error}"));
    device.load(code).unwrap()
}

fn call(module: &Module, function: &str, arguments: &[Tensor], like: &Tensor) -> Tensor {
    let device = &iree().1;
    let buffers: Vec<_> = arguments
        .iter()
        .map(|tensor| {
            let element = match tensor.dtype() {
                DType::F32 => ElementType::F32,
                DType::BF16 => ElementType::Bf16,
                DType::I32 => ElementType::I32,
                DType::Bool => ElementType::I8,
                other => panic!("{other} is not carried"),
            };
            device.upload(element, tensor.shape().dims(), tensor.bytes()).unwrap()
        })
        .collect();
    let results = module.call(function, &buffers.iter().collect::<Vec<_>>()).unwrap();
    let bytes = results[0].read().unwrap();
    assert_eq!(results[0].shape(), like.shape().dims(), "{function}");
    Tensor::from_bytes(like.dtype(), like.shape().clone(), &bytes).unwrap()
}

/// Elements by their bits as level two carries them; all NaNs are one.
fn carried(tensor: &Tensor) -> Vec<u32> {
    match tensor.dtype() {
        DType::Bool => tensor.bytes().iter().map(|&byte| byte.into()).collect(),
        DType::I32 => tensor.as_i32().unwrap().iter().map(|v| v.cast_unsigned()).collect(),
        _ => {
            let canonical = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
            tensor.to_f32().unwrap().iter().map(canonical).collect()
        }
    }
}

/// Where the sides differ, with operands where they are as many as results; empty if nowhere.
fn differences(case: &Case, mlx: &Tensor, interp: &Tensor, iree: &Tensor) -> String {
    let [mlx, interp, iree] = [mlx, interp, iree].map(carried);
    if mlx.len() != interp.len() || mlx.len() != iree.len() {
        return format!("{}: {} {} {} elements", case.name, mlx.len(), interp.len(), iree.len());
    }
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
    let mut failures = Vec::new();
    let mut emitted = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        match emit(case) {
            Ok(programs) => emitted.push((format!("f{i}"), case, programs)),
            Err(error) => failures.push(format!("{}: failed to {error}", case.name)),
        }
    }
    let mut classes: BTreeMap<TargetClass, Vec<(String, &Program)>> = BTreeMap::new();
    for (name, _, programs) in &emitted {
        let program = &programs.laid_out;
        classes.entry(TargetClass::of(program)).or_default().push((name.clone(), program));
    }
    let modules: BTreeMap<TargetClass, Module> =
        classes.iter().map(|(class, programs)| (*class, compile(programs, *class))).collect();
    for (name, case, programs) in &emitted {
        let mlx = mlx(case);
        let interp = interpret(&programs.stated, &arguments(case, &programs.stated));
        let interp = interp.unwrap_or_else(|error| panic!("{}: failed to {error}", case.name));
        let module = &modules[&TargetClass::of(&programs.laid_out)];
        let iree = call(module, name, &arguments(case, &programs.laid_out), &interp[0]);
        let text = differences(case, &mlx, &interp[0], &iree);
        if !text.is_empty() {
            failures.push(text);
        }
    }
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
}
