//! Policies: which entry decides, what holds, what is refused, and the tightest one.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod made;

use std::path::{Path, PathBuf};

use made::{report, selects};
use proptest::prelude::*;
use reports::Grid;
use reports::policy::{
    Bounds, Demand, Policy, PolicyError, apply, disagreement, lift, policy_schema, read_policy,
    suggest, uncounted,
};
use reports::terminal::{Options, render};
use reports::verdict::{Origin, Verdict};
use reports::wire::{EvidenceLevel, Measured, Report, read_report, write_report, write_text};

fn put(text: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.toml");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn policy(entries: &str) -> Policy {
    read_policy(&put(format!("schema_version = 1\n{entries}")).1).unwrap()
}

fn refused(text: impl AsRef<[u8]>) -> PolicyError {
    read_policy(&put(text).1).unwrap_err()
}

/// The whole message, causes and all, without the folder.
fn said(entries: &str) -> String {
    let error = refused(format!("schema_version = 1\n{entries}"));
    error.to_string().replace('\n', " ")
}

fn judged(report: &Report, entries: &str) -> Report {
    let mut report = report.clone();
    apply(
        &policy(entries),
        "p.toml",
        &mut report,
        &selects,
        &uncounted,
    )
    .unwrap();
    report
}

/// The verdict of the first boundary.
fn verdict(report: &Report, entries: &str) -> Verdict {
    judged(report, entries).boundaries[0].verdict
}

const ONE: [f32; 4] = [1.0, 2.0, 4.0, 8.0];

/// A boundary `a` whose inherited error is one BF16 ULP in one element and two in another.
fn off() -> Report {
    report(&[(
        "a",
        Grid::Bf16,
        &ONE,
        Some(&ONE),
        &[1.0, 2.0, 4.03125, 8.125],
    )])
}

#[test]
fn without_an_entry_equal_bits_are_demanded() {
    let judged = judged(&off(), "");
    assert_eq!((judged.verdict, judged.exit_code), (Verdict::Diverged, 1));
    assert!(judged.policy.relaxed.is_empty());
    let ruling = judged.boundaries[0].policy.as_ref().unwrap();
    assert_eq!(ruling.inherited.broken, ["2 of 4 elements differ"]);
    assert_eq!(ruling.local.as_ref().unwrap().broken, [""; 0]);
}

#[test]
fn bounds_hold_all_together_or_not_at_all() {
    let all = "ulp = { grid = \"bf16\", max = 2 }\nover = { grid = \"bf16\", ulp = 1, count = 1 }\n\
               abs = 0.125\nrms = 0.1\ndiffering = 2";
    let entry = |bounds: &str| format!("[[boundary]]\nmatch = \"a\"\n{bounds}");
    let passed = judged(&off(), &entry(all));
    assert_eq!(
        (passed.verdict, passed.exit_code),
        (Verdict::WithinPolicy, 0)
    );
    let relaxed = "a: ≤ 2 differing, ≤ 2 BF16 ULP, ≤ 1 over 1 BF16 ULP, |a − b| ≤ 1.25e-1, \
                   rms ≤ 1e-1";
    assert_eq!(passed.policy.relaxed, [relaxed]);
    for (good, bad, why) in [
        (
            "max = 2",
            "max = 1",
            "the largest distance is 2 BF16 ULP, 1 is allowed",
        ),
        (
            "count = 1",
            "count = 0",
            "1 pairs are over 1 BF16 ULP, 0 are allowed",
        ),
        (
            "abs = 0.125",
            "abs = 0.1",
            "max abs is 1.25e-1, 1e-1 is allowed",
        ),
        ("rms = 0.1", "rms = 0.01", ", 1e-2 is allowed"),
        (
            "differing = 2",
            "differing = 1",
            "2 elements differ, 1 are allowed",
        ),
    ] {
        let failed = judged(&off(), &entry(&all.replace(good, bad)));
        assert_eq!((failed.verdict, failed.exit_code), (Verdict::Diverged, 1));
        let ruling = failed.boundaries[0].policy.as_ref().unwrap();
        assert_eq!(ruling.inherited.broken.len(), 1);
        assert!(ruling.inherited.broken[0].contains(why), "{ruling:?}");
    }
}

