//! Random trees are generated, executed, revealed and compared.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod fprev;

use std::convert::Infallible;

use probes::order::{Arithmetic, Each, Fused, Plan, Rounding, Sums, Tree, confirm, reveal};
use proptest::{prelude::*, test_runner::TestRunner};

/// How a tree comes about.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// The most parts of a node.
    fan_in: usize,
    /// Of eight merges, how many take the latest sum in: 0 for balanced trees, 8 for chains.
    latest: usize,
}

/// Parts that are left are picked again and again, and added.
fn trees(most: usize, kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = Tree> {
    let sizes = (1..=most, kind);
    sizes.prop_flat_map(|(n, kind)| {
        let index = any::<prop::sample::Index>;
        let pick = (
            prop::collection::vec(index(), kind.fan_in),
            2..=kind.fan_in,
            0..8usize,
        );
        prop::collection::vec(pick, n.saturating_sub(1)).prop_map(move |picks| {
            let mut left: Vec<usize> = (0..n).collect();
            let mut merges = Vec::new();
            for (which, count, chance) in picks {
                if left.len() < 2 {
                    break;
                }
                let mut parts = Vec::new();
                if chance < kind.latest && !merges.is_empty() {
                    parts.extend(left.pop());
                }
                for which in &which[..count.min(left.len() + parts.len()) - parts.len()] {
                    parts.push(left.remove(which.index(left.len())));
                }
                merges.push(parts);
                left.push(n + merges.len() - 1);
            }
            Tree::from_merges(n, &merges).unwrap()
        })
    })
}

fn kinds(fan_in: usize) -> impl Strategy<Value = Kind> {
    (2..=fan_in, prop_oneof![Just(0), Just(7), Just(8)])
        .prop_map(|(fan_in, latest)| Kind { fan_in, latest })
}

/// The sum in a tree's order, by its definition. A node of more than two parts takes them to the
/// largest exponent among them and cuts off what is below 26 bits, as matrix units do.
fn execute(tree: &Tree, rounding: Rounding, terms: &[f32]) -> f32 {
    let mut sums = terms.to_vec();
    for parts in tree.merges() {
        let sum = match parts {
            [a, b] => sums[*b] + sums[*a],
            _ => {
                let largest = parts
                    .iter()
                    .map(|&part| sums[part].abs())
                    .fold(0.0, f32::max);
                let exponent = (largest.to_bits() >> 23) as i32 - 127;
                let unit = 2f64.powi(exponent - 25);
                let cut = |part: &usize| (f64::from(sums[*part]) / unit).trunc() * unit;
                parts.iter().map(cut).sum::<f64>() as f32
            }
        };
        sums.push(if rounding == Rounding::Bf16 {
            rounding.round(sum)
        } else {
            sum
        });
    }
    rounding.round(sums[sums.len() - 1])
}

fn op(tree: &Tree, rounding: Rounding) -> impl Sums<Error = Infallible> {
    Each::new(tree.leaves(), move |terms: &[f32]| {
        Ok(execute(tree, rounding, terms))
    })
}

/// The same cases each time: a count of probes is compared with another one, case by case.
fn for_all<T: std::fmt::Debug>(
    cases: u32,
    strategy: impl Strategy<Value = T>,
    test: impl Fn(T) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let algorithm = proptest::test_runner::RngAlgorithm::ChaCha;
    let random = proptest::test_runner::TestRng::deterministic_rng(algorithm);
    TestRunner::new_with_rng(config, random)
        .run(&strategy, test)
        .unwrap();
}

fn check(tree: &Tree) -> Result<(), TestCaseError> {
    let mut op = op(tree, Rounding::F32);
    let found = reveal(&mut op).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(&found.tree, tree);
    let peer = fprev::calls(tree);
    prop_assert!(
        found.vectors <= peer,
        "{} vectors, FPRev {}",
        found.vectors,
        peer
    );
    if tree.fan_in() == 2 {
        prop_assert!(confirm(tree, &Arithmetic::default(), 0..2, &mut op).is_ok());
        let named = tree.form().map(|form| form.tree(tree.leaves()));
        prop_assert!(named.is_none_or(|named| named == *tree));
    }
    Ok(())
}

#[test]
fn binary_trees_are_revealed_exactly_with_no_more_probes_than_fprev() {
    for_all(6000, trees(60, kinds(2)), |tree| check(&tree));
    for_all(100, trees(500, kinds(2)), |tree| check(&tree));
}

#[test]
fn trees_with_multiway_nodes_are_revealed_exactly_with_no_more_probes_than_fprev() {
    for_all(3000, trees(60, kinds(6)), |tree| check(&tree));
    for_all(1000, trees(100, kinds(17)), |tree| check(&tree));
    for_all(50, trees(500, kinds(9)), |tree| check(&tree));
}

#[test]
fn trees_of_narrow_accumulators_are_revealed_exactly() {
    for rounding in [Rounding::Bf16, Rounding::Bf16Once] {
        for_all(60, trees(900, kinds(2)), |tree| {
            let mut op = op(&tree, rounding);
            let found = reveal(&mut op).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&found.tree, &tree);
            prop_assert!(confirm(&tree, &Arithmetic::of(rounding), 0..2, &mut op).is_ok());
            Ok(())
        });
    }
    for_all(40, trees(900, kinds(5)), |tree| {
        let found = reveal(&mut op(&tree, Rounding::Bf16Once));
        prop_assert_eq!(found.map(|found| found.tree), Ok(tree));
        Ok(())
    });
}

