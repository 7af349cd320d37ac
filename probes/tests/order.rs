//! Known orders are revealed exactly, with no more probes than FPRev takes.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod fprev;

use std::convert::Infallible;

use probes::order::{
    Arithmetic, Each, Form, Join, MASK, Revealed, Rounding, Sums, Tree, check_rows, confirm, reveal,
};

fn each(n: usize, mut op: impl FnMut(&[f32]) -> f32) -> impl Sums<Error = Infallible> {
    Each::new(n, move |terms: &[f32]| Ok(op(terms)))
}

fn revealed(n: usize, op: impl FnMut(&[f32]) -> f32) -> Revealed {
    reveal(&mut each(n, op)).unwrap()
}

fn sequential(terms: &[f32]) -> f32 {
    terms.iter().fold(0.0, |sum, x| sum + x)
}

fn backwards(terms: &[f32]) -> f32 {
    terms.iter().rev().fold(0.0, |sum, x| sum + x)
}

/// Written out, not replayed, so that it does not depend on what is tested.
fn pairwise(terms: &[f32]) -> f32 {
    match terms {
        [] => 0.0,
        [one] => *one,
        _ => {
            let (low, high) = terms.split_at(terms.len().next_power_of_two() / 2);
            pairwise(low) + pairwise(high)
        }
    }
}

fn eight_lanes(terms: &[f32]) -> f32 {
    let mut lanes = [0.0; 8];
    for (i, term) in terms.iter().enumerate() {
        lanes[i % 8] += term;
    }
    let four: Vec<f32> = (0..4).map(|i| lanes[i] + lanes[i + 4]).collect();
    (four[0] + four[2]) + (four[1] + four[3])
}

fn blocks(terms: &[f32]) -> f32 {
    sequential(&terms.chunks(48).map(sequential).collect::<Vec<_>>())
}

/// The first term last, the others in sequence.
fn first_last(terms: &[f32]) -> f32 {
    sequential(&terms[1..]) + terms[0]
}

/// From the middle outwards.
fn outwards(terms: &[f32]) -> f32 {
    let (low, high) = terms.split_at(terms.len() / 2);
    let mut sum = 0.0;
    for i in 0..high.len() {
        sum += high[i];
        sum += if i < low.len() {
            low[low.len() - 1 - i]
        } else {
            0.0
        };
    }
    sum
}

type Op = fn(&[f32]) -> f32;

#[test]
fn named_orders_are_revealed_and_confirmed() {
    let then = Join::Halving;
    let cases: [(&str, Op, Form); 5] = [
        ("sequential", sequential, Form::Sequential),
        ("right to left", backwards, Form::RightToLeft),
        ("pairwise", pairwise, Form::Pairwise),
        (
            "8 lanes, then halving",
            eight_lanes,
            Form::Lanes { count: 8, then },
        ),
        (
            "runs of 48, then sequential",
            blocks,
            Form::Runs {
                len: 48,
                then: Join::Sequential,
            },
        ),
    ];
    for (name, op, form) in cases {
        for n in [97, 128, 300, 1152] {
            let tree = revealed(n, op).tree;
            assert_eq!(tree, form.tree(n), "{name} of {n}");
            assert_eq!((tree.to_string().as_str(), tree.form()), (name, Some(form)));
            let arithmetic = Arithmetic::default();
            let found = confirm(&tree, &arithmetic, 0..16, &mut each(n, op)).unwrap();
            assert_eq!(found.outputs, 16);
            assert!(found.telling > 8, "{name} of {n}: {found:?}");
        }
    }
}

#[test]
fn no_one_and_two_terms_have_one_order() {
    for n in 0..3 {
        let tree = revealed(n, |terms| terms.iter().sum()).tree;
        assert_eq!(tree, Tree::sequential(n));
    }
}

#[test]
fn no_order_takes_more_probes_than_fprev() {
    let ops: [Op; 7] = [
        sequential,
        backwards,
        pairwise,
        eight_lanes,
        blocks,
        first_last,
        outwards,
    ];
    for (index, op) in ops.into_iter().enumerate() {
        for n in [3, 8, 16, 24, 25, 32, 33, 64, 100, 300, 1152] {
            let found = revealed(n, op);
            let peer = fprev::calls(&found.tree);
            assert!(
                found.vectors <= peer,
                "{index} of {n}: {} for {peer}",
                found.vectors
            );
            assert!(found.checks <= 10);
        }
    }
}

#[test]
fn chains_take_a_number_of_probes_that_grows_as_their_length() {
    let n = 10_000;
    let found = revealed(n, sequential);
    assert_eq!(found.tree.form(), Some(Form::Sequential));
    assert!(found.vectors < n / 17, "{} vectors", found.vectors);
    for op in [backwards, outwards] {
        let found = revealed(n, op);
        assert!(found.vectors < 2 * n, "{} vectors", found.vectors);
        assert_eq!(found.tree.depth(), n - 1);
    }
}

fn narrow(sum: f32, x: &f32) -> f32 {
    Rounding::Bf16.round(sum + x)
}

