//! The definitions of a measurement, one scalar at a time, in the plainest code that says them.

use half::{bf16, f16};
use reports::Grid;
use reports::measure::{Measurement, NoUlp, OnGrid, UlpStats};

fn is_on(value: f32, grid: Grid) -> bool {
    let back = match grid {
        Grid::Bf16 => bf16::from_f32(value).to_f32(),
        Grid::F16 => f16::from_f32(value).to_f32(),
        _ => value,
    };
    value.is_nan() || back.to_bits() == value.to_bits()
}

/// The rank of a value on its grid: the grid's own bits, mirrored below zero.
fn rank(value: f32, grid: Grid) -> i64 {
    let magnitude = match grid {
        Grid::Bf16 => i64::from(bf16::from_f32(value.abs()).to_bits()),
        Grid::F16 => i64::from(f16::from_f32(value.abs()).to_bits()),
        _ => i64::from(value.abs().to_bits()),
    };
    if value.is_sign_negative() {
        -magnitude
    } else {
        magnitude
    }
}

/// Largest distance, mean, and the bins by their smallest distance.
type Distances = (u64, f64, Vec<(u64, u64)>);

fn ulp(a: &[f32], b: &[f32], grid: Grid) -> Result<Distances, NoUlp> {
    let off = |v: &[f32]| v.iter().filter(|v| !is_on(**v, grid)).count() as u64;
    let (reference, candidate) = (off(a), off(b));
    if reference + candidate > 0 {
        return Err(NoUlp::OffGrid {
            grid,
            elements: a.len() as u64,
            reference,
            candidate,
        });
    }
    let mut bins = std::collections::BTreeMap::new();
    let (mut max, mut sum, mut pairs) = (0, 0, 0);
    for (&x, &y) in a.iter().zip(b) {
        let same = x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
        if !(same || x.is_finite() && y.is_finite()) {
            continue;
        }
        let d = if same {
            0
        } else {
            rank(x, grid).abs_diff(rank(y, grid))
        };
        max = max.max(d);
        sum += d;
        pairs += 1;
        let start = if d == 0 { 0 } else { 1 << d.ilog2() };
        *bins.entry(start).or_insert(0) += 1;
    }
    let mean = if pairs == 0 {
        0.0
    } else {
        sum as f64 / pairs as f64
    };
    Ok((max, mean, bins.into_iter().collect()))
}

fn same_ulp(got: &UlpStats, (max, mean, bins): Distances) {
    assert_eq!((u64::from(got.max), got.mean), (max, mean));
    let over_one: u64 = bins
        .iter()
        .filter(|(start, _)| *start > 1)
        .map(|(_, n)| n)
        .sum();
    assert_eq!(got.histogram.over_one(), over_one);
    assert_eq!(
        got.histogram
            .by_lower_bound()
            .into_iter()
            .collect::<Vec<_>>(),
        bins
    );
}

