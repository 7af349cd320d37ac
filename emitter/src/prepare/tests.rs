#[test]
fn padding_a_sixteen_bit_tensor_keeps_its_rows_and_adds_zeros() {
    let values: Vec<bf16> = (1..=6).map(|v| bf16::from_f32(v as f32)).collect();
    let tensor = Tensor::from_bf16([2, 3], &values).unwrap();
    let padded = apply(&[Prepare::PadTo { axis: 0, extent: 4 }], &tensor).unwrap();
    assert_eq!(padded.shape().dims(), [4, 3]);
    let padded = padded.as_bf16().unwrap();
    assert_eq!(padded[..6], values[..]);
    assert!(padded[6..].iter().all(|v| v.to_bits() == 0));
}
