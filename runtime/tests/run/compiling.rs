//! Compilation: diagnostics, threads, targets and the cache.

use crate::toolchain;
use runtime::{CompileError, CompileOptions, Compiler, Native, Store, Target, Toolchain};
use std::{fs, path::Path};

const ADD: &str = "func.func @add(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.add %x, %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}";

fn compiler() -> Compiler {
    toolchain().compiler().clone()
}

fn options() -> CompileOptions {
    CompileOptions::new(Target::HostAll)
}

#[test]
fn malformed_text_is_reported_with_its_place() {
    let error = compiler()
        .compile(&ADD.replace("%x, %x", "%x, %y"), &options())
        .unwrap_err();
    let CompileError::Parse { diagnostics } = error else {
        panic!("{error}")
    };
    assert!(diagnostics.contains("module.mlir:2:26"), "{diagnostics}");
    assert!(
        diagnostics.contains("undeclared SSA value"),
        "{diagnostics}"
    );
}

#[test]
fn ill_typed_text_is_reported() {
    let text = ADD.replace("return %0 : tensor<64xf32>", "return %0 : tensor<65xf32>");
    let error = compiler().compile(&text, &options()).unwrap_err();
    assert!(matches!(error, CompileError::Parse { .. }), "{error}");
}

#[test]
fn what_cannot_be_compiled_is_reported() {
    let text = ADD.replace(
        "stablehlo.add %x, %x : tensor<64xf32>",
        "stablehlo.custom_call @nope(%x) : (tensor<64xf32>) -> tensor<64xf32>",
    );
    let error = compiler().compile(&text, &options()).unwrap_err();
    let CompileError::Compile { diagnostics } = error else {
        panic!("{error}")
    };
    assert!(diagnostics.contains("custom_call"), "{diagnostics}");
}

#[test]
fn text_with_a_zero_byte_is_an_error() {
    assert!(compiler().compile("func.func\0", &options()).is_err());
}

#[test]
fn threads_that_compile_at_once_get_the_same_code() {
    let expected = compiler().compile(ADD, &options()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(compiler().compile(ADD, &options()).unwrap() == expected));
        }
    });
}

#[test]
fn a_module_is_compiled_once_for_each_target() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    for target in [Target::HostAll, Target::NoFma] {
        let options = CompileOptions::new(target);
        let first = toolchain.compile(ADD, &options).unwrap();
        assert!(!first.is_cached());
        let second = toolchain.compile(ADD, &options).unwrap();
        assert!(second.is_cached());
        assert!(first.as_ref() == second.as_ref());
    }
}

#[test]
fn a_tampered_entry_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    let good = toolchain.compile(ADD, &options()).unwrap();
    let name = toolchain.key(ADD, &options()).to_string();
    let file = folder
        .path()
        .join("module")
        .join(&name[..2])
        .join(&name[2..]);
    let mut bytes = fs::read(&file).unwrap();
    bytes[100] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let again = toolchain.compile(ADD, &options()).unwrap();
    assert!(!again.is_cached());
    assert!(again.as_ref() == good.as_ref());
    assert!(toolchain.compile(ADD, &options()).unwrap().is_cached());
}

#[test]
fn a_cached_module_needs_no_compiler() {
    let native = Native::locate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    Toolchain::new(&native, Some(store.clone()))
        .compile(ADD, &options())
        .unwrap();
    let mut absent = native;
    absent.iree.path = Path::new("/nowhere/libIREECompiler.so").to_owned();
    let toolchain = Toolchain::new(&absent, Some(store));
    assert!(toolchain.compile(ADD, &options()).unwrap().is_cached());
    let error = toolchain.compiler().compile(ADD, &options()).unwrap_err();
    assert!(matches!(error, CompileError::Load { .. }), "{error}");
}

#[test]
fn f64_arithmetic_stays_f64() {
    let text = "func.func @add(%x: tensor<2xf64>) -> tensor<2xf64> {
      %one = stablehlo.constant dense<1.0> : tensor<2xf64>
      %0 = stablehlo.add %x, %one : tensor<2xf64>
      return %0 : tensor<2xf64>
    }";
    let device = crate::device(runtime::DeviceKind::LocalSync);
    let module = crate::load(&device, text);
    let x = device.upload_slice(&[2], &[1e-15f64, 3.0]).unwrap();
    let sums = module.call("add", &[&x]).unwrap()[0]
        .to_vec::<f64>()
        .unwrap();
    assert_eq!(sums, [1.0 + 1e-15, 4.0]);
}