/// Asserts that a measurement of these floats says what the definitions say.
pub fn assert_measures(m: &Measurement, a: &[f32], b: &[f32]) {
    let pairs = || a.iter().copied().zip(b.iter().copied());
    let count =
        |test: &dyn Fn(f32, f32) -> bool| pairs().filter(|&(x, y)| test(x, y)).count() as u64;
    let differs = |x: f32, y: f32| x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan());
    assert_eq!(m.elements, a.len() as u64);
    assert_eq!(m.differing, count(&differs));
    assert_eq!(m.nan, count(&|x, y| x.is_nan() != y.is_nan()));
    let infinite = |x: f32, y: f32| x.is_infinite() || y.is_infinite();
    assert_eq!(
        m.inf,
        count(&|x, y| infinite(x, y) && x != y && !x.is_nan() && !y.is_nan())
    );
    assert_eq!(
        m.neg_zero,
        count(&|x, y| x == 0.0 && y == 0.0 && differs(x, y))
    );
    assert_eq!(m.zero_reference, count(&|x, _| x == 0.0));
    assert_eq!(m.reference_finite, count(&|x, _| x.is_finite()));
    assert_eq!(m.reference_constant, {
        let bits = |v: f32| if v == 0.0 { 0 } else { v.to_bits() };
        a.iter().all(|&x| bits(x) == bits(a[0]))
    });
    let on = |v: &[f32]| {
        let n = |grid| v.iter().filter(|v| is_on(**v, grid)).count() as u64;
        OnGrid {
            bf16: n(Grid::Bf16),
            f16: n(Grid::F16),
            f32: v.len() as u64,
        }
    };
    assert_eq!((m.reference_on_grid, m.candidate_on_grid), (on(a), on(b)));

    let finite: Vec<(f64, f64)> = pairs()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .map(|(x, y)| (f64::from(x), f64::from(y)))
        .collect();
    assert_eq!(m.finite_pairs, finite.len() as u64);
    let largest = |v: &mut dyn Iterator<Item = f64>| v.reduce(f64::max);
    let max_abs = largest(&mut finite.iter().map(|(x, y)| (x - y).abs()));
    assert_eq!(m.max_abs, max_abs);
    let nonzero = || finite.iter().filter(|(x, _)| *x != 0.0);
    assert_eq!(
        m.max_rel,
        largest(&mut nonzero().map(|(x, y)| (x - y).abs() / x.abs()))
    );
    // Compensated, so that the reference's own rounding stays out of it.
    let (mut squares, mut lost) = (0.0_f64, 0.0_f64);
    for (x, y) in &finite {
        let term = (x - y) * (x - y) - lost;
        let sum = squares + term;
        lost = (sum - squares) - term;
        squares = sum;
    }
    let rms = (squares / finite.len() as f64).sqrt();
    match m.rms {
        None => assert!(finite.is_empty()),
        Some(got) => assert!((got - rms).abs() <= 1e-12 * rms, "{got} {rms}"),
    }

    match (&m.ulp_f32, ulp(a, b, Grid::F32)) {
        (Some(got), Ok(want)) => same_ulp(got, want),
        (got, want) => assert_eq!((got.is_none(), want.err()), (true, Some(NoUlp::NoPair))),
    }
    match (&m.ulp, ulp(a, b, m.grid)) {
        (Ok(got), Ok(want)) => same_ulp(got, want),
        (got, want) => assert_eq!(got.err(), want.err()),
    }

    let badness = |x: f32, y: f32| match (x.is_nan() || y.is_nan(), infinite(x, y)) {
        (true, _) => (2, 0.0),
        (_, true) => (1, 0.0),
        _ => (0, (f64::from(x) - f64::from(y)).abs()),
    };
    let mut worst: Vec<usize> = (0..a.len()).filter(|&i| differs(a[i], b[i])).collect();
    let key = |i: usize| badness(a[i], b[i]);
    worst.sort_by(|&i, &j| key(j).partial_cmp(&key(i)).unwrap());
    worst.truncate(32);
    let got: Vec<_> = m
        .worst
        .iter()
        .map(|e| (e.reference.bits(), e.candidate.bits()))
        .collect();
    let want: Vec<_> = worst
        .iter()
        .map(|&i| (a[i].to_bits(), b[i].to_bits()))
        .collect();
    assert_eq!(got, want);
    if m.shape.len() == 1 {
        let at: Vec<_> = m.worst.iter().map(|e| e.index[0]).collect();
        assert_eq!(at, worst);
    }
    match (max_abs.filter(|&d| d > 0.0), &m.max_abs_at) {
        (None, at) => assert_eq!(*at, None),
        (Some(max), at) => {
            let first = (0..a.len()).find(|&i| key(i) == (0, max)).unwrap();
            let bits = at
                .as_ref()
                .map(|e| (e.reference.bits(), e.candidate.bits()));
            assert_eq!(bits, Some((a[first].to_bits(), b[first].to_bits())));
        }
    }
}
