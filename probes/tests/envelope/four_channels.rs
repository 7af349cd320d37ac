//! A convolution of [16384, 1, −16384] with four channels of BF16 taps, on two implementations: every
//! output lies in its own set of reachable sums, and yet one of the two has no F32 order.

use probes::{
    envelope::{
        Element, Evidence, Findings, Fusion, Interval, Joint, Rules, Schedule, Start, Term,
        common_order,
    },
    order::Rounding,
};

/// Input and taps, in the order in which a convolution multiplies them.
fn channels() -> [[Term; 3]; 4] {
    let product = |x, tap| Term::Product(x, tap);
    let (x, large) = (16384.0, 16_777_216.0);
    [
        // +2²⁴, 1, −2²⁴
        [product(x, 1024.0), product(1.0, 1.0), product(-x, 1024.0)],
        // +2²⁴, −2²⁴, 1
        [
            product(x, 1024.0),
            product(1.0, -large),
            product(-x, -1.0 / x),
        ],
        // 1, +2²⁴, −2²⁴
        [
            product(x, 1.0 / x),
            product(1.0, large),
            product(-x, 1024.0),
        ],
        // −2²⁴, 1, +2²⁴
        [product(x, -1024.0), product(1.0, 1.0), product(-x, -1024.0)],
    ]
}

const MLX: [f32; 4] = [0.0, 1.0, 0.0, 1.0];
const OTHER: [f32; 4] = [0.0, 1.0, 0.0, 0.0];

/// The level, and the schedules that explain all four.
fn judged(observed: [f32; 4], rounding: Rounding) -> (Evidence, Vec<String>) {
    let channels = channels();
    let elements: Vec<Element<'_>> = channels
        .iter()
        .zip(observed)
        .map(|(terms, observed)| Element {
            terms,
            observed,
            finish: None,
        })
        .collect();
    let mut joint = Joint::new(Schedule::all(3, true, rounding, Start::Zero));
    let (mut inside, mut reachable) = (true, true);
    for element in &elements {
        joint.observe(element);
        let interval = Interval::of(element.terms, rounding, Start::Zero);
        inside &= interval.contains(element.observed);
        let rules = Rules {
            rounding,
            ..Rules::default()
        };
        let set = rules.reachable(element.terms, 12).unwrap();
        assert_eq!(set.values(), [0.0, 1.0]);
        reachable &= set.contains(element.observed);
    }
    let level = Evidence::of(Findings {
        inside: Some(inside),
        reachable: Some(reachable),
        schedule: !joint.is_empty(),
        complete: true,
        revealed: false,
    });
    let names = joint.survivors().map(ToString::to_string).collect();
    // What the named schedules say is what all orders say.
    for fusion in [Fusion::Never, Fusion::Always, Fusion::Either] {
        let rules = Rules {
            rounding,
            fusion,
            ..Rules::default()
        };
        let order = common_order(&elements, &rules, 12).unwrap();
        assert_eq!(order.is_some(), !joint.is_empty());
        assert!(order.is_none_or(|order| order.tree.to_string() == "sequential"));
    }
    (level, names)
}

#[test]
fn mlx_adds_from_left_to_right_in_f32() {
    let (level, names) = judged(MLX, Rounding::F32);
    assert_eq!(level, Evidence::Schedule);
    assert!(level.explains());
    assert_eq!(
        names,
        [
            "sequential, F32 accumulator",
            "sequential, F32 accumulator, fused"
        ]
    );
    let (level, names) = judged(MLX, Rounding::Bf16);
    assert_eq!((level, names), (Evidence::Reachable, vec![]));
}

#[test]
fn no_f32_order_gives_the_others_outputs_and_a_bf16_accumulator_does() {
    // The products are exact, so a result of BF16 makes no difference to an F32 accumulator.
    for rounding in [Rounding::F32, Rounding::Bf16Once] {
        let (level, names) = judged(OTHER, rounding);
        assert_eq!((level, names), (Evidence::Reachable, vec![]));
        assert!(!level.explains());
    }
    let (level, names) = judged(OTHER, Rounding::Bf16);
    assert_eq!(level, Evidence::Schedule);
    assert_eq!(
        names,
        [
            "sequential, BF16 accumulator",
            "sequential, BF16 accumulator, fused"
        ]
    );
}

#[test]
fn the_first_output_that_rejects_a_schedule_is_told() {
    let channels = channels();
    let mut joint = Joint::new(Schedule::all(3, false, Rounding::F32, Start::Zero));
    for (terms, observed) in channels.iter().zip(OTHER) {
        let finish = None;
        joint.observe(&Element {
            terms,
            observed,
            finish,
        });
    }
    let rejected: Vec<(String, usize, f32)> = joint
        .rejected()
        .map(|(schedule, r)| (schedule.to_string(), r.element, r.gives.unwrap()))
        .collect();
    let of = |name: &str| {
        let found = rejected.iter().find(|(full, ..)| full.starts_with(name));
        found.map(|(_, element, gives)| (*element, *gives))
    };
    assert_eq!(of("sequential"), Some((3, 1.0)));
    assert_eq!(of("right to left"), Some((0, 1.0)));
    assert_eq!(of("blocks of 4"), Some((1, 0.0)));
    assert_eq!(of("blocks of 8"), Some((0, 1.0)));
    assert_eq!((joint.elements(), joint.survivors().count()), (4, 0));
    assert!(joint.telling() >= 3);
}

#[test]
fn nothing_short_of_all_outputs_is_an_explanation() {
    let findings = Findings {
        inside: Some(true),
        reachable: Some(true),
        schedule: true,
        complete: false,
        revealed: true,
    };
    let level = |findings| Evidence::of(findings);
    assert_eq!(level(findings), Evidence::Reachable);
    let all = Findings {
        complete: true,
        ..findings
    };
    assert_eq!(level(all), Evidence::Revealed);
    let unknown = Findings {
        reachable: None,
        ..findings
    };
    assert_eq!(level(unknown), Evidence::Interval);
    let outside = Findings {
        reachable: Some(false),
        ..findings
    };
    assert_eq!(level(outside), Evidence::Nothing);
    assert_eq!(level(Findings::default()), Evidence::Nothing);
    let explaining = [
        Evidence::Nothing,
        Evidence::Interval,
        Evidence::Reachable,
        Evidence::Schedule,
        Evidence::Revealed,
    ]
    .map(|level| (level.name(), level.explains()));
    let names = ["E0", "E1", "E2", "E3", "E4"];
    assert_eq!(explaining, std::array::from_fn(|i| (names[i], i > 2)));
}
