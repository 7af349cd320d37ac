//! Two reports compared.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod made;

use made::report;
use proptest::prelude::*;
use reports::Grid;
use reports::diff::{About, Diff, Measure, Standing, diff, diff_schema, render};
use reports::policy::{Policy, apply, uncounted};
use reports::verdict::Verdict;
use reports::wire::{Measured, Report};

const ONE: [f32; 4] = [1.0, 2.0, 4.0, 8.0];
const OFF: [f32; 4] = [1.0, 2.0, 4.0, 8.5];

fn of(before: &Report, after: &Report) -> Diff {
    diff(before, after, ["a.json", "b.json"], &[])
}

/// A report of one boundary that has no local error.
fn one(values: &[f32]) -> Report {
    report(&[("a", Grid::Bf16, &ONE, None, values)])
}

fn standing(before: &[f32], after: &[f32]) -> Standing {
    of(&one(before), &one(after)).boundaries[0].standing
}

#[test]
fn a_report_is_the_same_as_itself() {
    let report = report(&[
        ("a", Grid::Bf16, &ONE, Some(&OFF), &OFF),
        (
            "b",
            Grid::F32,
            &ONE,
            None,
            &[1.0, f32::NAN, 4.0, f32::INFINITY],
        ),
    ]);
    let found = of(&report, &report);
    assert_eq!((found.counts.same, found.exit_code), (2, 0));
    assert!(found.differences.is_empty() && found.first_changed.is_none());
    assert!(found.boundaries.iter().all(|b| b.changes.is_empty()));
}

#[test]
fn verdicts_come_first_and_measures_after() {
    assert_eq!(standing(&ONE, &OFF), Standing::Worse);
    assert_eq!(standing(&OFF, &ONE), Standing::Better);
    // One element far off, or two a little.
    let (far, near) = ([1.0, 2.0, 4.0, 9.0], [1.0, 2.0, 4.03125, 8.0625]);
    assert_eq!(standing(&far, &near), Standing::Changed);
    assert_eq!(standing(&OFF, &far), Standing::Worse);
    assert_eq!(standing(&far, &OFF), Standing::Better);
    // Fewer differ, but one is a NaN now; off the grid there is no distance, which is worse.
    assert_eq!(
        standing(&near, &[1.0, 2.0, f32::NAN, 8.0]),
        Standing::Changed
    );
    let off_grid = of(
        &one(&[1.0, 2.0, 4.0, 8.0625]),
        &one(&[1.0, 2.0, 4.0, 8.062_501]),
    );
    let changes = &off_grid.boundaries[0].changes;
    let ulp = changes
        .iter()
        .find(|c| c.measure == Measure::MaxUlp)
        .unwrap();
    assert_eq!(ulp.standing, Standing::Worse);
}

#[test]
fn both_errors_count_alike() {
    let made = |local: &[f32], inherited: &[f32]| {
        report(&[("a", Grid::Bf16, &ONE, Some(local), inherited)])
    };
    let far = [1.0, 2.0, 4.0, 9.0];
    let of = |before: &Report, after: &Report| of(before, after).boundaries[0].standing;
    assert_eq!(of(&made(&OFF, &OFF), &made(&ONE, &OFF)), Standing::Better);
    assert_eq!(of(&made(&ONE, &OFF), &made(&OFF, &OFF)), Standing::Worse);
    // The worse of the verdicts is the same; the local error is new, the inherited one smaller.
    assert_eq!(of(&made(&ONE, &far), &made(&OFF, &OFF)), Standing::Changed);
    assert_eq!(of(&made(&ONE, &far), &made(&ONE, &ONE)), Standing::Better);
}

#[test]
fn a_policy_makes_nothing_better() {
    let before = one(&OFF);
    let mut after = before.clone();
    let policy = Policy::default();
    apply(&policy, "p", &mut after, &made::selects, &uncounted).unwrap();
    after.boundaries[0].inherited.verdict = Verdict::WithinPolicy;
    after.boundaries[0].verdict = Verdict::WithinPolicy;
    assert_eq!(of(&before, &after).counts.same, 1);
}

#[test]
fn what_was_run_otherwise_is_not_comparable_unless_that_is_the_point() {
    let before = one(&ONE);
    let mut after = one(&OFF);
    after.fingerprint.iree.as_mut().unwrap().compiler = "3.14.0".to_owned();
    after.fingerprint.gpu = None;
    after
        .fingerprint
        .mlx
        .as_mut()
        .unwrap()
        .env
        .insert("MLX_X".into(), "1".into());
    let found = of(&before, &after);
    let fields: Vec<&str> = found.differences.iter().map(|d| d.field.as_str()).collect();
    assert_eq!(fields, ["iree.compiler", "mlx.env.MLX_X"]);
    assert_eq!(found.boundaries[0].standing, Standing::NotComparable);
    assert_eq!(found.exit_code, 3);
    let across = diff(&before, &after, ["a", "b"], &[About::Fingerprint]);
    assert_eq!(
        (across.boundaries[0].standing, across.exit_code),
        (Standing::Worse, 1)
    );
    after.model.profile = "f32".to_owned();
    after.inputs.frames = vec![3];
    let across = diff(&before, &after, ["a", "b"], &[About::Fingerprint]);
    assert_eq!((across.exit_code, across.differences.len()), (3, 4));
    assert_eq!(
        across.boundaries[0].reason.as_deref(),
        Some("another model")
    );
    assert_eq!(diff(&before, &after, ["a", "b"], &About::ALL).exit_code, 1);
}

