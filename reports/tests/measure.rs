//! Measurements against hand-made cases and against the definitions themselves.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod naive;

use half::{bf16, f16};
use naive::assert_measures;
use proptest::prelude::*;
use reports::Grid;
use reports::measure::{MeasureError, Measurement, NoUlp, Value, Values, compare, count_differing};

fn f32s(a: &[f32], b: &[f32], grid: Grid) -> Measurement {
    compare(Values::F32(a), Values::F32(b), &[a.len()], grid).unwrap()
}

/// A tensor and its shape's only extent.
fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    (0..n)
        .map(|_| f32::from_bits(next() & 0x807f_ffff | (120 + next() % 10) << 23))
        .collect()
}

#[test]
fn off_grid_values_give_no_ulp_and_the_reason_says_how_many_and_which_side() {
    // prior-evidence.md, fact 3: the BF16-ULP column read 0 where nothing was BF16.
    let a: Vec<f32> = (0..1024)
        .map(|i| 141_234.56 + i as f32 * 0.0625)
        .map(|v| v.next_up())
        .collect();
    let a: Vec<f32> = a.iter().map(|v| f32::from_bits(v.to_bits() | 1)).collect();
    let mut b = a.clone();
    b[373] = a[373].next_up();
    let m = f32s(&a, &b, Grid::Bf16);
    let reason = m.ulp.unwrap_err();
    assert!(
        reason
            .to_string()
            .starts_with("1024 of 1024 values are not BF16"),
        "{reason}"
    );
    let narrow: Vec<bf16> = b.iter().map(|&v| bf16::from_f32(v)).collect();
    let m = compare(Values::F32(&a), Values::Bf16(&narrow), &[1024], Grid::Bf16).unwrap();
    assert!(m.is_off_grid());
    assert_eq!(
        m.ulp.unwrap_err().to_string(),
        "1024 of 1024 values are not BF16 (reference)"
    );
    let m = f32s(&a, &b, Grid::F32);
    assert_eq!((m.max_abs, m.differing), (Some(0.015625), 1));
    assert_eq!(
        (m.ulp.unwrap().max, m.worst[0].index.as_slice()),
        (1, [373].as_slice())
    );
}

#[test]
fn each_side_off_the_grid_is_named() {
    let off = |reference, candidate| {
        NoUlp::OffGrid {
            grid: Grid::F16,
            elements: 9,
            reference,
            candidate,
        }
        .to_string()
    };
    assert_eq!(off(0, 2), "2 of 9 values are not F16 (candidate)");
    assert_eq!(
        off(3, 3),
        "3 of 9 values are not F16 (reference and candidate)"
    );
    let both = "1 of 9 values are not F16 (reference), 2 of 9 values are not F16 (candidate)";
    assert_eq!(off(1, 2), both);
}

#[test]
fn a_nan_against_a_number_is_never_skipped() {
    let nan = [f32::NAN, f32::from_bits(0xffc0_1234), 1.0, f32::NAN];
    let m = f32s(
        &nan,
        &[f32::from_bits(0x7f80_0001), 2.0, f32::NAN, f32::NAN],
        Grid::F32,
    );
    assert_eq!((m.differing, m.nan, m.inf, m.finite_pairs), (2, 2, 0, 0));
    assert_eq!((m.max_abs, m.rms, m.max_rel), (None, None, None));
    assert_eq!(m.ulp.unwrap().histogram.total(), 2);
    assert_eq!(m.worst.len(), 2);
}

#[test]
fn infinities_and_zeros_are_counted_apart() {
    let (i, n) = (f32::INFINITY, f32::NEG_INFINITY);
    let m = f32s(
        &[i, i, i, 0.0, -0.0, 3.0],
        &[i, n, 1.0, -0.0, -0.0, n],
        Grid::F32,
    );
    assert_eq!((m.differing, m.nan, m.inf, m.neg_zero), (4, 0, 3, 1));
    assert_eq!(
        (m.max_abs, m.max_abs_at, m.zero_reference),
        (Some(0.0), None, 2)
    );
    assert_eq!(m.ulp.unwrap().max, 0);
}