#[test]
fn the_last_entry_decides_and_on_each_error_apart() {
    let loose = "[[boundary]]\nmatch = \"**\"\nabs = 1\n";
    let strict = "[[boundary]]\nmatch = \"a\"\ndemand = \"bit_exact\"\n";
    assert_eq!(verdict(&off(), loose), Verdict::WithinPolicy);
    assert_eq!(
        verdict(&off(), &format!("{loose}optional = true\n{strict}")),
        Verdict::Diverged
    );
    let local = "[[boundary]]\nmatch = \"a\"\nof = \"local\"\ndemand = \"bit_exact\"\n";
    let both = judged(&off(), &format!("{loose}{local}"));
    assert_eq!(both.boundaries[0].verdict, Verdict::WithinPolicy);
    let ruling = both.boundaries[0].policy.as_ref().unwrap();
    assert_eq!(ruling.inherited.entry.as_deref(), Some("**"));
    assert_eq!(ruling.local.as_ref().unwrap().entry.as_deref(), Some("a"));
    let inherited = "[[boundary]]\nmatch = \"a\"\nof = \"inherited\"\nabs = 1\n";
    assert_eq!(verdict(&off(), inherited), Verdict::WithinPolicy);
    let swapped = report(&[("a", Grid::F32, &ONE, Some(&[1.0, 2.0, 4.0, 8.5]), &ONE)]);
    assert_eq!(verdict(&swapped, inherited), Verdict::Diverged);
}

#[test]
fn an_entry_that_decides_nothing_is_an_error_unless_it_is_optional() {
    let mut one = off();
    let before = one.clone();
    let mut why = |entries: &str| {
        let applied = apply(&policy(entries), "p", &mut one, &selects, &uncounted);
        applied.unwrap_err().to_string()
    };
    let nothing = "[[boundary]]\nmatch = \"b\"\nabs = 1\n";
    assert_eq!(
        why(nothing),
        "apply entry 1 of the policy (b): the report has no boundary it selects; an entry that \
         may decide nothing says optional = true"
    );
    let late = "[[boundary]]\nmatch = \"a\"\nabs = 1\n[[boundary]]\nmatch = \"**\"\nabs = 2\n";
    assert!(why(late).contains("entry 1 of the policy (a): later entries decide wherever"));
    assert_eq!(one, before);
    assert_eq!(
        verdict(&off(), &format!("{nothing}optional = true")),
        Verdict::Diverged
    );
    let recorded = report(&[("a", Grid::F32, &ONE, None, &ONE)]);
    let local = policy("[[boundary]]\nmatch = \"a\"\nof = \"local\"\nabs = 1");
    let applied = apply(&local, "p", &mut recorded.clone(), &selects, &uncounted);
    assert!(
        applied
            .unwrap_err()
            .to_string()
            .contains("no local error was measured")
    );
}

#[test]
fn what_cannot_be_shown_is_inconclusive_and_never_passes() {
    let off_grid = report(&[("a", Grid::Bf16, &ONE, None, &[1.0, 2.0, 4.0, 8.000_01])]);
    let entry = |grid: &str, max: u64| {
        format!("[[boundary]]\nmatch = \"a\"\nulp = {{ grid = \"{grid}\", max = {max} }}")
    };
    let judged = judged(&off_grid, &entry("bf16", u32::MAX.into()));
    assert_eq!(
        (judged.verdict, judged.exit_code),
        (Verdict::Inconclusive, 3)
    );
    let why = &judged.boundaries[0]
        .policy
        .as_ref()
        .unwrap()
        .inherited
        .undecided;
    assert_eq!(
        *why,
        ["there are no BF16 ULP: 1 of 4 values are not BF16 (candidate)"]
    );
    assert_eq!(verdict(&off_grid, &entry("f16", 9)), Verdict::Inconclusive);
    assert_eq!(
        verdict(&off_grid, &entry("f32", 100)),
        Verdict::WithinPolicy
    );
    let wrong_too = format!("{}\nabs = 0", entry("bf16", 9));
    assert_eq!(verdict(&off_grid, &wrong_too), Verdict::Diverged);
}

#[test]
fn no_bound_takes_a_nan_for_a_number_or_an_infinity_for_another_value() {
    let loosest = "[[boundary]]\nmatch = \"a\"\nabs = 1e308\nrms = 1e308\ndiffering = 4\n\
                   accept_vacuous = true\nulp = { grid = \"f32\", max = 4294967295 }";
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let report = report(&[("a", Grid::F32, &ONE, None, &[odd, 2.0, 4.0, 8.0])]);
        assert_eq!(verdict(&report, loosest), Verdict::Diverged);
        assert_eq!(suggest(&report, &selects).impossible.len(), 1);
    }
    let infinite = [f32::INFINITY, 1.0, 2.0, 3.0];
    let other = [f32::NEG_INFINITY, 1.0, 2.0, 3.0];
    let report = report(&[("a", Grid::F32, &infinite, None, &other)]);
    assert_eq!(verdict(&report, loosest), Verdict::Diverged);
}

