//! Orders of additions: the named patterns of [`crate::envelope`], and those that accumulate in
//! more than one place or pass.

use std::fmt;

use crate::{
    envelope::{Pattern, Schedule, Stage, Start, Term, fused, last, partial},
    order::{Form, Rounding},
};

/// Threads in a warp, chunks of a sum in two passes.
const WARP: usize = 32;

/// In which order terms are added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// A pattern with a name, every running sum from +0.
    Pattern(Pattern),
    /// From left to right beginning with the first term, so that a sum of −0 stays −0.
    FromFirst,
    /// 32 runs of neighbours, each added by a warp whose lane l takes the terms l, l + 32, … of
    /// the run and joined by a butterfly; their sums, rounded, by another butterfly.
    TwoPasses,
    /// Of several axes: the threads of a block share the last, `run` elements long, `each` at a
    /// time, and go over the others inside the same running sums; then butterflies.
    Looped {
        /// Extent of the last axis.
        run: usize,
        /// Warps of 32 threads.
        warps: usize,
        /// Neighbours that a thread takes at a time.
        each: usize,
    },
    /// A warp whose lanes have `each` accumulators apiece, for neighbouring terms: the i-th takes
    /// the terms `32·each·r + each·lane + i`. A lane's accumulators are added in F32 from left to
    /// right, the lanes by a butterfly in F32.
    Accumulators {
        /// Accumulators of a lane.
        each: usize,
    },
}

impl Order {
    /// From left to right from +0.
    pub const SEQUENTIAL: Order = Order::Pattern(Pattern::Form(Form::Sequential));

    /// The orders for `n` terms, from the plainest on; `runs` are the extents that a sum over
    /// several axes may be cut into.
    pub fn all(n: usize, products: bool, runs: &[usize]) -> Vec<Order> {
        let mut patterns = Pattern::all(n);
        for &run in runs {
            let form = Form::Runs {
                len: run,
                then: crate::order::Join::Sequential,
            };
            let pattern = Pattern::Form(form);
            let tree = pattern.tree(n);
            if run > 1 && run < n && n > 4096 && patterns.iter().all(|p| p.tree(n) != tree) {
                patterns.push(pattern);
            }
        }
        let mut orders: Vec<Order> = patterns.into_iter().map(Order::Pattern).collect();
        orders.insert(1.min(orders.len()), Order::FromFirst);
        if n > WARP {
            orders.push(Order::TwoPasses);
        }
        for &run in runs.iter().filter(|&&run| run > 1 && run < n) {
            for warps in [1, 2, 4, 8, 16, 32] {
                for each in [4, 8] {
                    // More threads than there are elements are the same as just enough.
                    if warps == 1 || run > WARP * each * (warps / 2) {
                        orders.push(Order::Looped { run, warps, each });
                    }
                }
            }
        }
        if products {
            // Of so few that every accumulator takes one, a lane's sum is the whole.
            let several = [8, 16].into_iter().filter(|&each| n > each);
            orders.extend(several.map(|each| Order::Accumulators { each }));
        }
        orders
    }

    /// The sum, rounded as `rounding` says.
    pub fn sum(&self, terms: &[Term], rounding: Rounding, fused: bool) -> f32 {
        match self {
            Order::Pattern(Pattern::Form(Form::Sequential)) => {
                last(rounding, running(0.0, terms.iter(), rounding, fused))
            }
            Order::Pattern(pattern) => patterned(pattern, terms, rounding, fused),
            Order::FromFirst => match terms.split_first() {
                Some((first, rest)) => {
                    let first = partial(rounding, first.rounded(rounding));
                    last(rounding, running(first, rest.iter(), rounding, fused))
                }
                None => 0.0,
            },
            Order::TwoPasses => {
                let warp = Pattern::Warps {
                    warps: 1,
                    each: 1,
                    then: Stage::Butterfly,
                };
                let run = terms.len().div_ceil(WARP).max(1);
                let mut sums: Vec<Term> = terms
                    .chunks(run)
                    .map(|terms| Term::Value(patterned(&warp, terms, rounding, fused)))
                    .collect();
                sums.resize(WARP, Term::Value(0.0));
                patterned(&warp, &sums, rounding, false)
            }
            &Order::Looped { run, warps, each } => {
                let threads = warps.max(1) * WARP;
                let mut sums = vec![0.0; threads];
                for line in terms.chunks(run.max(1)) {
                    for (i, term) in line.iter().enumerate() {
                        let thread = i / each.max(1) % threads;
                        sums[thread] = add(sums[thread], term, rounding, fused);
                    }
                }
                let warps: Vec<f32> = sums.chunks(WARP).map(|s| butterfly(s, rounding)).collect();
                let sum = match &warps[..] {
                    [one] => *one,
                    several => butterfly(several, rounding),
                };
                last(rounding, sum)
            }
            &Order::Accumulators { each } => {
                let each = each.max(1);
                let mut sums = vec![0.0; WARP * each];
                for (i, term) in terms.iter().enumerate() {
                    let place = i % (WARP * each);
                    sums[place] = add(sums[place], term, rounding, fused);
                }
                let lanes: Vec<f32> = sums
                    .chunks(each)
                    .map(|lane| lane.iter().fold(0.0, |sum, x| sum + x))
                    .collect();
                last(rounding, butterfly(&lanes, Rounding::F32))
            }
        }
    }
}

