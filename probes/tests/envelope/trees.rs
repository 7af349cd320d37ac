//! All trees of additions, one by one, by their definition: nothing here is shared or skipped.

use std::sync::OnceLock;

use half::bf16;
use probes::{
    envelope::{Fusion, Leaves, Rules, Start, Term},
    order::Rounding,
};

/// A tree of additions, as it is defined.
#[derive(Clone)]
pub enum Node {
    Leaf(usize),
    Sum(Box<Node>, Box<Node>),
}

impl Node {
    fn sum(a: Node, b: Node) -> Node {
        Node::Sum(Box::new(a), Box::new(b))
    }

    /// This tree with one leaf more, at every place there is for it.
    fn with(&self, leaf: usize) -> Vec<Node> {
        let mut trees = vec![Node::sum(self.clone(), Node::Leaf(leaf))];
        if let Node::Sum(a, b) = self {
            let (left, right) = (a.with(leaf).into_iter(), b.with(leaf).into_iter());
            trees.extend(left.map(|a| Node::sum(a, (**b).clone())));
            trees.extend(right.map(|b| Node::sum((**a).clone(), b)));
        }
        trees
    }

    pub fn leaves(&self) -> Vec<usize> {
        match self {
            Node::Leaf(leaf) => vec![*leaf],
            Node::Sum(a, b) => [a.leaves(), b.leaves()].concat(),
        }
    }

    /// Whether every sum is one of neighbours.
    pub fn keeps_places(&self) -> bool {
        let mut leaves = self.leaves();
        leaves.sort_unstable();
        let parts = match self {
            Node::Leaf(_) => true,
            Node::Sum(a, b) => a.keeps_places() && b.keeps_places(),
        };
        parts && leaves.last().unwrap() - leaves[0] + 1 == leaves.len()
    }

    /// Every value that the tree gives: several, where products may be fused or not.
    pub fn values(&self, terms: &[Term], rules: &Rules) -> Vec<f32> {
        let Node::Sum(a, b) = self else {
            return self
                .operands(terms, rules)
                .into_iter()
                .map(|operand| operand.0)
                .collect();
        };
        let (left, right) = (a.operands(terms, rules), b.operands(terms, rules));
        let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
        let mut values = Vec::new();
        for (&(x, first), &(y, second)) in pairs {
            let must = rules.fusion == Fusion::Always && (first.is_some() || second.is_some());
            if !must {
                values.push(rounded(rules, x + y));
            }
            values.extend(first.map(|(a, b)| fused(rules, a, b, y)));
            values.extend(second.map(|(a, b)| fused(rules, a, b, x)));
        }
        values
    }

    /// What an addition takes; a product that may be fused also as its factors.
    fn operands(&self, terms: &[Term], rules: &Rules) -> Vec<(f32, Option<(f32, f32)>)> {
        let mut operands = match self {
            Node::Leaf(leaf) => match terms[*leaf] {
                Term::Value(x) => vec![(x, None)],
                Term::Product(a, b) => {
                    let factors = (rules.fusion != Fusion::Never).then_some((a, b));
                    // Nothing else rounds a product: such a zero is what is neutral.
                    vec![(fused(rules, a, b, zero_like(a, b)), factors)]
                }
            },
            sum => sum
                .values(terms, rules)
                .into_iter()
                .map(|x| (x, None))
                .collect(),
        };
        if rules.start == Start::Zero {
            // Any operand may be a running sum that has begun with +0.
            let begun: Vec<_> = operands
                .iter()
                .map(|(x, _)| (rounded(rules, x + 0.0), None))
                .collect();
            operands.extend(begun);
        }
        operands
    }
}

/// The zero that changes nothing when it is added to a product.
fn zero_like(a: f32, b: f32) -> f32 {
    if a.is_sign_negative() == b.is_sign_negative() {
        0.0
    } else {
        -0.0
    }
}

fn rounded(rules: &Rules, x: f32) -> f32 {
    match rules.rounding {
        Rounding::Bf16 => bf16::from_f32(x).to_f32(),
        _ => x,
    }
}