#[test]
fn only_an_order_that_gives_everything_explains() {
    let demand = "[[boundary]]\nmatch = \"a\"\ndemand = \"order_explained\"";
    let wrong = [1.0, 2.0, 4.0, 8.5];
    let mut report = report(&[("a", Grid::F32, &ONE, Some(&wrong), &wrong)]);
    for (level, verdict_then) in [
        (EvidenceLevel::E0, Verdict::Diverged),
        (EvidenceLevel::E1, Verdict::Diverged),
        (EvidenceLevel::E2, Verdict::Diverged),
        (EvidenceLevel::E3, Verdict::OrderExplained),
        (EvidenceLevel::E4, Verdict::OrderExplained),
    ] {
        let boundary = &mut report.boundaries[0];
        boundary.evidence.level = level;
        boundary.evidence.schedule = Some("lanes 8".to_owned());
        assert_eq!(boundary.origin, Some(Origin::Local));
        assert_eq!(verdict(&report, demand), verdict_then, "{level:?}");
        assert_eq!(verdict(&report, ""), Verdict::Diverged);
        assert_eq!(
            verdict(&report, "[[boundary]]\nmatch = \"a\"\nabs = 0.1"),
            Verdict::Diverged
        );
    }
    // The evidence is of the step: parents that were wrong make another error.
    report.boundaries[0].origin = Some(Origin::Both);
    let both = judged(&report, demand);
    let local = both.boundaries[0].local.as_ref().unwrap();
    assert_eq!(local.verdict, Verdict::OrderExplained);
    assert_eq!(both.boundaries[0].inherited.verdict, Verdict::Diverged);
    report.boundaries[0].evidence.schedule = None;
    assert_eq!(judged(&report, demand).exit_code, 1);
}

#[test]
fn equality_that_proves_nothing_is_accepted_only_in_so_many_words() {
    let report = report(&[("a", Grid::F32, &[3.0; 4], Some(&[3.0; 4]), &[3.0; 4])]);
    let bounds = "[[boundary]]\nmatch = \"a\"\nabs = 1\n";
    assert_eq!(judged(&report, bounds).exit_code, 3);
    assert_eq!(verdict(&report, bounds), Verdict::Vacuous);
    let accepting = "[[boundary]]\nmatch = \"a\"\naccept_vacuous = true\n";
    let accepted = judged(&report, accepting);
    assert_eq!(
        (accepted.verdict, accepted.exit_code),
        (Verdict::WithinPolicy, 0)
    );
    assert_eq!(accepted.policy.relaxed, ["a: bit_exact, or vacuous"]);
    assert_eq!(judged(&accepted, "").verdict, Verdict::Vacuous);
}

#[test]
fn what_a_side_failed_at_is_inconclusive_under_every_policy() {
    let mut report = off();
    report.boundaries[0].inherited = Measured::inconclusive("it stopped".into());
    let loose = "[[boundary]]\nmatch = \"a\"\nabs = 1\naccept_vacuous = true";
    assert_eq!(judged(&report, loose).exit_code, 3);
}

#[test]
fn a_count_inside_a_bin_takes_the_captures() {
    // Distances 2 and 3 lie in one bin, 7 is the largest.
    let values = [1.0, 1.0 + 2.0 / 128.0, 1.0 + 3.0 / 128.0, 1.0 + 7.0 / 128.0];
    let report = report(&[("a", Grid::Bf16, &[1.0; 4], None, &values)]);
    let over = |ulp: u64, count: u64| {
        format!(
            "[[boundary]]\nmatch = \"a\"\nover = {{ grid = \"bf16\", ulp = {ulp}, count = {count} }}"
        )
    };
    assert_eq!(verdict(&report, &over(2, 1)), Verdict::Inconclusive);
    assert_eq!(verdict(&report, &over(2, 3)), Verdict::WithinPolicy);
    assert_eq!(verdict(&report, &over(2, 0)), Verdict::Diverged);
    assert_eq!(verdict(&report, &over(7, 0)), Verdict::WithinPolicy);
    assert_eq!(verdict(&report, &over(6, 0)), Verdict::Diverged);
    for (counted, then) in [(2, Verdict::WithinPolicy), (3, Verdict::Diverged)] {
        let mut report = report.clone();
        let policy = policy(&over(2, 2));
        apply(
            &policy,
            "p",
            &mut report,
            &selects,
            &|name, _, grid, ulp| {
                assert_eq!((name, grid, ulp), ("a", Grid::Bf16, 2));
                Some(counted)
            },
        )
        .unwrap();
        assert_eq!(report.boundaries[0].verdict, then);
    }
}