#[test]
fn coordinates_are_row_major() {
    let (a, mut b) = (vec![0.0; 24], vec![0.0; 24]);
    b[17] = 1.0;
    let m = compare(Values::F32(&a), Values::F32(&b), &[2, 3, 4], Grid::F32).unwrap();
    assert_eq!(m.max_abs_at.unwrap().index, [1, 1, 1]);
    let scalar = compare(Values::F32(&[1.0]), Values::F32(&[2.0]), &[], Grid::F32).unwrap();
    assert!(scalar.worst[0].index.is_empty());
}

#[test]
fn integers_and_booleans_have_no_ulp_but_everything_else() {
    let (a, b) = ([1, i32::MIN, 5, 0], [1, i32::MAX, 7, 1]);
    let m = compare(Values::I32(&a), Values::I32(&b), &[4], Grid::I32).unwrap();
    assert_eq!((m.differing, m.max_abs), (3, Some(4_294_967_295.0)));
    assert_eq!((m.ulp, m.ulp_f32), (Err(NoUlp::NotFloat(Grid::I32)), None));
    assert_eq!(m.worst[1].candidate, Value::Int(7));
    assert_eq!((m.reference_on_grid.bf16, m.candidate_on_grid.f32), (4, 3));
    let m = compare(
        Values::Bool(&[1, 1]),
        Values::Bool(&[1, 1]),
        &[2],
        Grid::Bool,
    )
    .unwrap();
    assert!(m.is_bit_exact() && m.reference_constant && !m.is_vacuous());
    assert_eq!(count_differing(Values::I32(&a), Values::I32(&b)), Ok(3));
    assert_eq!(
        count_differing(Values::Bool(&[0, 1]), Values::Bool(&[1, 1])),
        Ok(1)
    );
}

#[test]
fn a_constant_or_hopeless_reference_is_vacuous() {
    let vacuous = |a: &[f32]| f32s(a, a, Grid::F32).is_vacuous();
    assert!(vacuous(&[0.0, -0.0, 0.0]));
    assert!(vacuous(&[2.5; 5000]));
    assert!(vacuous(&[f32::NAN, f32::INFINITY]));
    assert!(!vacuous(&[2.5]));
    assert!(!vacuous(&[1.0, 1.0, f32::NAN]));
    let mut late = vec![1.0; 300_000];
    late[299_999] = 2.0;
    assert!(!vacuous(&late));
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let f = Values::F32(&[1.0, 2.0]);
    let kind = compare(f, Values::I32(&[1, 2]), &[2], Grid::F32);
    assert!(matches!(kind, Err(MeasureError::Kind { .. })));
    assert!(matches!(
        compare(f, f, &[2], Grid::I32),
        Err(MeasureError::Kind { .. })
    ));
    assert!(matches!(
        compare(f, f, &[3], Grid::F32),
        Err(MeasureError::Shape { .. })
    ));
    assert!(matches!(
        compare(f, f, &[usize::MAX, 2], Grid::F32),
        Err(MeasureError::Shape { .. })
    ));
    let empty = Values::F32(&[]);
    assert_eq!(
        compare(empty, empty, &[0], Grid::F32),
        Err(MeasureError::Empty)
    );
    let length = MeasureError::Length {
        reference: 2,
        candidate: 0,
    };
    assert_eq!(count_differing(f, empty), Err(length));
}

#[test]
fn the_threads_do_not_change_a_bit() {
    let n = 2_500_001;
    let a = noise(n, 1);
    let b: Vec<f32> = a
        .iter()
        .enumerate()
        .map(|(i, v)| {
            if i % 3 == 0 || i > 2_000_000 {
                v * 1.000_1
            } else {
                *v
            }
        })
        .collect();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| f32s(&a, &b, Grid::F32))
    };
    let one = on(1);
    assert_measures(&one, &a, &b);
    for threads in [2, 3, 7] {
        assert_eq!(on(threads), one);
    }
    assert_eq!(
        count_differing(Values::F32(&a), Values::F32(&b)),
        Ok(one.differing)
    );
}

#[test]
fn squares_are_summed_in_binary64() {
    // peers.md, G: summed in F32, 64M small squares stop growing.
    let (a, b) = (vec![1.0; 1 << 25], vec![1.5; 1 << 25]);
    let m = f32s(&a, &b, Grid::F32);
    assert_eq!((m.rms, m.ulp.unwrap().mean), (Some(0.5), 4_194_304.0));
}

