//! The exact sets are those of all trees, written out one by one.

use probes::{
    envelope::{EnvelopeError, Fusion, Leaves, Rules, Start, Term, USUAL_TERMS},
    order::Rounding,
};
use proptest::prelude::*;

use crate::{
    numbers::{rules, terms},
    trees::brute,
};

fn reachable(terms: &[Term], rules: &Rules) -> Vec<u32> {
    let found = rules.reachable(terms, 15);
    let found = found.unwrap_or_else(|error| panic!("failed to {error}"));
    found.values().iter().map(|x| x.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn the_set_is_that_of_all_trees(terms in terms(5), rules in rules()) {
        prop_assert_eq!(reachable(&terms, &rules), brute(&terms, &rules));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn so_it_is_for_six_terms(terms in terms(6), rules in rules()) {
        prop_assert_eq!(reachable(&terms, &rules), brute(&terms, &rules));
    }
}

fn values(terms: &[f32]) -> Vec<Term> {
    terms.iter().copied().map(Term::Value).collect()
}

#[test]
fn no_terms_give_zero_and_one_term_gives_itself() {
    for leaves in [Leaves::Any, Leaves::Fixed] {
        let rules = Rules {
            leaves,
            ..Rules::default()
        };
        assert_eq!(reachable(&[], &rules), [0]);
        assert_eq!(reachable(&values(&[-0.0]), &rules), [(-0.0f32).to_bits()]);
        let begun = Rules {
            start: Start::Zero,
            ..rules
        };
        assert_eq!(
            reachable(&values(&[-0.0]), &begun),
            [(-0.0f32).to_bits(), 0]
        );
        let narrow = Rules {
            rounding: Rounding::Bf16,
            ..rules
        };
        assert_eq!(reachable(&values(&[1.001]), &narrow), [1f32.to_bits()]);
    }
}

#[test]
fn brackets_alone_reach_less_than_all_orders() {
    // Neighbours of 2²⁵ are 2 and 4 away.
    let terms = values(&[33_554_432.0, 1.0, -33_554_432.0]);
    let all = Rules::default();
    let fixed = Rules {
        leaves: Leaves::Fixed,
        ..all
    };
    let found = |rules: &Rules| rules.reachable(&terms, 12).unwrap().values().to_vec();
    assert_eq!(found(&all), [0.0, 1.0]);
    assert_eq!(found(&fixed), [0.0]);
}

#[test]
fn a_fused_product_is_not_rounded() {
    let a = 1.0 + f32::EPSILON;
    let terms = [Term::Product(a, a), Term::Value(-1.0 - 2.0 * f32::EPSILON)];
    let found = |fusion| {
        let rules = Rules {
            fusion,
            ..Rules::default()
        };
        rules.reachable(&terms, 12).unwrap().values().to_vec()
    };
    let rest = f32::EPSILON * f32::EPSILON;
    assert_eq!(found(Fusion::Never), [0.0]);
    assert_eq!(found(Fusion::Always), [rest]);
    assert_eq!(found(Fusion::Either), [0.0, rest]);
}

#[test]
fn what_cannot_be_told_is_refused() {
    let refused = |terms: &[Term], rules: &Rules, most| rules.reachable(terms, most).unwrap_err();
    let rules = Rules::default();
    let error = refused(&values(&[1.0; 13]), &rules, USUAL_TERMS);
    assert_eq!(
        error,
        EnvelopeError::TooManyTerms {
            given: 13,
            most: 12
        }
    );
    let error = refused(&values(&[1.0; 30]), &rules, 100);
    assert_eq!(
        error,
        EnvelopeError::TooManyTerms {
            given: 30,
            most: 20
        }
    );
    assert_eq!(
        refused(&values(&[1.0, f32::NAN]), &rules, 12),
        EnvelopeError::Nan(1)
    );
    let never = [Term::Value(1.0), Term::Product(f32::INFINITY, 0.0)];
    assert_eq!(refused(&never, &rules, 12), EnvelopeError::Nan(1));
}

#[test]
fn infinities_and_what_overflows_are_results() {
    let rules = Rules::default();
    let found = rules.reachable(&values(&[3e38, 3e38, -3e38, -3e38]), 12);
    let found = found.unwrap();
    let [low, zero, high, nan] = found.values() else {
        panic!("{found:?}")
    };
    assert_eq!(
        (*low, *zero, *high),
        (f32::NEG_INFINITY, 0.0, f32::INFINITY)
    );
    assert!(nan.is_nan() && found.contains(-f32::NAN));
}
