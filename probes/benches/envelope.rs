//! How long the exact set of one element takes: `cargo bench -p probes --bench envelope`.
//!
//! One thread. A measurement is the set of the results of one sum, the next of a row of different
//! sums each time. Goals, for F32 terms in any order: 12 terms under 5 ms, 15 under 100 ms.

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion};
use half::bf16;
use probes::{
    envelope::{Fusion, Joint, Rules, Schedule, Start, Term},
    order::Rounding,
};

/// SplitMix64 (Steele, Lea, Flood 2014), as numbers of a normal distribution (Box, Muller 1958).
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn f32(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.uniform()).cos()) as f32
    }

    fn bf16(&mut self) -> f32 {
        bf16::from_f32(self.f32()).to_f32()
    }
}

/// What is added, under which rules.
type Kind = (&'static str, fn(&mut Normal) -> Term, Rules);

fn kinds() -> [Kind; 5] {
    let rules = Rules::default();
    let fused = Rules {
        fusion: Fusion::Either,
        ..rules
    };
    let narrow = Rules {
        rounding: Rounding::Bf16,
        ..rules
    };
    [
        ("f32", |x| Term::Value(x.f32()), rules),
        ("f32 that cancel", |x| Term::Value(x.f32()), rules),
        (
            "f32 products, fused or not",
            |x| Term::Product(x.f32(), x.f32()),
            fused,
        ),
        (
            "bf16 products",
            |x| Term::Product(x.bf16(), x.bf16()),
            rules,
        ),
        ("bf16 accumulator", |x| Term::Value(x.bf16()), narrow),
    ]
}

fn reachable(c: &mut Criterion) {
    for n in [9, 12, 15] {
        let mut group = c.benchmark_group(format!("reachable, {n} terms"));
        group.measurement_time(Duration::from_secs(if n == 15 { 8 } else { 4 }));
        group.sample_size(20);
        for (name, term, rules) in kinds() {
            let mut numbers = Normal(n as u64);
            let row = |_| {
                let mut terms: Vec<Term> = (0..n).map(|_| term(&mut numbers)).collect();
                if name.contains("cancel") {
                    let others: f64 = terms[1..].iter().map(|term| term.exact()).sum();
                    terms[0] = Term::Value(-others as f32);
                }
                terms
            };
            let rows: Vec<Vec<Term>> = (0..64).map(row).collect();
            let mut next = rows.iter().cycle();
            group.bench_function(BenchmarkId::from_parameter(name), |b| {
                b.iter(|| rules.reachable(black_box(next.next().unwrap_or(&rows[0])), n));
            });
        }
        group.finish();
    }
}

fn schedules(c: &mut Criterion) {
    let mut numbers = Normal(1152);
    let product = |_| Term::Product(numbers.bf16(), numbers.bf16());
    let terms: Vec<Term> = (0..1152).map(product).collect();
    let all = Schedule::all(terms.len(), true, Rounding::Bf16Once, Start::Zero);
    let count = all.len();
    let mut group = c.benchmark_group("schedules");
    group.sample_size(20);
    group.bench_function(format!("{count} schedules of 1152 products"), |b| {
        b.iter(|| {
            let sums = all
                .iter()
                .filter_map(|schedule| schedule.sum(black_box(&terms)));
            sums.fold(0, |bits, sum| bits ^ sum.to_bits())
        });
    });
    group.bench_function("the list of schedules for 1152 terms", |b| {
        b.iter(|| {
            Joint::new(Schedule::all(
                black_box(1152),
                true,
                Rounding::F32,
                Start::Zero,
            ))
        });
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    reachable(&mut criterion);
    schedules(&mut criterion);
    criterion.final_summary();
}