/// Values of all kinds: grids, denormals, zeros, infinities, NaNs, plain bits.
fn any_value() -> impl Strategy<Value = f32> {
    let special = [
        0,
        1,
        0x8000_0000,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x3380_0000,
        0x3300_0000,
        0x387f_c000,
        0x3880_0000,
        0x477f_e000,
        0x477f_f000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc0_1234,
        0x7f80_0001,
        0xff7f_ffff,
        0x3f80_0000,
        0xbf80_0000,
    ];
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits),
        any::<u16>().prop_map(|b| bf16::from_bits(b).to_f32()),
        any::<u16>().prop_map(|b| f16::from_bits(b).to_f32()),
        proptest::sample::select(special.to_vec()).prop_map(f32::from_bits),
        -4.0_f32..4.0,
    ]
}

/// Pairs of tensors of which about one element in `1 / share` differs.
fn sides(max: usize) -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    let pair = (any_value(), any_value(), any::<u8>());
    let share = prop_oneof![Just(0_u8), Just(3), Just(40), Just(255)];
    (proptest::collection::vec(pair, 1..max), share).prop_map(|(pairs, share)| {
        let near = |x: f32, y: f32, r: u8| match r % 3 {
            0 => f32::from_bits(x.to_bits() ^ 1),
            1 => f32::from_bits(x.to_bits() ^ 0x0001_0000),
            _ => y,
        };
        let b = pairs.iter().map(|&(x, y, r)| {
            if r <= share && share > 0 {
                near(x, y, r)
            } else {
                x
            }
        });
        (pairs.iter().map(|p| p.0).collect(), b.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn floats_measure_by_the_definitions((a, b) in sides(1500)) {
        for grid in [Grid::F32, Grid::Bf16, Grid::F16] {
            assert_measures(&f32s(&a, &b, grid), &a, &b);
        }
        let m = f32s(&a, &b, Grid::F32);
        prop_assert_eq!(count_differing(Values::F32(&a), Values::F32(&b)), Ok(m.differing));
    }

    #[test]
    fn narrow_floats_measure_as_their_widened_selves(
        halves in proptest::collection::vec((any::<u16>(), any::<u16>(), any::<bool>()), 1..9000),
    ) {
        let other = |h: &(u16, u16, bool)| if h.2 { h.1 } else { h.0 };
        let a: Vec<bf16> = halves.iter().map(|h| bf16::from_bits(h.0)).collect();
        let b: Vec<bf16> = halves.iter().map(|h| bf16::from_bits(other(h))).collect();
        let (wa, wb): (Vec<f32>, Vec<f32>) = a.iter().zip(&b).map(|(a, b)| (a.to_f32(), b.to_f32())).unzip();
        let shape = [a.len()];
        let m = compare(Values::Bf16(&a), Values::Bf16(&b), &shape, Grid::Bf16).unwrap();
        prop_assert!(m.ulp.is_ok());
        assert_eq!(m.ulp, f32s(&wa, &wb, Grid::Bf16).ulp);
        prop_assert_eq!(m.differing, compare(Values::F32(&wa), Values::Bf16(&b), &shape, Grid::F32).unwrap().differing);

        let a: Vec<f16> = halves.iter().map(|h| f16::from_bits(h.0)).collect();
        let b: Vec<f16> = halves.iter().map(|h| f16::from_bits(other(h))).collect();
        let wide: (Vec<f32>, Vec<f32>) = a.iter().zip(&b).map(|(a, b)| (a.to_f32(), b.to_f32())).unzip();
        let m = compare(Values::F16(&a), Values::F16(&b), &shape, Grid::F16).unwrap();
        prop_assert!(m.ulp.is_ok());
        prop_assert_eq!(m.ulp, f32s(&wide.0, &wide.1, Grid::F16).ulp);
    }
}

#[test]
fn lengths_around_groups_and_blocks_lose_nothing() {
    for n in [1, 7, 8, 9, 255, 256, 257, 4095, 4096, 4097, 8192, 8200] {
        let a = noise(n, n as u64);
        let mut b = a.clone();
        b[n - 1] = -b[n - 1];
        assert_measures(&f32s(&a, &b, Grid::F32), &a, &b);
        let far: Vec<f32> = a.iter().map(|v| v * 1.01).collect();
        assert_measures(&f32s(&a, &far, Grid::F16), &a, &far);
    }
}
