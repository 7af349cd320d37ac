use proptest::prelude::*;

use super::*;
use crate::{
    interp::interpret,
    program::{Elem, Op, Program, Source, ValueInfo},
};

fn halves(count: usize) -> Vec<bf16> {
    (0..count)
        .map(|i| bf16::from_bits((i * 31) as u16))
        .collect()
}

/// Packing as the layout pass asks for it.
fn packing(n: usize, k: usize) -> Vec<Prepare> {
    let columns = n.div_ceil(8);
    vec![
        Prepare::PadTo {
            axis: 0,
            extent: columns * 8,
        },
        Prepare::Reshape([columns, 8, k].into()),
        Prepare::Transpose(vec![0, 2, 1]),
        Prepare::Reshape([columns, k, 8, 1].into()),
    ]
}

#[test]
fn a_packed_weight_holds_eight_rows_side_by_side_and_zeros_past_the_end() {
    for (n, k) in [(16, 5), (13, 7), (8, 1), (801, 130)] {
        let values = halves(n * k);
        let w = Tensor::from_bf16([n, k], &values).unwrap();
        let packed = apply(&packing(n, k), &w).unwrap();
        assert_eq!(packed.shape().dims(), [n.div_ceil(8), k, 8, 1]);
        for (i, x) in packed.as_bf16().unwrap().iter().enumerate() {
            let (row, column) = (i / (8 * k) * 8 + i % 8, i / 8 % k);
            let expected = if row < n {
                values[row * k + column]
            } else {
                bf16::ZERO
            };
            assert_eq!(x.to_bits(), expected.to_bits());
        }
    }
}

#[test]
fn steps_that_move_nothing_share_the_memory() {
    let w = Tensor::from_bf16([4, 6], &halves(24)).unwrap();
    let same = apply(&[], &w).unwrap();
    assert_eq!(same.bytes().as_ptr(), w.bytes().as_ptr());
    let steps = [
        Prepare::Reshape([1, 24, 1].into()),
        Prepare::Transpose(vec![2, 1, 0]),
        Prepare::PadTo {
            axis: 1,
            extent: 24,
        },
        Prepare::Reshape([2, 12].into()),
    ];
    let same = apply(&steps, &w).unwrap();
    assert_eq!(same.bytes().as_ptr(), w.bytes().as_ptr());
    assert_eq!(same.shape().dims(), [2, 12]);
    let f32s = Tensor::from_f32([2], &[1.0, 2.0]).unwrap();
    let same = apply(&[Prepare::Widen], &f32s).unwrap();
    assert_eq!(same.bytes().as_ptr(), f32s.bytes().as_ptr());
}

#[test]
fn widening_is_exact_wherever_it_stands() {
    let values = halves(35);
    let w = Tensor::from_bf16([5, 7], &values).unwrap();
    let turn = Prepare::Transpose(vec![1, 0]);
    for steps in [
        [Prepare::Widen, turn.clone()],
        [turn.clone(), Prepare::Widen],
    ] {
        let wide = apply(&steps, &w).unwrap();
        for (i, x) in wide.as_f32().unwrap().iter().enumerate() {
            let expected = values[i % 5 * 7 + i / 5].to_f32();
            assert_eq!(x.to_bits(), expected.to_bits());
        }
    }
    let half = f16::from_f32(0.1);
    let bytes = half.to_bits().to_le_bytes();
    let w = Tensor::from_bytes(DType::F16, [1].into(), &bytes).unwrap();
    let wide = apply(&[Prepare::Widen], &w).unwrap();
    assert_eq!(wide.as_f32(), Some(&[half.to_f32()][..]));
}

#[test]
fn words_keep_their_bits_and_move_like_others() {
    let w = Tensor::from_u32([2, 2], &[1, u32::MAX, 3, 1 << 31]).unwrap();
    let integers = apply(&[Prepare::Reinterpret], &w).unwrap();
    assert_eq!(integers.bytes().as_ptr(), w.bytes().as_ptr());
    let steps = [Prepare::Reinterpret, Prepare::Transpose(vec![1, 0])];
    let turned = apply(&steps, &w).unwrap();
    assert_eq!(turned.as_i32(), Some(&[1, 3, -1, i32::MIN][..]));
    let again = apply(&[Prepare::Reinterpret], &turned).unwrap_err();
    assert_eq!(
        again.to_string(),
        "prepare a I32 tensor: its bits are no U32's"
    );
}

