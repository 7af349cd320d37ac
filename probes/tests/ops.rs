//! Operations of a level-one graph on MLX (CPU) and, under its contract, on IREE: the same trees.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::path::Path;

use emitter::Contract;
use oracle::{MlxSide, iree::IreeSide};
use probes::{
    ops::{OpError, Site, iree::Compiled, mlx::OnMlx},
    order::{
        Arithmetic, Form, Fused, Join, Plan, ProbeError, Rounding, Sums, check_rows, confirm,
        reveal,
    },
};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::DType::{BF16, F32};

/// How many rows a call takes.
const ROWS: usize = 16;

/// Sites whose sums are rounded to F32 each, and the order that they have.
fn sites() -> Vec<(Site, Form)> {
    let mut sites = Vec::new();
    for n in [2, 3, 16, 100, 256] {
        sites.push(Site::sum(ROWS, n, F32));
        sites.push(Site::mean(ROWS, n, F32));
        sites.push(Site::product(ROWS, n, 1, F32));
        sites.push(Site::cumsum(ROWS, n, F32));
    }
    sites.push(Site::sum(1, 200, F32));
    sites.push(Site::product(1, 200, 1, F32));
    sites.push(Site::product(8, 200, 8, F32));
    sites.push(Site::sum_over([1, 2, 16, 12], &[2, 3], F32));
    sites.push(Site::sum_over([1, 64, 3], &[1], F32));
    sites.push(Site::convolution(ROWS, &[3, 3], 1, F32));
    sites.push(Site::convolution(ROWS, &[3, 3], 16, F32));
    sites.push(Site::convolution(ROWS, &[5], 24, F32));
    sites.push(Site::depthwise(ROWS, 5, 4, F32));
    // The second convolution of the audio encoder's front: K = 1152.
    sites.push(Site::convolution(ROWS, &[3, 3], 128, F32));
    let mut sites: Vec<_> = sites
        .into_iter()
        .map(|site| (site.unwrap(), Form::Sequential))
        .collect();
    // Axes that do not follow one another: runs over the last, then over them.
    let then = Join::Sequential;
    let apart = Site::sum_over([10, 2, 24], &[0, 2], F32).unwrap();
    sites.push((apart, Form::Runs { len: 24, then }));
    sites
}

fn arithmetic(site: &Site, rounding: Rounding) -> Arithmetic {
    Arithmetic {
        rounding,
        factors: site.factors().map(<[f32]>::to_vec),
        scale: site.scale(),
        ..Arithmetic::default()
    }
}

fn check(
    site: &Site,
    form: Form,
    rounding: Rounding,
    op: &mut impl Sums<Error = OpError>,
) -> Result<(), ProbeError<OpError>> {
    check_rows(op)?;
    let tree = reveal(op)?.tree;
    assert_eq!(tree, form.tree(site.terms()), "{}: {tree}", site.name());
    let confirmed = confirm(&tree, &arithmetic(site, rounding), 0..16, op)?;
    assert!(
        confirmed.telling > 2 || site.terms() < 16 || rounding == Rounding::Bf16Once,
        "{}: {confirmed:?}",
        site.name()
    );
    Ok(())
}

fn open() -> IreeSide {
    let store = Store::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("order")).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap()
}

fn failed<T>(site: &Site, found: Result<T, ProbeError<OpError>>) -> T {
    found.unwrap_or_else(|error| panic!("{}: failed to {error}", site.name()))
}

#[test]
fn mlx_adds_in_sequence() {
    let side = MlxSide::new().unwrap();
    for (site, form) in sites() {
        let mut op = OnMlx::new(&side, &site);
        failed(&site, check(&site, form, Rounding::F32, &mut op));
    }
}

#[test]
fn iree_adds_in_the_same_order_under_the_contract() {
    let (sites, forms): (Vec<Site>, Vec<Form>) = sites().into_iter().unzip();
    let side = open();
    let compiled = Compiled::new(&side, &sites, Contract::MlxCpu);
    let compiled = compiled.unwrap_or_else(|error| panic!("failed to {error}"));
    for (index, (site, form)) in sites.iter().zip(forms).enumerate() {
        let mut op = compiled.site(index).unwrap();
        failed(site, check(site, form, Rounding::F32, &mut op));
    }
}

#[test]
fn bf16_sums_round_each_time_on_both_sides_and_are_revealed_beyond_256_terms() {
    let sites = [
        Site::sum(ROWS, 200, BF16),
        Site::cumsum(ROWS, 256, BF16),
        Site::sum(ROWS, 300, BF16),
        Site::mean(ROWS, 300, BF16),
        Site::sum(ROWS, 1152, BF16),
    ];
    let sites = sites.map(Result::unwrap);
    let (mlx_side, iree_side) = (MlxSide::new().unwrap(), open());
    let compiled = Compiled::new(&iree_side, &sites, Contract::MlxCpu).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let mut op = OnMlx::new(&mlx_side, site);
        failed(site, check(site, Form::Sequential, Rounding::Bf16, &mut op));
        let mut op = compiled.site(index).unwrap();
        failed(site, check(site, Form::Sequential, Rounding::Bf16, &mut op));
    }
}

