//! Buffers: element types, copies, memory used in place.

use crate::{KINDS, device, load};
use half::bf16;
use runtime::{Buffer, Bytes, Device, DeviceError, DeviceKind, Element, ElementType};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Sends values through a module that only passes them on.
fn pass<T: Element + PartialEq + std::fmt::Debug>(device: &Device, mlir: &str, values: &[T]) {
    let n = values.len();
    let text = format!(
        "func.func @pass(%x: tensor<{n}x{mlir}>) -> (tensor<{n}x{mlir}>, tensor<{n}x{mlir}>) {{
           %0 = stablehlo.reverse %x, dims = [0] : tensor<{n}x{mlir}>
           return %x, %0 : tensor<{n}x{mlir}>, tensor<{n}x{mlir}>
         }}"
    );
    let module = load(device, &text);
    let there = device.upload_slice(&[n], values).unwrap();
    assert_eq!(there.to_vec::<T>().unwrap(), values);
    let results = module.call("pass", &[&there]).unwrap();
    let mut reversed = values.to_vec();
    reversed.reverse();
    for (result, expected) in results.iter().zip([values, &reversed]) {
        assert_eq!(result.element_type(), T::TYPE, "{mlir}");
        assert_eq!(result.to_vec::<T>().unwrap(), expected);
    }
}

#[test]
fn every_element_type_passes_both_ways() {
    let device = device(DeviceKind::LocalTask);
    pass(&device, "f32", &[1.5f32, -0.0, f32::MAX]);
    pass(
        &device,
        "bf16",
        &[bf16::from_f32(1.5), bf16::MIN, bf16::from_bits(1)],
    );
    pass(&device, "f64", &[1.5f64, -0.0, f64::MIN_POSITIVE / 4.0]);
    pass(&device, "i64", &[1i64, -2, i64::MIN]);
    pass(&device, "i32", &[1i32, -2, i32::MIN]);
    pass(&device, "i8", &[1i8, -2, i8::MIN]);
}

#[test]
fn unsigned_values_are_accepted_by_integer_arguments() {
    let device = device(DeviceKind::LocalSync);
    for mlir in ["i32", "ui32"] {
        let module = load(
            &device,
            &format!(
                "func.func @id(%x: tensor<2x{mlir}>) -> tensor<2x{mlir}> {{
               %0 = stablehlo.add %x, %x : tensor<2x{mlir}>
               return %0 : tensor<2x{mlir}> }}"
            ),
        );
        let x = device.upload_slice(&[2], &[1u32 << 31 | 3, 7]).unwrap();
        let y = &module.call("id", &[&x]).unwrap()[0];
        assert_eq!(y.read().unwrap(), [6, 0, 0, 0, 14, 0, 0, 0]);
    }
}

#[test]
fn booleans_come_back_as_bytes() {
    let device = device(DeviceKind::LocalSync);
    let module = load(
        &device,
        "func.func @less(%x: tensor<3xf32>) -> tensor<3xi1> {
           %0 = stablehlo.constant dense<0.0> : tensor<3xf32>
           %1 = stablehlo.compare LT, %x, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
           return %1 : tensor<3xi1>
         }",
    );
    let x = device.upload_slice(&[3], &[-1.0f32, 0.0, 1.0]).unwrap();
    assert_eq!(
        module.call("less", &[&x]).unwrap()[0]
            .to_vec::<i8>()
            .unwrap(),
        [1, 0, 0]
    );
}

#[test]
fn scalars_and_empty_tensors_are_tensors() {
    let device = device(DeviceKind::LocalTask);
    let scalar = device.upload_slice(&[], &[3.0f32]).unwrap();
    assert_eq!(
        (scalar.shape(), scalar.to_vec::<f32>().unwrap()),
        (vec![], vec![3.0])
    );
    let empty = device.upload_slice::<f32>(&[0, 4], &[]).unwrap();
    assert_eq!((empty.shape(), empty.read().unwrap()), (vec![0, 4], vec![]));
}

#[test]
fn bytes_that_do_not_fill_the_shape_are_refused() {
    let device = device(DeviceKind::LocalSync);
    for shape in [&[3][..], &[], &[usize::MAX, 2]] {
        let error = device.upload(ElementType::F32, shape, &[0; 8]).unwrap_err();
        assert!(matches!(error, DeviceError::Size { .. }), "{error}");
        let error = device
            .import(ElementType::F32, shape, Arc::new([0u8; 8]))
            .unwrap_err();
        assert!(matches!(error, DeviceError::Size { .. }), "{error}");
    }
}

#[test]
fn values_are_not_read_as_another_type() {
    let device = device(DeviceKind::LocalSync);
    let x = device.upload_slice(&[1], &[1i32]).unwrap();
    assert!(x.to_vec::<u32>().is_err());
}

#[test]
fn a_mapping_shows_the_bytes_and_outlives_its_buffer() {
    let device = device(DeviceKind::LocalTask);
    let buffer = device.upload_slice(&[2], &[1i32, 2]).unwrap();
    let mapping = buffer.map().unwrap();
    drop(buffer);
    drop(device);
    assert_eq!(*mapping, [1, 0, 0, 0, 2, 0, 0, 0]);
}

/// Aligned memory that says when it is given up.
#[repr(C, align(64))]
struct Owned([f32; 1024], Arc<AtomicBool>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        bytemuck::bytes_of(&self.0)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

fn owned() -> (Bytes, Arc<AtomicBool>) {
    let gone = Arc::new(AtomicBool::new(false));
    (
        Arc::new(Owned(std::array::from_fn(|i| i as f32), gone.clone())),
        gone,
    )
}

fn sum(device: &Device, x: &Buffer) -> f32 {
    let module = load(
        device,
        "func.func @sum(%x: tensor<1024xf32>) -> tensor<f32> {
           %0 = stablehlo.constant dense<0.0> : tensor<f32>
           %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0]
             : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
           return %1 : tensor<f32>
         }",
    );
    module.call("sum", &[x]).unwrap()[0]
        .to_vec::<f32>()
        .unwrap()[0]
}

#[test]
fn memory_used_in_place_is_not_copied_and_is_given_up_with_the_buffer() {
    for kind in KINDS {
        let device = device(kind);
        let (bytes, gone) = owned();
        let address = (*bytes).as_ref().as_ptr();
        let buffer = device.import(ElementType::F32, &[1024], bytes).unwrap();
        assert_eq!(buffer.map().unwrap().as_ptr(), address);
        assert_eq!(sum(&device, &buffer), 1023.0 * 512.0);
        assert!(!gone.load(Ordering::Relaxed));
        drop(buffer);
        assert!(gone.load(Ordering::Relaxed), "{kind}");
    }
}

#[test]
fn misaligned_memory_is_refused_and_given_up() {
    struct Shifted(Bytes);
    impl AsRef<[u8]> for Shifted {
        fn as_ref(&self) -> &[u8] {
            &(*self.0).as_ref()[4..36]
        }
    }
    let device = device(DeviceKind::LocalSync);
    let (bytes, gone) = owned();
    let error = device
        .import(ElementType::F32, &[8], Arc::new(Shifted(bytes)))
        .unwrap_err();
    assert!(matches!(error, DeviceError::Misaligned { .. }), "{error}");
    assert!(gone.load(Ordering::Relaxed));
}