#[test]
fn a_report_that_says_otherwise_than_its_tensors_is_found_out() {
    let odd = [1.0, 2.0, f32::from_bits(0x7fc1_2345), 8.0];
    let one = report(&[("a", Grid::Bf16, &ONE, None, &odd)]);
    let measured = &one.boundaries[0].inherited;
    let reported = || reread(&one).boundaries[0].inherited.clone();
    assert_eq!(disagreement(&reported(), measured), None);
    type Change = fn(&mut Measured);
    let changes: [(&str, Change); 8] = [
        ("differing is 2, the tensors give 1", |m| {
            m.differing = Some(2)
        }),
        ("max_abs is 0.5, the tensors give 0.0", |m| {
            m.max_abs = Some(0.5)
        }),
        ("rms is 5e-324, the tensors give 0.0", |m| {
            m.rms = Some(5e-324)
        }),
        ("max_rel is 1.0", |m| m.max_rel = Some(1.0)),
        ("nan is 0, the tensors give 1", |m| m.nan = Some(0)),
        ("ulp is Ulp", |m| m.ulp.as_mut().unwrap().over_one = 1),
        ("ulp_f32 is UlpF32", |m| m.ulp_f32.as_mut().unwrap().max = 1),
        ("worst is ([0], ", |m| m.worst[0].index = vec![0]),
    ];
    for (what, change) in changes {
        let mut reported = reported();
        change(&mut reported);
        let said = disagreement(&reported, measured).unwrap();
        assert!(said.contains(what), "{said}");
    }
    let vacuous = report(&[("a", Grid::F32, &[1.0; 2], None, &[1.0; 2])]);
    let mut claims = vacuous.boundaries[0].inherited.clone();
    claims.verdict = Verdict::BitExact;
    let said = disagreement(&claims, &vacuous.boundaries[0].inherited).unwrap();
    assert_eq!(
        said,
        "verdict is \"bit_exact\", the tensors give \"vacuous\""
    );
    let inconclusive = Measured::inconclusive("not repeatable".into());
    assert_eq!(disagreement(&inconclusive, measured), None);
}

#[test]
fn a_terminal_shows_what_is_relaxed_and_what_is_not_as_demanded() {
    let report = report(&[
        (
            "a",
            Grid::Bf16,
            &ONE,
            Some(&ONE),
            &[1.0, 2.0, 4.03125, 8.125],
        ),
        (
            "b",
            Grid::Bf16,
            &ONE,
            Some(&[1.0, 2.0, 4.0, 8.5]),
            &[1.0, 2.0, 4.0, 8.5],
        ),
        ("c", Grid::Bf16, &ONE, None, &[1.0, 2.0, 4.0, 8.000_01]),
    ]);
    let entries = "[[boundary]]\nmatch = \"**\"\nulp = { grid = \"bf16\", max = 9 }\nabs = 0.25\n\
                   [[boundary]]\nmatch = \"b\"\nof = \"local\"\naccept_vacuous = true";
    let text = render(&judged(&report, entries), Options::default());
    insta::assert_snapshot!(text);
}

#[test]
fn judging_again_judges_what_was_measured() {
    let report = off();
    let loose = "[[boundary]]\nmatch = \"a\"\nabs = 1";
    let once = judged(&report, loose);
    assert_eq!(judged(&once, loose), once);
    assert_eq!(judged(&judged(&once, ""), loose), once);
    let mut lifted = once;
    lift(&mut lifted);
    assert_eq!(lifted, report);
}