#[test]
fn a_narrow_accumulator_is_asked_about_part_of_its_terms_at_a_time() {
    let halves = |terms: &[f32]| {
        let (low, high) = terms.split_at(terms.len() / 2);
        narrow(low.iter().fold(0.0, narrow), &high.iter().fold(0.0, narrow))
    };
    let lanes = |terms: &[f32]| {
        let lane = |i| terms.iter().skip(i).step_by(8).fold(0.0, narrow);
        (0..8)
            .map(lane)
            .collect::<Vec<_>>()
            .iter()
            .fold(0.0, narrow)
    };
    let then = Join::Sequential;
    type Boxed<'a> = &'a dyn Fn(&[f32]) -> f32;
    let sum: Boxed<'_> = &|terms| terms.iter().fold(0.0, narrow);
    let back: Boxed<'_> = &|terms| terms.iter().rev().fold(0.0, narrow);
    for n in [255, 256, 257, 258, 300, 512, 1152] {
        let cases: [(Boxed<'_>, Form); 4] = [
            (sum, Form::Sequential),
            (back, Form::RightToLeft),
            (&halves, Form::Runs { len: n / 2, then }),
            (&lanes, Form::Lanes { count: 8, then }),
        ];
        for (op, form) in cases {
            if n % 2 == 1 && matches!(form, Form::Runs { .. }) {
                continue;
            }
            let mut op = each(n, op);
            let found = reveal(&mut op).unwrap();
            assert_eq!(found.tree, form.tree(n), "{form} of {n}");
            assert_eq!(found.counts, if n <= 256 { n } else { 256 });
            let arithmetic = Arithmetic::of(Rounding::Bf16);
            let confirmed = confirm(&found.tree, &arithmetic, 0..4, &mut op);
            assert!(confirmed.unwrap().telling > 0);
        }
    }
}

#[test]
fn fprev_is_silently_wrong_about_a_narrow_accumulator() {
    let sum = |terms: &[f32]| terms.iter().fold(0.0, narrow);
    let n = 300;
    let wrong = fprev::edges(n, |i, j| {
        let mut terms = vec![1.0; n];
        (terms[i], terms[j]) = (MASK, -MASK);
        n as i64 - sum(&terms) as i64
    });
    // A binary tree of 300 leaves has 598 edges.
    assert_eq!(wrong, 556);
    assert_eq!(revealed(n, sum).tree, Tree::sequential(n));
}

#[test]
fn a_narrow_result_of_a_wide_accumulator_is_revealed() {
    let once = |terms: &[f32]| Rounding::Bf16.round(pairwise(terms));
    for n in [300, 1152] {
        let found = revealed(n, once);
        assert_eq!(found.tree.form(), Some(Form::Pairwise));
        let arithmetic = Arithmetic::of(Rounding::Bf16Once);
        assert!(confirm(&found.tree, &arithmetic, 0..8, &mut each(n, once)).is_ok());
    }
}

#[test]
fn a_scaled_sum_is_revealed() {
    for n in [100, 300, 1152] {
        let scale = 1.0 / n as f32;
        let mut mean = each(n, |terms| sequential(terms) * scale);
        let found = reveal(&mut mean).unwrap();
        assert_eq!(
            (found.tree.form(), found.counts),
            (Some(Form::Sequential), n)
        );
        let arithmetic = Arithmetic {
            scale: Some(scale),
            ..Arithmetic::default()
        };
        assert!(confirm(&found.tree, &arithmetic, 0..8, &mut mean).is_ok());
        let scale = Rounding::Bf16.round(scale);
        let mut mean = each(n, |terms| {
            Rounding::Bf16.round(terms.iter().fold(0.0, narrow) * scale)
        });
        let found = reveal(&mut mean).unwrap();
        assert_eq!(found.tree.form(), Some(Form::Sequential));
        assert!(found.counts <= 128, "{}", found.counts);
        let arithmetic = Arithmetic {
            rounding: Rounding::Bf16,
            scale: Some(scale),
            ..Arithmetic::default()
        };
        assert!(confirm(&found.tree, &arithmetic, 0..8, &mut mean).is_ok());
    }
}

/// Several rows in one call.
struct Rows<F> {
    n: usize,
    rows: usize,
    sum: F,
    calls: usize,
}

impl<F: FnMut(&[f32]) -> f32> Sums for Rows<F> {
    type Error = Infallible;

    fn terms(&self) -> usize {
        self.n
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn sums(&mut self, rows: &[f32]) -> Result<Vec<f32>, Infallible> {
        assert!(rows.len() <= self.n * self.rows);
        self.calls += 1;
        Ok(rows.chunks(self.n).map(&mut self.sum).collect())
    }
}

#[test]
fn rows_share_a_call_and_change_nothing() {
    let (n, rows, calls) = (500, 64, 0);
    for op in [sequential as Op, backwards, eight_lanes, blocks] {
        let mut many = Rows {
            n,
            rows,
            sum: op,
            calls,
        };
        check_rows(&mut many).unwrap();
        many.calls = 0;
        let found = reveal(&mut many).unwrap();
        let one = revealed(n, op);
        assert_eq!((&found.tree, found.vectors), (&one.tree, one.vectors));
        assert!(
            many.calls < found.vectors / 8 + 10,
            "{} for {}",
            many.calls,
            found.vectors
        );
        assert!(confirm(&found.tree, &Arithmetic::default(), 0..100, &mut many).is_ok());
    }
}
