//! Devices: denormals, threads, and what they refuse.

use crate::{KINDS, bits, device, load, toolchain};
use runtime::{CompileOptions, Device, DeviceError, DeviceKind, Target, Vmfb};

#[test]
fn denormals_survive_on_every_device() {
    let text = "func.func @mul(%a: tensor<65536xf32>, %b: tensor<65536xf32>) -> tensor<65536xf32> {
      %0 = stablehlo.multiply %a, %b : tensor<65536xf32>
      return %0 : tensor<65536xf32>
    }";
    let a: Vec<f32> = (0..65536).map(|i| 1e-30 * (1.0 + i as f32)).collect();
    let b = vec![1e-13f32; 65536];
    let denormal_inputs: Vec<f32> = (0..65536).map(f32::from_bits).collect();
    for kind in KINDS {
        let device = device(kind);
        let module = load(&device, text);
        for a in [&a, &denormal_inputs] {
            let a_there = device.upload_slice(&[65536], a).unwrap();
            for b in [&b, &vec![1e10; 65536]] {
                let b_there = device.upload_slice(&[65536], b).unwrap();
                let found = module.call("mul", &[&a_there, &b_there]).unwrap();
                let expected: Vec<f32> = a.iter().zip(b).map(|(a, b)| a * b).collect();
                assert_eq!(bits(&found[0].to_vec().unwrap()), bits(&expected), "{kind}");
            }
        }
    }
}

#[test]
fn a_device_has_the_threads_it_was_asked_for() {
    for threads in [1, 2, 5] {
        let device = Device::open(DeviceKind::LocalTask, Some(threads), toolchain()).unwrap();
        assert_eq!(device.threads(), threads);
    }
    let all = std::thread::available_parallelism().unwrap().get().min(256);
    assert_eq!(device(DeviceKind::LocalTask).threads(), all);
    assert_eq!(device(DeviceKind::LocalSync).threads(), 1);
}

#[test]
fn a_device_refuses_a_number_of_threads_that_it_cannot_have() {
    for (kind, threads) in [
        (DeviceKind::LocalTask, 0),
        (DeviceKind::LocalTask, 257),
        (DeviceKind::LocalSync, 2),
    ] {
        let error = Device::open(kind, Some(threads), toolchain()).unwrap_err();
        assert!(matches!(error, DeviceError::Threads { .. }), "{error}");
    }
}

#[test]
fn devices_have_the_names_of_the_command_line() {
    for kind in KINDS {
        assert_eq!(kind.to_string().parse::<DeviceKind>().unwrap(), kind);
    }
    assert!("cuda:7".parse::<DeviceKind>().is_err());
}

#[test]
fn malformed_and_truncated_modules_are_refused() {
    let device = device(DeviceKind::LocalSync);
    let text = "func.func @id(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }";
    let code = toolchain()
        .compile(text, &CompileOptions::new(Target::NoFma))
        .unwrap();
    let whole = code.as_ref();
    let mut bad: Vec<Vec<u8>> = vec![
        vec![],
        b"no module".to_vec(),
        vec![0; 4096],
        vec![255; 4096],
    ];
    bad.extend((0..16).map(|i| whole[..whole.len() * i / 16].to_vec()));
    bad.push(whole[100..].to_vec());
    for bytes in bad {
        let length = bytes.len();
        let error = device.load(Vmfb::from(bytes)).unwrap_err();
        assert!(
            matches!(error, DeviceError::Load { .. }),
            "{length}: {error}"
        );
    }
    device.load(Vmfb::from(whole.to_vec())).unwrap();
}

/// IREE keeps type identities in variables of the process, which opening a device must not touch
/// while another runs.
#[test]
fn devices_that_come_and_go_do_not_disturb_each_other() {
    const TEXT: &str = "func.func @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
        %y = stablehlo.add %x, %x : tensor<3xf32>
        return %y : tensor<3xf32>
    }";
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..100 {
                    let device = device(KINDS[round % 2]);
                    let module = load(&device, TEXT);
                    for _ in 0..4 {
                        let x = device.upload_slice(&[3], &[1.0f32, 2.0, 3.0]).unwrap();
                        let results = module.call("twice", &[&x]).unwrap();
                        assert_eq!(results[0].to_vec::<f32>().unwrap(), [2.0, 4.0, 6.0]);
                    }
                }
            });
        }
    });
}