#[test]
fn what_a_policy_cannot_mean_is_said_with_the_entry() {
    let entry = |line: &str| said(&format!("[[boundary]]\nmatch = \"a\"\n{line}"));
    for (line, what) in [
        (
            "abs = -1",
            "entry 1 (a): abs = -1: a bound is a number from 0 on",
        ),
        ("abs = -0.0", "abs = -0: a bound is a number from 0 on"),
        ("rms = nan", "rms = NaN: a bound is a number from 0 on"),
        ("rms = inf", "rms = inf: a bound is a number from 0 on"),
        ("abs = 1e999", "number overflowed"),
        (
            "demand = \"bit_exact\"\nabs = 1",
            "it has both demand and bounds",
        ),
        (
            "demand = \"within_policy\"",
            "unknown variant `within_policy`",
        ),
        ("demand = \"diverged\"", "unknown variant `diverged`"),
        ("of = \"either\"", "unknown variant `either`"),
        ("ulps = 1", "unknown field `ulps`"),
        (
            "ulp = { grid = \"bf16\", max = -1 }",
            "invalid value: integer `-1`",
        ),
        ("ulp = { grid = \"i32\", max = 1 }", "unknown variant `i32`"),
        ("ulp = { grid = \"bf16\" }", "missing field `max`"),
        (
            "over = { grid = \"bf16\", ulp = 1, count = 1, k = 2 }",
            "unknown field `k`",
        ),
        (
            "differing = 99999999999999999999",
            "invalid type: integer `99999999999999999999`",
        ),
        ("abs = \"small\"", "expected f64"),
        ("match = \"b\"", "duplicate key"),
    ] {
        let said = entry(line);
        assert!(said.contains(what), "{line}: {said}");
    }
    assert!(said("[[boundary]]\nmatch = \"\"").contains("match is empty"));
    assert!(said("[[boundary]]\nabs = 1").contains("missing field `match`"));
    assert!(said("default = \"bit_exact\"").contains("unknown field `default`"));
    let long = format!("[[boundary]]\nmatch = \"{}\"", "x".repeat(2000));
    assert!(said(&long).contains("longer than 1024 bytes"));
    let control = "[[boundary]]\nmatch = \"\\u001b[2J\"";
    assert!(said(control).contains("match has a control character"));
}

#[test]
fn hostile_policies_are_refused() {
    assert!(matches!(refused(""), PolicyError::Toml { .. }));
    assert!(matches!(
        refused("schema_version = 1\n[[boundary"),
        PolicyError::Toml { .. }
    ));
    let newer = refused("schema_version = 2\nsomething = \"new\"");
    assert!(matches!(newer, PolicyError::Version { found: 2, .. }));
    assert!(newer.to_string().contains("written for a newer qualify"));
    assert!(matches!(
        refused("schema_version = 0"),
        PolicyError::Version { .. }
    ));
    assert!(matches!(
        refused(b"schema_version = 1\n# \xff\xfe"),
        PolicyError::NotText { at: 21, .. }
    ));
    assert!(matches!(
        refused("#".repeat(2 << 20)),
        PolicyError::TooLarge { .. }
    ));
    assert!(matches!(
        read_policy(Path::new("/dev/zero")),
        Err(PolicyError::TooLarge { .. })
    ));
    assert!(matches!(
        read_policy(Path::new("/nowhere")),
        Err(PolicyError::Io { .. })
    ));
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(
        read_policy(directory.path()),
        Err(PolicyError::Io { .. })
    ));
    for (open, close) in [("[", "]"), ("{ a = ", "}")] {
        let deep = format!(
            "schema_version = {}1{}",
            open.repeat(80_000),
            close.repeat(80_000)
        );
        assert!(matches!(refused(deep), PolicyError::Toml { .. }));
    }
    let dotted = format!("schema_version = 1\n{}a = 1", "a.".repeat(100_000));
    assert!(matches!(refused(dotted), PolicyError::Toml { .. }));
}

#[test]
fn the_schema_of_policies_is_the_committed_one() {
    made::committed("policy.schema.json", &policy_schema());
}

#[test]
fn a_suggestion_says_what_no_policy_accepts_and_quotes_names() {
    let name = "a \"b\" \\ ü";
    let mut report = report(&[
        (name, Grid::F32, &ONE, None, &[1.0, 2.0, 4.0, 8.5]),
        ("n", Grid::F32, &ONE, Some(&ONE), &[1.0, 2.0, 4.0, f32::NAN]),
        ("s*", Grid::F32, &ONE, None, &[1.0, 2.0, 4.0, 8.5]),
    ]);
    report.non_interference.chained = Some(false);
    let suggested = suggest(&report, &selects);
    let names: Vec<&str> = suggested
        .impossible
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["the run", "n", "s*"]);
    let text = suggested.to_toml();
    assert!(text.contains("#   n: inherited: 1 element is NaN on one side alone\n"));
    assert_eq!(read_policy(&put(&text).1).unwrap(), suggested.policy);
    assert_eq!(suggested.policy.entries[0].pattern, name);
}