/// Products in a tree's order: those that may be are added without being rounded.
fn products<'t>(
    tree: &'t Tree,
    factors: Vec<f32>,
    fused: &'t [bool],
) -> impl Sums<Error = Infallible> {
    let n = tree.leaves();
    Each::new(n, move |terms: &[f32]| {
        let mut sums: Vec<f32> = terms.iter().zip(&factors).map(|(a, b)| a * b).collect();
        let may = |part: usize| part < n && fused[part];
        for parts in tree.merges() {
            let (a, b) = (parts[0], parts[1]);
            sums.push(if may(b) {
                terms[b].mul_add(factors[b], sums[a])
            } else if may(a) {
                terms[a].mul_add(factors[a], sums[b])
            } else {
                sums[a] + sums[b]
            });
        }
        Ok(sums[sums.len() - 1])
    })
}

#[test]
fn chains_of_fused_multiply_adds_are_told_from_products_that_are_rounded() {
    let most = 60;
    let cases = (
        trees(most, kinds(2)),
        prop::collection::vec(any::<bool>(), most),
        0..3usize,
    );
    for_all(2000, cases, |(tree, mut fused, all)| {
        let n = tree.leaves();
        fused.truncate(n);
        match all {
            0 => fused.fill(true),
            1 => fused.fill(false),
            _ => {}
        }
        let found = reveal(&mut products(&tree, vec![1.0; n], &fused));
        prop_assert_eq!(&found.unwrap().tree, &tree);
        let mut seen = Fused::default();
        let plan = Plan::new(&tree);
        for side in [false, true] {
            let mut op = products(&tree, plan.factors(side), &fused);
            seen.ask(&plan, side, &mut op).unwrap();
        }
        // Of two products that are added to each other, the second is.
        let mut expected = fused.clone();
        for parts in tree.merges() {
            if parts[1] < n && fused[parts[1]] && parts[0] < n {
                expected[parts[0]] = false;
            }
        }
        if n == 1 {
            expected = vec![false];
        }
        prop_assert_eq!(&seen, &Fused::new(expected));
        let factors: Vec<f32> = (0..n).map(|i| 1.0 + i as f32 / 999.0).collect();
        let arithmetic = Arithmetic {
            factors: Some(factors.clone()),
            fused: seen,
            ..Arithmetic::default()
        };
        let confirmed = confirm(
            &tree,
            &arithmetic,
            0..2,
            &mut products(&tree, factors, &fused),
        );
        prop_assert!(confirmed.is_ok(), "{:?}", confirmed);
        Ok(())
    });
}
