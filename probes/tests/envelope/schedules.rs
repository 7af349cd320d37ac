//! Schedules do what their names say, and nothing that is not reachable.

use std::collections::HashSet;

use probes::{
    envelope::{Fusion, Interval, Leaves, Pattern, Rules, Schedule, Stage, Start, Term},
    order::{Form, Join, Rounding},
};
use proptest::prelude::*;

use crate::numbers::terms;

const ROUNDINGS: [Rounding; 3] = [Rounding::F32, Rounding::Bf16, Rounding::Bf16Once];

fn schedule(pattern: Pattern) -> Schedule {
    Schedule {
        pattern,
        rounding: Rounding::F32,
        fused: false,
        start: Start::Zero,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_schedules_give_is_reachable_and_inside_the_interval(terms in terms(7)) {
        let products = terms.iter().any(|term| matches!(term, Term::Product(..)));
        for rounding in ROUNDINGS {
            for start in [Start::Term, Start::Zero] {
                let sets = [Fusion::Never, Fusion::Always].map(|fusion| {
                    // Those of GPU threads begin with +0 in any case.
                    let start = Start::Zero;
                    let rules = Rules { rounding, fusion, start, leaves: Leaves::Any };
                    rules.reachable(&terms, 12).unwrap()
                });
                let interval = Interval::of(&terms, rounding, start);
                for set in &sets {
                    for &value in set.values() {
                        prop_assert!(interval.contains(value), "{value:e} in {interval:?}");
                    }
                }
                for schedule in Schedule::all(terms.len(), products, rounding, start) {
                    if matches!(schedule.pattern, Pattern::Block(_)) {
                        continue;
                    }
                    let sum = schedule.sum(&terms).unwrap();
                    let set = &sets[usize::from(schedule.fused)];
                    prop_assert!(set.contains(sum), "{schedule}: {sum:e}");
                }
            }
        }
    }
}

#[test]
fn forms_are_the_trees_of_their_name() {
    let joins = [Join::Sequential, Join::Halving, Join::Pairwise];
    let sized = joins.into_iter().flat_map(|then| {
        let sizes = [0, 1, 2, 3, 8, 32, 100];
        sizes.into_iter().flat_map(move |size| {
            [
                Form::Lanes { count: size, then },
                Form::Runs { len: size, then },
            ]
        })
    });
    let forms = [Form::Sequential, Form::RightToLeft, Form::Pairwise];
    for form in forms.into_iter().chain(sized) {
        for n in (0..40).chain([97, 128, 300]) {
            let tree = Pattern::Form(form).tree(n).unwrap();
            assert_eq!(tree, form.tree(n), "{form} of {n}");
        }
    }
}

#[test]
fn patterns_add_as_their_trees_do() {
    for n in [1, 2, 3, 31, 33, 100, 257, 1152] {
        // Of either sign and several magnitudes, so that hardly two orders give the same.
        let number = |i: usize| ((i * i) as f32).sin() * 10f32.powi((i % 5) as i32);
        let numbers: Vec<f32> = (1..=n).map(number).collect();
        let terms: Vec<Term> = numbers.iter().copied().map(Term::Value).collect();
        for pattern in Pattern::all(n) {
            let Some(tree) = pattern.tree(n) else {
                continue;
            };
            for rounding in ROUNDINGS {
                let schedule = Schedule {
                    rounding,
                    ..schedule(pattern.clone())
                };
                let begun = rounding != Rounding::F32;
                let numbers: Vec<f32> = match begun {
                    // A first term that is begun with is rounded; so let it be BF16 at once.
                    true => numbers.iter().map(|&x| rounding.round(x)).collect(),
                    false => numbers.clone(),
                };
                let terms: Vec<Term> = match begun {
                    true => numbers.iter().copied().map(Term::Value).collect(),
                    false => terms.clone(),
                };
                let (sum, replayed) = (
                    schedule.sum(&terms),
                    tree.replay_rounded(rounding, &numbers),
                );
                assert_eq!(sum, Some(replayed), "{schedule} of {n}");
                let same = Schedule {
                    pattern: Pattern::Tree(tree.clone()),
                    ..schedule
                };
                assert_eq!(same.sum(&terms), sum);
                assert_eq!(same.sum(&[]), None);
            }
        }
    }
}

#[test]
fn no_two_patterns_are_the_same_tree() {
    for n in [1, 2, 3, 9, 32, 64, 300] {
        let patterns = Pattern::all(n);
        let trees: Vec<_> = patterns.iter().filter_map(|p| p.tree(n)).collect();
        let different: HashSet<_> = trees.iter().collect();
        assert_eq!(different.len(), trees.len());
        assert_eq!(patterns[0], Pattern::Form(Form::Sequential));
    }
}

/// A row sum as MLX 0.32.2 makes it on CUDA: 2048 F32, 128 threads of four neighbours.
#[test]
fn threads_take_neighbours_round_after_round_and_warps_are_joined_last() {
    let x: Vec<f32> = (0..2048).map(|i| (i as f32).sin() * 1e3).collect();
    let mut sums = vec![0f32; 128];
    for (round, row) in x.chunks(512).enumerate() {
        for (thread, four) in row.chunks(4).enumerate() {
            let _ = round;
            sums[thread] = four.iter().fold(sums[thread], |sum, x| sum + x);
        }
    }
    let butterfly = |lanes: &[f32]| {
        let mut lanes = lanes.to_vec();
        lanes.resize(32, 0.0);
        for mask in [16, 8, 4, 2, 1] {
            lanes = (0..32)
                .map(|lane: usize| lanes[lane] + lanes[lane ^ mask])
                .collect();
        }
        lanes[0]
    };
    let warps: Vec<f32> = sums.chunks(32).map(butterfly).collect();
    let pattern = |then| Pattern::Warps {
        warps: 4,
        each: 4,
        then,
    };
    let terms: Vec<Term> = x.iter().copied().map(Term::Value).collect();
    let sum = |pattern| schedule(pattern).sum(&terms).unwrap();
    assert_eq!(sum(pattern(Stage::Butterfly)), butterfly(&warps));
    let folded = warps.iter().copied().reduce(|sum, x| sum + x).unwrap();
    assert_eq!(sum(pattern(Stage::Sequential)), folded);
    assert_ne!(
        sum(pattern(Stage::Butterfly)),
        sum(Pattern::Form(Form::Sequential))
    );
}

#[test]
fn schedules_say_what_they_are() {
    let text = |pattern| schedule(pattern).to_string();
    let warps = |warps| Pattern::Warps {
        warps,
        each: 4,
        then: Stage::Butterfly,
    };
    assert_eq!(
        text(warps(1)),
        "a warp of 32 by 4, butterfly, F32 accumulator"
    );
    assert_eq!(
        text(warps(8)),
        "8 warps of 32 by 4, butterfly, then butterfly, F32 accumulator"
    );
    let fused = Schedule {
        rounding: Rounding::Bf16Once,
        fused: true,
        ..schedule(Pattern::Form(Form::Sequential))
    };
    assert_eq!(
        fused.to_string(),
        "sequential, F32 accumulator, BF16 result, fused"
    );
}

#[test]
fn where_sums_may_overflow_the_interval_has_no_bounds() {
    let terms = [Term::Value(3e38), Term::Value(3e38), Term::Value(-3e38)];
    let interval = Interval::of(&terms, Rounding::F32, Start::Term);
    assert_eq!(
        (interval.low, interval.high),
        (f64::NEG_INFINITY, f64::INFINITY)
    );
    assert!(interval.contains(f32::NAN) && interval.contains(f32::INFINITY));
    let interval = Interval::of(&terms[..1], Rounding::F32, Start::Term);
    assert!(!interval.contains(f32::INFINITY) && !interval.contains(f32::NAN));
    assert_eq!(Interval::of(&[], Rounding::F32, Start::Term).condition, 1.0);
    let cancelled = [Term::Value(1.0), Term::Value(-1.0)];
    let interval = Interval::of(&cancelled, Rounding::F32, Start::Term);
    assert_eq!(interval.condition, f64::INFINITY);
}