/// A value of both sides, and whether the local error has it too.
type Pairs = ((f32, f32), (f32, f32));

/// A value, and another one that is some steps of its grid away.
fn pair() -> impl Strategy<Value = (f32, f32)> {
    let step = prop_oneof![6 => Just(0_u32), 2 => Just(1), 1 => 2_u32..300];
    (any::<u16>(), step, any::<bool>()).prop_filter_map("finite", |(half, steps, flip)| {
        let a = f32::from_bits(u32::from(half) << 16);
        let b = f32::from_bits((u32::from(half) << 16).wrapping_add(steps << 16));
        let b = if flip && a == 0.0 { -a } else { b };
        (a.is_finite() && b.is_finite()).then_some((a, b))
    })
}

/// The same report, as it is read back.
fn reread(report: &Report) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.json");
    write_report(&path, report).unwrap();
    read_report(&path).unwrap()
}

/// The bounds with one of them a step smaller.
fn decreased(bounds: &Bounds) -> Vec<Bounds> {
    let mut all = Vec::new();
    let mut less = |change: &dyn Fn(&mut Bounds) -> Option<()>| {
        let mut bounds = *bounds;
        all.extend(change(&mut bounds).map(|()| bounds));
    };
    less(&|b| {
        b.differing = Some(b.differing?.checked_sub(1)?);
        Some(())
    });
    less(&|b| {
        b.ulp.as_mut()?.max = b.ulp?.max.checked_sub(1)?;
        Some(())
    });
    less(&|b| {
        b.over.as_mut()?.count = b.over?.count.checked_sub(1)?;
        Some(())
    });
    less(&|b| {
        b.abs = Some(b.abs.filter(|&abs| abs > 0.0)?.next_down());
        Some(())
    });
    less(&|b| {
        b.rms = Some(b.rms.filter(|&rms| rms > 0.0)?.next_down());
        Some(())
    });
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn the_suggested_policy_passes_and_no_bound_can_be_smaller(
        made in proptest::collection::vec(
            (proptest::collection::vec((pair(), pair()), 1..9), any::<bool>(), any::<bool>()),
            1..7,
        ),
    ) {
        let names = ["a.b", "a.b/1.Add", "c", "a", "a.d", "a.b.e"];
        let values: Vec<_> = made.iter().map(|(pairs, ..)| {
            let side = |of: fn(&Pairs) -> f32| -> Vec<f32> {
                pairs.iter().map(of).collect()
            };
            (side(|p| p.0.0), side(|p| p.0.1), side(|p| if p.1.0 == p.1.1 { p.0.0 } else { p.0.1 }))
        }).collect();
        let boundaries: Vec<_> = names.iter().zip(&values).zip(&made)
            .map(|((name, (reference, one, other)), (_, coarse, local))| {
                let grid = if *coarse { Grid::Bf16 } else { Grid::F32 };
                let local = local.then_some(one.as_slice());
                (*name, grid, reference.as_slice(), local, other.as_slice())
            })
            .collect();
        let report = reread(&report(&boundaries));
        let suggested = suggest(&report, &selects);
        prop_assert!(suggested.impossible.is_empty());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.toml.new");
        write_text(&path, &suggested.to_toml()).unwrap();
        let policy = read_policy(&path).unwrap();
        prop_assert_eq!(&policy, &suggested.policy);
        let exit = |policy: &Policy| {
            let mut report = report.clone();
            apply(policy, "p", &mut report, &selects, &uncounted).unwrap();
            report.exit_code
        };
        prop_assert_eq!(exit(&policy), 0, "{}", suggested.to_toml());
        for (at, entry) in policy.entries.iter().enumerate() {
            if let Demand::Within(bounds) = &entry.rule.demand {
                let smaller = decreased(bounds);
                prop_assert!(!smaller.is_empty());
                for bounds in smaller {
                    let mut policy = policy.clone();
                    policy.entries[at].rule.demand = Demand::Within(bounds);
                    prop_assert_eq!(exit(&policy), 1, "{:?}", bounds);
                }
            } else if entry.rule.accept_vacuous {
                let mut policy = policy.clone();
                policy.entries[at].rule.accept_vacuous = false;
                prop_assert_eq!(exit(&policy), 3);
            }
        }
    }
}
