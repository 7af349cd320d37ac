//! Whether terms are added one after the other, told from few vectors.
//!
//! # One vector tells that there is one running sum
//! M = 2²³ is at the first place, −M at the last one and 5/8 everywhere else. A running sum that
//! holds M is a whole number, and 5/8 makes it 1 more. `m` terms that are added to each other
//! first make it `round(5m/8)` more, which is less than `m` for `m ≥ 2`; so do several that come
//! in at once. What meets −M first is rounded to halves, and what comes in after M and −M is not
//! rounded: both give less than 1 for each term. So the result is `n − 2` only if every term but
//! the first and the last is added by itself to the running sum that begins with the first and
//! ends with the last, and each sum is rounded as F32. With 3/8 in the place of 5/8 such a running
//! sum gives 0, and one that rounds upwards does not.
//!
//! # Few vectors tell in which order
//! `y₀ = M₀` and `yᵢ = −Mᵢ₋₁ + Mᵢ` stand at some places in the supposed order, all other terms are
//! 0, and `Mᵢ = 2¹²⁷⁻¹³ⁱ`. One after the other they make `M₀, M₁, … Mₖ`, exactly. *No other tree of
//! additions of two gives `Mₖ`:*
//! 1. A sum without `y₀`, whose first term is `yᵣ`, is `−Mᵣ₋₁` if it has `yᵣ₊₁` too, else `yᵣ`. By
//!    induction: what comes to `yᵣ` begins with a later `y_q`, so it is `y_q` or `−M_q₋₁`. Of
//!    `q = r + 1`, `−Mᵣ₋₁ + Mᵣ − Mᵣ` is left, for `Mᵣ₊₁ = 2⁻²⁶ Mᵣ₋₁` is less than half the distance
//!    of F32s there; of later ones nothing is, for the same reason.
//! 2. Let the sum with `y₀` be `Mᵢ` once it has `y₀` to `yᵢ`, and not `yᵢ₊₁`. What comes next,
//!    - if it begins with `yᵢ₊₁`, leaves `Mᵢ₊₁`, or 0 if it has `yᵢ₊₂` too;
//!    - if it begins with `yᵢ₊₂`, leaves `Mᵢ − Mᵢ₊₁`, which is 0 once `yᵢ₊₁` comes;
//!    - if it begins later, is lost.
//!
//!    After a 0 all that comes is negative: the result is not `Mₖ`. Otherwise the sum is `M₀`,
//!    `M₁`, … in turn, unless some `yⱼ` came before its turn, alone or behind another. Then the sum
//!    stays above `Mⱼ₋₁/2`, for all that comes after is less than `2Mⱼ`; and that is not `Mₖ`. ∎
//!
//! Each vector has the first term and 19 more that follow one another, the first of these being
//! the last of the vector before. Together they say that the first term meets all others in turn.

use super::{
    MASK, ProbeError, Sums, Tree,
    masks::{Asks, Live, Masks, Question, Vector},
};

/// Sums of fewer terms are not worth a trial, and more would leave the binade that M is in.
const TRIED: std::ops::RangeInclusive<usize> = 32..=1 << 22;

/// M of the trial: the next number is 1 more.
const TRIAL: f32 = 8_388_608.0;

/// What one M is of the one before it, and how many there are after the first: to 2⁻¹²⁰.
const GAP: f32 = 1.0 / 8192.0;
const STEPS: usize = 19;

/// Which term stands at which place of the supposed order.
#[derive(Clone, Copy, Debug)]
enum Way {
    Forwards,
    Backwards { last: usize },
}

impl Way {
    fn term(self, place: usize) -> usize {
        match self {
            Way::Forwards => place,
            Way::Backwards { last } => last - place,
        }
    }
}