#[test]
fn bf16_products_are_summed_in_f32_and_rounded_once_on_both_sides() {
    let sites = [
        Site::product(ROWS, 200, 1, BF16),
        Site::convolution(ROWS, &[3, 3], 16, BF16),
        Site::convolution(ROWS, &[3, 3], 128, BF16),
    ];
    let sites = sites.map(Result::unwrap);
    let (mlx_side, iree_side) = (MlxSide::new().unwrap(), open());
    let compiled = Compiled::new(&iree_side, &sites, Contract::MlxCpu).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let once = Rounding::Bf16Once;
        let mut op = OnMlx::new(&mlx_side, site);
        failed(site, check(site, Form::Sequential, once, &mut op));
        let tree = Form::Sequential.tree(site.terms());
        assert!(confirm(&tree, &arithmetic(site, Rounding::Bf16), 0..16, &mut op).is_err());
        let mut op = compiled.site(index).unwrap();
        failed(site, check(site, Form::Sequential, once, &mut op));
    }
}

/// Something that is done with an operation.
type Use<'a> = &'a mut dyn FnMut(&mut dyn Sums<Error = OpError>);

/// Which products a side fuses, and whether tree and fusion give its results.
fn fusion(site: &Site, ask: &dyn Fn(&Site, Use<'_>)) -> Fused {
    let mut found = None;
    ask(site, &mut |op| found = Some(reveal(op).unwrap().tree));
    let tree = found.unwrap();
    let (plan, mut fused) = (Plan::new(&tree), Fused::default());
    for of in [false, true] {
        let asked = site.with_factors(&plan.factors(of));
        ask(&asked, &mut |op| fused.ask(&plan, of, op).unwrap());
    }
    let factors: Vec<f32> = (0..site.terms()).map(|i| 0.3 + i as f32 / 7.0).collect();
    let site = site.with_factors(&factors);
    let arithmetic = Arithmetic {
        fused: fused.clone(),
        ..arithmetic(&site, Rounding::F32)
    };
    ask(&site, &mut |op| {
        assert!(confirm(&tree, &arithmetic, 0..16, op).unwrap().telling > 2);
    });
    fused
}

#[test]
fn products_are_rounded_before_they_are_added_on_mlx_and_under_the_contract() {
    let (mlx_side, iree_side) = (MlxSide::new().unwrap(), open());
    let sites = [
        Site::product(ROWS, 100, 1, F32).unwrap(),
        Site::convolution(ROWS, &[3, 3], 16, F32).unwrap(),
    ];
    for site in sites {
        let on_mlx = fusion(&site, &|site, put| put(&mut OnMlx::new(&mlx_side, site)));
        let on_iree = fusion(&site, &|site, put| {
            let sites = [site.clone()];
            let compiled = Compiled::new(&iree_side, &sites, Contract::MlxCpu).unwrap();
            put(&mut compiled.site(0).unwrap());
        });
        assert_eq!((on_mlx.count(), on_iree.count()), (0, 0), "{}", site.name());
    }
}

#[test]
fn whatever_order_the_compiler_chooses_is_revealed_and_confirmed() {
    let sites = [
        Site::sum(ROWS, 128, F32),
        Site::sum(ROWS, 1152, F32),
        Site::sum_over([10, 2, 24], &[0, 2], F32),
        Site::convolution(ROWS, &[3, 3], 16, F32),
    ];
    let sites = sites.map(Result::unwrap);
    let side = open();
    let compiled = Compiled::new(&side, &sites, Contract::Native).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let mut op = compiled.site(index).unwrap();
        let tree = failed(site, reveal(&mut op)).tree;
        let confirmed = confirm(&tree, &arithmetic(site, Rounding::F32), 0..16, &mut op);
        let confirmed = failed(site, confirmed);
        assert!(confirmed.telling > 2, "{}: {confirmed:?}", site.name());
        println!("{}: {tree}", site.name());
    }
}

#[test]
fn another_number_of_terms_than_the_sites_is_refused() {
    let side = MlxSide::new().unwrap();
    let site = Site::product(2, 8, 1, F32).unwrap();
    let error = OnMlx::new(&side, &site).sums(&[1.0; 9]).unwrap_err();
    let text = "add 9 terms: the operation adds rows of 8, at most 2";
    assert_eq!(error.to_string(), text);
}