#[test]
fn boundaries_that_are_not_alike_are_not_comparable() {
    let before = one(&ONE);
    let not_comparable = |after: &Report| {
        let found = of(&before, after);
        assert_eq!((found.counts.not_comparable, found.exit_code), (1, 3));
        found.boundaries[0].reason.clone().unwrap()
    };
    let shorter = report(&[("a", Grid::Bf16, &ONE[1..], None, &ONE[1..])]);
    assert_eq!(not_comparable(&shorter), "shape [4] → [3]");
    let wider = report(&[("a", Grid::F32, &ONE, None, &ONE)]);
    assert_eq!(not_comparable(&wider), "grid BF16 → F32");
    let local = report(&[("a", Grid::Bf16, &ONE, Some(&ONE), &ONE)]);
    assert_eq!(
        not_comparable(&local),
        "the local error was measured in one report alone"
    );
    let mut failed = before.clone();
    failed.boundaries[0].inherited = Measured::inconclusive("it stopped".into());
    assert_eq!(
        not_comparable(&failed),
        "the inherited error is inconclusive after"
    );
}

#[test]
fn boundaries_of_one_report_are_listed_and_lost_ones_are_no_success() {
    let two = report(&[
        ("a", Grid::F32, &ONE, None, &ONE),
        ("b", Grid::F32, &ONE, None, &ONE),
    ]);
    let one = report(&[("b", Grid::F32, &ONE, None, &ONE)]);
    let none = report(&[]);
    let lost = of(&two, &one);
    assert_eq!(
        (lost.only_before.as_slice(), lost.exit_code),
        (["a".to_owned()].as_slice(), 3)
    );
    let gained = of(&one, &two);
    assert_eq!((gained.only_after.len(), gained.exit_code), (1, 0));
    assert_eq!(of(&none, &none).exit_code, 3);
}

#[test]
fn a_run_that_began_to_disturb_itself_is_worse() {
    let before = one(&ONE);
    let mut after = before.clone();
    after.non_interference.chained = Some(false);
    assert_eq!(of(&before, &after).exit_code, 1);
    assert_eq!(of(&after, &before).exit_code, 0);
    after.model.contract = "native".to_owned();
    assert_eq!(of(&before, &after).exit_code, 3);
}

#[test]
fn people_are_told_what_changed_first_what_it_ran_on() {
    let before = report(&[
        ("a", Grid::Bf16, &ONE, Some(&ONE), &ONE),
        ("b", Grid::Bf16, &ONE, Some(&ONE), &ONE),
        ("c", Grid::Bf16, &ONE, Some(&OFF), &[1.0, 2.0, 4.0, 9.0]),
        ("d", Grid::Bf16, &ONE, None, &ONE),
    ]);
    let mut after = report(&[
        ("a", Grid::Bf16, &ONE, Some(&ONE), &ONE),
        ("b", Grid::Bf16, &ONE, Some(&ONE), &[1.0, 2.0, 4.0625, 8.5]),
        ("c", Grid::Bf16, &ONE, Some(&ONE), &[1.0, 2.03125, 4.0, 8.5]),
        ("e", Grid::Bf16, &ONE, None, &ONE),
    ]);
    after.fingerprint.iree.as_mut().unwrap().compiler = "3.14.0".to_owned();
    let across = diff(&before, &after, ["a.json", "b.json"], &[About::Fingerprint]);
    insta::assert_snapshot!("across", render(&across));
    insta::assert_snapshot!("hindered", render(&of(&before, &after)));
}

#[test]
fn the_schema_of_comparisons_is_the_committed_one() {
    made::committed("diff.schema.json", &diff_schema());
}

proptest! {
    #[test]
    fn the_order_is_antisymmetric_and_its_json_reads_back(
        a in proptest::collection::vec(-4..5_i8, 4),
        b in proptest::collection::vec(-4..5_i8, 4),
    ) {
        let values = |steps: &[i8]| -> Vec<f32> {
            let bits = ONE.iter().zip(steps);
            bits.map(|(v, &n)| f32::from_bits(v.to_bits().wrapping_add_signed(i32::from(n) << 16)))
                .collect()
        };
        let (before, after) = (one(&values(&a)), one(&values(&b)));
        let (there, back) = (of(&before, &after), of(&after, &before));
        let reverse = match back.boundaries[0].standing {
            Standing::Better => Standing::Worse,
            Standing::Worse => Standing::Better,
            other => other,
        };
        prop_assert_eq!(there.boundaries[0].standing, reverse);
        let fine = matches!(reverse, Standing::Better | Standing::Same);
        prop_assert_eq!(there.exit_code, u8::from(!fine));
        let text = serde_json::to_string(&there).unwrap();
        prop_assert_eq!(serde_json::from_str::<Diff>(&text).unwrap(), there);
    }
}
