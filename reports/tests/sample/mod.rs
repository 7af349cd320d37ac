//! Reports of the true types, for the tests of their writers.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]
#![allow(dead_code, reason = "every test has its own choice of them")]

use reports::Grid;
use reports::measure::{Values, compare_and_map};
use reports::verdict::{Outcome, Sides, Verdict};
use reports::wire::{
    Boundary, BoundaryId, NonInterference, Repeat, Report, Ruled, Ruling, Truth, TruthDistance,
};

/// A report of these boundaries, all forms of the graph having given the same bits.
pub fn report(boundaries: Vec<Boundary>) -> Report {
    let example = include_str!("../data/report-example.json");
    let mut report: Report = serde_json::from_str(example).unwrap();
    report.boundaries = boundaries;
    report.non_interference = NonInterference {
        tapped: Some(true),
        chained: Some(true),
    };
    report.conclude();
    report
}

pub fn outcome(a: &[f32], b: &[f32], shape: &[usize], grid: Grid) -> Outcome {
    let m = compare_and_map(Values::F32(a), Values::F32(b), shape, grid).unwrap();
    Outcome::Measured(Box::new(m))
}

/// A boundary whose sides are these, its stage being what is before the first dot.
pub fn boundary(
    name: &str,
    shape: &[usize],
    grid: Grid,
    [local, inherited]: [&Outcome; 2],
    interp: Option<(u64, u64)>,
    parents: Verdict,
) -> Boundary {
    let id = BoundaryId {
        name: name.into(),
        stage: name.split('.').next().unwrap_or(name).into(),
        shape: shape.to_vec(),
        grid,
        parents: vec!["a parent".into()],
        guarded_by: vec![],
    };
    let sides = Sides {
        local: Some(local),
        inherited,
        interp,
        parents,
    };
    Boundary::judged(id, sides)
}

pub fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 200) as f32).collect()
}

/// Frames of channels; in the later frames and the higher channels values differ more.
pub fn drifting(shape: &[usize]) -> (Vec<f32>, Vec<f32>) {
    let width = shape.last().copied().unwrap_or(1);
    let n: usize = shape.iter().product();
    let a: Vec<f32> = (0..n)
        .map(|i| 1.0 + (i * 37 % 128) as f32 / 128.0)
        .collect();
    let moved = |(i, v): (usize, &f32)| {
        let (line, column) = (i / width, i % width);
        let steps = (line * 8 / n.div_ceil(width) + column * 8 / width) as u32;
        match i % 5 {
            0 if steps > 0 => f32::from_bits(v.to_bits() + ((1 << steps) << 3)),
            _ => *v,
        }
    };
    let b = a.iter().enumerate().map(moved).collect();
    (a, b)
}

/// A run in which everything that can happen does.
pub fn mixed() -> Report {
    let (exact, bad) = (Verdict::BitExact, Verdict::Diverged);
    let shape = [1, 549, 1, 1];
    let a: Vec<f32> = ramp(549).iter().map(|v| v * 0.37 + 141_234.56).collect();
    let mut b = a.clone();
    for i in [7, 373, 548] {
        b[i] = b[i].next_up();
    }
    let f32s = |a: &[f32], b: &[f32]| outcome(a, b, &shape, Grid::F32);
    let (same, scan) = (f32s(&a, &a), f32s(&a, &b));
    let wide = [1, 549, 128];
    let (x, y) = drifting(&wide);
    let (good, drift) = (
        outcome(&x, &x, &wide, Grid::F32),
        outcome(&x, &y, &wide, Grid::F32),
    );
    let off = outcome(&a, &b, &shape, Grid::Bf16);
    let flat = f32s(&[1.0; 549], &[1.0; 549]);
    let failed = Outcome::Inconclusive("the candidate returned 3 of 4 results".into());
    let nan = outcome(&[1.0, f32::NAN], &[f32::NEG_INFINITY, 2.0], &[2], Grid::F16);
    let one = |name: &str, shape: &[usize], grid, sides, interp, parents| {
        boundary(name, shape, grid, sides, interp, parents)
    };
    let zeros = Some((0, 0));
    let f = Grid::F32;
    let mut boundaries = vec![
        one(
            "sscp_conv_0.norm.sum_at_time",
            &shape,
            f,
            [&same; 2],
            zeros,
            exact,
        ),
        one("sscp_conv_0.norm.flat", &shape, f, [&flat; 2], zeros, exact),
        one(
            "sscp_conv_0.norm.cumulative_sum",
            &shape,
            f,
            [&scan; 2],
            Some((0, 3)),
            exact,
        ),
        one(
            "sscp_conv_0.norm.mean",
            &shape,
            Grid::Bf16,
            [&off; 2],
            Some((3, 0)),
            bad,
        ),
        one("sscp_conv_0.output", &wide, f, [&good, &drift], zeros, bad),
        one("sscp_conv_1.convolution", &wide, f, [&failed; 2], None, bad),
        one("projection", &[2], Grid::F16, [&nan; 2], Some((1, 2)), bad),
    ];
    let distance = |max_abs, rms| TruthDistance { max_abs, rms };
    boundaries[2].truth = Some(Truth {
        reference: distance(0.0078125, 0.0017),
        candidate: Some(distance(0.015625, 0.0024)),
        condition: Some(12.5),
    });
    let ruled = |demand: &str, broken: &[&str]| Ruled {
        entry: Some("sscp_conv_0.**".into()),
        demand: demand.into(),
        broken: broken.iter().map(|&text| text.into()).collect(),
        undecided: vec![],
    };
    boundaries[2].policy = Some(Ruling {
        local: Some(ruled("bit_exact", &["3 elements differ"])),
        inherited: ruled("≤ 1 F32 ULP", &[]),
    });
    boundaries[2].guarded_by = vec!["sscp_conv_0.norm.cumulative_sum/shift".into()];
    let mut report = report(boundaries);
    report.repeat = Some(Repeat {
        runs: 3,
        reference: None,
        candidate: Some(vec!["sscp_conv_1.convolution".into()]),
    });
    report
}

