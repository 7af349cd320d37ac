//! Known orders are revealed exactly, with as many probes as stated.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::convert::Infallible;

use probes::order::{Form, Join, Rounding, Tree, confirm, reveal};
use proptest::prelude::*;

/// The revealed tree and how often the operation was called.
fn revealed(n: usize, mut op: impl FnMut(&[f32]) -> f32) -> (Tree, usize) {
    let mut calls = 0;
    let tree = reveal(n, &mut |terms| {
        calls += 1;
        Ok::<_, Infallible>(op(terms))
    });
    (tree.unwrap(), calls)
}

/// Written out, not replayed, so that it does not depend on what is tested.
fn pairwise(terms: &[f32]) -> f32 {
    match terms {
        [] => 0.0,
        [one] => *one,
        _ => {
            let (low, high) = terms.split_at(terms.len().next_power_of_two() / 2);
            pairwise(low) + pairwise(high)
        }
    }
}

fn eight_lanes(terms: &[f32]) -> f32 {
    let mut lanes = [0.0; 8];
    for (i, term) in terms.iter().enumerate() {
        lanes[i % 8] += term;
    }
    let four: Vec<f32> = (0..4).map(|i| lanes[i] + lanes[i + 4]).collect();
    (four[0] + four[2]) + (four[1] + four[3])
}

fn blocks(terms: &[f32]) -> f32 {
    let sum = |terms: &[f32]| terms.iter().fold(0.0, |sum, x| sum + x);
    sum(&terms.chunks(48).map(sum).collect::<Vec<_>>())
}

#[test]
fn named_orders_are_revealed_and_confirmed() {
    type Op = fn(&[f32]) -> f32;
    let then = Join::Halving;
    let cases: [(&str, Op, Form); 5] = [
        (
            "sequential",
            |x| x.iter().fold(0.0, |s, x| s + x),
            Form::Sequential,
        ),
        (
            "right to left",
            |x| x.iter().rev().fold(0.0, |s, x| s + x),
            Form::RightToLeft,
        ),
        ("pairwise", pairwise, Form::Pairwise),
        (
            "8 lanes, then halving",
            eight_lanes,
            Form::Lanes { count: 8, then },
        ),
        (
            "runs of 48, then sequential",
            blocks,
            Form::Runs {
                len: 48,
                then: Join::Sequential,
            },
        ),
    ];
    for (name, op, form) in cases {
        for n in [97, 128, 300, 1152] {
            let (tree, _) = revealed(n, op);
            assert_eq!(tree, form.tree(n), "{name} of {n}");
            assert_eq!((tree.to_string().as_str(), tree.form()), (name, Some(form)));
            let mut op = |terms: &[f32]| Ok::<_, Infallible>(op(terms));
            let found = confirm(&tree, Rounding::F32, 0..16, &mut op).unwrap();
            assert_eq!(found.outputs, 16);
            assert!(found.telling > 8, "{name} of {n}: {found:?}");
        }
    }
}

#[test]
fn no_one_and_two_terms_have_one_order() {
    for n in 0..3 {
        let (tree, _) = revealed(n, |terms| terms.iter().sum());
        assert_eq!(tree, Tree::sequential(n));
    }
}

#[test]
fn chains_take_a_number_of_probes_that_grows_as_their_length() {
    let n = 10_000;
    let (tree, calls) = revealed(n, |terms| terms.iter().fold(0.0, |sum, x| sum + x));
    assert_eq!(tree.form(), Some(Form::Sequential));
    assert_eq!(calls, 2 * (n - 1) + 4);
    let (tree, calls) = revealed(n, |terms| terms.iter().rev().fold(0.0, |sum, x| sum + x));
    assert_eq!(tree.form(), Some(Form::RightToLeft));
    assert!(calls < 10 * n, "{calls} calls");
    assert_eq!(tree.depth(), n - 1);
}

#[test]
fn sums_of_a_narrow_dtype_are_revealed_as_far_as_it_counts() {
    let narrow = |terms: &[f32]| {
        let add = |sum: f32, x: &f32| Rounding::Bf16.round(sum + x);
        terms.iter().fold(0.0, add)
    };
    let (tree, _) = revealed(256, narrow);
    assert_eq!(tree.form(), Some(Form::Sequential));
    let mut op = |terms: &[f32]| Ok::<_, Infallible>(narrow(terms));
    assert_eq!(
        confirm(&tree, Rounding::Bf16, 0..8, &mut op)
            .unwrap()
            .telling,
        8
    );
    assert!(confirm(&tree, Rounding::F32, 0..8, &mut op).is_err());
}

/// Trees of up to `most` leaves: two of the sums that are left are picked again and again.
fn trees(most: usize) -> impl Strategy<Value = Tree> {
    let picks = |n: usize| {
        let pick = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
        prop::collection::vec(pick, n.saturating_sub(1)).prop_map(move |picks| {
            let mut parts: Vec<usize> = (0..n).collect();
            let mut merges = Vec::new();
            for (a, b) in picks {
                let a = parts.swap_remove(a.index(parts.len()));
                let b = parts.swap_remove(b.index(parts.len()));
                merges.push([a, b]);
                parts.push(n + merges.len() - 1);
            }
            Tree::from_merges(n, &merges).unwrap()
        })
    };
    (1..=most).prop_flat_map(picks)
}

/// Chains with side branches: the latest sum is always one of the two, mostly.
fn lopsided(most: usize) -> impl Strategy<Value = Tree> {
    let picks = |n: usize| {
        let pick = (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            0..8,
        );
        prop::collection::vec(pick, n.saturating_sub(1)).prop_map(move |picks| {
            let mut parts: Vec<usize> = (0..n).collect();
            let mut merges = Vec::new();
            for (a, b, latest) in picks {
                let a = if latest > 0 {
                    parts.len() - 1
                } else {
                    a.index(parts.len())
                };
                let a = parts.remove(a);
                let b = parts.remove(b.index(parts.len()));
                merges.push([a, b]);
                parts.push(n + merges.len() - 1);
            }
            Tree::from_merges(n, &merges).unwrap()
        })
    };
    (1..=most).prop_flat_map(picks)
}

/// The sum in the order of merges, by their definition.
fn execute(tree: &Tree, terms: &[f32]) -> f32 {
    let mut parts = terms.to_vec();
    for &[a, b] in tree.merges() {
        parts.push(parts[b] + parts[a]);
    }
    parts[parts.len() - 1]
}

fn check(tree: &Tree) -> Result<(), TestCaseError> {
    let n = tree.leaves();
    let (found, calls) = revealed(n, |terms| execute(tree, terms));
    prop_assert_eq!(&found, tree);
    prop_assert!(calls <= n * (n - 1) + 4, "{} calls for {} terms", calls, n);
    let mut op = |terms: &[f32]| Ok::<_, Infallible>(execute(tree, terms));
    prop_assert!(confirm(&found, Rounding::F32, 0..2, &mut op).is_ok());
    let form = found.form().map(|form| form.tree(n));
    prop_assert!(form.is_none_or(|named| named == found));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn random_trees_are_revealed_exactly(tree in trees(40)) {
        check(&tree)?;
    }

    #[test]
    fn random_chains_with_branches_are_revealed_exactly(tree in lopsided(40)) {
        check(&tree)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn large_random_trees_are_revealed_exactly(tree in prop_oneof![trees(600), lopsided(600)]) {
        check(&tree)?;
    }
}
