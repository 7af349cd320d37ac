//! What is no sum in a fixed order is refused, and the reason is told.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::convert::Infallible;

use probes::order::{
    Arithmetic, Each, MASK, MOST_TERMS, ProbeError, Rounding, Sums, Tree, check_rows, confirm,
    reveal,
};

fn refusal(n: usize, mut op: impl FnMut(&[f32]) -> f32) -> ProbeError<Infallible> {
    reveal(&mut Each::new(n, |terms: &[f32]| Ok(op(terms)))).unwrap_err()
}

/// Why a tree that was revealed does not reproduce the operation.
fn difference(n: usize, mut op: impl FnMut(&[f32]) -> f32) -> ProbeError<Infallible> {
    let mut op = Each::new(n, |terms: &[f32]| Ok(op(terms)));
    let tree = reveal(&mut op).unwrap().tree;
    confirm(&tree, &Arithmetic::default(), 0..8, &mut op).unwrap_err()
}

fn sequential<'a>(terms: impl IntoIterator<Item = &'a f32>) -> f32 {
    terms.into_iter().fold(0.0, |sum, x| sum + x)
}

fn sorted(terms: &[f32], by: impl Fn(&f32) -> f32) -> f32 {
    let mut terms = terms.to_vec();
    terms.sort_by(|a, b| by(a).total_cmp(&by(b)));
    sequential(&terms)
}

#[test]
fn an_operation_that_is_not_repeatable_is_refused() {
    let mut calls = 0;
    let error = refusal(64, |terms| {
        calls += 1;
        let start = calls % 7;
        sequential(terms[start..].iter().chain(&terms[..start]))
    });
    assert!(matches!(error, ProbeError::NotRepeatable { .. }), "{error}");
}

#[test]
fn an_order_that_depends_on_the_values_is_refused() {
    for n in [4, 64] {
        // With M and −M at the ends all terms seem to be added at once.
        let error = difference(n, |terms| sorted(terms, |x| *x));
        assert!(matches!(error, ProbeError::Differs { .. }), "{error}");
        let error = refusal(n, |terms| sorted(terms, |x| -x.abs()));
        assert!(matches!(error, ProbeError::Inconsistent { .. }), "{error}");
    }
    // Forwards or backwards, as the first term says.
    let error = refusal(64, |terms| match terms[0] < MASK {
        true => sequential(terms),
        false => sequential(terms.iter().rev()),
    });
    assert!(matches!(error, ProbeError::Inconsistent { .. }), "{error}");
}

#[test]
fn an_order_that_depends_on_the_values_unseen_by_the_masks_is_not_confirmed() {
    let mut op = Each::new(64, |terms: &[f32]| {
        Ok::<_, Infallible>(match terms[0].fract() == 0.0 {
            true => sequential(terms),
            false => sequential(terms.iter().rev()),
        })
    });
    let tree = reveal(&mut op).unwrap().tree;
    assert_eq!(tree, Tree::sequential(64));
    let error = confirm(&tree, &Arithmetic::default(), 0..4, &mut op).unwrap_err();
    assert!(
        matches!(error, ProbeError::Differs { seed: 0, .. }),
        "{error}"
    );
}

#[test]
fn sums_that_lose_nothing_are_refused() {
    let error = refusal(16, |terms| {
        let large = |x: &&f32| x.abs() >= MASK;
        terms.iter().filter(large).sum::<f32>() + terms.iter().filter(|x| !large(x)).sum::<f32>()
    });
    assert!(matches!(error, ProbeError::Inconsistent { .. }), "{error}");
}

#[test]
fn what_does_not_count_its_terms_is_refused() {
    let uncounted = |error: &ProbeError<_>| matches!(error, ProbeError::Uncounted { .. });
    let constant = refusal(8, |_| 8.0);
    assert!(uncounted(&constant), "{constant}");
    // Two bits of significand count to four ones, which is too few to ask about.
    let coarse = |x: f32| f32::from_bits((x.to_bits() + 0x0040_0000) & 0xff80_0000);
    let narrow = refusal(300, |terms| {
        terms.iter().fold(0.0, |sum, x| coarse(sum + x))
    });
    assert!(uncounted(&narrow), "{narrow}");
    let nan = refusal(8, |_| f32::NAN);
    assert!(uncounted(&nan), "{nan}");
    let none = refusal(0, |_| 1.0);
    assert!(uncounted(&none), "{none}");
}

#[test]
fn results_that_are_no_counts_are_refused() {
    let error = refusal(8, |terms| {
        let largest = terms.iter().fold(0.0f32, |a, x| a.max(x.abs()));
        sequential(terms) + largest - 1.0
    });
    assert!(
        matches!(error, ProbeError::OutOfRange { plus: 0, .. }),
        "{error}"
    );
    let squares = refusal(8, |terms| terms.iter().map(|x| x * x).sum());
    assert!(
        matches!(squares, ProbeError::OutOfRange { .. }),
        "{squares}"
    );
    assert_eq!(
        refusal(MOST_TERMS + 1, |_| 0.0),
        ProbeError::TooManyTerms(MOST_TERMS + 1)
    );
}

#[test]
fn a_rounding_that_is_not_the_operations_is_not_confirmed() {
    let mut op = Each::new(100, |terms: &[f32]| Ok::<_, Infallible>(sequential(terms)));
    let tree = reveal(&mut op).unwrap().tree;
    for rounding in [Rounding::Bf16, Rounding::Bf16Once] {
        assert!(confirm(&tree, &Arithmetic::of(rounding), 0..4, &mut op).is_err());
    }
}

/// Adds what the row before it left over.
struct Leaky;

impl Sums for Leaky {
    type Error = Infallible;

    fn terms(&self) -> usize {
        8
    }

    fn rows(&self) -> usize {
        4
    }

    fn sums(&mut self, rows: &[f32]) -> Result<Vec<f32>, Infallible> {
        let with_last = |i| sequential(&rows[8 * i..8 * i + 8]) + rows[(8 * i + 15) % rows.len()];
        Ok((0..rows.len() / 8).map(with_last).collect())
    }
}

#[test]
fn rows_that_depend_on_each_other_are_refused() {
    let error = check_rows(&mut Leaky).unwrap_err();
    assert!(matches!(error, ProbeError::Rows { .. }), "{error}");
}

#[test]
fn the_operations_own_failure_is_passed_on() {
    let mut calls = 0;
    let mut op = Each::new(8, |terms: &[f32]| {
        calls += 1;
        if calls < 5 {
            Ok(sequential(terms))
        } else {
            Err("call five")
        }
    });
    assert_eq!(reveal(&mut op), Err(ProbeError::Op("call five")));
}