/// The order of a running sum that begins at one end and takes the other end last, in whatever
/// order it takes the terms between; nothing of other operations. There are never more than
/// `n − 1` vectors, however many of them were of no use.
pub(super) fn chain<O: Sums + ?Sized>(
    masks: &mut Masks<'_, O>,
    n: usize,
) -> Result<Option<Tree>, ProbeError<O::Error>> {
    if !TRIED.contains(&n) || !masks.adds_plainly()? {
        return Ok(None);
    }
    let Some(way) = trial(masks, n)? else {
        return Ok(None);
    };
    // The order of places 0 to `settled` is known, and so is the last place.
    let (mut settled, last) = (0, n - 2);
    while settled < last {
        // Should they all fail, two more than what is settled are lost: as many as need no asking.
        let worth = (settled + 1).saturating_sub(masks.vectors).max(1);
        let starts = (settled.max(1)..last).step_by(STEPS - 1).take(worth);
        let (vectors, wanted): (Vec<Vector>, Vec<f32>) =
            starts.map(|start| falling(way, start, last)).unzip();
        let end = last.min(settled.max(1) + vectors.len() * (STEPS - 1));
        if masks.put(0.0, vectors)? != wanted {
            break;
        }
        // Terms in their order, the last of which is at its place, are all at theirs.
        if end < last && meets(masks, n, way, [end])? != [end] {
            break;
        }
        settled = end;
    }
    let mut order: Vec<usize> = (0..=settled).map(|place| way.term(place)).collect();
    // What is not known is asked term by term; the last of these is where nothing else is.
    let mut places: Vec<Option<usize>> = vec![None; last - settled];
    let open = settled + 1..last;
    let met = meets(masks, n, way, open.clone())?;
    for (place, met) in open.zip(met) {
        let free = met.checked_sub(settled + 1);
        match free.and_then(|free| places.get_mut(free)) {
            Some(slot @ None) => *slot = Some(place),
            _ => {
                let (size, members) = (met + 1, place + 1);
                return Err(ProbeError::Inconsistent { size, members });
            }
        }
    }
    order.extend(
        places
            .into_iter()
            .map(|place| way.term(place.unwrap_or(last))),
    );
    order.push(way.term(n - 1));
    Ok(Some(Tree::chain(&order)))
}

/// Whether there is one running sum from one end to the other.
fn trial<O: Sums + ?Sized>(
    masks: &mut Masks<'_, O>,
    n: usize,
) -> Result<Option<Way>, ProbeError<O::Error>> {
    let ways = [Way::Forwards, Way::Backwards { last: n - 1 }];
    let ends = |way: &Way| vec![(way.term(0), TRIAL), (way.term(n - 1), -TRIAL)];
    let vectors = || ways.iter().map(ends).collect();
    let rounded_up = masks.check(0.625, vectors())?;
    if !rounded_up.contains(&((n - 2) as f32)) {
        return Ok(None);
    }
    let rounded_down = masks.check(0.375, vectors())?;
    let sums = rounded_up.into_iter().zip(rounded_down);
    let fit = ways.into_iter().zip(sums);
    let mut fit = fit.filter(|&(_, sums)| sums == ((n - 2) as f32, 0.0));
    Ok(fit.next().map(|(way, _)| way))
}

/// The vector of the first place and those from `start` on, and its sum.
fn falling(way: Way, start: usize, last: usize) -> (Vector, f32) {
    let mut m = MASK;
    let mut vector = vec![(way.term(0), m)];
    for place in start..=last.min(start + STEPS - 1) {
        vector.push((way.term(place), m * GAP - m));
        m *= GAP;
    }
    (vector, m)
}

/// At which place each term is added, by how many others are there when it is.
fn meets<O: Sums + ?Sized>(
    masks: &mut Masks<'_, O>,
    n: usize,
    way: Way,
    places: impl IntoIterator<Item = usize>,
) -> Result<Vec<usize>, ProbeError<O::Error>> {
    let question = |place| Question {
        plus: way.term(0),
        minus: way.term(place),
        live: Live::All,
    };
    let questions: Vec<Question> = places.into_iter().map(question).collect();
    let survivors = masks.ask(&questions)?;
    Ok(survivors.into_iter().map(|count| n - 1 - count).collect())
}