/// A pattern of which running sums begin with +0.
fn patterned(pattern: &Pattern, terms: &[Term], rounding: Rounding, fused: bool) -> f32 {
    let schedule = Schedule {
        pattern: pattern.clone(),
        rounding,
        fused,
        start: Start::Zero,
    };
    schedule.sum(terms).unwrap_or(f32::NAN)
}

fn running<'a>(
    start: f32,
    terms: impl Iterator<Item = &'a Term>,
    rounding: Rounding,
    fused: bool,
) -> f32 {
    terms.fold(start, |sum, term| add(sum, term, rounding, fused))
}

#[inline]
fn add(sum: f32, term: &Term, rounding: Rounding, fuse: bool) -> f32 {
    match *term {
        Term::Product(a, b) if fuse => fused(rounding, a, b, sum),
        term => partial(rounding, sum + term.rounded(rounding)),
    }
}

/// Up to 32 sums joined with masks 16, 8, 4, 2, 1; +0 for those that are not there.
fn butterfly(sums: &[f32], rounding: Rounding) -> f32 {
    let mut lanes = [0.0; WARP];
    for (lane, sum) in lanes.iter_mut().zip(sums) {
        *lane = *sum;
    }
    let mut half = WARP / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = partial(rounding, lanes[i] + lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Pattern(pattern) => pattern.fmt(f),
            Order::FromFirst => f.write_str("sequential from the first term"),
            Order::TwoPasses => {
                f.write_str("two passes: 32 runs, each by a warp of 32 by 1, butterfly")
            }
            Order::Looped { run, warps, each } => {
                let warps = match warps {
                    1 => "a warp".to_owned(),
                    several => format!("{several} warps"),
                };
                write!(
                    f,
                    "{warps} of 32 by {each} over runs of {run}, looped, butterfly"
                )
            }
            Order::Accumulators { each } => write!(
                f,
                "a warp of 32 with {each} accumulators a lane, these in F32, butterfly"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_passes_add_runs_first() {
        // Terms 0 and 1 are in one run of 40 / 32 → 2, terms 2 and 3 in the next.
        let mut terms = vec![Term::Value(0.0); 40];
        terms[0] = Term::Value(1e9);
        terms[1] = Term::Value(-1e9);
        terms[2] = Term::Value(1.0);
        assert_eq!(Order::TwoPasses.sum(&terms, Rounding::F32, false), 1.0);
        terms.swap(1, 2);
        assert_eq!(Order::TwoPasses.sum(&terms, Rounding::F32, false), 0.0);
    }

    #[test]
    fn accumulators_of_a_lane_are_joined_in_f32() {
        // 1 + 2⁻⁹ is no BF16, and two accumulators keep it.
        let mut terms = vec![Term::Product(0.0, 0.0); 64];
        terms[0] = Term::Product(1.0, 1.0);
        terms[1] = Term::Product(1.0, 2f32.powi(-9));
        let order = Order::Accumulators { each: 8 };
        terms[256 % 64] = Term::Product(1.0, 1.0);
        assert_eq!(order.sum(&terms, Rounding::F32, true), 1.0 + 2f32.powi(-9));
        assert_eq!(order.sum(&terms, Rounding::Bf16, true), 1.0);
    }

    #[test]
    fn a_looped_sum_over_one_run_is_that_of_warps() {
        let terms: Vec<Term> = (0..300)
            .map(|i| Term::Value(1.0 / (i as f32 + 0.3)))
            .collect();
        for (warps, each) in [(1, 4), (2, 8)] {
            let looped = Order::Looped {
                run: 300,
                warps,
                each,
            };
            let then = Stage::Butterfly;
            let warps = Order::Pattern(Pattern::Warps { warps, each, then });
            for rounding in [Rounding::F32, Rounding::Bf16] {
                let sum = |order: &Order| order.sum(&terms, rounding, false);
                assert_eq!(sum(&looped), sum(&warps));
            }
        }
    }
}