/// `a·b + c` with one rounding, by comparing distances.
fn fused(rules: &Rules, a: f32, b: f32, c: f32) -> f32 {
    let near = a.mul_add(b, c);
    if rules.rounding != Rounding::Bf16 || !near.is_finite() {
        return rounded(rules, near);
    }
    // F32 has told the two BF16 between which the sum lies, or the one that it is near to. Where
    // it is half way between two in F32, what F32 has rounded off decides.
    let cut = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
    let half_way = near.to_bits() & 0xffff == 0x8000;
    if !half_way {
        return rounded(rules, near);
    }
    // Exact: near is within a step of the sum.
    let rest = remainder(a, b, c, near);
    let low = cut(near);
    let high = f32::from_bits(low.to_bits() + 0x1_0000);
    match (rest > 0, rest < 0) {
        (false, false) => rounded(rules, near),
        (more, _) => {
            if more == (near > 0.0) {
                high
            } else {
                low
            }
        }
    }
}

/// The sign of `a·b + c − near`, by whole numbers.
fn remainder(a: f32, b: f32, c: f32, near: f32) -> i32 {
    let parts = |x: f32| {
        let bits = x.to_bits();
        let exponent = (bits >> 23 & 0xff) as i32;
        let fraction = i128::from(bits & 0x7f_ffff);
        let (significand, exponent) = match exponent {
            0 => (fraction, 1),
            _ => (fraction | 0x80_0000, exponent),
        };
        (
            if x.is_sign_negative() {
                -significand
            } else {
                significand
            },
            exponent - 150,
        )
    };
    let ((a, i), (b, j), (c, k), (near, l)) = (parts(a), parts(b), parts(c), parts(near));
    let terms = [(a * b, i + j), (c, k), (-near, l)];
    let least = terms.iter().filter(|(x, _)| *x != 0).map(|(_, e)| *e).min();
    let Some(least) = least else { return 0 };
    let mut sum = 0i128;
    for (x, e) in terms.into_iter().filter(|(x, _)| *x != 0) {
        let shift = (e - least) as u32;
        // What does not fit is so far above the rest that F32 has lost nothing but the rest.
        let Some(x) = x
            .checked_shl(shift)
            .filter(|y| shift < 128 && y >> shift == x)
        else {
            return far_apart(terms);
        };
        sum += x;
    }
    sum.signum() as i32
}

/// The sign of the sum of two large parts that cancel and a small one.
fn far_apart(terms: [(i128, i32); 3]) -> i32 {
    let small = terms
        .iter()
        .filter(|(x, _)| *x != 0)
        .min_by_key(|(_, e)| *e);
    small.map_or(0, |(x, _)| x.signum() as i32)
}

/// All trees over so many terms, up to six.
pub fn trees(terms: usize) -> &'static [Node] {
    static TREES: OnceLock<Vec<Vec<Node>>> = OnceLock::new();
    let trees = TREES.get_or_init(|| {
        let grow = |trees: &Vec<Node>| {
            let leaf = trees[0].leaves().len();
            Some(trees.iter().flat_map(|tree| tree.with(leaf)).collect())
        };
        std::iter::successors(Some(vec![Node::Leaf(0)]), grow)
            .take(6)
            .collect()
    });
    &trees[terms - 1]
}

/// All results, one tree after the other, no bits twice.
pub fn brute(terms: &[Term], rules: &Rules) -> Vec<u32> {
    let mut values: Vec<f32> = trees(terms.len())
        .iter()
        .filter(|tree| rules.leaves == Leaves::Any || tree.keeps_places())
        .flat_map(|tree| tree.values(terms, rules))
        .map(|x| {
            if rules.rounding == Rounding::F32 {
                x
            } else {
                bf16::from_f32(x).to_f32()
            }
        })
        .map(|x| if x.is_nan() { f32::NAN } else { x })
        .collect();
    if rules.start == Start::Zero {
        // Every sum may have a +0 among its terms.
        let begun: Vec<f32> = values.iter().map(|x| x + 0.0).collect();
        values.extend(begun);
    }
    values.sort_by(f32::total_cmp);
    let mut bits: Vec<u32> = values.into_iter().map(f32::to_bits).collect();
    bits.dedup();
    bits
}
