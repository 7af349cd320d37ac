//! The search for one order that explains many sums finds one where there is one, and only then.

use probes::{
    envelope::{
        CommonOrder, Element, EnvelopeError, Fusion, Leaves, Rules, Start, Term, common_order,
    },
    order::Rounding,
};
use proptest::prelude::*;

use crate::{
    numbers::{number, rules},
    trees::trees,
};

/// Elements with as many terms each.
fn rows() -> impl Strategy<Value = Vec<Vec<f32>>> {
    (2usize..6, 1usize..5).prop_flat_map(|(terms, elements)| {
        let number = number().prop_filter("finite", |x| x.abs() < 1e30);
        prop::collection::vec(prop::collection::vec(number, terms), elements)
    })
}

fn search(rows: &[Vec<Term>], observed: &[f32], rules: &Rules) -> Option<CommonOrder> {
    let elements: Vec<Element<'_>> = rows
        .iter()
        .zip(observed)
        .map(|(terms, &observed)| Element {
            terms,
            observed,
            finish: None,
        })
        .collect();
    let found = common_order(&elements, rules, 12);
    found.unwrap_or_else(|error| panic!("failed to {error}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn an_order_is_found_exactly_where_a_tree_gives_all(
        rows in rows(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 5),
        same in any::<bool>(),
        leaves in prop::sample::select(vec![Leaves::Any, Leaves::Fixed]),
        rounding in prop::sample::select(vec![Rounding::F32, Rounding::Bf16, Rounding::Bf16Once]),
    ) {
        let rows: Vec<Vec<Term>> = rows
            .iter()
            .map(|row| row.iter().copied().map(Term::Value).collect())
            .collect();
        let rules = Rules { leaves, rounding, ..Rules::default() };
        let trees: Vec<_> = trees(rows[0].len())
            .iter()
            .filter(|tree| leaves == Leaves::Any || tree.keeps_places())
            .collect();
        let one = |tree: usize, row: &[Term]| rounding.round(trees[tree].values(row, &rules)[0]);
        // Results of one tree, or of one each.
        let observed: Vec<f32> = rows
            .iter()
            .zip(&picks)
            .map(|(row, pick)| {
                let pick = if same { &picks[0] } else { pick };
                one(pick.index(trees.len()), row)
            })
            .collect();
        let gives_all = |tree: usize| {
            let mut pairs = rows.iter().zip(&observed);
            pairs.all(|(row, x)| one(tree, row).to_bits() == x.to_bits())
        };
        let exists = (0..trees.len()).any(gives_all);
        let found = search(&rows, &observed, &rules);
        prop_assert_eq!(found.is_some(), exists);
        for (row, observed) in rows.iter().zip(&observed) {
            let Some(order) = &found else { break };
            let terms: Vec<f32> = row.iter().map(|term| term.rounded(Rounding::F32)).collect();
            let sum = order.tree.replay_rounded(rounding, &terms);
            prop_assert_eq!(sum.to_bits(), observed.to_bits());
            prop_assert!(order.fused.is_empty());
        }
        prop_assert!(!same || found.is_some());
    }

    #[test]
    fn with_one_element_every_reachable_value_has_an_order(
        factors in prop::collection::vec((number(), number()), 1..5),
        rules in rules(),
    ) {
        let terms: Vec<Term> = factors.iter().map(|&(a, b)| Term::Product(a, b)).collect();
        prop_assume!(!terms.iter().any(|term| term.is_nan()));
        let rows = [terms];
        for &value in rules.reachable(&rows[0], 12).unwrap().values() {
            // What an accumulator's start makes of a sum of −0 is no matter of order.
            if rules.start == Start::Zero && value == 0.0 {
                continue;
            }
            let found = search(&rows, &[value], &rules);
            prop_assert!(found.is_some(), "{value:e}");
            let fused = found.unwrap().fused.len();
            prop_assert!(fused == 0 || rules.fusion != Fusion::Never);
        }
        let beyond = search(&rows, &[1.234_567e-30], &rules);
        let set = rules.reachable(&rows[0], 12).unwrap();
        prop_assert_eq!(beyond.is_some(), set.contains(1.234_567e-30));
    }
}

#[test]
fn what_follows_the_sum_is_part_of_the_explanation() {
    let rows = [[1.0, 16_777_216.0, -16_777_216.0].map(Term::Value)];
    let half = |sums: &[f32]| sums.iter().map(|sum| sum * 0.5).collect::<Vec<f32>>();
    let order = |observed| {
        let element = Element {
            terms: &rows[0],
            observed,
            finish: Some(&half),
        };
        common_order(&[element], &Rules::default(), 12).unwrap()
    };
    assert!(order(0.5).is_some() && order(0.0).is_some() && order(1.0).is_none());
}

#[test]
fn elements_of_unlike_lengths_have_no_common_order() {
    let rows = [vec![Term::Value(1.0); 2], vec![Term::Value(1.0); 3]];
    assert_eq!(search(&rows, &[2.0, 3.0], &Rules::default()), None);
    assert_eq!(search(&[], &[], &Rules::default()), None);
    let terms = vec![Term::Value(1.0); 13];
    let element = Element {
        terms: &terms,
        observed: 13.0,
        finish: None,
    };
    let error = common_order(&[element], &Rules::default(), 12).unwrap_err();
    assert_eq!(
        error,
        EnvelopeError::TooManyTerms {
            given: 13,
            most: 12
        }
    );
}
