//! What is no sum in a fixed order of two operands at a time is refused, and the reason is told.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::convert::Infallible;

use probes::order::{MASK, MOST_TERMS, ProbeError, Rounding, Tree, confirm, reveal};

fn refusal(n: usize, mut op: impl FnMut(&[f32]) -> f32) -> ProbeError<Infallible> {
    reveal(n, &mut |terms| Ok(op(terms))).unwrap_err()
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
    for n in [3, 4, 64] {
        let error = refusal(n, |terms| sorted(terms, |x| *x));
        assert!(matches!(error, ProbeError::Multiway { .. }), "{error}");
        let error = refusal(n, |terms| sorted(terms, |x| -x.abs()));
        assert!(matches!(error, ProbeError::Inconsistent { .. }), "{error}");
    }
    // Forwards or backwards, as the first term says.
    let error = refusal(64, |terms| match terms[0] < MASK {
        true => sequential(terms),
        false => sequential(terms.iter().rev()),
    });
    assert!(
        matches!(
            error,
            ProbeError::Multiway { .. } | ProbeError::Inconsistent { .. }
        ),
        "{error}"
    );
}

#[test]
fn an_order_that_depends_on_the_values_unseen_by_the_masks_is_not_confirmed() {
    let mut op = |terms: &[f32]| {
        Ok::<_, Infallible>(match terms[0].fract() == 0.0 {
            true => sequential(terms),
            false => sequential(terms.iter().rev()),
        })
    };
    let tree = reveal(64, &mut op).unwrap();
    assert_eq!(tree, Tree::sequential(64));
    let error = confirm(&tree, Rounding::F32, 0..4, &mut op).unwrap_err();
    assert!(
        matches!(error, ProbeError::Differs { seed: 0, .. }),
        "{error}"
    );
}

#[test]
fn a_sum_of_several_operands_at_once_is_refused() {
    // Four terms and the sum so far, exactly, and then one rounding.
    let error = refusal(16, |terms| {
        let at_once = |sum: f32, four: &[f32]| {
            let masks: f32 = four.iter().chain([&sum]).filter(|x| x.abs() >= MASK).sum();
            let rest = four.iter().chain([&sum]).filter(|x| x.abs() < MASK);
            if four.iter().chain([&sum]).any(|x| x.abs() >= MASK) {
                masks
            } else {
                rest.sum()
            }
        };
        terms.chunks(4).fold(0.0, at_once)
    });
    assert!(matches!(error, ProbeError::Multiway { .. }), "{error}");
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
    let scaled = refusal(8, |terms| sequential(terms) / 8.0);
    assert!(uncounted(&scaled), "{scaled}");
    let constant = refusal(8, |_| 8.0);
    assert!(uncounted(&constant), "{constant}");
    let add = |sum: f32, x: &f32| Rounding::Bf16.round(sum + x);
    for n in [257, 258, 512] {
        let narrow = refusal(n, |terms| terms.iter().fold(0.0, add));
        assert!(uncounted(&narrow), "{narrow}");
        // Halves keep their count for longer, but not one term less.
        let narrow = refusal(n, |terms| {
            let (low, high) = terms.split_at(n / 2);
            add(low.iter().fold(0.0, add), &high.iter().fold(0.0, add))
        });
        assert!(uncounted(&narrow), "{narrow}");
    }
    let nan = refusal(8, |_| f32::NAN);
    assert!(uncounted(&nan), "{nan}");
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
fn the_operations_own_failure_is_passed_on() {
    let mut calls = 0;
    let error = reveal(8, &mut |terms| {
        calls += 1;
        if calls < 9 {
            Ok(sequential(terms))
        } else {
            Err("call nine")
        }
    });
    assert_eq!(error, Err(ProbeError::Op("call nine")));
}
