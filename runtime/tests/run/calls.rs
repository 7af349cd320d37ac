//! Calls: results, and errors instead of wrong or aborted ones.

use crate::{KINDS, bits, device, load, noise};
use runtime::{DeviceKind, ModuleError};

const TWO: &str = "
    module @two {
      func.func @dot(%a: tensor<4x256xf32>, %b: tensor<256x64xf32>) -> tensor<4x64xf32> {
        %0 = stablehlo.dot_general %a, %b, contracting_dims=[1] x [0]
          : (tensor<4x256xf32>, tensor<256x64xf32>) -> tensor<4x64xf32>
        return %0 : tensor<4x64xf32>
      }
      func.func @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.add %a, %a : tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }";

#[test]
fn a_product_sums_in_order_on_every_device() {
    let (a, b) = (noise(4 * 256), noise(256 * 64));
    for kind in KINDS {
        let device = device(kind);
        let module = load(&device, TWO);
        let a_there = device.upload_slice(&[4, 256], &a).unwrap();
        let b_there = device.upload_slice(&[256, 64], &b).unwrap();
        let results = module.call("dot", &[&a_there, &b_there]).unwrap();
        assert_eq!(results[0].shape(), [4, 64]);
        let fma = std::arch::is_x86_feature_detected!("fma");
        let expected: Vec<f32> = (0..4 * 64)
            .map(|i| {
                let terms = (0..256).map(|k| (a[i / 64 * 256 + k], b[k * 64 + i % 64]));
                terms.fold(
                    0.0f32,
                    |sum, (a, b)| if fma { a.mul_add(b, sum) } else { a * b + sum },
                )
            })
            .collect();
        assert_eq!(
            bits(&results[0].to_vec().unwrap()),
            bits(&expected),
            "{kind}"
        );
    }
}

#[test]
fn any_number_of_results_comes_back() {
    let results: Vec<String> = (0..20).map(|i| format!("%{i}")).collect();
    let types = vec!["tensor<2xf32>"; 20].join(", ");
    let body: String = (0..20)
        .map(|i| {
            let operand = if i == 0 {
                "%x".to_owned()
            } else {
                format!("%{}", i - 1)
            };
            format!("%{i} = stablehlo.add {operand}, %x : tensor<2xf32>\n")
        })
        .collect();
    let text = format!(
        "func.func @many(%x: tensor<2xf32>) -> ({types}) {{ {body} return {} : {types} }}",
        results.join(", ")
    );
    let device = device(DeviceKind::LocalTask);
    let module = load(&device, &text);
    let x = device.upload_slice(&[2], &[1.0f32, -0.5]).unwrap();
    let results = module.call("many", &[&x]).unwrap();
    assert_eq!(results.len(), 20);
    assert_eq!(results[19].to_vec::<f32>().unwrap(), [21.0, -10.5]);
}

#[test]
fn an_unknown_function_is_an_error_that_names_the_known_ones() {
    let device = device(DeviceKind::LocalSync);
    let module = load(&device, TWO);
    assert_eq!(module.functions(), ["dot", "twice"]);
    let error = module.call("nope", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "find the function \"nope\": the module exports dot, twice"
    );
}

#[test]
fn a_wrong_number_of_arguments_is_an_error() {
    let device = device(DeviceKind::LocalSync);
    let module = load(&device, TWO);
    let x = device.upload_slice(&[4], &[0.0f32; 4]).unwrap();
    for arguments in [&[][..], &[&x, &x]] {
        let error = module.call("twice", arguments).unwrap_err();
        assert!(
            matches!(error, ModuleError::Arguments { taken: 1, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_wrong_shape_or_type_is_an_error_on_every_device() {
    for kind in KINDS {
        let device = device(kind);
        let module = load(&device, TWO);
        let wrong = [
            device.upload_slice(&[5], &[0.0f32; 5]).unwrap(),
            device.upload_slice(&[2, 2], &[0.0f32; 4]).unwrap(),
            device.upload_slice(&[4], &[0i32; 4]).unwrap(),
            device.upload_slice(&[4], &[0.0f64; 4]).unwrap(),
        ];
        for argument in &wrong {
            let error = module.call("twice", &[argument]).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, ModuleError::Call { .. }), "{text}");
            assert!(
                text.contains("INVALID_ARGUMENT") && !text.contains(".cargo"),
                "{text}"
            );
        }
        // And the module is none the worse for it.
        let x = device.upload_slice(&[4], &[1.0f32; 4]).unwrap();
        assert_eq!(
            module.call("twice", &[&x]).unwrap()[0]
                .to_vec::<f32>()
                .unwrap(),
            [2.0; 4]
        );
    }
}

#[test]
fn calls_from_many_threads_do_not_disturb_each_other() {
    for kind in KINDS {
        let device = device(kind);
        let module = load(&device, TWO);
        let b = device.upload_slice(&[256, 64], &noise(256 * 64)).unwrap();
        let call = |seed: usize| {
            let a: Vec<f32> = noise(4 * 256 + seed).split_off(seed);
            let a = device.upload_slice(&[4, 256], &a).unwrap();
            bits(&module.call("dot", &[&a, &b]).unwrap()[0].to_vec().unwrap())
        };
        let expected: Vec<_> = (0..4).map(call).collect();
        std::thread::scope(|scope| {
            for (seed, expected) in expected.iter().enumerate() {
                let call = &call;
                scope.spawn(move || (0..50).for_each(|_| assert_eq!(call(seed), *expected)));
            }
        });
    }
}