/// A run of which every boundary is exact.
pub fn exact() -> Report {
    let a = ramp(64);
    let same = outcome(&a, &a, &[8, 8], Grid::Bf16);
    let one = |name| {
        boundary(
            name,
            &[8, 8],
            Grid::Bf16,
            [&same; 2],
            Some((0, 0)),
            Verdict::BitExact,
        )
    };
    report(vec![one("mel_cast"), one("sscp_conv_0.output")])
}

/// Names that mean something to whoever reads the output.
pub const HOSTILE: [&str; 10] = [
    "<script>alert(1)</script>",
    "</script><!--<script>",
    "a]]>b",
    "a%0A::error::b",
    "a\n::error title=x::b\r\n",
    "a|b`c`|*d*_e_[f](g)",
    "\"quoted\" 'twice' &amp;",
    "\u{202e}txet\u{202c}\u{200f}",
    "=HYPERLINK(\"http://nowhere\")",
    "a\u{0}b\u{7}c\u{1b}[31m",
];

/// A report whose names, texts and command are [`HOSTILE`], all boundaries having diverged.
pub fn hostile() -> Report {
    let (x, y) = drifting(&[4, 8]);
    let off = outcome(&x, &y, &[4, 8], Grid::F32);
    let one = |name: &str| {
        let mut b = boundary(
            name,
            &[4, 8],
            Grid::F32,
            [&off; 2],
            Some((0, 1)),
            Verdict::BitExact,
        );
        b.stage = name.to_owned();
        b.parents = vec![name.to_owned()];
        b.guarded_by = vec![name.to_owned()];
        b.inherited.failure = Some(name.to_owned());
        b.evidence.schedule = Some(name.to_owned());
        b
    };
    let mut report = report(HOSTILE.map(one).to_vec());
    report.command = HOSTILE.map(str::to_owned).to_vec();
    report.model.kind = HOSTILE[0].to_owned();
    report.policy.file = Some(HOSTILE[5].to_owned());
    report.policy.relaxed = HOSTILE.map(str::to_owned).to_vec();
    report.fingerprint.host.cpu = HOSTILE[1].to_owned();
    report
}

/// `n` boundaries of a million elements, all diverged, each with all that a report may say of one.
pub fn many(n: usize) -> Report {
    let shape = [1, 1000, 1000];
    let (x, y) = drifting(&shape);
    let off = outcome(&x, &y, &shape, Grid::F32);
    let template = boundary(
        "t",
        &shape,
        Grid::F32,
        [&off; 2],
        Some((0, 3)),
        Verdict::Diverged,
    );
    let one = |i: usize| Boundary {
        name: format!("conformer.{}.attention.boundary_{i}", i / 20),
        stage: format!("conformer.{}.attention", i / 20),
        ..template.clone()
    };
    report((0..n).map(one).collect())
}

/// `n` boundaries of a million elements, all bit-exact.
pub fn many_exact(n: usize) -> Report {
    let shape = [1, 1000, 1000];
    let (x, _) = drifting(&shape);
    let same = outcome(&x, &x, &shape, Grid::F32);
    let template = boundary(
        "t",
        &shape,
        Grid::F32,
        [&same; 2],
        Some((0, 0)),
        Verdict::BitExact,
    );
    let one = |i: usize| Boundary {
        name: format!("conformer.{}.attention.boundary_{i}", i / 20),
        stage: format!("conformer.{}.attention", i / 20),
        ..template.clone()
    };
    report((0..n).map(one).collect())
}
