//! Terms of all the kinds that sums treat differently.

use half::bf16;
use probes::{
    envelope::{Fusion, Leaves, Rules, Start, Term},
    order::Rounding,
};
use proptest::prelude::*;

/// Of either sign, from 0.25 to 4.
fn near() -> BoxedStrategy<f32> {
    let parts = (0u32..4, any::<u32>());
    let number = |(exponent, bits)| f32::from_bits((125 + exponent) << 23 | bits & 0x807f_ffff);
    parts.prop_map(number).boxed()
}

fn wide() -> BoxedStrategy<f32> {
    let parts = (100u32..155, any::<u32>());
    let number = |(exponent, bits)| f32::from_bits(exponent << 23 | bits & 0x807f_ffff);
    parts.prop_map(number).boxed()
}

/// Where F32 and BF16 end to have every whole number.
fn large() -> BoxedStrategy<f32> {
    prop::sample::select(vec![
        16_777_216.0,
        -16_777_216.0,
        16_777_215.0,
        256.0,
        -255.0,
    ])
    .boxed()
}

/// Subnormal numbers, some above them, and zeros of either sign.
fn tiny() -> BoxedStrategy<f32> {
    let parts = (0u32..12, any::<u32>(), 0u32..24);
    let number = |(exponent, bits, cut): (u32, u32, u32)| {
        f32::from_bits(exponent << 23 | bits & 0x807f_ffff & (u32::MAX << cut))
    };
    prop_oneof![
        parts.prop_map(number),
        (-99i32..100).prop_map(|i| i as f32 * 1e-45),
        (-9i32..10).prop_map(|i| i as f32 * 3e-19),
    ]
    .boxed()
}

/// Numbers whose sums may overflow.
fn huge() -> BoxedStrategy<f32> {
    let parts = (253u32..255, any::<u32>());
    let number = |(exponent, bits)| f32::from_bits(exponent << 23 | bits & 0x807f_ffff);
    parts.prop_map(number).boxed()
}

/// Large numbers, and others between which they lie far apart.
fn mixed() -> BoxedStrategy<f32> {
    let part = (-4096i32..4097).prop_map(|i| i as f32 / 256.0);
    prop_oneof![part, large()].boxed()
}

/// Numbers of all the kinds that sums treat differently.
pub fn number() -> BoxedStrategy<f32> {
    let zero = prop::sample::select(vec![0.0, -0.0]);
    let bounds = prop::sample::select(vec![
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        -f32::MAX,
        1.7e38,
        f32::MIN_POSITIVE,
        -1e-45,
        1e-45,
        3e-41,
        -4e-20,
    ]);
    let any = any::<u32>().prop_map(f32::from_bits);
    let any = any.prop_filter("a number", |x| !x.is_nan());
    prop_oneof![
        4 => near(),
        3 => wide(),
        2 => (-9i8..10).prop_map(f32::from),
        2 => large(),
        1 => zero,
        2 => bounds,
        1 => any,
    ]
    .boxed()
}

/// Up to `most` terms of all kinds, or all of one.
pub fn terms(most: usize) -> BoxedStrategy<Vec<Term>> {
    let narrow = |x: f32| bf16::from_f32(x).to_f32();
    let of = move |number: BoxedStrategy<f32>| {
        let number = prop_oneof![number.clone(), number.prop_map(narrow)].boxed();
        let factor = number.clone();
        let product = (number.clone(), factor).prop_map(|(a, b)| Term::Product(a, b));
        let term = prop_oneof![number.prop_map(Term::Value), product];
        let term = term.prop_filter("no NaN", |term| !term.is_nan());
        prop::collection::vec(term, 1..=most)
    };
    prop_oneof![
        3 => of(number()),
        3 => of(near()),
        2 => of(tiny()),
        2 => of(huge()),
        3 => of(mixed()),
        2 => of(prop_oneof![near(), large()].boxed()),
        1 => of(wide()),
        1 => of((-9i8..10).prop_map(f32::from).boxed()),
    ]
    .boxed()
}

/// All rules.
pub fn rules() -> impl Strategy<Value = Rules> {
    let rounding = prop::sample::select(vec![Rounding::F32, Rounding::Bf16, Rounding::Bf16Once]);
    let fusion = prop::sample::select(vec![Fusion::Never, Fusion::Always, Fusion::Either]);
    let start = prop::sample::select(vec![Start::Term, Start::Zero]);
    let leaves = prop::sample::select(vec![Leaves::Any, Leaves::Fixed]);
    (rounding, fusion, start, leaves).prop_map(|(rounding, fusion, start, leaves)| Rules {
        rounding,
        fusion,
        start,
        leaves,
    })
}