#[test]
fn steps_that_do_not_fit_say_which_and_why() {
    let w = Tensor::from_i32([2, 3], &[0; 6]).unwrap();
    let fails = |steps: &[Prepare]| apply(steps, &w).unwrap_err().to_string();
    assert_eq!(
        fails(&[Prepare::Transpose(vec![1, 0]), Prepare::Reshape([7].into())]),
        "prepare a tensor of shape [3,2]: reshape[7] does not fit"
    );
    assert!(fails(&[Prepare::Transpose(vec![0, 0])]).contains("transpose[0,0]"));
    assert!(fails(&[Prepare::PadTo { axis: 1, extent: 2 }]).contains("pad[1:2]"));
    assert!(fails(&[Prepare::PadTo { axis: 2, extent: 2 }]).contains("pad[2:2]"));
    assert!(fails(&[Prepare::Widen]).contains("I32"));
}

#[test]
fn text_tells_steps_apart() {
    assert_eq!(
        text(&packing(13, 7)),
        "pad[0:16] reshape[2,8,7] transpose[0,2,1] reshape[2,7,8,1]"
    );
}

proptest! {
    /// The same steps as operations of a program.
    #[test]
    fn steps_in_a_row_equal_one_after_the_other(
        dims in prop::collection::vec(1usize..7, 1..4),
        choices in prop::collection::vec((0u8..3, any::<[u8; 6]>()), 0..7),
    ) {
        let count: usize = dims.iter().product();
        let values: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let tensor = Tensor::from_f32(dims.as_slice(), &values).unwrap();
        let info = |dims: &[usize]| ValueInfo {
            shape: dims.into(),
            elem: Elem::F32,
            grid: DType::F32,
        };
        let mut program = Program::new();
        let mut value = program.arg(Source::Input("x".into()), vec![], info(&dims));
        let (mut dims, mut steps) = (dims, Vec::new());
        for (kind, choice) in choices {
            let rank = dims.len();
            let (step, op) = match kind {
                0 => {
                    let mut axes: Vec<usize> = (0..rank).collect();
                    axes.sort_by_key(|&axis| choice[axis % 6]);
                    dims = axes.iter().map(|&axis| dims[axis]).collect();
                    (Prepare::Transpose(axes.clone()), Op::Transpose { axes })
                }
                1 => {
                    let axis = usize::from(choice[0]) % rank;
                    let extra = usize::from(choice[1]) % 3;
                    let mut high = vec![0; rank];
                    high[axis] = extra;
                    dims[axis] += extra;
                    let step = Prepare::PadTo { axis, extent: dims[axis] };
                    (step, Op::Pad { low: vec![0; rank], high, bits: 0 })
                }
                _ => {
                    match choice[0] % 3 {
                        0 if rank < 5 => dims.insert(usize::from(choice[1]) % (rank + 1), 1),
                        1 if rank > 1 => {
                            let last = dims.remove(rank - 1);
                            dims[rank - 2] *= last;
                        }
                        _ if rank < 5 && dims[0] % 2 == 0 => {
                            dims[0] /= 2;
                            dims.insert(0, 2);
                        }
                        _ => {}
                    }
                    (Prepare::Reshape(dims.as_slice().into()), Op::Reshape)
                }
            };
            steps.push(step);
            value = program.push(op, vec![value], info(&dims));
        }
        program.output("y", value);
        let expected = interpret(&program, std::slice::from_ref(&tensor)).unwrap();
        let given = apply(&steps, &tensor).unwrap();
        prop_assert_eq!(given.shape(), expected[0].shape());
        prop_assert_eq!(given.as_f32(), expected[0].as_f32());
    }
}
